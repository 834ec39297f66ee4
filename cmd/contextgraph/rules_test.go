// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

// rulesOf are the rules for the agent of package cgtest, with a place for a mistake.
const rulesOf = `
extract:
  - {name: found, tool: TOOL, each: "EACH", type: Product, value: $.VALUE, attributes: {price: {path: $.price, type: money, currency: USD}}}
  - {name: bought, tool: buy, in: action, type: Product, value: $.item}
`

// write writes a file into the folder of the test.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func withRules(tool, each, value string) string {
	return strings.NewReplacer("TOOL", tool, "EACH", each, "VALUE", value).Replace(rulesOf)
}

// TestRules: rules shows what each rule read and found, and how near it came.
func TestRules(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	h.Ask(cgtest.SessionID)
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name, config string
		want         []string
	}{
		{"right", withRules("search", "$.items[*]", "name"), []string{
			"found   result of search  Product  1     1", "bought  arguments of buy", "no rule and no condition reads these arguments of buy: count;",
		}},
		{"a misspelt tool", withRules("serch", "$.items[*]", "name"), []string{"found: no call of serch with such a part is on record; did you mean search?"}},
		{"a misspelt list", withRules("search", "$.item[*]", "name"), []string{"found: $ is an object with items, without .item; did you mean items?"}},
		{"a list one level too deep", withRules("search", "$.found.items[*]", "name"), []string{"found: $ is an object with items, without .found"}},
		{"a misspelt value", withRules("search", "$.items[*]", "nam"), []string{"found: 1 of 1 rows contradict it:", "$ is an object with available, name, price, without .nam; did you mean name?"}},
		{"no rules", "{}", []string{"the configuration has no section extract"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, "rules.yaml", tt.config)
			code, out, stderr := runCommand(t, "rules", cgtest.SessionID, "--journal", h.Path, "--config", "rules.yaml")
			for _, want := range tt.want {
				if code != exitOK || !strings.Contains(out+stderr, want) {
					t.Errorf("code %d, without %q:\n%s%s", code, want, out, stderr)
				}
			}
		})
	}
	if _, _, stderr := runCommand(t, "rules", cgtest.SessionID, "--journal", h.Path); !strings.Contains(stderr, "there is no contextgraph.yaml here") {
		t.Errorf("without a configuration: %s", stderr)
	}
	if code, _, _ := runCommand(t, "rules", "nothing", "--journal", h.Path); code != exitNotFound {
		t.Errorf("an unknown session: code %d", code)
	}
}

// TestDraftLeavesOut: a draft names the tools that it has no rule for.
func TestDraftLeavesOut(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"sunny": true}, nil
		}
	})
	h.Ask(cgtest.SessionID)
	t.Chdir(t.TempDir())
	code, draft, stderr := runCommand(t, "init", "--from", cgtest.SessionID, "--journal", h.Path)
	for _, want := range []string{"# There is no rule for search: no object in its results has a name or an id", "# There is no rule for buy: no argument of its calls names what a result showed"} {
		if code != exitOK || !strings.Contains(draft, want) {
			t.Errorf("%d, without %q:\n%s%s", code, want, draft, stderr)
		}
	}
}

// TestDraft: init --from prints a configuration that loads, and whose rules find what the tools
// showed.
func TestDraft(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	h.Ask(cgtest.SessionID)
	t.Chdir(t.TempDir())
	code, draft, stderr := runCommand(t, "init", "--from", cgtest.SessionID, "--journal", h.Path)
	if code != exitOK {
		t.Fatalf("code %d: %s", code, stderr)
	}
	write(t, "contextgraph.yaml", draft)
	if _, err := setup.Load("contextgraph.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, draft)
	}
	for _, want := range []string{"tools: {buy: {}}", "each: $.items[*]", "type: Item", "value: $.name", "price: {path: $.price, type: money, currency: USD}", "available: {path: $.available, type: boolean}", "alternatives: true"} {
		if !strings.Contains(draft, want) {
			t.Errorf("without %q:\n%s", want, draft)
		}
	}
	if _, out, _ := runCommand(t, "rules", cgtest.SessionID, "--journal", h.Path); !strings.Contains(out, "item of search  result of search  Item  1     1") || !strings.Contains(out, "item of buy     arguments of buy  Item") {
		t.Errorf("its rules find:\n%s", out)
	}
}

// TestWouldHaveBlocked: in observe mode the list has the calls that enforcement would block.
func TestWouldHaveBlocked(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.Unprotected, func(o *cgtest.Options) { o.Config.Guard.Mode = config.ModeObserve })
	t.Chdir(t.TempDir())
	if _, _, stderr := runCommand(t, "would-have-blocked", "--journal", h.Path); !strings.Contains(stderr, "has no request of the last 7d that was only observed") {
		t.Errorf("nothing observed: %s", stderr)
	}
	same, _ := h.Ask("same")
	h.Answer("same", same, true)
	h.Ask("unanswered")
	dearer, _ := h.Ask("dearer")
	h.Shop.Set("$52,000", true)
	h.Answer("dearer", dearer, true)
	h.WantBought(2)
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := runCommand(t, "would-have-blocked", "--journal", h.Path)
	for _, want := range []string{"observed requests: 3, confirmed: 2, of these safe: 1, would have been blocked: 1", "dearer", "changed since it was read", "$40,000 → $52,000"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("code %d, without %q:\n%s%s", code, want, out, stderr)
		}
	}
}

// TestEnforcedIsNotObserved: where the gate enforces, the command says where to look.
func TestEnforcedIsNotObserved(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	h.Ask(cgtest.SessionID)
	t.Chdir(t.TempDir())
	if _, _, stderr := runCommand(t, "would-have-blocked", "--journal", h.Path); !strings.Contains(stderr, "1 requests were enforced") {
		t.Error(stderr)
	}
}

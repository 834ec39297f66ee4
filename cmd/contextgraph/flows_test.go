// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// blocks are the files and outputs of a document: "```yaml NAME", "```output".
var blocks = regexp.MustCompile("(?m)^```(yaml|output)(?: (\\S+))?\n((?s:.*?))^```$")

// TestTryYourPolicy runs the flows of the document, and prints what it shows.
func TestTryYourPolicy(t *testing.T) {
	data, err := os.ReadFile("../../docs/try-your-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var shown string
	for _, b := range blocks.FindAllStringSubmatch(string(data), -1) {
		if b[1] == "output" {
			shown = b[3]
			continue
		}
		if err := os.MkdirAll(filepath.Dir(b[2]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b[2], []byte(b[3]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := in(t, nil, "test", "flows"); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ := in(t, nil, "test", "flows/cheaper.yaml", "flows/price_rises.yaml"); stdout != shown {
		t.Errorf("the document shows another output (-document +command):\n%s", cmp.Diff(shown, stdout))
	}
}

// TestTestEnds holds the exit codes and what the command says beside them.
func TestTestEnds(t *testing.T) {
	const flow = `about: a desk is bought
config:
  guard: {tools: {buy: {}}}
  extract:
    - {name: shown, tool: get, type: Product, value: $.name, attributes: {price: {path: $.price, type: money, currency: USD}}}
    - {name: bought, tool: buy, in: action, type: Product, value: $.item}
checked: [Product]
world: {Product: {Desk: {price: $400}}}
tools: {get: {result: "=Product.{name}"}, buy: {result: {ok: true}}}
steps:
  - {user: buy it, model: [get: {name: Desk}, buy: {item: Desk}]}
  - answer: yes
expect: `
	dir := t.TempDir()
	for _, test := range []struct {
		name, file     string
		code           int
		stdout, stderr string
	}{
		{"as expected", flow + "executed safe", exitOK, "ok ", ""},
		{"it ran", flow + "blocked drift", exitChanged, "WRONG SAFE", ""},
		{"it did not run", strings.Replace(flow, "answer: yes", "answer: no", 1) + "executed safe", exitCheckFailed, "otherwise", ""},
		{"a key that is none", flow + "executed safe\nworlds: {}", exitError, `unknown key "worlds" in a flow`, ""},
		{"no steps", "config: {}\nexpect: none", exitError, "steps is missing", ""},
		{"a mistake in the configuration", strings.Replace(flow, "tools: {buy: {}}", "tool: {buy: {}}", 1) + "none", exitError, `guard.tool: unknown key; did you mean "tools"?`, ""},
		{"nothing is guarded", strings.Replace(flow, "tools: {buy: {}}", "tools: {bye: {}}", 1) + "blocked", exitError, "no tool of the flow is guarded: guard.tools of the configuration has bye; use one of buy, get", ""},
		{"a state that is none", flow + "excuted safe", exitError, "did you mean executed?", ""},
		{"a verdict that is none", flow + "executed saef", exitError, "did you mean safe?", ""},
		{"a secret and a dataset, which it does not need", strings.Replace(flow, "checked: [Product]", `  bigquery: {project: my-project-123, dataset: agents}
  checkers: [{type: Product, http: {url: "https://shop.example/{value}", headers: {Authorization: "Bearer ${SHOP_TOKEN}"}, attributes: {price: {path: $.price, type: money, currency: USD}}}}]`, 1) + "executed safe", exitOK, "ok ", ""},
		{"a state alone", flow + "executed", exitOK, "ok ", ""},
		{"an answer that is none", strings.Replace(flow, "answer: yes", "answer: {yess: true}", 1) + "none", exitError, `unknown key "yess"; did you mean yes?`, ""},
		{"a type that nothing has", strings.Replace(flow, "answer: yes", "world: {Prduct: {}}", 1) + "none", exitError, "step 2: world has no Prduct: did you mean Product?", ""},
		{"a source that nothing has", strings.Replace(flow, "answer: yes", "down: [Prduct]", 1) + "none", exitError, "did you mean Product?", ""},
		{"a result of nothing", strings.Replace(flow, "=Product.{name}", "=Produkt.{name}", 1) + "none", exitError, "tools.get: =Produkt.{name}: the world has no Produkt: did you mean Product?", ""},
		{"an argument that is missing", strings.Replace(flow, "get: {name: Desk}", "get: {nam: Desk}", 1) + "none", exitError, "the call has no argument name", ""},
		{"a tool that is none", strings.Replace(flow, "get: {name: Desk}", "gte: {name: Desk}", 1) + "none", exitError, "calls gte, which it does not have", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(test.name, " ", "_")+".yaml")
			if err := os.WriteFile(path, []byte(test.file), 0o644); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := in(t, nil, "test", path)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit code %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", code, test.code, test.stdout, stdout, test.stderr, stderr)
			}
		})
	}
	code, stdout, _ := in(t, nil, "test", filepath.Join(dir, "it_ran.yaml"), "--output", "json")
	var list []flowRun
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != exitChanged || len(list) != 1 || !list[0].WrongSafe {
		t.Errorf("exit code %d, error %v, %+v; want one wrong safe", code, err, list)
	}
}

// TestDraftFlows makes two flows from a recorded session. They end as they say with the draft of a
// configuration that the same command prints.
func TestDraftFlows(t *testing.T) {
	demo(t)
	draft := []string{"init", "--from", nike.ID, "--flows", "flows", "--journal", "demo.db"}
	code, stdout, stderr := runCommand(t, draft...)
	if code != exitOK || !strings.Contains(stderr, "wrote flows/changed.yaml; try it with contextgraph test flows") {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	if err := os.WriteFile(defaultConfig, []byte(stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = runCommand(t, "test", "flows")
	if code != exitOK || strings.Count(stdout, "ok ") != 2 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := runCommand(t, draft...); code != exitError || !strings.Contains(stderr, "is there already: remove it") {
		t.Errorf("once more: exit code %d, %s", code, stderr)
	}
}

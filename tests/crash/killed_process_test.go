// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// guarding are the ways a tool stands behind the gate, each with the state in which its
// approval is while callbacks of the agent run before the tool; "" where none do. quick are the
// points at which the quick size kills it: each point once, and where the code of a way differs.
var guarding = map[string]struct {
	opt      cgtest.Option
	callback safety.ApprovalState
	quick    []string
}{
	"protected": {cgtest.Unasked, safety.StatePermitted, []string{killAsked, killCallback, killBefore}},
	"streaming": {cgtest.Streamed(functiontool.Config{}), "", []string{killBefore, killAfter}},
	"listed":    {cgtest.Listed, safety.StateExecuting, []string{killChecking, killCallback, killEnded}},
}

// The points at which a process is killed.
const (
	killAsked    = "asked"    // a person was asked
	killChecking = "checking" // the check before the effect is under way
	killCallback = "callback" // a callback of the agent runs, before the tool
	killBefore   = "before"   // the tool runs, and its effect has not taken place
	killAfter    = "after"    // its effect has taken place, and nobody was told
	killEnded    = "ended"    // the model is told the result
)

// killChildEnv makes the test binary run TestKilledChild: the journal, the way and the
// point, with spaces between them.
const killChildEnv = "CONTEXTGRAPH_KILL_CHILD"

// die ends the process as a power loss would.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill()
	}
	select {}
}

// journalAt keeps the journal at a path, and the effects in a file beside it.
func journalAt(path string) cgtest.Option {
	return func(o *cgtest.Options) { o.Config.Journal.Path = path }
}

// TestKilledChild is not a test: it is the process that TestKilledProcess kills.
func TestKilledChild(t *testing.T) {
	role := strings.Fields(os.Getenv(killChildEnv))
	if len(role) != 3 {
		t.Skip("for TestKilledProcess")
	}
	path, way, point := role[0], role[1], role[2]
	at := func(p string) {
		if p == point {
			die()
		}
	}
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked, guarding[way].opt, journalAt(path), func(o *cgtest.Options) {
		o.CountChecks = true
		o.BeforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, called tool.Tool, _ map[string]any) (map[string]any, error) {
			if called.Name() == "buy" && ctx.ToolConfirmation() != nil {
				at(killCallback)
			}
			return nil, nil
		}}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "buy" {
				at(killEnded)
			}
			return cgtest.Shopper(req)
		}
	})
	h.OnCheck = func(n int64) {
		if n == 2 {
			at(killChecking)
		}
	}
	h.Effect = func(agent.Context) error {
		at(killBefore)
		f, err := os.OpenFile(path+".effects", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString("bought\n")
		err = errors.Join(err, f.Close())
		at(killAfter)
		return err
	}
	id, _ := h.Ask(cgtest.SessionID)
	at(killAsked)
	h.Answer(cgtest.SessionID, id, true)
	t.Fatal("still alive")
}

// Wherever the process is killed, an approval is never used again, an effect that was
// begun and whose end nobody recorded is shown as in doubt and never repeated, a person
// can close it, and a new request is approved as ever.
func TestKilledProcess(t *testing.T) {
	for way, guard := range guarding {
		for point, want := range map[string]safety.ApprovalState{
			killAsked: safety.StatePending, killChecking: safety.StateApproved, killCallback: guard.callback,
			killBefore: safety.StateExecuting, killAfter: safety.StateExecuting, killEnded: safety.StateExecuted,
		} {
			if want == "" || !testsize.Thorough() && !slices.Contains(guard.quick, point) {
				continue
			}
			t.Run(way+"/"+point, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "j.db")
				killed(t, strings.Join([]string{path, way, point}, " "))

				happened := point == killAfter || point == killEnded
				effects, err := os.ReadFile(path + ".effects")
				if got := bytes.Count(effects, []byte("bought")); got != map[bool]int{true: 1}[happened] || err != nil && happened {
					t.Errorf("%d effects, %v", got, err)
				}
				h := cgtest.New(t, cgtest.OnFile, guard.opt, journalAt(path))
				old := h.Approvals(cgtest.SessionID)[0]
				if old.State != want || old.InDoubt() != (want == safety.StateExecuting) {
					t.Fatalf("the approval is %s, in doubt %t; want %s", old.State, old.InDoubt(), want)
				}
				resolve(t, h, old, happened)

				// The same person asks for the same, in the conversation whose events went with the process.
				id, _ := h.Ask(cgtest.SessionID)
				h.Answer(cgtest.SessionID, id, true)
				h.WantBought(1)
				if again := h.Approvals(cgtest.SessionID)[1]; again.State != safety.StateExecuted || again.ID == old.ID {
					t.Errorf("the new approval is %s", again.State)
				}
			})
		}
	}
}

// killed runs this test binary in a role until it is killed.
func killed(t *testing.T, role string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killChildEnv+"="+role)
	out, err := cmd.CombinedOutput()
	if err == nil || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("the child ended by itself: %v\n%s", err, out)
	}
}

// resolve closes an approval by the word of a person if it is in doubt, and is refused
// if not.
func resolve(t *testing.T, h *cgtest.Harness, a safety.Approval, executed bool) {
	t.Helper()
	ctx := t.Context()
	err := h.CG.Resolve(ctx, cgtest.Key("s2"), a.ID, executed, "olga", "")
	if !errors.Is(err, safety.ErrNotFound) {
		t.Errorf("resolved from another session: %v", err)
	}
	err = h.CG.Resolve(ctx, cgtest.Key(cgtest.SessionID), a.ID, executed, "olga", "asked the shop")
	if !a.InDoubt() {
		if !errors.Is(err, safety.ErrConflict) {
			t.Errorf("resolved what is %s: %v", a.State, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[bool]safety.ApprovalState{true: safety.StateExecuted, false: safety.StateFailed}[executed]
	if now := h.Approvals(cgtest.SessionID)[0]; now.State != want || now.InDoubt() {
		t.Errorf("resolved: %s, want %s", now.State, want)
	}
	steps, err := h.CG.History(ctx, cgtest.Key(cgtest.SessionID), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if last := steps[len(steps)-1]; !last.Resolved || last.Actor != "olga" || last.Note != "asked the shop" || last.Run != "" {
		t.Errorf("last step %+v", last)
	}
	if err := h.CG.Resolve(ctx, cgtest.Key(cgtest.SessionID), a.ID, executed, "olga", ""); !errors.Is(err, safety.ErrConflict) {
		t.Errorf("resolved twice: %v", err)
	}
}

// While the effect runs, nobody can say how it ended.
func TestResolveWaitsForTheEffect(t *testing.T) {
	for way, guard := range guarding {
		t.Run(way, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, guard.opt)
			var tried atomic.Bool
			h.OnBuy = func() {
				tried.Store(true)
				a := h.Approvals(cgtest.SessionID)[0]
				err := h.CG.Resolve(t.Context(), cgtest.Key(cgtest.SessionID), a.ID, false, "olga", "")
				if !a.InDoubt() || !errors.Is(err, safety.ErrConflict) || !strings.Contains(err.Error(), "under way") {
					t.Errorf("resolved while it runs: %v", err)
				}
			}
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			if a := h.Approvals(cgtest.SessionID)[0]; !tried.Load() || a.State != safety.StateExecuted {
				t.Errorf("tried %t, %s", tried.Load(), a.State)
			}
		})
	}
}

// The history is read by session, and not without a journal.
func TestHistory(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.Unasked)
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	a := h.Approvals(cgtest.SessionID)[0]
	steps, err := h.CG.History(t.Context(), cgtest.Key(cgtest.SessionID), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, s := range steps {
		got = append(got, string(s.To))
		checked := s.To == safety.StateApproved || s.To == safety.StatePermitted
		if s.Run == "" || s.Actor == "" || s.Authenticated || s.Resolved || (s.Check != "") != checked || (s.Verdict == "safe") != checked {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if want := "pending approved permitted executing executed"; strings.Join(got, " ") != want {
		t.Errorf("history %q, want %q", got, want)
	}
	for name, test := range map[string]struct{ session, id string }{"of another session": {"s2", a.ID}, "unknown": {cgtest.SessionID, "unknown"}} {
		if _, err := h.CG.History(t.Context(), cgtest.Key(test.session), test.id); !errors.Is(err, safety.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if err := h.CG.Resolve(t.Context(), cgtest.Key(test.session), test.id, true, "olga", ""); !errors.Is(err, safety.ErrNotFound) {
			t.Errorf("resolving one %s: %v", name, err)
		}
	}

	off, err := contextgraph.Open(t.Context(), contextgraph.Config{Enabled: new(false)}, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = off.Close(context.Background()) }()
	if _, err := off.History(t.Context(), cgtest.Key(cgtest.SessionID), a.ID); !errors.Is(err, contextgraph.ErrDisabled) {
		t.Errorf("history without a journal: %v", err)
	}
	if err := off.Resolve(t.Context(), cgtest.Key(cgtest.SessionID), a.ID, true, "olga", ""); !errors.Is(err, contextgraph.ErrDisabled) {
		t.Errorf("resolved without a journal: %v", err)
	}
}

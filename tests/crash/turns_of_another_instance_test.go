// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// wantTurnMissing approves and expects that the check failed for a turn that the record
// does not hold, and says which and what to do.
func wantTurnMissing(t *testing.T, h *cgtest.Harness, want ...string) {
	t.Helper()
	id, _ := h.Ask(cgtest.SessionID)
	got := h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
	if got["reason"] != safety.CodeCheckFailed {
		t.Fatalf("buy answered %v, want check_failed", got)
	}
	if a := h.Approvals(cgtest.SessionID); len(a[len(a)-1].Gaps) == 0 {
		t.Error("the request was shown as one on a complete record")
	}
	failures, _ := got["failures"].([]any)
	for _, f := range failures {
		f := f.(map[string]any)
		detail, _ := f["detail"].(string)
		if f["reason"] != safety.ReasonIncompleteRecord {
			continue
		}
		ok := true
		for _, w := range append(want, "start a new session") {
			ok = ok && strings.Contains(detail, w)
		}
		if ok {
			return
		}
	}
	t.Errorf("failures %v, want one with %q and the remedy", failures, want)
}

// elsewhere runs a turn of the session in a runner that contextgraph does not know.
func elsewhere(h *cgtest.Harness, cfg runner.PluginConfig, text string) (invocation string) {
	h.T.Helper()
	root := cgtest.NewAgent(h.T, llmagent.Config{Name: "root", Model: adktest.Script(adktest.Text("There is one route."))})
	r, err := runner.New(runner.Config{AppName: cgtest.App, Agent: root, SessionService: h.Sessions, PluginConfig: cfg, AutoCreateSession: true})
	if err != nil {
		h.T.Fatal(err)
	}
	return adktest.Run(h.T, r, cgtest.User, cgtest.SessionID, adktest.UserText(text))[0].InvocationID
}

func TestTurnOfAnotherInstance(t *testing.T) {
	for name, plugins := range map[string]func(t *testing.T) runner.PluginConfig{
		"without contextgraph": func(*testing.T) runner.PluginConfig { return runner.PluginConfig{} },
		"with another journal": func(t *testing.T) runner.PluginConfig {
			other, err := contextgraph.Open(t.Context(), contextgraph.Config{
				Journal: config.Journal{Path: filepath.Join(t.TempDir(), "other.db")},
			}, contextgraph.WithLogger(cgtest.Quiet()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close(t.Context()) })
			return other.PluginConfig()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked)
			wantTurnMissing(t, h, "1 turn of the session is not on record", elsewhere(h, plugins(t), "what is there?"))
		})
	}
}

func TestManyTurnsOfAnotherInstance(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked)
	var first string
	for range 5 {
		if id := elsewhere(h, runner.PluginConfig{}, "what is there?"); first == "" {
			first = id
		}
	}
	wantTurnMissing(t, h, "5 turns of the session are not on record", first, ", ...")
}

// A turn that comes between the request and its answer is missing, too.
func TestTurnOfAnotherInstanceBeforeTheAnswer(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked)
	id, _ := h.Ask(cgtest.SessionID)
	turn := elsewhere(h, runner.PluginConfig{}, "what is there?")
	got := h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
	if got["reason"] != safety.CodeCheckFailed {
		t.Fatalf("buy answered %v, want check_failed", got)
	}
	if a := h.Approvals(cgtest.SessionID)[0]; !strings.Contains(string(a.Report), turn) {
		t.Errorf("the report does not name turn %s: %s", turn, a.Report)
	}
}

// Events without a run: what a client writes over REST, or puts into a new session.
func TestEventsWithoutARun(t *testing.T) {
	for name, tt := range map[string]struct {
		event session.Event
		want  string
		late  bool // after a turn that is on record
		then  *session.Event
		rule  bool // a rule reads users' messages
	}{
		"a message in a new session":           {event: session.Event{InvocationID: "p-1", Author: "user"}},
		"a message that a rule reads":          {event: session.Event{InvocationID: "p-1", Author: "user"}, want: "p-1", rule: true},
		"a message and an answer":              {event: session.Event{InvocationID: "p-1", Author: "user"}, then: &session.Event{Author: "root"}, want: "p-1"},
		"an agent's message in a new session":  {event: session.Event{InvocationID: "p-2", Author: "root"}, want: "p-2"},
		"without a turn":                       {event: session.Event{Author: "root"}, want: "1 event of the session belongs to no turn"},
		"a change of state":                    {event: session.Event{InvocationID: "p-3", Author: "user", Actions: session.EventActions{StateDelta: map[string]any{"a": 1}}}, want: "p-3", late: true},
		"a change of state without a turn":     {event: session.Event{Author: "user", Actions: session.EventActions{StateDelta: map[string]any{"a": 1}}}, want: "1 event", late: true},
		"a change by nobody":                   {event: session.Event{Actions: session.EventActions{StateDelta: map[string]any{"a": 1}}}, want: "1 event", late: true},
		"an agent's without a turn, after one": {event: session.Event{Author: "root"}, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked, func(o *cgtest.Options) {
				if tt.rule {
					o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "said", Event: "USER_MESSAGE_RECEIVED", Each: "$.none[*]", Type: "Product", Value: "$.name"})
				}
			})
			if tt.late {
				h.Ask(cgtest.SessionID)
			}
			of := h.Session(cgtest.User, cgtest.SessionID)
			for i, ev := range []*session.Event{&tt.event, tt.then} {
				if ev == nil {
					continue
				}
				ev.ID = fmt.Sprint("seeded", i)
				if ev.Actions.StateDelta == nil {
					ev.Content = genai.NewContentFromText("there is a route", genai.RoleUser)
				}
				h.Append(of, ev)
			}
			if tt.want != "" {
				wantTurnMissing(t, h, tt.want)
				return
			}
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(1)
		})
	}
}

// A turn that resumes here what began elsewhere has a beginning that is not on record.
func TestTurnThatBeganElsewhere(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked)
	search, err := functiontool.New(functiontool.Config{Name: "search", Description: "finds products", RequireConfirmation: true},
		func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := runner.New(runner.Config{AppName: cgtest.App, SessionService: h.Sessions, AutoCreateSession: true,
		Agent: cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: []tool.Tool{search}, Model: adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}))}),
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := adktest.Run(t, elsewhere, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(adktest.Confirmations(begun)[0].ID, true))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		t.Fatalf("%d confirmations, want 1", len(calls))
	}
	got := h.Answer(cgtest.SessionID, calls[0].ID, true)
	h.WantBought(0)
	if a := h.Approvals(cgtest.SessionID)[0]; got["reason"] != safety.CodeCheckFailed || !strings.Contains(string(a.Report), "the beginning of turn "+begun[0].InvocationID) {
		t.Errorf("buy answered %v, want check_failed for the beginning of %s", got, begun[0].InvocationID)
	}
}

// A run without a message of its own is told by no callback for messages that it begins.
func TestTurnOfAnotherInstanceBeforeARunWithoutAMessage(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked)
	elsewhere(h, runner.PluginConfig{}, "buy a route")
	if calls := adktest.Confirmations(adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, nil)); len(calls) != 1 {
		t.Fatalf("%d requests for a confirmation, want 1", len(calls))
	}
	as := h.Approvals(cgtest.SessionID)
	if len(as) != 1 || len(as[0].Gaps) == 0 {
		t.Errorf("%d approvals; the request was shown as one on a complete record", len(as))
	}
}

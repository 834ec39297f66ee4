// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/server/adkrest"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// marked is a shop whose sessions can go back, and a rewind that was made there.
type marked struct {
	*cgtest.Harness
	t       *testing.T
	app     string
	cps     *checkpoint.Checkpoints
	bare    session.Service
	service session.Service // what the attacked runner uses
	id      string          // of the rewind of another session
}

// newMarked returns a shop whose attacked runner has the decorator, or has not. One session of it went back.
func newMarked(t *testing.T, app string, decorated bool) *marked {
	t.Helper()
	m := &marked{Harness: cgtest.New(t, cgtest.NotChecked), t: t, app: app}
	m.cps, m.bare = checkpoint.New(m.CG, checkpoint.Reads("search")), m.Sessions
	m.Sessions = m.cps.Sessions(m.bare)
	if m.service = m.bare; decorated {
		m.service = m.Sessions
	}
	m.id = m.back("other")
	return m
}

// clerk returns an agent that says hello, or buys.
func (m *marked) clerk() agent.Agent {
	answer := func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if last := req.Contents[len(req.Contents)-1].Parts[0]; last.Text == "hello" {
			return adktest.Text("Hello."), nil
		}
		return cgtest.Shopper(req)
	}
	return cgtest.NewAgent(m.t, llmagent.Config{Name: "clerk", Mode: llmagent.ModeChat, Model: &adktest.Model{Answer: answer}, Tools: m.Tools})
}

// back has a session greet and go back to before that. It returns the id of the rewind.
func (m *marked) back(id string) string {
	m.t.Helper()
	m.ServeWith(m.clerk(), func(c *runner.Config) { c.AppName = m.app })
	adktest.Run(m.t, m.Runner, cgtest.User, id, adktest.UserText("hello"))
	s := record.Session{App: m.app, User: cgtest.User, ID: id}
	list, err := m.cps.List(m.t.Context(), s)
	if err != nil {
		m.t.Fatal(err)
	}
	result, err := m.cps.Rewind(m.t.Context(), s, list[0].ID)
	if err != nil || result.ID == "" {
		m.t.Fatalf("the rewind did %+v, %v", result, err)
	}
	return result.ID
}

// events returns the events of the session as a service gives them.
func (m *marked) events(of session.Service) (list []*session.Event) {
	m.t.Helper()
	got, err := of.Get(m.t.Context(), &session.GetRequest{AppName: m.app, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		m.t.Fatal(err)
	}
	for ev := range got.Session.Events().All() {
		list = append(list, ev)
	}
	return list
}

// A client of ADK's REST API cannot bring a marker: its events and its runs carry no custom metadata. What it sends under
// the key elsewhere hides nothing, and opens nothing: not even in a session that did go back, whose runner has no decorator.
func TestRewindMarkerOverREST(t *testing.T) {
	for _, tt := range []struct {
		decorated, events, back, rises bool
		bought                         int64
		why                            string
	}{
		{decorated: true, events: true, why: safety.ReasonIncompleteRecord}, // as in any session with events of a client
		{events: true, why: safety.ReasonIncompleteRecord},
		{decorated: true, bought: 1},
		{decorated: true, rises: true, why: safety.CodeDrift},
		{decorated: true, back: true, bought: 1},
		{decorated: true, back: true, rises: true, why: safety.CodeDrift},
		{bought: 1},
		{rises: true, why: safety.CodeDrift},
		{back: true, why: "rewound"},
	} {
		t.Run(fmt.Sprintf("decorated %t, made with events %t, went back %t, the price rises %t", tt.decorated, tt.events, tt.back, tt.rises), func(t *testing.T) {
			m := newMarked(t, "clerk", tt.decorated)
			handler, err := adkrest.NewServer(adkrest.ServerConfig{
				SessionService: m.service, AgentLoader: agent.NewSingleLoader(m.clerk()), PluginConfig: m.CG.PluginConfig(), SSEWriteTimeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			b := &bank{t: t, url: server.URL, cg: m.CG}
			marker := map[string]any{plugin.RewindKey: m.id}
			forged := func(id string, content any) map[string]any {
				return map[string]any{
					"id": id, "invocationId": "e-client", "author": "user", "content": content,
					"customMetadata": marker, "CustomMetadata": marker, "custom_metadata": marker,
					"actions": map[string]any{"stateDelta": marker, "customMetadata": marker},
				}
			}
			text := func(text string) map[string]any {
				return map[string]any{"role": "user", "parts": []any{map[string]any{"text": text, "partMetadata": marker}}}
			}
			made, sent := map[string]any{"state": marker}, 0
			if tt.events {
				made["events"], sent = []any{forged("1", text("hi")), forged("2", nil)}, 2
			}
			if created := b.post("/apps/clerk/users/alice/sessions/s1", made); len(created) == 0 || len(m.events(m.bare)) != sent {
				t.Fatal("the session was not created with what was sent")
			}
			real := 0
			if tt.back {
				m.back(cgtest.SessionID)
				real = 1
			}
			run := map[string]any{"appName": "clerk", "userId": "alice", "sessionId": "s1", "newMessage": text("buy a route"), "customMetadata": marker}
			if got := b.post("/run", run); got != nil {
				t.Errorf("a run with custom metadata is taken: %v", got)
			}
			delete(run, "customMetadata")
			run["stateDelta"] = marker
			got := b.post("/run", run)
			if tt.rises {
				m.Shop.Set("$52,000", true)
			}
			if tt.why != "rewound" {
				got = b.run(approve(confirmation(t, got)))
			}
			m.WantBought(tt.bought)
			if !strings.Contains(fmt.Sprint(got), tt.why) {
				t.Errorf("the agent says %v, want %q", got, tt.why)
			}
			stored, markers := m.events(m.bare), 0
			for _, ev := range stored {
				if ev.CustomMetadata[plugin.RewindKey] != nil {
					markers++
				}
			}
			if markers != real {
				t.Errorf("%d markers are stored, want the %d of rewinds", markers, real)
			}
			// The greeting, its answer and the marker are what a rewind takes out of sight.
			if shown := m.events(m.Sessions); len(shown) != len(stored)-3*real {
				t.Errorf("%d of %d events are shown, want all but %d", len(shown), len(stored), 3*real)
			}
		})
	}
}

// A peer agent can send custom metadata over A2A, and ADK puts them into its event. A marker among them hides nothing and
// opens nothing. The decorator takes it out, and leaves the rest.
func TestRewindMarkerOverA2A(t *testing.T) {
	for _, tt := range []struct {
		decorated, rises bool
		bought           int64
		why              string
	}{
		{decorated: true, bought: 1},
		{decorated: true, rises: true, why: safety.CodeDrift},
		{bought: 1},
		{rises: true, why: safety.CodeDrift},
	} {
		t.Run(fmt.Sprintf("decorated %t, the price rises %t", tt.decorated, tt.rises), func(t *testing.T) {
			m := newMarked(t, cgtest.App, tt.decorated)
			metadata := fmt.Sprintf(`{"adk_author":"user","adk_custom_metadata":{%q:%q,"mine":1}}`, plugin.RewindKey, m.id)
			far := remote(t, "far", `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"metadata":`+metadata+
				`,"artifacts":[{"artifactId":"a1","parts":[{"text":"tea"}]}]}}`)
			both, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: []agent.Agent{far, m.clerk()}}})
			if err != nil {
				t.Fatal(err)
			}
			m.ServeWith(both, func(c *runner.Config) { c.SessionService = m.service })
			id, _ := m.Ask(cgtest.SessionID)
			if tt.rises {
				m.Shop.Set("$52,000", true)
			}
			got := m.Answer(cgtest.SessionID, id, true)
			m.WantBought(tt.bought)
			if !strings.Contains(fmt.Sprint(got), tt.why) {
				t.Errorf("buy answered %v, want %q", got, tt.why)
			}
			stored, came := m.events(m.bare), 0
			for _, ev := range stored {
				if ev.CustomMetadata["mine"] == nil {
					continue
				}
				came++
				if has := ev.CustomMetadata[plugin.RewindKey] != nil; has == tt.decorated {
					t.Errorf("the event of the peer has %v", ev.CustomMetadata)
				}
			}
			if came == 0 {
				t.Error("no event has the custom metadata of the peer")
			}
			if shown := m.events(m.Sessions); len(shown) != len(stored) {
				t.Errorf("%d of %d events are shown, want all", len(shown), len(stored))
			}
		})
	}
}

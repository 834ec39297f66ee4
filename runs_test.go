// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A run that ended with an error is complete: what it found can carry an approval.
func TestApprovalAfterARunThatFailed(t *testing.T) {
	failed := false
	h := newHarness(t, func(o *options) {
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" && !failed {
				failed = true
				return nil, errors.New("model offline")
			}
			return shopper(req)
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("what is there?")); err == nil {
		t.Fatal("the first run did not fail")
	}
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	h.wantBought(1)
	rows := h.rows(sess)
	gaps, err := h.cg.Journal().Gaps(t.Context(), key(sess), nil)
	if err != nil || len(gaps) > 0 {
		t.Errorf("gaps = %q, %v; want none", gaps, err)
	}
	checkTree(t, rows)
	if n := len(rowsOf(rows, schema.InvocationError)); n != 1 {
		t.Errorf("%d INVOCATION_ERROR rows, want 1", n)
	}
	g, err := h.cg.Graph(t.Context(), key(sess))
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{schema.InvocationError, schema.AgentError} {
		i := slices.IndexFunc(g.Nodes(), func(n graphsync.TechNode) bool { return slices.Contains(n.EventTypes, typ) })
		if i < 0 {
			t.Errorf("no node has %s", typ)
			continue
		}
		n := g.Nodes()[i]
		want := graphsync.KindInvocation
		if typ == schema.AgentError {
			want = graphsync.KindAgent
		}
		if n.Kind != want || n.Status != schema.StatusError || n.ErrorMessage != "model offline" || len(n.EventTypes) < 2 {
			t.Errorf("%s: node %+v, want the %s of its start, failed", typ, n, want)
		}
	}
}

// An agent run as a tool has a session of its own with a tree of its own.
func TestRowsOfAnAgentTool(t *testing.T) {
	cg, err := contextgraph.Open(context.Background(), contextgraph.Config{
		Journal: contextgraph.JournalConfig{Path: t.TempDir() + "/contextgraph.db"}, Logger: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cg.Close(context.Background()), cg.Stats().Check()); err != nil {
			t.Error(err)
		}
	})
	once := func(name string, args map[string]any) *adktest.Model {
		return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call(name, args), nil
		}}
	}
	newAgent := func(name string, m model.LLM, t1 tool.Tool) agent.Agent {
		a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Model: m, Tools: []tool.Tool{t1}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	count, err := functiontool.New(functiontool.Config{Name: "count"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"n": 7}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counter := newAgent("counter", once("count", map[string]any{}), count)
	root := newAgent("root", once("counter", map[string]any{"request": "count"}), cg.AgentTool(counter, nil))
	r, err := runner.New(runner.Config{
		AppName: app, Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range cg.Run(t.Context(), r, user, sess, adktest.UserText("go"), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cg.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	outer := events(t, cg, key(sess))
	called := rowsOf(outer, schema.ToolCompleted)[0]
	child := contextgraph.Session{
		App: get(t, called.Attributes, "adk", "child_session", "app_name").(string), User: user,
		ID: get(t, called.Attributes, "adk", "child_session", "session_id").(string),
	}
	inner := events(t, cg, child)
	checkTree(t, outer)
	checkTree(t, inner)
	if len(rowsOf(inner, schema.ToolCompleted)) != 1 || inner[0].TraceID != outer[0].TraceID {
		t.Errorf("the rows inside are %v in trace %s, want a tool call in trace %s", types(inner), inner[0].TraceID, outer[0].TraceID)
	}
	for _, s := range []contextgraph.Session{key(sess), child} {
		if gaps, err := cg.Journal().Gaps(t.Context(), s, nil); err != nil || len(gaps) > 0 {
			t.Errorf("gaps of %s: %q, %v; want none", s.App, gaps, err)
		}
		g, err := cg.Graph(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		nodes := g.Nodes()
		if nodes[0].Kind != graphsync.KindInvocation {
			t.Errorf("%s: the first node is %s, want the invocation", s.App, nodes[0].Kind)
		}
		for _, e := range g.Edges() {
			_, from := g.Node(e.From)
			_, to := g.Node(e.To)
			if !from || !to {
				t.Errorf("%s: edge %+v leads out of the graph", s.App, e)
			}
		}
		for _, n := range nodes[1:] {
			if !slices.ContainsFunc(g.Edges(), func(e graphsync.Edge) bool { return e.To == n.Key && e.Kind == graphsync.Contains }) {
				t.Errorf("%s: node %s %s is inside of none", s.App, n.Kind, n.Name)
			}
		}
	}
}

func events(t *testing.T, cg *contextgraph.Instance, s contextgraph.Session) []schema.Event {
	t.Helper()
	rows, err := cg.Journal().Events(t.Context(), s)
	if err != nil || len(rows) == 0 {
		t.Fatalf("events of %+v: %d, %v", s, len(rows), err)
	}
	return rows
}

// What Graph and Why return is the caller's business: no check goes by what becomes of it.
func TestReturnedGraphIsNoEvidence(t *testing.T) {
	price := "$40,000"
	h := newHarness(t, checker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": money(t, price), "availability": entity.Bool(true),
		}}, nil
	}))
	h.ask(sess)
	for range 2 { // read as a whole, and followed
		reasons, err := h.cg.Why(t.Context(), key(sess))
		if err != nil || len(reasons) == 0 {
			t.Fatal(reasons, err)
		}
		for _, r := range reasons {
			r.Entity.Attributes["price"] = money(t, "$52,000")
			for _, e := range r.Entity.Seen {
				e.Attributes["price"] = money(t, "$52,000")
			}
		}
		g, err := h.cg.Graph(t.Context(), key(sess))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range g.Entities() {
			e.Attributes["price"] = money(t, "$52,000")
		}
		for _, known := range g.Sightings() {
			known[0].Entity.Attributes["price"] = money(t, "$52,000")
		}
	}
	id := h.approvals(sess)[0].ConfirmationID
	h.answer(sess, id, false) // so that the check goes by the session
	price = "$52,000"
	if r, err := h.cg.Check(t.Context(), key(sess)); err != nil || r.Verdict() != safety.Drift {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

var shopSession = record.Session{App: "shop", User: "alice", ID: "s1"}

// shopAgent is an agent that searches, then buys behind the gate, with contextgraph
// streaming to a dataset.
type shopAgent struct {
	t      *testing.T
	server *emulator.Server
	cg     *contextgraph.Instance
	runner *runner.Runner
	price  string // what the checker says it is now
}

func newShopAgent(t *testing.T, server *emulator.Server, change func(*cgtest.Config)) *shopAgent {
	t.Helper()
	a := &shopAgent{t: t, server: server, price: "$40,000"}
	money := map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}}
	cfg := cgtest.Config{
		Config: contextgraph.Config{
			Journal:  config.Journal{Path: filepath.Join(t.TempDir(), "journal.db")},
			BigQuery: server.Config(),
			Extract: []config.Extract{
				{Name: "found", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", Attributes: money},
				{Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item"},
			},
		},
		Part: bigquery.With(bigquery.DatasetOptions{
			Client: server.RESTOptions(), Write: server.WriteOptions(), BatchAge: 10 * time.Millisecond,
		}),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		CheckFuncs: map[string]safety.Checker{"Product": safety.CheckerFunc(func(_ context.Context, c entity.Canonical) (safety.State, error) {
			now, err := entity.ParseMoney(a.price, "USD")
			return safety.State{Attributes: map[string]entity.Value{"price": now}, AsOf: time.Now()}, err
		})},
	}
	cfg.BigQuery.Graph.GQL = new(false)
	if change != nil {
		change(&cfg)
	}
	cg, err := cfg.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.cg = cg
	// The emulator loses its way when views are made while rows arrive.
	for !cg.Stats().BigQuery.Ready {
		select {
		case <-t.Context().Done():
			t.Fatalf("the dataset is not made: %v", cg.Stats().BigQuery.InitError)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := cg.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := cg.Stats().Check(); err != nil {
			t.Error(err)
		}
	})
	search := cgtest.NewTool(t, "search", func(agent.Context, struct {
		Query string `json:"query"`
	}) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000"}}}, nil
	})
	buy := cg.Protect(cgtest.NewTool(t, "buy", func(agent.Context, struct {
		Item string `json:"item"`
	}) (map[string]any, error) {
		return map[string]any{"order": "o-1"}, nil
	}))
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		switch last := adktest.LastResponse(req); {
		case last == nil:
			return adktest.Call("search", map[string]any{"query": "routes"}), nil
		case last.Name == "search":
			return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes"}), nil
		}
		return adktest.Text("Done."), nil
	}}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: m, Tools: []tool.Tool{search, buy}})
	if err != nil {
		t.Fatal(err)
	}
	a.runner, err = runner.New(runner.Config{
		AppName: "shop", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ask runs until the agent asks for an approval and returns the request's id.
func (a *shopAgent) ask() string {
	a.t.Helper()
	asked := adktest.Confirmations(adktest.Run(a.t, a.runner, "alice", "s1", adktest.UserText("Buy the best route")))
	if len(asked) != 1 {
		a.t.Fatalf("%d requests for an approval, want 1", len(asked))
	}
	return asked[0].ID
}

// arrive waits until the rows and graphs of everything so far are in the dataset.
func (a *shopAgent) arrive() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Minute)
	defer cancel()
	if err := a.cg.FlushBigQuery(ctx); err != nil {
		a.t.Fatalf("%v; %+v", err, a.cg.Stats().BigQuery)
	}
	names := a.dataset().Names()
	for {
		// What the stats say of graphs may be a second old.
		l, err := cgtest.JournalOf(a.t, a.cg).Outbox(names.Destination()).Backlog(ctx)
		if err != nil {
			a.t.Fatal(err)
		}
		s := a.cg.Stats().BigQuery
		if l.Graphs == 0 && s.Ready {
			if s.GraphError != nil || s.InitError != nil || s.LastError != nil || s.GraphSyncs == 0 {
				a.t.Fatalf("%+v", s)
			}
			return
		}
		select {
		case <-ctx.Done():
			a.t.Fatalf("graphs do not arrive: %+v", s)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (a *shopAgent) dataset() *bigquery.Dataset {
	a.t.Helper()
	cfg := a.server.Config()
	cfg.Graph.GQL = new(false)
	d, err := bigquery.NewDataset(a.t.Context(), cfg, bigquery.DatasetOptions{Client: a.server.RESTOptions(), Write: a.server.WriteOptions()})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = d.Close() })
	return d
}

// A request for an approval brings its session to the dataset without anybody asking:
// the tables are made, the rows stream there, and the graph follows. What is asked there
// has the same answers as here.
func TestRequestRowsGraph(t *testing.T) {
	a := newShopAgent(t, emulator.Start(t), nil)
	id := a.ask()
	a.arrive()
	a.compare()

	a.price = "$52,000"
	adktest.Run(t, a.runner, "alice", "s1", adktest.Answer(id, true))
	a.arrive()
	a.compare()
	verdicts := a.column("SELECT verdict FROM agents.graph_world_change_checks ORDER BY checked_at")
	if !slices.Contains(verdicts, bq.Value("drift")) {
		t.Errorf("verdicts in the dataset: %v", verdicts)
	}
}

// compare holds what the dataset has of the session against what the journal has.
func (a *shopAgent) compare() {
	t := a.t
	t.Helper()
	g, err := a.cg.Graph(t.Context(), shopSession)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"SELECT event_id FROM agents.agent_events":              len(g.Trace().Timeline),
		"SELECT event_id FROM agents.agent_events_unique":       len(g.Trace().Timeline),
		"SELECT node_key FROM agents.graph_tech_nodes":          len(g.Nodes()),
		"SELECT edge_key FROM agents.graph_caused_edges":        len(g.Edges()),
		"SELECT biz_key FROM agents.graph_biz_nodes":            len(g.Entities()),
		"SELECT link_key FROM agents.graph_cross_links":         len(g.Entities()),
		"SELECT event_id FROM agents.v_tool_completed":          count(g, "TOOL_COMPLETED"),
		"SELECT check_id FROM agents.graph_world_change_checks": count(g, "WORLD_CHANGE_CHECK"),
		"SELECT event_id FROM agents.v_llm_request":             count(g, "LLM_REQUEST"),
		"SELECT event_id FROM agents.v_world_change_check":      count(g, "WORLD_CHANGE_CHECK"),
		"SELECT event_id FROM agents.v_invocation_completed":    count(g, "INVOCATION_COMPLETED"),
		"SELECT event_id FROM agents.v_user_message_received":   count(g, "USER_MESSAGE_RECEIVED"),
	} {
		if got := a.column(query); len(got) != want {
			t.Errorf("%s: %d rows, want %d", query, len(got), want)
		}
	}
	why, err := a.cg.Why(t.Context(), shopSession)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := a.dataset().Graph(t.Context(), ask.Scope{Session: shopSession})
	if err != nil {
		t.Fatal(err)
	}
	decision, _ := kept.Decision()
	reasons, err := kept.Why(decision)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said(why), said(reasons)); diff != "" {
		t.Errorf("why (-journal +dataset):\n%s", diff)
	}
}

// said is what a person reads of an answer.
func said(reasons []graphsync.Reason) (out [][]string) {
	for _, r := range reasons {
		line := []string{r.Entity.Type, r.Entity.Value}
		for _, s := range r.Path {
			line = append(line, s.Node.Key, string(s.Edge))
		}
		out = append(out, line)
	}
	return out
}

func count(g *graphsync.Graph, eventType string) (n int) {
	for _, e := range g.Trace().Timeline {
		if e.EventType == eventType {
			n++
		}
	}
	return n
}

func (a *shopAgent) column(query string) (out []bq.Value) {
	return column(a.t, a.server, query)
}

// column runs a query on the emulator and returns the first column of its rows.
func column(t *testing.T, s *emulator.Server, query string) (out []bq.Value) {
	t.Helper()
	for _, row := range table(t, s, query) {
		out = append(out, row[0])
	}
	return out
}

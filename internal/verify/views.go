// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// shown is what verify_view needs.
type shown struct{ View, Key string }

// viewCheck looks whether a view of the table of events shows each row of its type once.
func viewCheck(v warehouse.View) check {
	return check{
		step: stepView, name: v.Name, about: "shows each row once", statements: []string{"verify_view"}, needs: []string{needRows},
		do: func(ctx context.Context, r *run) error {
			return r.shows(ctx, shown{v.Name, "event_id"}, r.demo.sessions, r.demo.of(v.EventType))
		},
	}
}

// relation is a view of the graphs, and the keys that the journal has for it.
type relation struct {
	name, key string
	keys      func(*graphsync.Graph) []string
}

// relations are the views of the graphs.
var relations = []relation{
	{warehouse.GraphSteps, "node_key", nodeKeys},
	{warehouse.TechNodes, "node_key", nodeKeys},
	{warehouse.CausedEdges, "edge_key", func(g *graphsync.Graph) (keys []string) {
		for _, e := range g.Edges() {
			keys = append(keys, warehouse.EdgeKey(e.From, e.Kind, e.To))
		}
		return keys
	}},
	{warehouse.BizNodes, "biz_key", bizKeys},
	{warehouse.CrossLinks, "link_key", bizKeys},
	{warehouse.WorldChangeChecks, "check_id", func(g *graphsync.Graph) (keys []string) {
		for _, e := range g.Trace().Timeline {
			if e.EventType == record.WorldChangeCheck {
				keys = append(keys, e.EventID)
			}
		}
		return keys
	}},
}

func nodeKeys(g *graphsync.Graph) (keys []string) {
	for _, n := range g.Nodes() {
		keys = append(keys, n.Key)
	}
	return keys
}

func bizKeys(g *graphsync.Graph) (keys []string) {
	for _, e := range g.Entities() {
		keys = append(keys, warehouse.BizKey(e.TechNode, e.Type, e.Value))
	}
	return keys
}

func (v relation) check() check {
	return check{
		step: stepView, name: v.name, about: "shows each thing of the graph once", statements: []string{"verify_view"}, needs: []string{needSync},
		do: func(ctx context.Context, r *run) error { return v.agrees(ctx, r, r.demo.sessions) },
	}
}

// agrees looks whether the view shows what the graphs of the journal have.
func (v relation) agrees(ctx context.Context, r *run, sessions []record.Session) error {
	var want []string
	for _, s := range sessions {
		want = append(want, v.keys(r.demo.graphs[s])...)
	}
	return r.shows(ctx, shown{v.name, v.key}, sessions, want)
}

// relationsAgree looks at all views of the graphs.
func (r *run) relationsAgree(ctx context.Context, sessions []record.Session) error {
	for _, v := range relations {
		if err := v.agrees(ctx, r, sessions); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// shows looks whether a view shows the keys of sessions, each as often as it is among them.
func (r *run) shows(ctx context.Context, v shown, sessions []record.Session, want []string) error {
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		ids[i] = s.ID
	}
	rows, err := r.sql.Texts(ctx, "verify_view", v, map[string]any{"sessions": ids})
	if err != nil {
		return err
	}
	got := make([]string, len(rows))
	for i := range rows {
		got[i] = rows[i][0]
	}
	return unordered(want, got)
}

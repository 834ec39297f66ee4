// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bq "cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// Graph returns the newest graph that the dataset has of a session: of each step what the writer has that
// read most rows of it. It is two statements. The first reads the keys of the graphs for the days that they stand
// under, and the second reads these days alone.
//
// The error wraps [ask.ErrNoSessionID] or [ask.ErrUnknownSession] where there is nothing to ask
// about.
func (d *Dataset) Graph(ctx context.Context, s ask.Scope) (ask.SessionGraph, error) {
	s, err := d.checked(s)
	if err != nil {
		return ask.SessionGraph{}, fmt.Errorf("bigquery: %w", err)
	}
	first, last, err := d.days(ctx, s)
	if err != nil {
		return ask.SessionGraph{}, err
	}
	nodes, err := d.nodes(ctx, append(sessionParams(s), param("first_day", first), param("last_day", last)))
	if err != nil {
		return ask.SessionGraph{}, err
	}
	if len(nodes) == 0 {
		return ask.SessionGraph{}, unknownSession(s)
	}
	g, err := warehouse.KeptGraph(s.Session, nodes)
	if err != nil {
		return ask.SessionGraph{}, fmt.Errorf("bigquery: %w", err)
	}
	return ask.SessionGraph{Graph: g, Checks: checksOf(nodes)}, nil
}

// days returns the days of the graphs of a session. The error wraps [ask.ErrUnknownSession] when there is none.
func (d *Dataset) days(ctx context.Context, s ask.Scope) (first, last civil.Date, err error) {
	err = d.query(ctx, askJob("ask_days", append(sessionParams(s), param("from", s.From.UTC()), param("to", s.To.UTC()))), func(r *row) error {
		first, last = value[civil.Date](r, "first"), value[civil.Date](r, "last")
		return nil
	})
	if err == nil && first.IsZero() {
		err = unknownSession(s)
	}
	return first, last, err
}

// nodes reads the steps of a session with all that hangs on them.
func (d *Dataset) nodes(ctx context.Context, params []bq.QueryParameter) (nodes []warehouse.NodeRow, err error) {
	err = d.query(ctx, askJob("ask_graph", params), func(r *row) error {
		var n warehouse.NodeRow
		text, err := json.Marshal(asJSON(r.columns, r.schema))
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if err != nil {
			return fmt.Errorf("step %s: %w", r.text("node_key"), err)
		}
		nodes = append(nodes, n)
		return nil
	})
	return nodes, err
}

// asJSON returns a row, or an element of a column with fields, as a value that package json encodes as the
// table has it: columns that are NULL are left out.
func asJSON(columns map[string]bq.Value, schema bq.Schema) map[string]any {
	out := make(map[string]any, len(columns))
	for _, c := range schema {
		v := columns[c.Name]
		list, repeated := v.([]bq.Value)
		for i, element := range list {
			if of, ok := element.(map[string]bq.Value); ok {
				list[i] = asJSON(of, c.Schema)
			}
		}
		switch text, isText := v.(string); {
		case v == nil, repeated && len(list) == 0:
		case isText && c.Type == bq.JSONFieldType:
			out[c.Name] = json.RawMessage(text)
		default:
			out[c.Name] = v
		}
	}
	return out
}

func unknownSession(s ask.Scope) error {
	return fmt.Errorf("session %s: no graph from %s to %s: %w", s.Session.ID, s.From.Format(time.RFC3339), s.To.Format(time.RFC3339), ask.ErrUnknownSession)
}

// checksOf returns the checks of the steps by time.
func checksOf(nodes []warehouse.NodeRow) (checks []ask.Check) {
	for _, n := range nodes {
		for _, c := range n.Checks {
			checks = append(checks, checkOf(c))
		}
	}
	slices.SortFunc(checks, func(a, b ask.Check) int {
		return cmp.Or(a.CheckedAt.Compare(b.CheckedAt), cmp.Compare(a.ID, b.ID))
	})
	return checks
}

func checkOf(r warehouse.CheckRow) ask.Check {
	c := ask.Check{
		ID: r.CheckID, CheckedAt: r.CheckedAt.UTC(), Verdict: r.Verdict, Stage: r.Stage,
		ApprovalID: r.ApprovalID, ConfirmationID: r.ConfirmationID, CallID: r.CallID, Tool: r.Tool,
		Checked: number(r.EntitiesChecked), Stale: number(r.StaleEntities), Failed: number(r.FailedEntities),
	}
	for _, a := range r.Alerts {
		c.Alerts = append(c.Alerts, ask.Alert(a))
	}
	return c
}

// number returns 0 for NULL.
func number(n *int64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

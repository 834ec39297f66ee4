// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// question is a question with the answer of the dataset and that of the journal, as lines.
type question struct {
	name, about string
	// first are statements that both forms send, then comes name, or name_gql, and with_ in the
	// same form.
	first, with []string
	// onlySQL says that there is no other form.
	onlySQL bool
	needs   string
	answer  func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error)
	journal func(ctx context.Context, r *run) ([]string, error)
}

// questions are the checks of all questions, in the forms that they have.
func questions() (out []check) {
	for _, q := range list {
		out = append(out, q.check(formSQL, "", []string{q.needs}, func(r *run) *bigquery.Dataset { return r.sql }, ask.FormRecursive))
	}
	for _, q := range list {
		if !q.onlySQL {
			out = append(out, q.check(formGQL, "_gql", []string{q.needs, needGraph}, func(r *run) *bigquery.Dataset { return r.gql }, ask.FormGQL))
		}
	}
	return out
}

func (q question) check(form, suffix string, needs []string, of func(*run) *bigquery.Dataset, want ask.Form) check {
	statements := slices.Clone(q.first)
	for _, s := range append([]string{q.name}, q.with...) {
		statements = append(statements, s+suffix)
	}
	shownForm := form
	if q.onlySQL {
		shownForm = ""
	}
	return check{
		step: stepQuestion, name: q.name + suffix, form: shownForm, about: q.about, statements: statements, needs: needs,
		do: func(ctx context.Context, r *run) error {
			expected, err := q.journal(ctx, r)
			if err != nil {
				return err
			}
			got, asked, err := q.answer(ctx, of(r), r)
			switch {
			case err != nil:
				return err
			case asked != want:
				return &AnswerError{Missing: []string{"an answer of the graph: it has none, and " + string(asked) + " SQL gave one"}}
			case len(expected) == 0:
				return fmt.Errorf("verify: %s: the record has no answer", q.name)
			}
			return compare(expected, got)
		},
	}
}

// scope is the session that questions are about.
func (r *run) scope() ask.Scope {
	return ask.Scope{Session: asked, From: r.demo.from(), To: r.demo.to()}
}

// window is a time with all sessions.
func (r *run) window() ask.Window { return ask.Window{From: r.demo.from(), To: r.demo.to()} }

var list = []question{
	{
		name: "ask_reasoning_chain", about: "what the request rests on", first: []string{"ask_days", "ask_session", "ask_nodes"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.ReasoningChain(ctx, ask.ReasoningQuestion{Scope: r.scope()})
			return reasonLines(a.Reasons), a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			reasons, err := r.demo.graph.Why(r.demo.decision)
			return reasonLines(reasons), err
		},
	},
	{
		name: "ask_causal_chain", about: "what came of the first message", first: []string{"ask_days", "ask_origin", "ask_nodes"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.CausalChain(ctx, ask.CausalQuestion{Scope: r.scope(), Node: r.demo.first()})
			return causalLines(a.Steps), a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			return nodeLines(r.demo.graph.Effects(r.demo.first(), graphsync.DefaultHops)), nil
		},
	},
	{
		name: "ask_causal_chain", about: "what led to the request", first: []string{"ask_days", "ask_origin", "ask_nodes"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.CausalChain(ctx, ask.CausalQuestion{Scope: r.scope(), Node: r.demo.decision, Backwards: true})
			return causalLines(a.Steps), a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			return nodeLines(r.demo.graph.Causes(r.demo.decision, graphsync.DefaultHops)), nil
		},
	},
	{
		name: "ask_trace", about: "the session as a tree, and its edges", first: []string{"ask_days", "ask_session", "sync_read_sessions"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.Trace(ctx, r.scope())
			return traceLines(a.Trace, a.Edges), a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			return traceLines(r.demo.graph.Trace(), r.demo.graph.Edges()), nil
		},
	},
	{
		name: "ask_entities", about: "what the session saw before the request", first: []string{"ask_days", "ask_session"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.WorldChangeInputs(ctx, ask.InputsQuestion{Scope: r.scope()})
			return entityLines(a.Entities), a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			return entityLines(entity.Canonicalize(r.demo.seenBefore())), nil
		},
	},
	{
		name: "ask_entity_approvals", about: "which requests rest on one product", needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.EntityAcrossSessions(ctx, ask.EntityQuestion{Window: r.window(), Entity: r.demo.product()})
			var lines []string
			for _, u := range a.Approvals {
				lines = append(lines, fmt.Sprintf("%s %s: %s, %d hops", u.Session.ID, u.Node, u.Value, u.Hops))
			}
			slices.Sort(lines)
			return lines, a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) { return r.demo.uses() },
	},
	{
		name: "ask_waiting", about: "how long people were waited for", needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.WaitingTimes(ctx, r.window())
			var lines []string
			for _, w := range a.Groups {
				lines = append(lines, fmt.Sprintf("%s %s %s: %d requests, %d unpaired, %d answered, %d confirmed, %d accepted, %s",
					w.Kind, w.Agent, w.Tool, w.Requests, w.Unpaired, w.Answered, w.Confirmed, w.Accepted, w.Max.Round(time.Millisecond)))
			}
			slices.Sort(lines)
			return lines, a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) { return r.demo.waits(), nil },
	},
	{
		name: "ask_drift_verdicts", about: "what checks found", with: []string{"ask_drift_alerts"}, needs: needSync,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.DriftStatistics(ctx, r.window())
			var lines []string
			for _, v := range a.Verdicts {
				lines = append(lines, fmt.Sprintf("%s %s: %d safe, %d drift, %d failed; %d of %d changed", v.Day.Format(time.DateOnly), v.Stage, v.Safe, v.Drift, v.Failed, v.Stale, v.Entities))
			}
			for _, c := range a.Changes {
				lines = append(lines, fmt.Sprintf("%s %s %s: %d", c.EntityType, c.Value, c.DriftType, c.Alerts))
			}
			slices.Sort(lines)
			return lines, a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) { return r.demo.drift(), nil },
	},
	{
		name: "ask_verdicts", about: "what came of the request", needs: needSync, onlySQL: true,
		first: []string{"ask_days", "ask_session", "ask_nodes", "ask_reasoning_chain", "ask_answers"},
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			a, err := d.ExplainDecision(ctx, ask.ReasoningQuestion{Scope: r.scope()})
			var lines []string
			for _, c := range a.Checks {
				lines = append(lines, fmt.Sprintf("check %s: %s %s, %d of %d changed, %d alerts", c.ID, c.Stage, c.Verdict, c.Stale, c.Checked, len(c.Alerts)))
			}
			for _, w := range a.Answers {
				lines = append(lines, fmt.Sprintf("answer %s: confirmed %t, accepted %t", w.AnsweredAt.Format(time.RFC3339Nano), w.Confirmed, w.Accepted))
			}
			return lines, a.Form, err
		},
		journal: func(_ context.Context, r *run) ([]string, error) {
			var lines []string
			look := r.demo.looks[asked]
			for _, p := range look.Approvals {
				for _, c := range p.Checks {
					lines = append(lines, fmt.Sprintf("check %s: %s %s, %d of %d changed, %d alerts", look.Rows[c.Row].EventID, c.Stage, c.Verdict, c.Stale, c.Total, len(c.Alerts)))
				}
				for _, w := range p.Answers {
					lines = append(lines, fmt.Sprintf("answer %s: confirmed %t, accepted %t", w.At.Format(time.RFC3339Nano), w.Confirmed, w.Accepted))
				}
			}
			return lines, nil
		},
	},
	{
		name: "list_sessions", about: "the list of sessions", with: []string{"list_rows"}, needs: needRows, onlySQL: true,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			lines, err := sessionLines(ctx, d.Source(bigquery.SourceOptions{Now: r.cfg.Now}))
			return lines, ask.FormRecursive, err
		},
		journal: func(ctx context.Context, r *run) ([]string, error) {
			return sessionLines(ctx, inspect.NewRows("rows", r.demo.rows, inspect.WithClock(r.cfg.Now)))
		},
	},
	{
		name: "sync_read_sessions", about: "all rows of a session", first: []string{"sync_find_sessions"}, needs: needRows, onlySQL: true,
		answer: func(ctx context.Context, d *bigquery.Dataset, r *run) ([]string, ask.Form, error) {
			found, err := d.FindSessions(ctx, record.Session{ID: asked.ID}, r.demo.from(), r.demo.to())
			if err != nil || len(found) != 1 {
				return nil, ask.FormRecursive, cmp.Or(err, compare([]string{"one session"}, []string{fmt.Sprintf("%d sessions", len(found))}))
			}
			rows, err := d.ReadSession(ctx, found[0].Session, r.demo.from(), r.demo.to())
			return rowLines(rows), ask.FormRecursive, err
		},
		journal: func(ctx context.Context, r *run) ([]string, error) {
			rows, err := store.Events(ctx, r.demo.journal, asked)
			return rowLines(rows), err
		},
	},
}

func rowLines(rows []record.Event) (lines []string) {
	for _, e := range rows {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", e.EventID, e.EventType, e.SpanID, e.Time().Format(time.RFC3339Nano)))
	}
	return lines
}

func reasonLines(reasons []graphsync.Reason) (lines []string) {
	for _, r := range reasons {
		line := fmt.Sprintf("%s %s %s, %d hops:", r.Entity.Key, r.Entity.Value, r.Origin, r.Hops)
		for _, s := range r.Path {
			line += " " + s.Node.SpanID
		}
		lines = append(lines, line)
	}
	return lines
}

func nodeLines(nodes []graphsync.TechNode) (lines []string) {
	for _, n := range nodes {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", n.SpanID, n.Kind, n.Name, n.Status))
	}
	return lines
}

func causalLines(steps []ask.CausalStep) (lines []string) {
	nodes := make([]graphsync.TechNode, len(steps))
	for i := range steps {
		nodes[i] = steps[i].Node
	}
	return nodeLines(nodes)
}

func traceLines(t graphsync.Trace, edges []graphsync.Edge) (lines []string) {
	for _, e := range t.Timeline {
		lines = append(lines, "event "+e.EventID)
	}
	var below func(prefix string, spans []*graphsync.SpanNode)
	below = func(prefix string, spans []*graphsync.SpanNode) {
		for _, s := range spans {
			lines = append(lines, "span "+prefix+s.Node.SpanID)
			below(prefix+s.Node.SpanID+"/", s.Children)
		}
	}
	below("", t.Roots)
	for _, e := range edges {
		lines = append(lines, fmt.Sprintf("edge %s %s %s", e.From, e.Kind, e.To))
	}
	return lines
}

func entityLines(es []entity.Canonical) (lines []string) {
	for _, e := range es {
		line := fmt.Sprintf("%s %s, confidence %.3f, seen %d times:", e.Key, e.Value, e.Confidence, len(e.Seen))
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			line += fmt.Sprintf(" %s=%s", name, e.Attributes[name])
		}
		lines = append(lines, line)
	}
	return lines
}

func sessionLines(ctx context.Context, src inspect.Source) ([]string, error) {
	page, err := src.Sessions(ctx, inspect.Query{})
	var lines []string
	for _, s := range page.Sessions {
		lines = append(lines, fmt.Sprintf("%s %s %q: %d events, %d errors, %d approvals, %d tokens", s.Session.ID, s.Status, s.Title, s.Events, s.Errors, s.Approvals, s.Tokens.Total))
	}
	return lines, err
}

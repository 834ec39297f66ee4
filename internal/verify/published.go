// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// publication is a query that was published for the tables of the plugin for Python. Its answer
// over our rows is that of the journal: the same lines, whose parts are the values of the columns.
type publication struct {
	name, about string
	// gql says that it asks the graph, as it needs.
	gql    bool
	needs  string
	params func(d *demo) map[string]any
	// keep says which columns count; nil for all.
	keep []int
	want func(d *demo) []string
}

var publications = []publication{
	{
		name: "verify_adk_turn", about: "the rows of a turn", needs: needRows, params: turn,
		want: func(d *demo) []string {
			return d.lines(inTurn(d), func(e *record.Event, f fields) []string {
				return []string{at(e), e.EventType, e.Agent, f.text("response")}
			})
		},
	},
	{
		name: "verify_adk_spans", about: "how long each call of a turn took", needs: needRows, params: turn,
		want: func(d *demo) []string {
			return d.lines(func(e *record.Event) bool { return inTurn(d)(e) && timed(e) }, func(e *record.Event, f fields) []string {
				return []string{e.SpanID, e.ParentSpanID, e.EventType, at(e), fmt.Sprint(f.ms), cmp.Or(f.text("tool"), "LLM_CALL")}
			})
		},
	},
	{
		name: "verify_adk_errors", about: "the errors of tools", needs: needRows, keep: []int{0, 1, 2},
		want: func(d *demo) []string {
			return d.lines(of(record.ToolError), func(e *record.Event, f fields) []string { return []string{at(e), e.Agent, f.text("tool")} })
		},
	},
	{
		name: "verify_adk_tokens", about: "tokens on average", needs: needRows,
		want: func(d *demo) []string {
			var sum [3]float64
			var n float64
			d.each(of(record.LLMResponse), func(_ *record.Event, f fields) {
				n++
				for i, name := range []string{"total", "prompt", "completion"} {
					sum[i] += f.usage(name)
				}
			})
			return []string{fmt.Sprintf("%.6f|%.6f|%.6f", sum[0]/n, sum[1]/n, sum[2]/n)}
		},
	},
	{
		name: "verify_adk_latency", about: "how long models and tools take on average", needs: needRows,
		want: func(d *demo) []string {
			sum, n := make(map[string]float64), make(map[string]float64)
			d.each(timed, func(e *record.Event, f fields) { sum[e.EventType] += float64(f.ms); n[e.EventType]++ })
			var out []string
			for name := range n {
				out = append(out, fmt.Sprintf("%s|%.6f", name, sum[name]/n[name]))
			}
			return out
		},
	},
	{
		name: "verify_adk_tools", about: "which tools were called how often", needs: needRows, keep: []int{0, 1, 2},
		want: func(d *demo) []string {
			n := make(map[string]int)
			d.each(of(record.ToolCompleted), func(_ *record.Event, f fields) { n[f.text("tool_origin")+"|"+f.text("tool")]++ })
			var out []string
			for name, count := range n {
				out = append(out, fmt.Sprintf("%s|%d", name, count))
			}
			return out
		},
	},
	{
		name: "verify_adk_hitl", about: "requests to people and answers", needs: needRows, keep: []int{0, 1, 2, 3},
		want: func(d *demo) []string {
			return d.lines(func(e *record.Event) bool { return strings.HasPrefix(e.EventType, "HITL_") },
				func(e *record.Event, f fields) []string {
					return []string{at(e), e.EventType, e.SessionID, f.text("tool")}
				})
		},
	},
	{name: "verify_adk_pauses", about: "pauses of tools, over the table", needs: needRows, want: none},
	{name: "verify_adk_pauses_views", about: "pauses of tools, over the views", needs: needRows, want: none},
	{
		name: "verify_seed_freshness", about: "when each entity was seen", needs: needSync, keep: []int{0, 1, 3, 5},
		params: func(*demo) map[string]any { return map[string]any{"session_id": asked.ID} },
		want: func(d *demo) (out []string) {
			times := make(map[string][]string) // of the rows of a step
			for _, e := range d.graph.Trace().Timeline {
				key := graphsync.RowNodeKey(&e)
				times[key] = append(times[key], at(&e))
			}
			for _, e := range d.graph.Entities() {
				for _, when := range times[e.TechNode] {
					out = append(out, strings.Join([]string{e.Type, e.Value, e.SpanID, when}, "|"))
				}
			}
			return out
		},
	},
	{
		name: "verify_seed_trace", about: "the edges of a session", gql: true, needs: needSync, keep: []int{0, 3},
		params: func(*demo) map[string]any { return map[string]any{"session_id": asked.ID} },
		want: func(d *demo) (out []string) {
			for _, e := range d.graph.Edges() {
				from, _ := d.graph.Node(e.From)
				to, _ := d.graph.Node(e.To)
				out = append(out, from.SpanID+"|"+to.SpanID)
			}
			return out
		},
	},
	{
		name: "verify_seed_reasoning", about: "from a message to what was looked at", gql: true, needs: needSync, keep: []int{0, 1, 5},
		params: func(d *demo) map[string]any {
			return map[string]any{"decision_event_type": record.UserMessageReceived, "biz_entity": d.product().Value}
		},
		want: func(d *demo) (out []string) {
			value := d.product().Value
			for _, s := range d.sessions {
				g := d.graphs[s]
				saw := make(map[string]bool)
				for _, e := range g.Entities() {
					saw[e.TechNode] = saw[e.TechNode] || e.Value == value
				}
				for _, n := range g.Nodes() {
					if len(n.EventTypes) == 0 || n.EventTypes[0] != record.UserMessageReceived {
						continue
					}
					for _, step := range g.Effects(n.Key, 20) {
						if saw[step.Key] {
							out = append(out, n.SpanID+"|"+step.SpanID+"|"+value)
						}
					}
				}
			}
			return out
		},
	},
}

// published are the checks of all publications.
func published() (out []check) {
	for _, p := range publications {
		c := check{step: stepPublished, name: p.name, about: p.about, statements: []string{p.name}, needs: []string{p.needs}, do: p.agrees}
		if p.gql {
			c.form, c.needs = formGQL, append(c.needs, needGraph)
		}
		out = append(out, c)
	}
	return out
}

// agrees compares the lines of both sides, each once: the table may hold a row twice, and a
// pattern gives a line for every path.
func (p publication) agrees(ctx context.Context, r *run) error {
	var params map[string]any
	if p.params != nil {
		params = p.params(r.demo)
	}
	rows, err := r.sql.Texts(ctx, p.name, nil, params)
	if err != nil {
		return err
	}
	var got []string
	for _, row := range rows {
		if p.keep != nil {
			kept := make([]string, len(p.keep))
			for i, n := range p.keep {
				kept[i] = row[n]
			}
			row = kept
		}
		got = append(got, strings.Join(row, "|"))
	}
	return compare(once(p.want(r.demo)), once(got))
}

func once(lines []string) []string { return slices.Compact(slices.Sorted(slices.Values(lines))) }

func none(*demo) []string { return nil }

// fields are what a row holds of its content.
type fields struct {
	content map[string]any
	ms      int64
}

func (f fields) text(name string) string {
	s, _ := f.content[name].(string)
	return s
}

func (f fields) usage(name string) float64 {
	usage, _ := f.content["usage"].(map[string]any)
	n, _ := usage[name].(float64)
	return n
}

// each calls f for the rows that are meant.
func (d *demo) each(meant func(*record.Event) bool, f func(*record.Event, fields)) {
	for i := range d.rows {
		e := &d.rows[i]
		if !meant(e) {
			continue
		}
		var of fields
		var latency struct {
			Total float64 `json:"total_ms"`
		}
		// What cannot be read has no fields.
		_ = json.Unmarshal(e.Content, &of.content)
		_ = json.Unmarshal(e.LatencyMS, &latency)
		of.ms = int64(latency.Total)
		f(e, of)
	}
}

// lines are those of the rows that are meant.
func (d *demo) lines(meant func(*record.Event) bool, line func(*record.Event, fields) []string) (out []string) {
	d.each(meant, func(e *record.Event, f fields) { out = append(out, strings.Join(line(e, f), "|")) })
	return out
}

func of(eventType string) func(*record.Event) bool {
	return func(e *record.Event) bool { return e.EventType == eventType }
}

// timed says that a row ends a call of a model or of a tool.
func timed(e *record.Event) bool {
	return e.EventType == record.LLMResponse || e.EventType == record.ToolCompleted
}

// turn is the parameter for the turn of the request.
func turn(d *demo) map[string]any {
	node, _ := d.graph.Node(d.decision)
	return map[string]any{"trace": node.TraceID}
}

func inTurn(d *demo) func(*record.Event) bool {
	trace := turn(d)["trace"]
	return func(e *record.Event) bool { return e.TraceID == trace }
}

func at(e *record.Event) string { return e.Time().UTC().Format(time.RFC3339Nano) }

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/journal"
)

// walks is how many random sessions are recorded. 100 of them take two minutes.
var walks = flag.Uint64("walks", map[bool]uint64{true: 2, false: 10}[raceEnabled], "number of random sessions")

// counted is a journal that counts what is read as a whole and what is published as a
// change.
type counted struct {
	*journal.Journal
	whole, changes atomic.Int64
}

func (c *counted) Events(ctx context.Context, s schema.Session) ([]schema.Event, error) {
	c.whole.Add(1)
	return c.Journal.Events(ctx, s)
}

func (c *counted) PublishChange(ctx context.Context, change graphsync.Change, since graphsync.Mark) (graphsync.Mark, error) {
	mark, err := c.Journal.PublishChange(ctx, change, since)
	if err == nil {
		c.changes.Add(1)
	}
	return mark, err
}

func openJournal(t testing.TB, path string) *counted {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Path: path, CommitInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &counted{Journal: j}
}

// record appends rows, which get their numbers there.
func record(t testing.TB, j *counted, rows []schema.Event) {
	t.Helper()
	for _, e := range rows {
		if e.Seq = 0; !j.Append(e) {
			t.Fatal("row refused")
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// alter changes the file behind the back of those who have it open.
func alter(t testing.TB, path, statement string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"PRAGMA foreign_keys = ON", statement} {
		if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// tables is everything that is stored of graphs, but for row ids and for the times at
// which it was stored.
func tables(t testing.TB, path string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var b strings.Builder
	for _, query := range []string{
		"SELECT * FROM tech_nodes ORDER BY key",
		"SELECT * FROM caused_edges ORDER BY src, kind, dst",
		`SELECT biz_node_id, span_id, session_id, node_type, node_value, confidence, artifact_uri, tech_node_key, app_name, user_id,
			trace_id, event_id, canonical_key, norm, attributes, source, evaluated_at, position, digest
			FROM extracted_biz_nodes ORDER BY tech_node_key, node_type, node_value`,
		`SELECT l.link_id, l.span_id, l.session_id, l.biz_node_id, l.link_type, l.artifact_uri, l.tech_node_key, l.app_name, l.user_id, n.event_id
			FROM context_cross_links AS l LEFT JOIN extracted_biz_nodes AS n ON n.id = l.node ORDER BY l.link_id, l.tech_node_key`,
		"SELECT app_name, user_id, session_id, watermark, rows_read, failed, truncated, version, errors FROM extractions ORDER BY session_id",
	} {
		fmt.Fprintln(&b, query)
		err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			for i := range stmt.ColumnCount() {
				fmt.Fprintf(&b, "%q ", stmt.ColumnText(i))
			}
			fmt.Fprintln(&b)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// answers is all that a graph says, for every node, but for the payloads of its rows.
func answers(t testing.TB, g *graphsync.Graph, r graphsync.Receipt) string {
	t.Helper()
	var b strings.Builder
	line := func(what string, v any, err error) {
		text, jsonErr := json.Marshal(v)
		if jsonErr != nil || err != nil {
			t.Fatal(what, err, jsonErr)
		}
		fmt.Fprintln(&b, what, string(text))
	}
	line("receipt", r, nil)
	for _, n := range g.Nodes() {
		line("node", n, nil)
	}
	line("edges", g.Edges(), nil)
	for _, e := range g.Entities() {
		line("entity", e, nil)
	}
	line("canonical", g.Canonical(), nil)
	for _, k := range g.Sightings() {
		line("sightings", k, nil)
	}
	decision, _ := g.Decision()
	line("decision", decision, nil)
	for _, n := range g.Nodes() {
		evidence, err := g.Evidence(n.Key)
		line("evidence of "+n.SpanID, evidence, err)
		rests, err := g.RestsOn(n.Key)
		line("rests on "+n.SpanID, rests, err)
		why, err := g.Why(n.Key)
		line("why "+n.SpanID, why, err)
		line("causes", g.Causes(n.Key, 3), nil)
		line("effects", g.Effects(n.Key, 3), nil)
	}
	trace := g.Trace()
	for i := range trace.Timeline {
		e := &trace.Timeline[i]
		e.Content, e.ContentParts, e.Attributes, e.LatencyMS = nil, nil, nil, nil
		line("row", e, nil)
	}
	line("roots", len(trace.Roots), nil)
	return b.String()
}

func sameText(t testing.TB, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		line := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return "(nothing)"
		}
		if line(w) != line(g) {
			t.Fatalf("%s, line %d:\nwhole:  %s\nupdate: %s", what, i+1, line(w), line(g))
		}
	}
}

// stroll records rows as an agent may, and as none should: spans that go on long after
// they ended, entities that a span sees again, parents that come late or never, calls and
// confirmations whose ids are used twice, times that run backwards, rows without a span,
// and rows that cannot be read.
type stroll struct {
	*recorder
	rnd   *rand.Rand
	spans []string
	calls []string
	names int
}

func (w *stroll) chance(of int) bool { return w.rnd.IntN(of) == 0 }

// span returns one that was there before, or a new one.
func (w *stroll) span(again int) string {
	if len(w.spans) > 0 && w.chance(again) {
		if late := w.spans[max(0, len(w.spans)-3):]; w.chance(2) {
			return late[w.rnd.IntN(len(late))]
		}
		return w.spans[w.rnd.IntN(len(w.spans))]
	}
	w.names++
	w.spans = append(w.spans, fmt.Sprint("S", w.names))
	return w.spans[len(w.spans)-1]
}

func (w *stroll) call(tool string) string {
	if len(w.calls) > 0 && w.chance(3) {
		return w.calls[w.rnd.IntN(len(w.calls))]
	}
	w.names++
	w.calls = append(w.calls, fmt.Sprintf("c%d=%s", w.names, tool))
	return w.calls[len(w.calls)-1]
}

// step records a row or a few.
func (w *stroll) step() {
	first := len(w.rows)
	parent := w.span(2)
	switch w.rnd.IntN(12) {
	case 0:
		w.turn(fmt.Sprint(w.rnd.IntN(6)), w.span(8))
	case 1:
		w.agent("root", w.span(5), parent)
	case 2, 3:
		w.llm(w.span(6), parent, w.call("query_ad_inventory"), w.call("query_audience"))
	case 4, 5:
		result := placements(fmt.Sprint("Product ", w.rnd.IntN(5)), fmt.Sprint("Product ", w.rnd.IntN(5)))
		result["placements"].([]any)[0].(m)["price"] = w.rnd.IntN(5) * 1000
		w.tool(w.span(2), parent, w.call("query_ad_inventory"), m{}, result)
	case 6:
		var audience any = fmt.Sprint("Audience ", w.rnd.IntN(4))
		if w.chance(4) {
			audience = nil // which the rule refuses
		}
		w.end(w.span(2), parent, "q=query_audience", m{"audience": audience}, nil)
	case 7:
		w.ask(w.span(4), parent, w.call("provision_campaign"), w.span(8), fmt.Sprint("conf", w.rnd.IntN(3)), m{"budget": 1000 * w.rnd.IntN(4)})
	case 8:
		w.answer(fmt.Sprint(w.rnd.IntN(6)), "inv-"+fmt.Sprint(w.rnd.IntN(6)), w.span(5), fmt.Sprint("conf", w.rnd.IntN(3)))
	case 9:
		w.end(w.span(2), parent, "d=other", m{}, m{"entities": []any{m{"type": "Product", "value": fmt.Sprint("Product ", w.rnd.IntN(9)), "confidence": w.rnd.Float64()}}})
	case 10:
		w.branch = []string{"", "a", "a.b", "a.c", "b"}[w.rnd.IntN(5)]
		w.add(schema.ToolPaused, "root", w.span(3), parent, nil, m{"function_call_id": "p"})
	case 11:
		w.add([]string{schema.StateDelta, "SOMETHING_ELSE", schema.NodeOutput, schema.AgentCompleted, schema.LLMError}[w.rnd.IntN(5)], "root", w.span(2), parent, nil, nil)
	}
	for i := first; i < len(w.rows); i++ {
		e := &w.rows[i]
		e.RunSeq = int64(i % 40)
		if w.chance(20) {
			e.RunID, e.EventType = "", schema.WorldChangeCheck
		}
		if w.chance(8) {
			e.InvocationID = []string{"", "inv-x", "a"}[w.rnd.IntN(3)]
		}
		if w.chance(20) {
			e.EventType = schema.InvocationError
		}
		if w.chance(6) {
			e.Timestamp -= int64(w.rnd.IntN(40)) * 1000
		}
		if w.chance(6) {
			e.Status, e.ErrorMessage = schema.StatusError, "broken"
		}
		if w.chance(4) {
			e.LatencyMS = w.json(m{"total_ms": w.rnd.IntN(3)})
		}
		if w.chance(15) {
			e.SpanID = ""
		}
		if w.chance(15) {
			e.ParentSpanID = fmt.Sprint("S", w.names+w.rnd.IntN(3))
		}
		if w.chance(15) {
			e.IsTruncated = true
		}
		if w.chance(25) {
			e.Attributes = []byte(`{"adk":7}`)
		}
	}
}

// ruleSets are configurations that one session can be read with, one after the other.
func ruleSets() [][]graphsync.Rule {
	fewer := adRules()[1:]
	strict := adRules()
	strict[0].ArtifactURI = "" // fails where the price is low
	strict[0].Attributes = map[string]graphsync.AttributeRule{"price": {Path: "$.price", Kind: entity.KindBool}}
	return [][]graphsync.Rule{adRules(), fewer, strict}
}

// TestUpdateIsSync updates random sessions after random rows, and compares what is stored
// and every answer of the graph with what a Syncer makes of all rows at once that knows
// nothing of the session. In between two instances write to one journal, processes begin
// anew and with other rules, a model adds entities, memory is short, and somebody changes
// the file.
func TestUpdateIsSync(t *testing.T) {
	var whole, changes, graphs int64
	for seed := range *walks {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 5))
			dir := t.TempDir()
			oncePath, path := filepath.Join(dir, "once.db"), filepath.Join(dir, "j.db")
			once, instances := openJournal(t, oncePath), []*counted{openJournal(t, path), openJournal(t, path)}
			rules := ruleSets()
			syncers, rule := make([]*graphsync.Syncer, 2), make([]int, 2)
			restart := func(i int) {
				rule[i] = max(0, rnd.IntN(5)-2)
				syncers[i] = graphsync.NewSyncer(instances[i], compile(t, rules[rule[i]]))
				if rnd.IntN(6) == 0 {
					graphsync.SetRemembered(syncers[i], 1+rnd.IntN(80))
				}
			}
			restart(0)
			restart(1)
			// Most of the time one instance works alone and nobody disturbs it, but in every
			// third session much happens.
			calm := 4
			if seed%3 == 2 {
				calm = 1
			}
			which := func() int { return btoi(rnd.IntN(12*calm) == 0) }
			w := &stroll{recorder: &recorder{t: t}, rnd: rnd}
			w.turn("0", "S")
			recorded := 0
			var earlier *graphsync.Graph
			var said string
			for range 30 {
				for range rnd.IntN(4) {
					w.step()
				}
				added := w.rows[recorded:]
				recorded = len(w.rows)
				record(t, instances[which()], added)
				record(t, once, added)
				switch rnd.IntN(14 * calm) {
				case 0:
					restart(which())
				case 1:
					row := w.rows[max(0, len(w.rows)-1-rnd.IntN(6))]
					found := []entity.Entity{{
						Type: "Product", Value: fmt.Sprint("Product ", rnd.IntN(6)), Source: entity.SourceModel, Confidence: rnd.Float64(), EventID: row.EventID,
						TechNode: graphsync.RowNodeKey(&row), SpanID: row.SpanID, SeenAt: time.UnixMicro(row.Timestamp).UTC(),
					}}
					for _, j := range []*counted{instances[which()], once} {
						if err := j.AddEntities(t.Context(), testSession, found); err != nil {
							t.Fatal(err)
						}
					}
				case 2:
					statement := fmt.Sprintf(`UPDATE agent_events SET content = replace(content, 'Product', 'Changed'), agent = 'nobody' WHERE seq = %d`, 1+rnd.IntN(len(w.rows)))
					alter(t, path, statement)
					alter(t, oncePath, statement)
				case 3:
					statement := `DELETE FROM extracted_biz_nodes WHERE position = 1`
					if rnd.IntN(2) == 0 {
						statement = `DELETE FROM tech_nodes WHERE position % 4 = 1`
					}
					alter(t, path, statement)
					alter(t, oncePath, statement)
				}
				i := which()
				sync := syncers[i].Update
				if rnd.IntN(10) == 0 {
					sync = syncers[i].Sync
				}
				got, gotReceipt, err := sync(t.Context(), testSession)
				if err != nil {
					t.Fatal(err)
				}
				want, wantReceipt, err := graphsync.NewSyncer(once, compile(t, rules[rule[i]])).Sync(t.Context(), testSession)
				if err != nil {
					t.Fatal(err)
				}
				graphs++
				if earlier != nil {
					sameText(t, "the graph before", said, answers(t, earlier, graphsync.Receipt{}))
				}
				earlier, said = got, answers(t, got, graphsync.Receipt{})
				sameText(t, "graph", answers(t, want, wantReceipt), answers(t, got, gotReceipt))
				sameText(t, "tables", tables(t, oncePath), tables(t, path))
				gaps, err := once.Gaps(t.Context(), testSession, []string{"1"})
				if err != nil {
					t.Fatal(err)
				}
				diff(t, "gaps", gaps, graphsync.RunGaps(got.Runs(), []string{"1"}))
				graphsync.Remembered(syncers[i], testSession)
			}
			for _, j := range instances {
				whole += j.whole.Load()
				changes += j.changes.Load()
			}
		})
	}
	t.Logf("%d graphs: %d read as a whole, %d updated", graphs, whole, changes)
	if whole+changes != graphs || changes < graphs/3 || whole < graphs/10 {
		t.Errorf("of %d graphs %d were read as a whole and %d updated: the test shows little", graphs, whole, changes)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// wander is a session as agents may record one: some turns, in each of them models that
// ask for calls, agents that hand over to others and run beside each other in branches,
// calls that fail and are made again, tools with agents inside of them, and approvals
// that are asked for, answered in a later run, or forgotten.
type wander struct {
	*story
	rnd   *rand.Rand
	n     int // names spans and calls
	asked []string
}

func newWander(t testing.TB, id string, seed uint64) *wander {
	w := &wander{story: newStory(t, id), rnd: rand.New(rand.NewPCG(seed, 11))}
	w.session.User = "u" + fmt.Sprint(seed%3) // sessions of several users stand side by side
	for turn := range 1 + w.rnd.IntN(3) {
		if len(w.asked) > 0 && w.rnd.IntN(3) > 0 {
			w.resume(turn)
		} else {
			root := w.name("R")
			w.turn(fmt.Sprint("r", turn), root)
			w.work("root", root, 2)
		}
	}
	if w.rnd.IntN(2) == 0 { // two events of one microsecond, and a clock that went back
		// A dataset takes what was recorded in the microsecond of a decision for earlier.
		if i := 1 + w.rnd.IntN(len(w.rows)-1); w.rows[i-1].EventType != record.HITLConfirmationRequest {
			w.rows[i].Timestamp = w.rows[i-1].Timestamp
		}
	}
	return w
}

func (w *wander) name(kind string) string {
	w.n++
	return fmt.Sprint(kind, w.n)
}

func (w *wander) one(of ...string) string { return of[w.rnd.IntN(len(of))] }

// resume answers the last request for an approval in a run of its invocation.
func (w *wander) resume(turn int) {
	confirmation := w.asked[len(w.asked)-1]
	w.asked = w.asked[:len(w.asked)-1]
	confirmed := w.rnd.IntN(3) > 0
	root := w.name("R")
	w.answer(fmt.Sprint("r", turn), "inv-r"+fmt.Sprint(max(turn-1, 0)), root, confirmation, confirmed, time.Duration(w.rnd.IntN(90))*time.Second)
	call, _, _ := strings.Cut(confirmation, "-of-")
	w.check(w.name("W"), root, confirmation, call, w.one("safe", "drift", "unknown"))
	if confirmed {
		agent := w.name("A")
		w.agentSpan("root", agent, root)
		w.tool(w.name("T"), agent, call+"=provision_campaign", m{"budget": "$50,000"}, m{"campaign_id": w.name("c")})
	}
	w.work("root", root, 1)
}

func (w *wander) agentSpan(name, span, parent string) {
	w.add(record.AgentStarting, name, span, parent, "be helpful", nil)
}

// work is an agent that works below a span.
func (w *wander) work(name, parent string, depth int) {
	agent := w.name("A")
	w.agentSpan(name, agent, parent)
	for range 1 + w.rnd.IntN(3) {
		switch w.rnd.IntN(8) {
		case 0: // hands over, and may get back
			if depth > 0 {
				call := w.name("c") + "=transfer_to_agent"
				w.llm(w.name("L"), agent, call)
				w.tool(w.name("X"), agent, call, m{"agent_name": "planner"}, m{})
				w.work("planner", w.one(agent, parent), depth-1)
			}
		case 1: // two beside each other
			if depth > 0 {
				before := w.branch
				for _, b := range []string{"left", "right"} {
					w.branch = strings.TrimPrefix(before+"."+b, ".")
					w.work(b, agent, depth-2)
				}
				w.branch = before
			}
		case 2: // a model that fails and is asked again
			span := w.name("L")
			w.add(record.LLMRequest, "planner", span, agent, m{"prompt": []any{}}, nil)
			e := w.add(record.LLMError, "planner", span, agent, nil, nil)
			e.Status, e.ErrorMessage = record.StatusError, "overloaded"
			w.llm(w.name("L"), agent)
		case 3: // a call that fails and is made again under the same id
			call := w.name("c") + "=query_ad_inventory"
			w.llm(w.name("L"), agent, call)
			for try := range 2 {
				span := w.name("T")
				w.start(span, agent, call, m{})
				if try == 0 {
					e := w.add(record.ToolError, "planner", span, agent, m{"tool": "query_ad_inventory"}, m{".call_id": strings.Split(call, "=")[0]})
					e.Status, e.ErrorMessage = record.StatusError, "timeout"
					continue
				}
				w.end(span, agent, call, w.inventory())
			}
		case 4: // a tool with an agent inside
			call := w.name("c") + "=query_audience"
			w.llm(w.name("L"), agent, call)
			span := w.name("T")
			w.start(span, agent, call, m{})
			if depth > 0 {
				w.work("inner", span, depth-2)
			}
			w.end(span, agent, call, m{"audience": w.one("Runners", "Cyclists", "runners")})
		case 5: // an approval
			call := w.name("c")
			confirmation := call + "-of-" + w.session.ID
			w.llm(w.name("L"), agent, call+"=provision_campaign")
			w.ask(w.name("T"), agent, call+"=provision_campaign", w.name("H"), confirmation,
				m{"budget": fmt.Sprintf("$%d,000", 1+w.rnd.IntN(3)), "placements": w.inventory()["placements"]})
			w.asked = append(w.asked, confirmation)
		case 6: // an approval amid the results of a tool, which says other things afterwards
			call := w.name("c") + "=query_ad_inventory"
			w.llm(w.name("L"), agent, call)
			span, confirmation := w.name("T"), w.name("c")+"-of-"+w.session.ID
			w.start(span, agent, call, m{})
			for range 1 + w.rnd.IntN(2) {
				w.end(span, agent, call, w.found())
			}
			w.request(w.name("H"), span, strings.Split(confirmation, "-")[0], "provision_campaign", confirmation, m{"budget": "$1,000"})
			w.asked = append(w.asked, confirmation)
			w.end(span, agent, call, w.found())
		default: // several calls at once, whose answers come in any order
			var calls, spans []string
			for range 1 + w.rnd.IntN(3) {
				calls, spans = append(calls, w.name("c")+"=query_ad_inventory"), append(spans, w.name("T"))
			}
			w.llm(w.name("L"), agent, calls...)
			args := make([]m, len(calls))
			for i := range calls {
				if args[i] = (m{}); w.rnd.IntN(2) == 0 {
					args[i] = w.inventory()
				}
				w.start(spans[i], agent, calls[i], args[i])
			}
			for _, i := range w.rnd.Perm(len(calls)) {
				if w.rnd.IntN(4) == 0 { // it repeats what it was told, and nothing if that was nothing
					w.end(spans[i], agent, calls[i], args[i])
				} else {
					w.end(spans[i], agent, calls[i], w.inventory())
				}
			}
		}
	}
	w.llm(w.name("L"), agent)
	w.add(record.AgentCompleted, name, agent, parent, nil, nil)
}

func (w *wander) inventory() m {
	return placements(w.one("Instagram Reels", "Strava Routes", "TV"), w.one("instagram  reels", "Podcasts", "Radio"))
}

// found is one product at one of several prices, available or not or not known to be.
func (w *wander) found() m {
	price := 40000 + 1000*w.rnd.IntN(3)
	if w.rnd.IntN(3) == 0 {
		return offer("Instagram Reels", price)
	}
	return offers("Instagram Reels", price, w.rnd.IntN(2) == 0)
}

// Answers from the dataset are those of the journal, for sessions nobody thought of:
// their rows come to the dataset twice and in any order, and the graph made of them is
// that of the journal; the answers are asked of what was brought there.
func TestRandomSessionsEqualTheJournal(t *testing.T) {
	const atOnce = 8 // an emulator gets slower with every statement
	var reasons, sessions int
	for seed := range testsize.Seeds(t, 1, 8) {
		var wanders []*wander
		for n := seed << 16; len(wanders) < atOnce; n++ {
			// Others say little, or take the emulator too long.
			if w := newWander(t, fmt.Sprint("w", n), n); len(w.rows) > 15 && len(w.rows) < 36 {
				wanders = append(wanders, w)
			}
		}
		sessions += atOnce
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { reasons += equalTheJournal(t, wanders) })
	}
	if reasons < sessions {
		t.Errorf("only %d reasons for %d sessions", reasons, sessions)
	}
}

// equalTheJournal brings sessions to a dataset and asks it and the journal the same. It returns the
// number of reasons.
func equalTheJournal(t *testing.T, wanders []*wander) (reasons int) {
	server := emulator.Start(t)
	cfg := server.Config()
	cfg.Graph.GQL = new(false)
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: server.RESTOptions(), Write: server.WriteOptions(),
		Now: func() time.Time { return time.UnixMicro(baseTime).Add(24 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := bq.NewClient(t.Context(), emulator.Project, server.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: t.TempDir() + "/journal.db"}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	sessions := graphsync.NewSessions(j, rules(t))

	var events []m
	for _, w := range wanders {
		w.t = t
		for _, e := range w.rows {
			j.Append(e)
		}
		late := slices.Concat(w.rows, w.rows[len(w.rows)/2:])
		w.rnd.Shuffle(len(late), func(a, b int) { late[a], late[b] = late[b], late[a] })
		for _, e := range late {
			row := eventJSON(e)
			if e.ErrorMessage != "" {
				row["error_message"] = e.ErrorMessage
			}
			events = append(events, row)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	load(t, client, server, config.Default().BigQuery.Table, events)

	var all []warehouse.SessionGraph
	journals := make(map[string]*graphsync.Graph)
	for i, w := range wanders {
		folded, err := sessions.Fold(t.Context(), w.session)
		if err != nil {
			t.Fatal(err)
		}
		journals[w.session.ID] = folded.Graph()
		want, err := warehouse.NewSessionGraph(w.session, folded)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.ReadSession(t.Context(), w.session, time.UnixMicro(baseTime), time.UnixMicro(baseTime).Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		got, err := warehouse.NewSessionGraph(w.session, graphsync.Fold(rules(t), rows))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(texts(t, want.Nodes), texts(t, got.Nodes)); diff != "" {
			t.Fatalf("session %s: graph of the journal (-) and of the dataset (+):\n%s", w.session.ID, diff)
		}
		if i < 2 { // the version before is there too
			early, err := warehouse.NewSessionGraph(w.session, graphsync.Fold(rules(t), w.rows[:len(w.rows)/2]))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, from(early, warehouse.WriterJournal, j.ID(), 1))
		}
		all = append(all, from(got, warehouse.WriterJournal, j.ID(), 2))
	}
	appendGraphs(t, server, all...)

	for _, w := range wanders {
		g := journals[w.session.ID]
		got, err := d.Graph(t.Context(), ask.Scope{Session: w.session})
		if err != nil {
			t.Fatal(err)
		}
		reasons += equal(t, g, got.Graph)
		shows(t, client, server, w.session, g)
		if t.Failed() {
			t.Fatalf("session %s of %d rows", w.session.ID, len(w.rows))
		}
	}
	return reasons
}

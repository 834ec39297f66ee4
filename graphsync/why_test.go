// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestWhyThroughADelegate(t *testing.T) {
	r := delegate(t)
	want := []string{
		"Budget $50,000 0: (action) H",
		"Product Instagram Reels 4: T1 > L3 > X2 > L4 > T3 / H",
		"Product Strava Routes 4: T1 > L3 > X2 > L4 > T3 / H",
		"Targeting Runners 4: T2 > L3 > X2 > L4 > T3 / H",
	}
	g := build(t, r.rows)
	decision, ok := g.Decision()
	if !ok || decision != r.key("H") {
		t.Fatalf("decision %s, %t, want the span H", decision, ok)
	}
	diff(t, "why", want, why(t, g, decision))

	// What happens after the decision, even on the way back to it, changes nothing.
	resumed(r)
	diff(t, "why after the run went on", want, why(t, build(t, r.rows), decision))
	first, _ := g.Node(r.key("T1"))
	r.run, r.inv = "1", ""
	later := r.add(record.StateDelta, "root", "T1", "P", m{}, nil).EventID
	r.found(later, m{"type": "Product", "value": "Said Later"})
	r.found(first.EventIDs[0], m{"type": "Product", "value": "Said Before"})
	want = slices.Insert(want, 2, "Product Said Before 4: (named) T1 > L3 > X2 > L4 > T3 / H")
	diff(t, "why with a model's entities", want, why(t, build(t, r.rows), decision))
}

func TestWhyOfAResumedCall(t *testing.T) {
	r := delegate(t)
	resumed(r)
	g := build(t, r.rows)
	diff(t, "resumes", []string{"H>R2"}, edges(g, graphsync.Resumes))
	want := []string{
		"Budget $50,000 0: (action) T3b",
		"Product Instagram Reels 4: T1 > L3 > X2 > L4 > T3b",
		"Product Strava Routes 4: T1 > L3 > X2 > L4 > T3b",
		"Targeting Runners 4: T2 > L3 > X2 > L4 > T3b",
	}
	diff(t, "why of the resumed call", want, why(t, g, r.key("T3b")))
	// The approved plan is one resumes edge and two spans away from the later call.
	want = []string{
		"Product Too Late 0: T4",
		"Budget $50,000 1: (named) T3 / H ~ R2 / A3 / T4",
		"Product Instagram Reels 5: T1 > L3 > X2 > L4 > T3 / H ~ R2 / A3 / T4",
		"Product Strava Routes 5: T1 > L3 > X2 > L4 > T3 / H ~ R2 / A3 / T4",
		"Targeting Runners 5: T2 > L3 > X2 > L4 > T3 / H ~ R2 / A3 / T4",
	}
	diff(t, "why of a call after the resumed one", want, why(t, g, r.key("T4")))
	diff(t, "why of the turn that answers", []string{"Budget $50,000 1: (named) T3 / H ~ R2"}, why(t, g, r.key("R2"), graphsync.WithHops(1)))
}

func TestHopLimit(t *testing.T) {
	r := delegate(t)
	g := build(t, r.rows)
	for hops, want := range map[int]int{0: 1, 1: 1, 3: 1, 4: 4, 20: 4} {
		if got := why(t, g, r.key("H"), graphsync.WithHops(hops)); len(got) != want {
			t.Errorf("%d hops give %q, want %d reasons", hops, got, want)
		}
	}
	if _, err := g.Why(r.key("H"), graphsync.WithHops(-1)); err == nil {
		t.Error("a negative hop limit was accepted")
	}

	long := longRun(t, 15)
	g = build(t, long.rows)
	for hops, want := range map[int]int{graphsync.DefaultHops: 11, 28: 15, 30: 16} {
		if got := why(t, g, long.key("H"), graphsync.WithHops(hops)); len(got) != want {
			t.Errorf("%d hops give %d reasons, want %d", hops, len(got), want)
		}
	}
	diff(t, "the default", why(t, g, long.key("H"), graphsync.WithHops(graphsync.DefaultHops)), why(t, g, long.key("H")))
}

func TestUnknownNodes(t *testing.T) {
	g := build(t, delegate(t).rows)
	if _, ok := g.Node("nothing"); ok || g.Causes("nothing", 1) != nil {
		t.Error("an unknown key has a node, or causes")
	}
	if _, err := g.Why("nothing"); !errors.Is(err, graphsync.ErrUnknownNode) {
		t.Errorf("why of an unknown node: %v", err)
	}
	if _, ok := graphsync.Fold(nil, nil).Graph().Decision(); ok {
		t.Error("an empty session has a decision")
	}
}

func TestDuplicatesCountOnce(t *testing.T) {
	r := delegate(t)
	want := build(t, r.rows)
	var rows []record.Event
	for _, e := range r.rows {
		rows = append(rows, e, e)
		if e.EventType == record.LLMResponse { // streamed in three chunks
			for i := range 2 {
				chunk := e
				chunk.EventID = fmt.Sprint(e.EventID, i)
				rows = append(rows, chunk)
			}
		}
	}
	got := build(t, rows)
	diff(t, "edges", want.Edges(), got.Edges())
	diff(t, "entities", want.Entities(), got.Entities())
	diff(t, "why", why(t, want, r.key("H")), why(t, got, r.key("H")))
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	r := delegate(t)
	resumed(r)
	for _, numbered := range []bool{true, false} {
		rows := slices.Clone(r.rows)
		for i := range rows {
			// Ties: with a number the time says nothing, without one three steps share a time.
			if numbered {
				rows[i].Timestamp = baseTime
			} else {
				rows[i].Seq = 0
				rows[i].Timestamp = baseTime + int64(i/3)*1000
			}
		}
		first := build(t, rows)
		for seed := range uint64(20) {
			mixed := slices.Clone(rows)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			g := build(t, mixed)
			diff(t, "nodes", first.Nodes(), g.Nodes())
			diff(t, "edges", first.Edges(), g.Edges())
			diff(t, "entities", first.Entities(), g.Entities())
			diff(t, "why", why(t, first, r.key("H")), why(t, g, r.key("H")))
			diff(t, "timeline", first.Trace().Timeline, g.Trace().Timeline)
			if t.Failed() {
				t.Fatalf("numbered %t, seed %d", numbered, seed)
			}
		}
	}
}

// A reason tells all that was learned of a thing, from its nearest sighting on.
func TestCanonicalReason(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.llm("L1", "R", "a=query_ad_inventory")
	r.tool("T1", "R", "a=query_ad_inventory", m{}, placements("Reels"))
	r.llm("L2", "R", "b=query_ad_inventory")
	r.tool("T2", "R", "b=query_ad_inventory", m{}, m{"placements": []any{m{"name": "REELS", "price": "$52,000"}}})
	r.llm("L3", "R", "c=provision_campaign")
	r.ask("T3", "R", "c=provision_campaign", "H", "conf", m{"budget": "50,000.00 USD"})
	g := build(t, r.rows)
	diff(t, "why", []string{"Budget $50,000 0: (action) H", "Product REELS 2: T2 > L3 > T3 / H"}, why(t, g, r.key("H")))
	reels := evidence(t, g, r.key("H"))[1]
	price, _ := entity.Money("52000", "USD")
	diff(t, "attributes", map[string]entity.Value{"price": price, "availability": entity.Bool(true)}, reels.Attributes)
	if len(reels.Seen) != 2 {
		t.Errorf("%d sightings, want 2", len(reels.Seen))
	}
}

// chatter is a session in which users, arguments, states, failed tools and results speak of
// a few things again and again, with requests to act on them.
func chatter(t *testing.T, seed uint64) *recorder {
	rnd := rand.New(rand.NewPCG(seed, 3))
	r := &recorder{t: t}
	product := func() m { return m{"name": fmt.Sprint("P", rnd.IntN(4)), "price": 1 + rnd.IntN(9)} }
	and := func(p m) m { // with another one
		other := product()
		for other["name"] == p["name"] {
			other = product()
		}
		return m{"products": []any{p, other}}
	}
	for turn := range 3 {
		root := fmt.Sprint("R", turn)
		r.turn(fmt.Sprint(turn), root)
		r.agent("root", "A"+root, root)
		for step := range 7 {
			r.branch = []string{"", "", "par.a", "par.b"}[rnd.IntN(4)]
			id := fmt.Sprintf("%d.%d", turn, step)
			switch rnd.IntN(5) {
			case 0:
				r.llm("L"+id, "A"+root, id+"=search")
				r.tool("T"+id, "A"+root, id+"=search", m{}, and(product()))
				if rnd.IntN(2) == 0 { // the tool speaks of it in a state as well
					r.add(record.StateDelta, "root", "T"+id, "A"+root, and(product()), nil)
				}
			case 1: // its result may repeat its arguments, in all it says or in a part
				p := product()
				r.llm("L"+id, "A"+root, id+"=quote")
				r.tool("T"+id, "A"+root, id+"=quote", p, and(p))
			case 2:
				r.add(record.StateDelta, "root", "A"+root, root, m{"products": []any{product()}}, nil)
			case 3:
				p := product()
				r.llm("L"+id, "A"+root, id+"=buy")
				r.ask("T"+id, "A"+root, id+"=buy", "H"+id, "conf"+id, p)
				if rnd.IntN(2) == 0 { // the tool says more of it after it asked
					r.end("T"+id, "A"+root, id+"=buy", and(p), nil)
				}
			case 4:
				r.add(record.UserMessageReceived, "root", root, "", m{"products": []any{product()}}, nil)
			}
		}
	}
	return r
}

func chatterRules(t *testing.T) []config.Extract {
	const product = "value: $.name, attributes: {price: {path: $.price, type: number}}, "
	const listed = product + "each: '$.products[*]', "
	return rulesOf(t, listed+"tool: search\n"+
		listed+"tool: quote\n"+
		listed+"tool: buy\n"+
		listed+"in: content, event: STATE_DELTA\n"+
		listed+"in: content, event: USER_MESSAGE_RECEIVED\n"+
		product+"in: args, tool: quote\n"+
		product+"in: action, tool: buy")
}

// sightingsOf returns what each row of the chatter shows or names, in the order of the rows.
func sightingsOf(t *testing.T, rules []config.Extract, rows []record.Event) (out []entity.Entity) {
	t.Helper()
	x := compile(t, rules)
	asked := make(map[string]string) // the price in the arguments of a call, by its span
	for _, e := range rows {
		var content struct {
			Args struct {
				Price *json.Number `json:"price"`
			} `json:"args"`
		}
		if err := json.Unmarshal(e.Content, &content); err == nil && content.Args.Price != nil {
			asked[graphsync.RowNodeKey(&e)] = content.Args.Price.String()
		}
		found, err := x.Found(e, graphsync.Call{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			if _, isSet := entity.ElementOf(s.Type); isSet { // no call of these is Replayable
				continue
			}
			if s.Source == entity.SourceRule && s.Attributes["price"].String() == asked[s.TechNode] {
				s.Echoes = []string{"price"}
			}
			out = append(out, s)
		}
	}
	return out
}

// Every path begins where the rule says, is one of the shortest from there, and the values
// are those that were learned: all of it worked out once more, row by row and edge by edge.
func TestWhyLeadsToWhatWasLearned(t *testing.T) {
	origins := make(map[graphsync.Origin]int)
	seeds, farther, kept := 0, 0, 0
	for seed := range testsize.Seeds(t, 10, 400) {
		seeds++
		r := chatter(t, seed)
		g := fold(t, chatterRules(t), r.rows).Graph()
		found := sightingsOf(t, chatterRules(t), r.rows)
		row := make(map[string]int)
		for i, e := range r.rows {
			row[e.EventID] = i
		}
		latest := ""
		for _, decision := range g.Nodes() {
			if decision.Kind != graphsync.KindHITL {
				continue
			}
			latest = decision.Key
			distance := distances(g, decision.Key)
			request := row[decision.EventIDs[0]]
			type from struct {
				origin graphsync.Origin
				cost   [2]int
			}
			best := make(map[string]from)
			nearest := make(map[string][2]int)
			read, words := make(map[string]string), make(map[string]string)
			for _, s := range found {
				cost, led := distance[s.TechNode]
				if !led || row[s.EventID] > request {
					continue
				}
				node, _ := g.Node(s.TechNode)
				key, price := s.CanonicalKey(), s.Attributes["price"].String()
				at := from{graphsync.OriginNamed, cost}
				switch {
				case s.Source == entity.SourceRule && len(s.Echoes) == 0:
					at.origin, read[key] = graphsync.OriginResult, price
				case node.CallID == decision.CallID:
					at, words[key] = from{graphsync.OriginAction, [2]int{}}, price
				default:
					words[key] = price
				}
				if old, known := nearest[key]; !known || slices.Compare(cost[:], old[:]) < 0 {
					nearest[key] = cost
				}
				old, known := best[key]
				if !known || at.origin < old.origin || at.origin == old.origin && slices.Compare(at.cost[:], old.cost[:]) < 0 {
					best[key] = at
				}
			}
			reasons, err := g.Why(decision.Key, graphsync.WithHops(len(r.rows)))
			if err != nil {
				t.Fatal(err)
			}
			if len(reasons) != len(best) {
				t.Errorf("seed %d, %s: %d reasons, want %d", seed, decision.SpanID, len(reasons), len(best))
			}
			for _, reason := range reasons {
				key := reason.Entity.Key
				want := best[key]
				hops := 0
				for i, s := range reason.Path {
					if s.Edge != "" && s.Edge != graphsync.Contains {
						hops++
					}
					if i+1 < len(reason.Path) && !slices.Contains(g.Edges(), graphsync.Edge{From: s.Node.Key, To: reason.Path[i+1].Node.Key, Kind: s.Edge}) {
						t.Errorf("seed %d, %s, %s: no edge leads on from %s", seed, decision.SpanID, key, s.Node.SpanID)
					}
				}
				first, last := reason.Path[0].Node, reason.Path[len(reason.Path)-1].Node
				if got := (from{reason.Origin, [2]int{hops, len(reason.Path) - 1}}); got != want || reason.Hops != hops || last.Key != decision.Key {
					t.Errorf("seed %d, %s, %s: %+v from %s, want %+v", seed, decision.SpanID, key, got, first.SpanID, want)
				}
				if reason.Origin == graphsync.OriginResult && !slices.ContainsFunc(found, func(s entity.Entity) bool {
					return s.TechNode == first.Key && s.CanonicalKey() == key && s.Source.Reading() && len(s.Echoes) == 0 && row[s.EventID] <= request
				}) {
					t.Errorf("seed %d, %s: no result of %s shows %s", seed, decision.SpanID, first.SpanID, key)
				}
				value, learned := read[key]
				if !learned {
					value = words[key]
				}
				if got := reason.Entity.Attributes["price"].String(); got != value {
					t.Errorf("seed %d, %s: %s for %s, want %s", seed, decision.SpanID, key, got, value)
				}
				origins[reason.Origin]++
				if old := nearest[key]; slices.Compare(want.cost[:], old[:]) > 0 {
					farther++
				}
				if learned && words[key] != "" && words[key] != value {
					kept++
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		if d, _ := g.Decision(); d != latest {
			t.Errorf("seed %d: the decision is %s, want the latest request, %s", seed, d, latest)
		}
	}
	if seeds > 1 && (len(origins) != 3 || farther < seeds || kept < seeds) {
		t.Errorf("little was tried: origins %v, %d paths that are not from the nearest sighting, %d values kept from words", origins, farther, kept)
	}
}

// distances returns the fewest hops, and of those the fewest edges, from each node to one,
// by going over all edges until nothing changes.
func distances(g *graphsync.Graph, to string) map[string][2]int {
	out := map[string][2]int{to: {}}
	for changed := true; changed; {
		changed = false
		for _, e := range g.Edges() {
			cost, led := out[e.To]
			if !led {
				continue
			}
			cost[1]++
			if e.Kind != graphsync.Contains {
				cost[0]++
			}
			if old, known := out[e.From]; !known || slices.Compare(cost[:], old[:]) < 0 {
				out[e.From], changed = cost, true
			}
		}
	}
	return out
}

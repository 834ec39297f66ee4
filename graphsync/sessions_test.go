// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A session is folded once, and anew where its first or its last row is gone.
func TestSessionsStartAnew(t *testing.T) {
	r := &recorder{t: t}
	r.find("c1", "d1", item("a", 40))
	r.find("c2", "d2", item("b", 9))
	r.find("c3", "d3", item("c", 1))
	more := r.find("c4", "d4", item("d", 2)).Seq
	id := func(n int) string { return r.rows[n].EventID }
	const rows = 6 // that are there at first
	for name, test := range map[string]struct {
		remove []string
		more   bool
		after  []int64 // the rows after which rows are read then
		want   []string
	}{
		"nothing changed":      {nil, false, nil, []string{"a price $40*", "b price $9*", "c price $1*"}},
		"more rows":            {nil, true, []int64{rows}, []string{"a price $40*", "b price $9*", "c price $1*", "d price $2*"}},
		"the first row":        {[]string{id(0)}, false, []int64{0}, []string{"a price $40", "b price $9*", "c price $1*"}},
		"the first rows":       {[]string{id(0), id(1)}, false, []int64{0}, []string{"b price $9*", "c price $1*"}},
		"the last row":         {[]string{id(5)}, false, []int64{0}, []string{"a price $40*", "b price $9*"}},
		"the last, more after": {[]string{id(5)}, true, []int64{0}, []string{"a price $40*", "b price $9*", "d price $2*"}},
		"all rows":             {[]string{id(0), id(1), id(2), id(3), id(4), id(5)}, false, nil, []string{}},
		"all rows, more after": {[]string{id(0), id(1), id(2), id(3), id(4), id(5)}, true, []int64{0}, []string{"d price $2*"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(growing)
			store.add(r.rows[:rows]...)
			ss := graphsync.NewSessions(store, compile(t, priceRules()))
			if _, err := ss.Select(t.Context(), testSession, record.Decision{}); err != nil {
				t.Fatal(err)
			}
			store.remove(test.remove...)
			if test.more {
				store.add(r.rows[rows:more]...)
			}
			store.asked = nil
			sel, err := ss.Select(t.Context(), testSession, record.Decision{})
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "readings", test.want, tell(sel.Entities))
			diff(t, "rows were read after", test.after, store.asked)
		})
	}
}

// eventful is a session of which many rows say something of other rows, and an action to decide on.
func eventful(t *testing.T, seed uint64) (*recorder, record.Decision) {
	random := rand.New(rand.NewPCG(seed, 5))
	r := &recorder{t: t}
	name := func() string { return string(rune('a' + random.IntN(4))) }
	list := func() m { return items(item(name(), random.IntN(3)), item("z"+name(), 7)) }
	digest := func() string { return fmt.Sprint("d", random.IntN(3)) }
	var ended, answers []string
	runSeq := make(map[string]int64)
	for range 10 + random.IntN(25) {
		r.run = fmt.Sprint("run", random.IntN(2))
		before := len(r.rows)
		switch random.IntN(12) {
		case 0, 1, 2:
			d := digest()
			ended = append(ended, r.find(fmt.Sprint("c", random.IntN(4)), d, list()["items"].([]m)...).EventID)
		case 3: // overlaps with the next calls, or never ends
			r.start(fmt.Sprint("S", len(r.rows)), "A", "x=find", m{"price": random.IntN(3)})
		case 4:
			ended = append(ended, r.tooled("find", m{"price": random.IntN(3)}, list(), m{"entities": []m{declares(name())}}).EventID)
		case 5:
			r.failed("buy", random.IntN(2) == 0, name())
		case 6:
			if len(ended) > 0 {
				r.add(record.ToolResultRewritten, "", "", "", m{"tool": "find", "result": list()}, m{"adk.of": ended[random.IntN(len(ended))], "adk.result": digest()})
			}
		case 7:
			if len(r.rows) > 0 {
				r.found(r.rows[random.IntN(len(r.rows))].EventID, declares(name()))
			}
		case 8:
			shown := m{
				"results": []m{{"tool": "find", "call": fmt.Sprint("c", random.IntN(4)), "result": digest()}},
				"words":   []m{{"by": "A", "said": digest()}},
			}
			if len(answers) > 0 {
				shown["base"] = answers[random.IntN(len(answers))]
			}
			answers = append(answers, r.add(record.LLMResponse, "", fmt.Sprint("L", len(r.rows)), "A", m{"response": "..."}, m{
				"adk.shown": shown, "adk.said": []string{digest()}, "function_calls": []m{{"id": fmt.Sprint("call", random.IntN(4)), "name": "buy"}},
			}).EventID)
		case 9:
			r.add(record.UserMessageReceived, "", "R", "", m{"name": name()}, nil)
		case 10:
			r.add(record.NodeOutput, "", "N", "A", m{}, m{"adk.node": m{"path": "w/n@1"}})
		default:
			r.add(record.StateDelta, "", "A", "", m{}, nil)
		}
		for i := before; i < len(r.rows); i++ {
			if e := &r.rows[i]; e.RunID != "" && random.IntN(20) > 0 {
				runSeq[e.RunID]++
				e.RunSeq = runSeq[e.RunID]
			}
		}
	}
	for range random.IntN(4) { // what says nothing of things
		if random.IntN(2) == 0 {
			r.add(record.StateDelta, "", "A", "", m{}, nil)
		} else {
			r.start("S", "A", "x=find", m{})
		}
	}
	d := buying(name())
	switch random.IntN(4) {
	case 0:
		if len(answers) > 0 {
			d.Answer = answers[random.IntN(len(answers))]
		}
	case 1:
		e := r.rows[random.IntN(len(r.rows))]
		d.Run, d.After = e.RunID, e.EventID
	}
	if random.IntN(3) == 0 {
		d.UpTo = r.rows[random.IntN(len(r.rows))].Seq
	}
	return r, d
}

// The same rows give the same selection, in whatever pieces they come.
func TestSelectionOfRowsInPieces(t *testing.T) {
	x := compile(t, choiceRules())
	seeds, read, waited, left := 0, 0, 0, 0
	for seed := range testsize.Seeds(t, 60, 5000) {
		seeds++
		r, d := eventful(t, seed)
		want := graphsync.Fold(x, r.rows).Select(d, "inv-run0")
		read += len(want.Entities)
		left += want.NotChosen.Total
		check := func(way string, ss *graphsync.Sessions, opts ...cmp.Option) {
			t.Helper()
			got, err := ss.Select(t.Context(), testSession, d, "inv-run0")
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, way, err)
			}
			if diff := cmp.Diff(want, got, opts...); diff != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s", seed, way, diff)
			}
		}
		mixed := slices.Clone(r.rows)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		check("rows in hand", graphsync.NewSessions(graphsync.RowsOf(mixed), x))
		for _, chunk := range []int{1, 7, 0} {
			rows := &growing{chunk: chunk}
			rows.add(r.rows...)
			ss := graphsync.NewSessions(rows, x)
			check(fmt.Sprint("chunks of ", chunk), ss)
			check(fmt.Sprint("chunks of ", chunk, ", again"), ss)
			folded, err := ss.Fold(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "a fold", want, folded.Select(d, "inv-run0"))
		}
		// It grows from one selection to the next, and some of its rows wait.
		for _, blind := range []bool{false, true} {
			rows := &growing{blind: blind}
			ss := graphsync.NewSessions(rows, x)
			first := int(seed) % len(r.rows)
			rows.add(r.rows[:first]...)
			if _, err := ss.Select(t.Context(), testSession, d); err != nil {
				t.Fatal(err)
			}
			second := max(first, len(r.rows)-1-int(seed)%3, int(d.UpTo))
			rows.add(r.rows[first:second]...)
			rows.wait(r.rows[second:]...)
			var opts []cmp.Option
			if !blind {
				// What counts is what was read: rows that bear no evidence may wait on.
				opts = append(opts, cmpopts.IgnoreFields(graphsync.Selection{}, "Counts"))
			}
			check(fmt.Sprintf("%d rows, then %d, then %d that wait", first, second-first, len(r.rows)-second), ss, opts...)
			if rows.flushed == 0 && second < len(r.rows) {
				waited++
			}
			if err := rows.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("all stored", ss)
		}
	}
	if seeds > 1 && (read < seeds || waited < seeds/10 || left < seeds/20) {
		t.Errorf("little was tried: %d things counted, %d were not chosen, %d times rows waited on", read, left, waited)
	}
}

// Many ask for the evidence of a few sessions while rows come and go.
func TestSessionsAtOnce(t *testing.T) {
	const sessions, steps, askers = 3, 40, 6
	rows := new(growing)
	ss := graphsync.NewSessions(rows, compile(t, choiceRules()))
	var wg sync.WaitGroup
	for n := range sessions {
		r := &recorder{t: t, run: "1"}
		for i := range steps {
			r.tooled("find", m{}, items(item("b", 1), item("a", i)), nil)
		}
		all := r.in(numbered(n))
		wg.Go(func() {
			for i := range steps {
				rows.wait(all[2*i])
				if i%2 == 0 {
					if err := rows.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
				rows.wait(all[2*i+1])
			}
		})
	}
	for n := range askers {
		wg.Go(func() {
			s, seen := numbered(n%sessions), 0
			for seen < 2*steps {
				sel, err := ss.Select(t.Context(), s, buying("a"))
				if err != nil || sel.Counts.RowsRead < seen {
					t.Errorf("%d rows were read, and %d before: %v", sel.Counts.RowsRead, seen, err)
					return
				}
				seen = sel.Counts.RowsRead
				for _, e := range sel.Entities {
					if _, err := ss.Sources(t.Context(), s, e); err != nil && !strings.Contains(err.Error(), "seen") {
						t.Error(err)
					}
				}
			}
			folded, err := ss.Fold(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			var all sync.WaitGroup
			for range 3 { // what was folded can be read at once, too
				all.Go(func() {
					g := folded.Graph()
					if sel := folded.Select(buying("a")); len(g.Nodes()) != steps || len(g.Entities()) != 2*steps || len(sel.Entities) != 1 || len(folded.Runs()) != 1 {
						t.Errorf("%d nodes, %d entities, %d things", len(g.Nodes()), len(g.Entities()), len(sel.Entities))
					}
				})
			}
			all.Wait()
		})
	}
	wg.Wait()
}

// After an error a session is folded anew, and the next selection is whole.
func TestSessionsAfterAnError(t *testing.T) {
	r := &recorder{t: t}
	of := r.find("c1", "d1", item("a", 40)).EventID
	r.find("c2", "d2", item("b", 9))
	r.found(of, declares("m"))
	for _, in := range []string{"rows", "row", "stored", "flush"} {
		rows := &growing{chunk: 2, blind: true}
		rows.add(r.rows[:2]...)
		ss := graphsync.NewSessions(rows, compile(t, priceRules()))
		if _, err := ss.Select(t.Context(), testSession, record.Decision{}); err != nil {
			t.Fatal(err)
		}
		rows.broken = in
		rows.wait(r.rows[2:]...)
		if in == "row" || in == "rows" {
			rows.add(r.rows[2:]...)
			rows.waiting = nil
		}
		_, err := ss.Select(t.Context(), testSession, record.Decision{})
		if err == nil || !strings.Contains(err.Error(), "select the evidence of session s1: ") || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("%s: the error is %v", in, err)
		}
		if in != "stored" { // a fold asks for all rows
			if _, err := ss.Fold(t.Context(), testSession); err == nil || !strings.Contains(err.Error(), "fold session s1: disk on fire") {
				t.Errorf("%s: the error of Fold is %v", in, err)
			}
		}
		rows.broken = ""
		sel, err := ss.Select(t.Context(), testSession, record.Decision{})
		if err != nil || sel.Counts.RowsRead != len(r.rows) || len(sel.Entities) != 3 {
			t.Errorf("%s, then: %d rows, %q, %v", in, sel.Counts.RowsRead, tell(sel.Entities), err)
		}
	}
}

// One asks for a session at a time. Others wait, no longer than they want, and nobody waits for
// another session.
func TestSelectionOfOneSessionIsSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, leave := make(chan struct{}, 100), make(chan struct{})
		rows := &growing{reading: func() {
			entered <- struct{}{}
			<-leave
		}}
		ss := graphsync.NewSessions(rows, nil)
		var wg sync.WaitGroup
		ask := func(ctx context.Context, s record.Session) error {
			_, err := ss.Select(ctx, s, record.Decision{})
			return err
		}
		for _, s := range []record.Session{numbered(0), numbered(0), numbered(0), numbered(1)} {
			wg.Go(func() {
				if err := ask(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if inside := len(entered); inside != 2 {
			t.Errorf("%d read rows, want one for each session", inside)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(ctx, numbered(0)); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled wait: %v", err)
		}
		close(leave)
		wg.Wait()
	})
}

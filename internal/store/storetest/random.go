// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Compare does random work over two handles of a store, and the same over two of a [store.Memory], which have to say
// the same. open is that of [Run]. The rows of one handle are committed before the other one works.
func Compare(t *testing.T, open func(t *testing.T) func() store.Store) {
	for seed := range testsize.Seeds(t, 12, 400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a, b := handles(t, open)
			var m store.Memory
			r := &random{
				t: t, Rand: rand.New(rand.NewPCG(seed, 0)), handles: [2][2]store.Store{{m.Open(), a}, {m.Open(), b}},
				sessions: []record.Session{own, of("sess-10"), {App: own.App, User: "bob", ID: own.ID}, {App: "desk", User: own.User, ID: "s\x00"}},
			}
			for range 6 {
				r.now = r.handles[r.IntN(2)]
				for range 12 {
					r.step()
				}
				r.both("Flush", func(s store.Store) any { return s.Flush(t.Context()) })
				r.now = r.handles[r.IntN(2)]
				r.look()
			}
		})
	}
}

// random is random work.
type random struct {
	*rand.Rand
	t        *testing.T
	handles  [2][2]store.Store // each with one that is its model
	now      [2]store.Store    // the handle that works, after its model
	sessions []record.Session
	asked    int
	stamps   [2][]store.NewSummary // by each of now
}

// rowIDs is how many event ids there are.
const rowIDs = 200

func (r *random) session() record.Session { return r.sessions[r.IntN(len(r.sessions))] }
func (r *random) time() time.Time         { return at(r.IntN(100)) }

// both does the same by the handle that works and its model.
func (r *random) both(what string, do func(s store.Store) any) {
	r.t.Helper()
	wantSame(r.t, what, nil, fmt.Sprint(do(r.now[0])), fmt.Sprint(do(r.now[1])))
}

// step does one thing.
func (r *random) step() {
	ctx := r.t.Context()
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		for range 1 + r.IntN(8) {
			e := r.row()
			r.both("Append", func(s store.Store) any { return s.Append(e) })
		}
	case 4:
		rows := []record.Event{r.row(), r.row(), r.row()}
		if r.now[0].Stats().Refused() == 0 && rows[0].Status+rows[1].Status+rows[2].Status == "OKOKOK" {
			// A store may tell of any loss of the handle.
			r.both("Import", func(s store.Store) any { return store.Import(ctx, s, rows) })
		}
	case 5, 6:
		p := Pending(r.asked)
		p.Session, p.ExpiresAt = r.session(), r.time().Add(time.Duration(r.asked)*time.Microsecond) // no two at once
		p.Approvers, p.CallID, p.RunID = 1+r.IntN(2), fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(5))
		r.both("Create", func(s store.Store) any { return kindOf(s.Ledger().Create(ctx, p)) })
		r.asked++
	case 7:
		id, confirmation := r.approval(), fmt.Sprint("adk-", r.IntN(20))
		r.both("Attach", func(s store.Store) any { return kindOf(s.Ledger().Attach(ctx, id, confirmation)) })
	case 8, 9:
		a, err := safety.Get(ctx, r.now[0].Ledger(), r.approval())
		if err != nil {
			a = Pending(r.asked)
		}
		states := []safety.ApprovalState{a.State, safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted, safety.StateRejected}
		tr := Transition(a, states[r.IntN(len(states))])
		tr.At = r.time()
		if r.IntN(3) == 0 {
			changes[r.IntN(len(changes))](&tr)
		}
		r.both("Transition", func(s store.Store) any {
			a, err := s.Ledger().Transition(ctx, tr)
			return fmt.Sprint(a.State, a.Consents, kindOf(err))
		})
	case 10:
		digest := string(rune('a' + r.IntN(4)))
		text := fmt.Append(nil, digest, r.Int())
		r.both("SetRules", func(s store.Store) any { return s.SetRules(ctx, digest, text) })
	case 11:
		sum := store.NewSummary{Summary: store.Summary{Session: r.session(), Status: "s", Words: []byte{1}, More: fmt.Append(nil, r.Int())}, Until: r.time()}
		n := r.IntN(len(r.stamps[0]) + 1)
		for i, s := range r.now {
			flush(r.t, s)
			var err error
			if sum.Of, err = s.Stamp(ctx, sum.Session); err != nil {
				r.t.Fatal(err)
			}
			r.stamps[i] = append(r.stamps[i], sum)
			if err := s.KeepSummaries(ctx, r.stamps[i][n:n+1]); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// approval returns the id of an approval, which may not be there.
func (r *random) approval() string { return Pending(r.IntN(r.asked + 1)).ID }

// row returns a row, which may be there and may be invalid.
func (r *random) row() record.Event {
	e := row(r.session(), fmt.Sprint("id-", r.IntN(rowIDs)))
	e.EventType, e.Agent = types[r.IntN(len(types))], []string{"", "buyer", "analyst"}[r.IntN(3)]
	e.Timestamp = r.time().UnixMicro()
	if r.IntN(40) == 0 {
		e.Status = ""
	}
	return e
}

// look compares everything that can be asked for.
func (r *random) look() {
	seed := r.Uint64()
	var seen [2][]any
	for i, s := range r.now {
		v := &view{random: &random{t: r.t, Rand: rand.New(rand.NewPCG(seed, 0)), sessions: r.sessions, asked: r.asked}, s: s}
		v.look()
		seen[i] = v.seen
	}
	wantSame(r.t, "what the store says", nil, seen[0], seen[1])
}

// view is what a store says, with the numbers of its rows counted from 1 on.
type view struct {
	*random
	s       store.Store
	numbers []int64
	seen    []any
}

// say adds an answer.
func (v *view) say(what string, err error, answer any) {
	v.seen = append(v.seen, what, err, answer)
}

// place returns the place of a row among all.
func (v *view) place(seq int64) int64 {
	i, found := slices.BinarySearch(v.numbers, seq)
	if !found {
		return 0
	}
	return int64(i) + 1
}

// rows returns rows with their places.
func (v *view) rows(rows []record.Event) (list []string) {
	for _, e := range rows {
		list = append(list, fmt.Sprintf("%d %s", v.place(e.Seq), e.EventID))
	}
	return list
}

func (v *view) look() {
	ctx, s := v.t.Context(), v.s
	for n := range rowIDs {
		e, found, err := s.Row(ctx, fmt.Sprint("id-", n))
		if found {
			v.numbers = append(v.numbers, e.Seq)
		}
		v.say("Row", err, found)
	}
	slices.Sort(v.numbers)
	stats := s.Stats()
	v.say("Stats", nil, []uint64{stats.Accepted, stats.Stored, stats.Duplicates, stats.Refused(), uint64(stats.QueuedRows)})
	changes, err := s.Changes(ctx)
	v.say("Changes", err, changes > 0)
	for _, of := range v.sessions {
		rows, err := store.Events(ctx, s, of)
		v.say("RowsAfter", err, v.rows(rows))
		for i := range rows {
			rows[i].Seq = 0
		}
		v.say("rows", nil, rows)
		outline, err := s.Outline(ctx, of)
		v.say("Outline", err, v.rows(outline))
		losses, err := s.Losses(ctx, of)
		v.say("Losses", err, len(losses))
		l, found, err := s.Session(ctx, of)
		if l.LastSeq = v.place(l.LastSeq); found {
			v.say("Session", err, l)
		}
		approvals, err := s.Ledger().List(ctx, safety.Query{Session: of})
		v.say("List", err, approvals)
		for _, a := range approvals {
			history, err := s.Ledger().History(ctx, a.ID)
			v.say("History", err, history)
		}
	}
	sessions := []record.Session{v.session(), v.session(), v.session()}
	standings, err := s.Standings(ctx, sessions)
	v.say("Standings", err, len(standings))
	for _, standing := range standings {
		v.say("a standing", nil, v.rows(standing.Rows))
		for _, a := range standing.Approvals {
			v.say("an approval of it", nil, a.ID+string(a.State))
		}
	}
	for range 8 {
		q := v.query()
		list, err := s.Sessions(ctx, q)
		for i := range list {
			list[i].LastSeq = v.place(list[i].LastSeq)
		}
		v.say("Sessions", err, list)
	}
	now, limit := v.time(), v.IntN(4)
	open, err := s.OpenRequests(ctx, now, limit)
	v.say("OpenRequests", err, open)
	requested, err := s.Requested(ctx, record.Session{}, []string{"", "adk-", "adk-1", strings.Repeat("0", 31)}[v.IntN(4)], limit)
	v.say("Requested", err, requested)
	var summaries []string
	err = s.Summaries(ctx, now, func(sum *store.Summary) {
		copied := *sum
		copied.LastSeq, copied.Words, copied.More = v.place(sum.LastSeq), bytes.Clone(sum.Words), bytes.Clone(sum.More)
		summaries = append(summaries, fmt.Sprintf("%+v", copied))
	})
	slices.Sort(summaries)
	v.say("Summaries", err, summaries)
	for _, digest := range []string{"", "a", "b", "c", "d"} {
		rules, found, err := s.Rules(ctx, digest)
		v.say("Rules", err, fmt.Sprint(string(rules), found))
	}
}

// query returns a query with some fields set.
func (v *view) query() (q store.Query) {
	of := v.session()
	some := func(set func()) {
		if v.IntN(4) == 0 {
			set()
		}
	}

	some(func() { q.App = of.App })
	some(func() { q.User = of.User })
	some(func() { q.ID = of.ID })
	some(func() { q.Prefix = of.ID[:v.IntN(len(of.ID))] })
	some(func() { q.From = v.time() })
	some(func() { q.To = v.time() })
	if len(v.numbers) > 0 {
		some(func() { q.Before = v.numbers[v.IntN(len(v.numbers))] })
	}
	q.Limit, q.Offset = v.IntN(5), v.IntN(2)*v.IntN(4)
	return q
}

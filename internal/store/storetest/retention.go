// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const day = 24 * time.Hour

// sweepTime is when retention looks first.
var sweepTime = start.Add(10 * day).UTC()

// keeper are two handles on a store that removes what is older than a day.
type keeper struct {
	t      *testing.T
	a, b   store.Store
	remove func(t *testing.T, s store.Store, now time.Time, age time.Duration)
}

// testRetention holds what retention may remove, and what it may not.
func testRetention(t *testing.T, h Harness) {
	for name, test := range map[string]func(keeper){
		"Sessions": removeSessions, "Approvals": keepApprovals, "Children": keepChildren, "Destinations": keepForDestinations,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := handles(t, h.Open)
			test(keeper{t, a, b, h.Remove})
		})
	}
}

// put stores a row that is of some time before sweepTime. It ends a call that an agent answered in a
// session, if child has one.
func (k keeper) put(s record.Session, id string, before time.Duration, child ...record.Session) {
	k.t.Helper()
	e := row(s, s.User+s.ID+id)
	e.Timestamp, e.Agent = sweepTime.Add(-before).UnixMicro(), id
	for _, c := range child {
		e.Attributes = fmt.Appendf(nil, `{"adk":{"child_session":{"app_name":%q,"user_id":%q,"session_id":%q}}}`, c.App, c.User, c.ID)
	}
	put(k.t, k.b, e)
}

// left removes what is due at some time after sweepTime, and checks which sessions have rows then.
func (k keeper) left(after time.Duration, want ...record.Session) {
	k.t.Helper()
	k.remove(k.t, k.a, sweepTime.Add(after), day)
	list, err := k.b.Sessions(k.t.Context(), store.Query{})
	var got []record.Session
	for _, s := range list {
		got = append(got, s.Session)
		if n := len(events(k.t, k.b, s.Session)); int64(n) != s.Events {
			k.t.Errorf("of %d rows of session %s %d are left", s.Events, s.Session.ID, n)
		}
	}
	order := func(a, b record.Session) int { return slices.Compare([]string{a.ID, a.User}, []string{b.ID, b.User}) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	wantSame(k.t, "the sessions that are left", err, want, got)
}

// removeSessions removes whole sessions. The line of a removed session stays true if the session goes on.
func removeSessions(k keeper) {
	gone, grown := of("gone"), of("grown")
	for n := range 3 {
		k.put(grown, fmt.Sprint("r", n), 3*day)
		k.put(gone, fmt.Sprint("r", n), 2*day)
	}
	k.put(grown, "last", time.Hour)
	last, _, err := k.a.Session(k.t.Context(), grown)
	wantErr(k.t, "Session", err, nil)
	before := last.LastSeq
	k.left(0, grown)
	wantSame(k.t, "rows of a session that goes on", nil, 4, len(events(k.t, k.a, grown)))
	wantLosses(k.t, grown, nil, k.a, k.b)
	for _, removed := range []int64{3, 4} {
		_, found, err := k.b.Session(k.t.Context(), gone)
		wantSame(k.t, "is there", err, false, found)
		lost := []store.Loss{{Rows: removed, Cause: store.CauseRemoved}}
		wantLosses(k.t, gone, lost, k.a, k.b)
		if s := k.a.Stats(); removed == 3 && (s.RemovedSessions != 1 || s.RemovedRows != 3) {
			k.t.Errorf("stats %+v: want 3 rows of one session removed", s)
		}

		k.put(gone, fmt.Sprint("after", removed), time.Hour)
		wantLosses(k.t, gone, lost, k.a, k.b)
		now, _, err := k.a.Session(k.t.Context(), gone)
		if now.LastSeq <= before {
			k.t.Errorf("number %d is given again after %d", now.LastSeq, before)
		}
		before = now.LastSeq
		at := sweepTime.Add(-time.Hour)
		wantSame(k.t, "the session", err, store.Session{Session: gone, First: at, Last: at, LastSeq: before, Events: 1, Agents: []string{fmt.Sprint("after", removed)}}, now)
		k.left(2 * day)
	}
}

// keepApprovals keeps the sessions with an approval that may still lead to an effect, and all approvals.
func keepApprovals(k keeper) {
	var open, doubt []record.Session
	steps := make(map[string][]safety.Step)
	n := 0
	for state, path := range Paths() {
		n += 2
		a, done := Pending(n), Pending(n+1)
		a.Session.ID, a.ExpiresAt = "has-"+string(state), sweepTime.Add(time.Hour)
		done.Session = a.Session
		move(k.t, k.a.Ledger(), create(k.t, k.a.Ledger(), a), path...)
		move(k.t, k.a.Ledger(), create(k.t, k.a.Ledger(), done), safety.StateRejected)
		s := record.Session(a.Session)
		k.put(s, "r", 365*day)
		for to := range Paths() {
			if state.CanBecome(to) {
				open = append(open, s)
				break
			}
		}
		if state == safety.StateExecuting {
			doubt = append(doubt, s)
		}
		var err error
		steps[a.ID], err = k.a.Ledger().History(k.t.Context(), a.ID)
		wantErr(k.t, "History", err, nil)
	}
	wantSame(k.t, "how many are open", nil, 4, len(open))
	k.left(0, open...)
	k.left(3*day, doubt...) // the others have expired
	for id, want := range steps {
		got, err := k.b.Ledger().History(k.t.Context(), id)
		wantSame(k.t, "the history", err, want, got)
		a, err := safety.Get(k.t.Context(), k.b.Ledger(), id)
		wantSame(k.t, "the state", err, want[len(want)-1].To, a.State)
	}
}

// keepChildren keeps what a session rests on that stays.
func keepChildren(k keeper) {
	bob := record.Session{App: own.App, User: "bob", ID: "child"}
	k.put(of("grandchild"), "r", 5*day)
	k.put(of("child"), "r", 4*day, of("grandchild"))
	k.put(bob, "r", 4*day) // it has the name of a child alone
	k.put(of("parent"), "calls", 3*day, of("child"))
	k.put(of("parent"), "calls itself", time.Hour, of("parent"))
	k.put(of("child of the old"), "r", 4*day)
	k.put(of("old"), "r", 3*day, of("child of the old"))
	k.put(of("child of the asking"), "r", 4*day)
	k.put(own, "r", 3*day, of("child of the asking"))
	asks := Pending(1)
	asks.ExpiresAt = sweepTime.Add(time.Hour)
	create(k.t, k.a.Ledger(), asks)
	k.left(0, of("parent"), of("child"), of("grandchild"), own, of("child of the asking"))
	k.left(3 * day)
}

// keepForDestinations keeps the sessions that a destination has not whole, and those with a dead letter.
func keepForDestinations(k keeper) {
	p, publishes := k.a.(store.Publisher)
	if !publishes {
		k.t.Skip("the store has no outboxes")
	}
	near, far := sender{p.Outbox("near"), k.t, "x"}, sender{p.Outbox("far"), k.t, "y"}
	graphs := sender{near.Graphs(), k.t, "z"}
	for _, s := range []sender{near, far, graphs} {
		s.acquire()
	}
	held := func(after time.Duration, want ...record.Session) {
		k.t.Helper()
		k.left(after, want...)
		wantSame(k.t, "how many wait for destinations", nil, len(want), k.a.Stats().HeldSessions)
	}
	for n := range 6 {
		k.put(of(fmt.Sprint("s", n/2)), fmt.Sprint("r", n), 2*day)
	}
	refused := of("refused")
	k.put(refused, "r", 2*day)
	held(0, of("s0"), of("s1"), of("s2"), refused)
	rows := far.rows(0, 99)
	last := rows[6].Seq
	near.advance(near.rows(0, 99)[6].Seq)
	graphs.advance(last)
	for i, e := range rows {
		want := []record.Session{refused}
		for _, r := range rows[i+1:] {
			if !slices.Contains(want, r.Session()) {
				want = append(want, r.Session())
			}
		}
		var dead []store.DeadLetter
		if e.Session() == refused {
			dead = []store.DeadLetter{{Seq: e.Seq, Reason: "no"}}
		}
		far.advance(e.Seq, dead...)
		held(0, want...)
	}
	held(365*day, refused)
	n, err := far.Discard(k.t.Context(), []string{rows[6].EventID})
	wantSame(k.t, "discarded", err, 1, n)
	held(0)
	k.put(refused, "more", 2*day) // what comes later waits again, until nobody sends
	for _, s := range []sender{graphs, near, far} {
		held(0, refused)
		wantErr(k.t, "Release", s.Release(k.t.Context(), s.owner), nil)
		if s != graphs {
			wantErr(k.t, "Forget", s.Forget(k.t.Context()), nil)
		}
	}
	held(0)
}

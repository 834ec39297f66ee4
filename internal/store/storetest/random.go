// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
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

// testRandom does random work over two handles, and compares what they say with lists in memory. What
// one handle has appended is committed before the other one works.
func testRandom(t *testing.T, open func(t *testing.T) (a, b store.Store)) {
	for seed := range testsize.Seeds(t, 12, 400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &random{t: t, Rand: rand.New(rand.NewPCG(seed, 0)), done: make(map[store.Store]*books), kept: make(map[record.Session]store.NewSummary)}
			a, b := open(t)
			r.all = []store.Store{a, b}
			for _, s := range r.all {
				r.done[s] = new(books)
			}
			r.sessions = []record.Session{own, of("sess-10"), {App: own.App, User: "bob", ID: own.ID}, {App: "desk", User: own.User, ID: "s\x00"}}
			for range 6 {
				for range 12 {
					r.step()
				}
				flush(t, r.store())
				r.check()
				r.turn = r.IntN(2)
			}
		})
	}
}

// random is work that has been done.
type random struct {
	*rand.Rand
	t    *testing.T
	all  []store.Store
	turn int // the handle that works
	done map[store.Store]*books

	sessions  []record.Session
	rows      []record.Event // in order, with their numbers once they are checked
	approvals []safety.Approval
	rules     []string // the newest last, each once
	kept      map[record.Session]store.NewSummary
	stale     []store.NewSummary
}

// books are what Stats has to say.
type books struct{ accepted, stored, duplicates, invalid uint64 }

func (r *random) store() store.Store      { return r.all[r.turn] }
func (r *random) session() record.Session { return r.sessions[r.IntN(len(r.sessions))] }
func (r *random) now() time.Time          { return at(r.IntN(100)) }

func (r *random) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// void forgets the summary of a session that has changed.
func (r *random) void(s record.Session) { delete(r.kept, s) }

func (r *random) step() {
	ctx, s := r.t.Context(), r.store()
	switch r.IntN(12) {
	case 0, 1, 2, 3, 4:
		for range 1 + r.IntN(8) {
			e := r.row()
			if s.Append(e) != r.note(e) {
				r.t.Fatalf("row %+v: taken or refused wrongly", e)
			}
		}
	case 5:
		rows := []record.Event{r.row(), r.row(), r.row()}
		for i := range rows {
			rows[i].Status = record.StatusOK
			r.note(rows[i])
		}
		if r.done[s].invalid == 0 { // an import tells of every loss of its handle
			r.must(s.Import(ctx, rows))
			break
		}
		for _, e := range rows {
			s.Append(e)
		}
	case 6, 7:
		p := Pending(len(r.approvals))
		p.Session, p.ExpiresAt = r.session(), r.now().Add(time.Duration(len(r.approvals))*time.Microsecond) // no two at once
		r.must(s.Ledger().Create(ctx, p))
		r.approvals = append(r.approvals, p)
		r.void(p.Session)
	case 8:
		if len(r.approvals) == 0 {
			break
		}
		p := &r.approvals[r.IntN(len(r.approvals))]
		if p.State == safety.StatePending && p.ConfirmationID == "" {
			p.ConfirmationID = fmt.Sprint("adk-", len(r.approvals))
			if s.Ledger().Attach(ctx, p.ID, p.ConfirmationID) != nil { // another has it
				p.ConfirmationID = ""
			}
		}
		if p.State == safety.StatePending {
			*p = move(r.t, s.Ledger(), *p, []safety.ApprovalState{safety.StateApproved, safety.StateRejected}[r.IntN(2)])
			r.void(p.Session)
		}
	case 9:
		digest := string(rune('a' + r.IntN(4)))
		r.must(s.SetRules(ctx, digest, []byte(digest+digest)))
		r.rules = append(slices.DeleteFunc(r.rules, func(d string) bool { return d == digest }), digest)
	case 10:
		r.must(s.KeepSummaries(ctx, r.stale)) // all of them are of a state that has passed
		of := r.session()
		stamp, err := s.Stamp(ctx, of)
		r.must(err)
		sum := store.NewSummary{Summary: store.Summary{Session: of, Status: "s", Words: []byte{1}, More: fmt.Appendf(nil, "%d", r.Int())}, Of: stamp, Until: r.now()}
		flush(r.t, s)
		if now, err := s.Stamp(ctx, of); err == nil && now == stamp {
			r.must(s.KeepSummaries(ctx, []store.NewSummary{sum}))
			r.kept[of] = sum
		}
	case 11:
		flush(r.t, s)
		of := r.session()
		stamp, err := s.Stamp(ctx, of)
		r.must(err)
		sum := store.Summary{Session: of, Status: "stale", Words: []byte{1}, More: []byte("stale")}
		e := row(of, fmt.Sprint("end of ", r.Int()))
		r.note(e)
		put(r.t, s, e)
		r.stale = append(r.stale, store.NewSummary{Summary: sum, Of: stamp, Until: at(200)})
	}
}

// row returns a row, which may be there and may be invalid.
func (r *random) row() record.Event {
	e := row(r.session(), fmt.Sprint("id-", r.IntN(400)))
	e.EventType, e.Agent = types[r.IntN(len(types))], []string{"", "buyer", "analyst"}[r.IntN(3)]
	e.Timestamp = r.now().UnixMicro()
	if r.IntN(40) == 0 {
		e.Status = ""
	}
	return e
}

// note notes that a row was appended; false if it is invalid.
func (r *random) note(e record.Event) bool {
	books := r.done[r.store()]
	if e.Status == "" {
		books.invalid++
		r.void(e.Session())
		return false
	}
	books.accepted++
	if slices.ContainsFunc(r.rows, func(f record.Event) bool { return f.EventID == e.EventID }) {
		books.duplicates++
		return true
	}
	books.stored++
	r.rows = append(r.rows, e)
	r.void(e.Session())
	return true
}

// check compares everything.
func (r *random) check() {
	t, ctx := r.t, r.t.Context()
	r.number()
	for _, s := range r.all {
		if done, is := r.done[s], s.Stats(); is.Accepted != done.accepted || is.Stored != done.stored || is.Duplicates != done.duplicates || is.Refused() != done.invalid || is.Unaccounted() != 0 {
			t.Errorf("stats %+v, want %+v", is, done)
		}
		seq, err := s.LastSeq(ctx)
		wantSame(t, "the last number", err, r.last(), seq)
		var sessions []record.Session
		for range r.IntN(5) {
			sessions = append(sessions, r.session())
		}
		standings, err := s.Standings(ctx, sessions)
		r.must(err)
		for i, standing := range standings {
			wantSame(t, "the rows of a standing", nil, r.milestones(sessions[i]), ids(standing.Rows))
			var asked []string
			for _, a := range standing.Approvals {
				asked = append(asked, a.ID+" is "+string(a.State))
			}
			wantSame(t, "the approvals of a standing", nil, r.asked(sessions[i]), asked)
		}
		for range 6 {
			q := r.query()
			list, err := s.Sessions(ctx, q)
			wantSame(t, fmt.Sprintf("%+v", q), err, r.list(q), list)
		}
		now, limit := r.now(), r.IntN(4)
		open, err := s.OpenRequests(ctx, now, limit)
		wantSame(t, "open requests", err, r.open(now, limit), open)
		prefix := []string{"", "adk-", "adk-1", strings.Repeat("0", 31)}[r.IntN(4)]
		requested, err := s.Requested(ctx, record.Session{}, prefix, limit)
		wantSame(t, "requested", err, r.requested(prefix, limit), requested)
		var told, want []string
		r.must(s.Summaries(ctx, now, func(sum *store.Summary) {
			told = append(told, fmt.Sprintf("%q %d %s", sum.Session, sum.Events, sum.More))
		}))
		for _, l := range r.list(store.Query{}) {
			line := ""
			if kept, ok := r.kept[l.Session]; ok && kept.Until.After(now) {
				line = string(kept.More)
			}
			want = append(want, fmt.Sprintf("%q %d %s", l.Session, l.Events, line))
		}
		slices.Sort(told)
		slices.Sort(want)
		wantSame(t, "summaries", nil, want, told)
		for i, digest := range append([]string{""}, r.rules...) {
			want := digest + digest
			if i == 0 && len(r.rules) > 0 {
				want = strings.Repeat(r.rules[len(r.rules)-1], 2)
			}
			rules, found, err := s.Rules(ctx, digest)
			wantSame(t, "rules", err, want, string(rules))
			wantSame(t, "rules are there", nil, len(r.rules) > 0, found)
		}
	}
}

// number compares the rows, and takes over their numbers, which grow in the order of commits.
func (r *random) number() {
	for i := range r.rows {
		e := &r.rows[i]
		for _, s := range r.all {
			got, found, err := s.Row(r.t.Context(), e.EventID)
			if err != nil || !found || got.Seq <= 0 || e.Seq > 0 && got.Seq != e.Seq {
				r.t.Fatalf("row %s has number %d, found is %t, error %v; want number %d", e.EventID, got.Seq, found, err, e.Seq)
			}
			e.Seq = got.Seq
		}
	}
	for _, of := range r.sessions {
		var want []record.Event
		for _, e := range r.rows {
			if e.Session() == of {
				want = append(want, e)
			}
		}
		for _, s := range r.all {
			got := events(r.t, s, of)
			wantRows(r.t, "the rows of a session", want, got)
			wantSame(r.t, "their numbers", nil, numbers(want), numbers(got))
			outline, err := s.Outline(r.t.Context(), of)
			wantSame(r.t, "an outline", err, ids(want), ids(outline))
		}
	}
	if all := numbers(r.rows); !slices.IsSorted(all) || len(slices.Compact(all)) != len(r.rows) {
		r.t.Error("the numbers do not grow")
	}
}

func numbers(rows []record.Event) (list []int64) {
	for _, e := range rows {
		list = append(list, e.Seq)
	}
	return list
}

func (r *random) last() int64 {
	if len(r.rows) == 0 {
		return 0
	}
	return r.rows[len(r.rows)-1].Seq
}

func (r *random) milestones(of record.Session) (list []string) {
	for _, e := range r.rows {
		if e.Session() == of && store.Milestone(e.EventType) {
			list = append(list, e.EventID)
		}
	}
	return list
}

// asked tells of the approvals of a session, oldest first.
func (r *random) asked(of record.Session) (list []string) {
	for _, a := range r.approvals {
		if a.Session == of {
			list = append(list, a.ID+" is "+string(a.State))
		}
	}
	return list
}

// query returns a query with some fields set.
func (r *random) query() (q store.Query) {
	of, some := r.session(), func() bool { return r.IntN(4) == 0 }
	if some() {
		q.App = of.App
	}
	if some() {
		q.User = of.User
	}
	if some() {
		q.ID = of.ID
	}
	if some() {
		q.Prefix = of.ID[:r.IntN(len(of.ID))]
	}
	if some() {
		q.From = r.now()
	}
	if some() {
		q.To = r.now()
	}
	if some() {
		q.Before = r.Int64N(r.last() + 2)
	}
	if some() {
		q.After = r.Int64N(r.last() + 2)
	}
	q.Limit, q.Offset = r.IntN(5), r.IntN(2)*r.IntN(4)
	return q
}

// list returns what a query finds.
func (r *random) list(q store.Query) (list []store.Session) {
	seen := make(map[record.Session]bool)
	for _, newest := range slices.Backward(r.rows) {
		of := newest.Session()
		if seen[of] {
			continue
		}
		seen[of] = true
		l := store.Session{Session: of, LastSeq: newest.Seq, First: newest.Time(), Last: newest.Time()}
		for _, e := range r.rows {
			if e.Session() != of {
				continue
			}
			l.Events++
			if e.Time().Before(l.First) {
				l.First = e.Time()
			}
			if e.Time().After(l.Last) {
				l.Last = e.Time()
			}
			if e.Agent != "" && !slices.Contains(l.Agents, e.Agent) {
				l.Agents = append(l.Agents, e.Agent)
			}
		}
		slices.Sort(l.Agents)
		for _, a := range r.approvals {
			if a.Session == of {
				l.Approval = string(a.State)
			}
		}
		switch {
		case q.App != "" && q.App != of.App, q.User != "" && q.User != of.User, q.ID != "" && q.ID != of.ID:
		case !strings.HasPrefix(of.ID, q.Prefix):
		case !q.From.IsZero() && l.Last.Before(q.From), !q.To.IsZero() && !l.Last.Before(q.To):
		case q.Before > 0 && l.LastSeq >= q.Before, q.After > 0 && l.LastSeq <= q.After:
		case q.Offset > 0:
			q.Offset--
		case q.Limit == 0 || len(list) < q.Limit:
			list = append(list, l)
		}
	}
	return list
}

// open returns the sessions with open requests.
func (r *random) open(now time.Time, limit int) (list []record.Session) {
	approvals := slices.Clone(r.approvals)
	slices.SortStableFunc(approvals, func(a, b safety.Approval) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	for _, a := range approvals {
		if a.State.Open() && a.ExpiresAt.After(now) && !slices.Contains(list, a.Session) && len(list) < limit {
			list = append(list, a.Session)
		}
	}
	return list
}

func (r *random) requested(prefix string, limit int) (list []record.Session) {
	for _, a := range slices.Backward(r.approvals) {
		if (strings.HasPrefix(a.ID, prefix) || a.ConfirmationID != "" && strings.HasPrefix(a.ConfirmationID, prefix)) && !slices.Contains(list, a.Session) && len(list) < limit {
			list = append(list, a.Session)
		}
	}
	return list
}

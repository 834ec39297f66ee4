// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RunOutbox tests the outboxes of what h opens, which has to be a [store.Publisher]. Run tests the rest.
func RunOutbox(t *testing.T, h Harness) {
	for name, test := range map[string]func(t *testing.T, a, b, c store.Publisher){ // handles on the same data
		"Walk": testWalk, "Lease": testLease, "Position": testPosition, "DeadLetters": testDeadLetters,
	} {
		t.Run(name, func(t *testing.T) {
			open := h.Open(t)
			test(t, open().(store.Publisher), open().(store.Publisher), open().(store.Publisher))
		})
	}
}

// testWalk takes the rows of many sessions while two handles record them. One sender follows another.
func testWalk(t *testing.T, a, b, c store.Publisher) {
	const sessions = 20
	var recording sync.WaitGroup
	for i, s := range []store.Store{a, b} {
		recording.Go(func() {
			for n := range testsize.Rounds(t, 1500, 10_000) {
				e := row(of(fmt.Sprint("s", n*(i+3)%sessions)), fmt.Sprint(i, "-", n))
				if !s.Append(e) || n%5 == 0 && s.Flush(t.Context()) != nil {
					t.Errorf("row %s was refused", e.EventID)
				}
			}
			wantErr(t, "Flush", s.Flush(t.Context()), nil)
		})
	}
	var recorded atomic.Bool
	go func() { recording.Wait(); recorded.Store(true) }()
	got := make(map[record.Session][]string)
	o := sender{c.Outbox(place), t, "0"}
	at := o.acquire()
	for n, last := 1, false; !last; n++ {
		last = recorded.Load()
		rows := o.rows(at, 90)
		if len(rows) == 0 {
			continue
		}
		last = false
		wantSame(t, "the same rows once more", nil, ids(rows), ids(o.rows(at, len(rows))))
		for _, e := range rows {
			if e.Seq <= at {
				t.Fatalf("position %d behind %d", e.Seq, at)
			}
			at = e.Seq
			got[e.Session()] = append(got[e.Session()], e.EventID)
		}
		o.advance(at)
		if n%10 == 0 {
			wantErr(t, "Release", o.Release(t.Context(), o.owner), nil)
			o = sender{[]store.Publisher{a, b, c}[n/10%3].Outbox(place), t, fmt.Sprint(n)}
			at = o.acquire()
		}
	}
	for n := range sessions {
		s := of(fmt.Sprint("s", n))
		wantSame(t, "the rows of "+s.ID, nil, ids(events(t, a, s)), got[s])
	}
	last, err := o.LastSeq(t.Context())
	wantSame(t, "the last position", err, at, last)
	o.wantAt(at, store.Backlog{})
}

// testLease does one step after another.
func testLease(t *testing.T, a, b, _ store.Publisher) {
	put(t, a, row(own, "r"))
	o, p := a.Outbox(place), b.Outbox(place)
	acquire := func(o store.Outbox, owner string, ttl time.Duration) error {
		_, err := o.Acquire(t.Context(), owner, ttl)
		return err
	}
	advance := func(o store.Outbox, owner string) error {
		at, err := o.LastSeq(t.Context())
		return errors.Join(err, o.Advance(t.Context(), owner, at, nil))
	}
	release := func(owner string) error { return p.Release(t.Context(), owner) }
	takeOver := func() (err error) {
		for err = store.ErrLeased; errors.Is(err, store.ErrLeased); err = acquire(p, "b", time.Hour) {
			time.Sleep(time.Millisecond)
		}
		return err
	}
	leased, lost := store.ErrLeased, store.ErrLeaseLost
	for n, step := range []struct{ err, want error }{
		{advance(o, "a"), lost}, {release("a"), nil}, {p.Forget(t.Context()), nil}, // there is no destination yet
		{acquire(o, "a", time.Hour), nil}, {acquire(p, "b", time.Hour), leased}, {advance(p, "b"), lost}, {acquire(o, "a", time.Hour), nil},
		{advance(p, ""), lost}, {p.Forget(t.Context()), leased}, {release("b"), nil}, {acquire(p, "b", time.Hour), leased}, {advance(o, "a"), nil},
		{release("a"), nil}, {advance(o, "a"), lost}, {advance(o, ""), lost}, {acquire(p, "b", time.Hour), nil},
		{release("b"), nil}, {o.Forget(t.Context()), nil}, {advance(p, "b"), lost},
		{acquire(o, "a", time.Microsecond), nil}, {advance(o, "a"), nil}, // the time is over, and nobody else wants it
		{takeOver(), nil}, {advance(o, "a"), lost}, {acquire(o, "a", time.Hour), leased}, {advance(p, "b"), nil},
	} {
		if !errors.Is(step.err, step.want) || step.err != nil && !strings.Contains(step.err.Error(), place) {
			t.Errorf("step %d: %v, want %v", n+1, step.err, step.want)
		}
	}
}

// testPosition refuses what would lose rows, and leaves no half of it.
func testPosition(t *testing.T, a, b, _ store.Publisher) {
	want := []record.Event{row(own, "1"), row(own, "2"), row(own, "3"), row(own, "4"), {EventID: "5", EventType: "X", Status: record.StatusOK}}
	want[4].AppName, want[4].UserID, want[4].SessionID = own.App, own.User, own.ID
	e := &want[0]
	e.Content, e.ContentParts, e.Attributes, e.LatencyMS = []byte(`{"a":"ä"}`), []byte(`[{"part_index":0}]`), []byte(`{"adk":{}}`), []byte(`{"total_ms":1}`)
	e.InvocationID, e.TraceID, e.SpanID, e.ParentSpanID, e.Status, e.ErrorMessage, e.IsTruncated = "inv", "t", "sp", "pa", record.StatusError, "no", true
	want[1].Content = []byte("1")
	put(t, a, want...)
	o := sender{b.Outbox(place), t, "a"}
	wantSame(t, "the beginning", nil, int64(0), o.acquire())
	rows := o.rows(0, 9)
	wantRows(t, "as they were recorded", want, rows)
	clear(rows[0].Content) // they are the caller's
	_ = append(rows[0].Content, "xxxxxxxx"...)
	clear(rows[1].Content)
	want[0].Content, want[1].Content = make([]byte, len(want[0].Content)), []byte{0}
	wantRows(t, "what is written to", want, rows)
	for _, n := range []int{1, 2, 2} {
		o.advance(rows[n].Seq)
		wantSame(t, "the position by a lease", nil, rows[n].Seq, o.acquire())
	}
	dead := []store.DeadLetter{{Seq: rows[3].Seq, Reason: "no"}}
	for name, err := range map[string]error{
		"backwards":           o.Advance(t.Context(), "a", rows[1].Seq, dead),
		"beyond the last row": o.Advance(t.Context(), "a", rows[4].Seq+1, dead),
		"a letter for no row": o.Advance(t.Context(), "a", rows[4].Seq, append(dead, store.DeadLetter{Seq: rows[4].Seq + 1})),
	} {
		if err == nil || errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.wantAt(rows[2].Seq, store.Backlog{Rows: 2, First: rows[3].Seq, Oldest: at(0)})
	other := sender{b.Outbox("another"), t, "a"} // it does not exist, and lacks everything
	other.wantAt(0, store.Backlog{Rows: 5, First: rows[0].Seq, Oldest: at(0)})
	wantSame(t, "the beginning of another", nil, int64(0), other.acquire())
}

func testDeadLetters(t *testing.T, a, b, _ store.Publisher) {
	put(t, a, row(own, "1"), row(own, "2"), row(own, "3"), row(own, "4"))
	o, other := sender{b.Outbox(place), t, "a"}, b.Outbox("other")
	o.acquire()
	rows := o.rows(0, 9)
	letter := func(n int, reason string) store.DeadLetter {
		return store.DeadLetter{EventID: fmt.Sprint(n), EventType: rows[0].EventType, Session: own, Bytes: n, Code: "C", Reason: reason, At: at(n)}
	}
	sent := func(n int, reason string) store.DeadLetter { // the row decides what it is
		l := letter(n, reason)
		l.Seq, l.EventID, l.EventType, l.Session = rows[n-1].Seq, "x", "Y", of("z")
		return l
	}
	want := func(limit int, want ...store.DeadLetter) []store.DeadLetter {
		t.Helper()
		list, err := a.Outbox(place).DeadLetters(t.Context(), limit)
		for i := range min(len(list), len(want)) {
			want[i].Seq = list[i].Seq
		}
		wantSame(t, "letters", err, want, list)
		return list
	}
	o.advance(rows[1].Seq, sent(2, "no"))
	o.advance(rows[1].Seq, sent(4, "early"), sent(3, "early too")) // ahead of the position
	o.advance(rows[1].Seq, sent(2, "still no"))
	all := want(0, letter(2, "still no"), letter(3, "early too"), letter(4, "early"))
	want(2, letter(2, "still no"), letter(3, "early too"))
	again := []store.DeadLetter{all[0], {Seq: all[2].Seq + 100}}
	again[0].Reason = "never"
	wantErr(t, "Reword", errors.Join(o.Reword(t.Context(), again), other.Reword(t.Context(), all)), nil)
	want(0, letter(2, "never"), letter(3, "early too"), letter(4, "early"))
	o.wantAt(rows[1].Seq, store.Backlog{Rows: 2, First: rows[2].Seq, Oldest: at(0), DeadLetters: 3})
	for _, tt := range []struct {
		discard []string
		n       int
		left    []string
	}{{nil, 0, []string{"2", "3", "4"}}, {[]string{"1", "2", "2", "4"}, 2, []string{"3"}}, {[]string{"3"}, 1, nil}, {[]string{"3"}, 0, nil}} {
		n, err := other.Discard(t.Context(), tt.discard)
		wantSame(t, "discarded elsewhere", err, 0, n)
		n, err = o.Discard(t.Context(), tt.discard)
		wantSame(t, "discarded", err, tt.n, n)
		left, err := o.DeadRows(t.Context(), 0, 9, 1<<20)
		wantSame(t, "what is left", err, tt.left, ids(left))
	}
}

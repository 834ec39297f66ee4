// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// table is a target in memory. What it does with a request is said by respond.
type table struct {
	tb testing.TB
	// respond is called for each request in the order of their arrival, not at the same
	// time as a change; nil stands for rows that are taken at once.
	respond func(call) outcome
	// open and upgrade are called by the methods with these names, if they are not nil.
	open, upgrade func(n int) error
	// inspect is called by each Append, linger by each Close.
	inspect, linger func()

	script sync.Mutex // held by respond and change

	mu       sync.Mutex
	requests int
	opens    int
	upgrades int
	closes   int
	landed   map[string]int  // how often a row was taken, by event id
	acked    map[string]bool // rows whose acknowledgement was handed out
	bytes    int             // of rows that were taken
	largest  int             // bytes of a request
	inflight int             // requests without an answer
	most     int             // of them at a time
	last     map[string]int  // the last row that was sent for the first time, by session
	seen     map[string]bool
}

func newTable(tb testing.TB) *table {
	return &table{
		tb: tb, landed: make(map[string]int), acked: make(map[string]bool),
		last: make(map[string]int), seen: make(map[string]bool),
	}
}

// call is one request.
type call struct {
	n      int // from 1, over all streams
	stream int // from 1
	ids    []string
	bytes  int
}

// outcome is what becomes of a request.
type outcome struct {
	delay time.Duration
	taken bool  // the rows land
	err   error // the answer
	// broken answers everything behind with an error as well, and takes nothing of it.
	broken bool
	// never gives no answer to this or anything behind it.
	never bool
	// appendErr is returned by Append.
	appendErr error
	panics    bool
}

func taken(delay time.Duration) outcome { return outcome{delay: delay, taken: true} }

func (t *table) acknowledged(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acked[id]
}

// change changes what respond does.
func (t *table) change(f func()) {
	t.script.Lock()
	defer t.script.Unlock()
	f()
}

// sent returns how many requests there were.
func (t *table) sent() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// counts returns how many different rows landed, and how many in all.
func (t *table) counts() (different, all int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.landed {
		all += n
	}
	return len(t.landed), all
}

func (t *table) Open(ctx context.Context) (replicate.Stream, error) {
	t.mu.Lock()
	t.opens++
	n := t.opens
	t.mu.Unlock()
	if t.open != nil {
		if err := t.open(n); err != nil {
			return nil, err
		}
	}
	s := &stream{table: t, n: n, queue: make(chan *pending, 1000)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.ended.Go(s.serve)
	return s, nil
}

func (t *table) Upgrade(ctx context.Context) error {
	t.mu.Lock()
	t.upgrades++
	n := t.upgrades
	t.mu.Unlock()
	if t.upgrade != nil {
		return t.upgrade(n)
	}
	return nil
}

// stream answers the requests of one connection in their order.
type stream struct {
	table  *table
	n      int
	queue  chan *pending
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// unanswered is the request that the stream ended in.
	unanswered *pending
}

type pending struct {
	table   *table
	call    call
	rows    [][]byte
	outcome outcome
	due     time.Time
	done    chan error
}

var errBroken = &replicate.Error{Class: replicate.ClassAmbiguous, Err: errors.New("EOF")}

func (s *stream) Append(ctx context.Context, rows [][]byte) (replicate.Pending, error) {
	t := s.table
	c := call{stream: s.n}
	for _, r := range rows {
		c.ids = append(c.ids, eventID(t.tb, r))
		c.bytes += len(r)
	}
	t.mu.Lock()
	t.requests++
	c.n = t.requests
	t.mu.Unlock()
	p := &pending{table: t, call: c, rows: rows, outcome: taken(0), done: make(chan error, 1)}
	t.change(func() {
		if t.respond != nil {
			p.outcome = t.respond(c)
		}
	})
	if p.outcome.appendErr != nil {
		return nil, p.outcome.appendErr // nothing was sent
	}
	t.mu.Lock()
	t.largest = max(t.largest, c.bytes)
	t.inflight++
	t.most = max(t.most, t.inflight)
	before := make(map[string]int)
	for _, id := range c.ids {
		session, n := number(t.tb, id)
		if n <= before[session] {
			t.tb.Errorf("request %d has row %d of session %s after row %d", c.n, n, session, before[session])
		}
		before[session] = n
		if t.seen[id] {
			continue
		}
		t.seen[id] = true
		if n <= t.last[session] {
			t.tb.Errorf("row %d of session %s is sent for the first time after row %d", n, session, t.last[session])
		}
		t.last[session] = n
	}
	t.mu.Unlock()
	if t.inspect != nil {
		t.inspect()
	}
	if p.outcome.panics {
		t.answered()
		panic("the adapter has a bug")
	}
	p.due = time.Now().Add(p.outcome.delay)
	s.queue <- p
	return p, nil
}

func (s *stream) Close() error {
	t := s.table
	t.mu.Lock()
	t.closes++
	t.mu.Unlock()
	s.cancel()
	s.ended.Wait()
	if t.linger != nil {
		t.linger()
	}
	// A stream that hangs may still read what it has not answered.
	if p := s.unanswered; p != nil {
		for i, row := range p.rows {
			if id := eventID(t.tb, row); id != p.call.ids[i] {
				t.tb.Errorf("row %s of an unanswered request was changed to %s", p.call.ids[i], id)
			}
		}
	}
	return nil
}

func (s *stream) serve() {
	broken := false
	for {
		var p *pending
		select {
		case p = <-s.queue:
		case <-s.ctx.Done():
			return
		}
		if broken {
			p.answer(errBroken)
			continue
		}
		if wait := time.Until(p.due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-s.ctx.Done():
				timer.Stop()
				s.unanswered = p
				return
			}
		}
		if p.outcome.never {
			<-s.ctx.Done()
			s.unanswered = p
			return
		}
		if p.outcome.taken {
			s.table.take(p.call)
		}
		broken = p.outcome.broken
		err := p.outcome.err
		if broken && err == nil {
			err = errBroken
		}
		p.answer(err)
	}
}

func (t *table) take(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range c.ids {
		t.landed[id]++
	}
	t.bytes += c.bytes
}

func (t *table) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inflight--
}

func (p *pending) answer(err error) {
	t := p.table
	t.answered()
	if err == nil {
		t.mu.Lock()
		for _, id := range p.call.ids {
			t.acked[id] = true
		}
		t.mu.Unlock()
	}
	p.done <- err
}

func (p *pending) Wait(ctx context.Context) error {
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// eventID reads the event id, field 2, of a message.
func eventID(tb testing.TB, msg []byte) string {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			break
		}
		msg = msg[n:]
		if num == 2 && typ == protowire.BytesType {
			if s, n := protowire.ConsumeString(msg); n >= 0 {
				return s
			}
			break
		}
		if n = protowire.ConsumeFieldValue(num, typ, msg); n < 0 {
			break
		}
		msg = msg[n:]
	}
	tb.Errorf("a message of %d bytes has no event id", len(msg))
	return ""
}

// number returns the session and the place in it that an event id of rows says.
func number(tb testing.TB, id string) (session string, n int) {
	if _, err := fmt.Sscanf(id, "%1s-%d", &session, &n); err != nil {
		tb.Errorf("event id %q: %v", id, err)
	}
	return session, n
}

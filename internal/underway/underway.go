// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package underway holds facts about the runs of a process that no row holds: the runs under
// way, the earlier turns of their sessions, and the steps that could not be recorded. The
// recorder writes them, and the evidence for a decision is read with them. The package stands
// below both.
package underway

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Settles is how long a run that ended still counts as under way. Its last row
// may not be on disk yet when another run of the session reads the record.
const Settles = 5 * time.Second

// Register is what one process knows. The zero value is empty. It is safe for concurrent use,
// and nothing waits while its lock is held. A look at a session costs the same beside any number of
// runs of other sessions.
type Register struct {
	mu       sync.Mutex
	sessions map[record.Session]*runs
	// first and last are the ends of a list of the runs that ended just now, by the time of that.
	first, last *ended
	left        []string
	unplaced    atomic.Uint64
}

// runs are those of one session.
type runs struct {
	running []string
	ended   []*ended
}

type ended struct {
	session record.Session
	id      string
	at      time.Time
	next    *ended
}

// forgotten bounds the runs that one call forgets, so that no call pays for many. It is more than
// one call adds.
const forgotten = 8

// of returns the runs of a session.
func (u *Register) of(s record.Session) *runs {
	r := u.sessions[s]
	if r == nil {
		r = new(runs)
		if u.sessions == nil {
			u.sessions = make(map[record.Session]*runs)
		}
		u.sessions[s] = r
	}
	return r
}

// Begin notes that a run of a session is under way.
func (u *Register) Begin(s record.Session, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.of(s)
	r.running = append(r.running, id)
}

// End notes that the last row of a run was handed to the sink.
func (u *Register) End(s record.Session, id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(now)
	r, e := u.of(s), &ended{session: s, id: id, at: now}
	r.running = slices.DeleteFunc(r.running, func(other string) bool { return other == id })
	r.ended = append(r.ended, e)
	if u.last == nil {
		u.first = e
	} else {
		u.last.next = e
	}
	u.last = e
}

// forget removes runs that ended long ago.
func (u *Register) forget(now time.Time) {
	for range forgotten {
		e := u.first
		if e == nil || !e.settled(now) {
			return
		}
		if u.first = e.next; u.first == nil {
			u.last = nil
		}
		r := u.sessions[e.session]
		r.ended = slices.DeleteFunc(r.ended, func(other *ended) bool { return other == e })
		if len(r.running)+len(r.ended) == 0 {
			delete(u.sessions, e.session)
		}
	}
}

// settled reports whether the last row of the run is on disk.
func (e *ended) settled(now time.Time) bool { return now.Sub(e.at) > Settles }

// Runs returns the ids of the runs of a session that are under way or ended just now: their
// record may not be finished and must not be taken for one that lost its end.
func (u *Register) Runs(s record.Session, now time.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(now)
	r := u.sessions[s]
	if r == nil {
		return nil
	}
	ids := slices.Clone(r.running)
	for _, e := range r.ended {
		if !e.settled(now) {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// Running reports whether a run of a session is under way.
func (u *Register) Running(s record.Session, id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.sessions[s]
	return r != nil && slices.Contains(r.running, id)
}

// LeaveOut notes, in sentences for people, the parts that the configuration leaves out of the
// record.
func (u *Register) LeaveOut(gaps []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = append(u.left, gaps...)
}

// Lose notes that a step of an unknown run could not be recorded.
func (u *Register) Lose() { u.unplaced.Add(1) }

// Gaps says, in sentences for people, which steps this process left out of the record, and how many
// steps of unknown runs it failed to record. No approval can rest on such a record.
func (u *Register) Gaps() []string {
	u.mu.Lock()
	gaps := slices.Clone(u.left)
	u.mu.Unlock()
	if n := u.unplaced.Load(); n > 0 {
		gaps = append(gaps, fmt.Sprintf("%s not be recorded, and of which run is not known: restart the program and start a new session", plural(int(n), "step could", "steps could")))
	}
	return gaps
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

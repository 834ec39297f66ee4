// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/record"
)

// runs holds the runs under way. Every callback of every run takes its lock, so nothing waits
// and nothing is called while it is held.
type runs struct {
	mu sync.Mutex
	m  map[runKey]*Run
	// live has the ids of the runs of each session that are under way. A run is until its last row was handed to
	// the sink: its record is not finished, and must not be taken for one that lost its end.
	live map[record.Session][]string
	// swept is when abandoned runs were looked for.
	swept time.Time
}

// sweepEvery is how often abandoned runs are looked for, which takes a look at every
// run under way.
const sweepEvery = time.Minute

// add stores r and removes the abandoned runs, which it returns; they are under way until they end. A consumer
// that reads a run of ADK's a second time begins another run with the same key: no callback finds the one that
// r replaces any more.
func (rs *runs) add(r *Run, now time.Time) (abandoned []*Run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.m == nil {
		rs.m, rs.live = make(map[runKey]*Run), make(map[record.Session][]string)
	}
	if since := now.Sub(rs.swept); since >= sweepEvery || since < 0 {
		rs.swept = now
		for k, old := range rs.m {
			if old.abandoned(now) {
				old.over.Store(true)
				delete(rs.m, k)
				abandoned = append(abandoned, old)
			}
		}
	}
	if replaced := rs.m[r.key]; replaced != nil {
		rs.over(replaced)
	}
	rs.m[r.key] = r
	rs.live[r.Session] = append(rs.live[r.Session], r.ID)
	return abandoned
}

// get returns the run of the key, nil when there is none or it is over.
func (rs *runs) get(k runKey) *Run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.m[k]; r != nil && !r.over.Load() {
		return r
	}
	return nil
}

// end takes r off the runs under way.
func (rs *runs) end(r *Run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.over(r)
	if rs.m[r.key] == r {
		delete(rs.m, r.key)
	}
}

// over notes that a run is not under way any more. The caller holds mu.
func (rs *runs) over(r *Run) {
	left := slices.DeleteFunc(rs.live[r.Session], func(id string) bool { return id == r.ID })
	if rs.live[r.Session] = left; len(left) == 0 {
		delete(rs.live, r.Session)
	}
}

// Running returns the ids of the runs of a session that are under way in this process.
func (rec *Recorder) Running(s record.Session) []string {
	rec.runs.mu.Lock()
	defer rec.runs.mu.Unlock()
	return slices.Clone(rec.runs.live[s])
}

// keyOf returns the key of the run that a run-level callback belongs to.
func keyOf(ctx agent.InvocationContext) runKey {
	if cfg := ctx.RunConfig(); cfg != nil {
		return runKey{config: cfg}
	}
	k := runKey{invocation: ctx.InvocationID()}
	if s := ctx.Session(); s != nil {
		k.session = record.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
	}
	return k
}

// lookup finds the run of an agent, model or tool callback. The context there is
// a wrapper without RunConfig; WithICDelta(nil) returns what it wraps. A call that is
// [Apart] is in no run, and is told that it needs one.
func (rs *runs) lookup(ctx agent.Context) *Run {
	if a := apart(ctx); a != nil {
		a.NeedsRun()
		return nil
	}
	ic := ctx.WithICDelta(nil)
	if ic == nil {
		return nil
	}
	return rs.get(keyOf(ic))
}

// Lookup returns the run that a run-level callback belongs to, nil where there is none.
func (rec *Recorder) Lookup(ctx agent.InvocationContext) *Run { return rec.runs.get(keyOf(ctx)) }

// LookupCall returns the run and the recorded call of a tool that ctx belongs to, nil where
// there is none. ctx is the context of a tool or of a callback around one.
func (rec *Recorder) LookupCall(ctx agent.Context) (*Run, *Call) {
	r := rec.runs.lookup(ctx)
	if r == nil {
		return nil, nil
	}
	return r, r.call(ctx)
}

// runKey finds the run that a callback belongs to. The runner makes one RunConfig per Run, and
// every context of that run points at it. Ids cannot serve: a run that resumes after an approval
// reuses the invocation id and the call ids, and two such runs can be under way at once. A live run
// has no RunConfig.
type runKey struct {
	config     *agent.RunConfig
	session    record.Session
	invocation string
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"maps"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// knownSessions is the greatest number of sessions with remembered state and prompts. A forgotten
// session is written whole once more.
const knownSessions = 10_000

// states remembers what of each session's state is on record, by hashes, so that the
// state is written once and then only what changed: a change by an event is a
// STATE_DELTA row, one from outside of a run shows at the start of the next.
type states struct {
	mu   sync.Mutex
	seen *lru.Cache[record.Session, map[string]uint64]
}

func newStates() (*states, error) {
	seen, err := lru.New[record.Session, map[string]uint64](knownSessions)
	return &states{seen: seen}, err
}

// changes returns what of state is not on record yet and takes it for written.
// whole says that nothing was. hash encodes a value, which may run the host's code: no
// lock is held then.
func (st *states) changes(s record.Session, state map[string]any, hash func(any) uint64) (delta map[string]any, whole bool) {
	hashes := make(map[string]uint64, len(state))
	for k, v := range state {
		hashes[k] = hash(v)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	known, ok := st.seen.Get(s)
	if !ok {
		known = make(map[string]uint64, len(state))
		st.seen.Add(s, known)
	}
	for k, h := range hashes {
		if old, ok := known[k]; ok && old == h {
			continue
		}
		known[k] = h
		if delta == nil {
			delta = make(map[string]any)
		}
		delta[k] = state[k]
	}
	return delta, !ok
}

// stateOf returns the session's state without the keys that are meant for one run.
func stateOf(s session.Session) map[string]any {
	if s == nil || s.State() == nil {
		return nil
	}
	state := maps.Collect(s.State().All())
	maps.DeleteFunc(state, func(k string, _ any) bool { return strings.HasPrefix(k, session.KeyPrefixTemp) })
	return state
}

// recordsState reports whether the state of sessions is written. Where the payload of
// STATE_DELTA is left out, it must not stand elsewhere either.
func (rec *Recorder) recordsState() bool {
	return *rec.record.SessionState && rec.policies[record.StateDelta].content == ""
}

// introduce makes the first row of the run carry what of the session's state is not
// on record. It may be called again as long as no agent has begun.
func (rec *Recorder) introduce(ctx agent.InvocationContext, r *Run) {
	if !rec.recordsState() {
		return
	}
	state := stateOf(ctx.Session())
	w := rec.writers.Get().(*jsonenc.Writer)
	delta, whole := rec.states.changes(r.Session, state, rec.hash(w))
	rec.writers.Put(w)
	if len(delta) == 0 {
		return
	}
	if r.first.Load() != nil {
		// No row has taken what an earlier call found.
		maps.Copy(r.unwritten, delta)
	} else {
		r.unwritten, r.unwrittenKey = delta, "state_delta"
	}
	if whole {
		r.unwrittenKey = "state"
	}
	payload, _ := rec.payload(record.StateDelta, r.unwritten)
	first := rec.commonAttributes(r, func(d jsonenc.Doc) { d.Any(r.unwrittenKey, payload) })
	r.first.Store(&first)
}

// noteState takes a change of state by an event for written.
func (rec *Recorder) noteState(s record.Session, delta map[string]any) {
	if !rec.recordsState() {
		return
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	rec.states.changes(s, delta, rec.hash(w))
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
	"github.com/adk-contextgraph/contextgraph/record"
)

// observerName is the name of the recorder's plugin as the runner knows it.
const observerName = "contextgraph_observer"

// Sink takes rows. The journal is one.
type Sink interface {
	// Append takes the row without I/O, and without waiting unless the sink is told to
	// wait for room; then rows of the same run wait for one another. It returns false
	// when the row had to be dropped, which the sink counts.
	Append(record.Event) bool
	// Commit waits until a row that Append took is stored, without waiting for further rows. The
	// error says why the row is not stored, or not yet.
	Commit(ctx context.Context, eventID string) error
}

// Config has the parts that a [Recorder] writes to.
type Config struct {
	// Sink takes the rows. Nil turns recording off.
	Sink Sink
	// Logger takes what has no other place. Defaults to slog.Default().
	Logger *slog.Logger
	// Record says which parts of a run are written, and how. A field that it leaves out has its
	// default. It does not open the store of Artifacts: that is Options.Offload.
	Record config.Record
	// Options are what code gives.
	Options Options
	// Secret is the key of the digests in rows, which all programs over one store share. Default none:
	// then whoever has a row can try which values its digests are of.
	Secret []byte
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Recorder holds the callbacks and the state of the runs under way. It is safe for concurrent use
// by any number of runners.
type Recorder struct {
	rows
	log *slog.Logger

	runs runs
	// unrecorded says which parts the configuration leaves out of the record. lost counts the steps of unknown runs
	// that could not be recorded.
	unrecorded []string
	lost       atomic.Uint64

	states  *states
	prompts *prompts
	// conversations holds the last requests of models, results what rows explain of them.
	conversations *lru.Cache[conversationKey, *conversation]
	results       *lru.Cache[record.Session, *results]
	// rootNames holds the root agent of each application, if it is known.
	rootNames *lru.Cache[string, string]
}

// New returns a Recorder.
func New(cfg Config) (*Recorder, error) {
	logger := cfg.Logger
	if logger == nil {
		logger = slog.Default()
	}
	rec := &Recorder{log: slog.New(ratelog.Contain(logger.Handler()))}
	rec.sink, rec.now = cfg.Sink, cfg.Now
	if rec.now == nil {
		rec.now = time.Now
	}
	var err error
	rec.unrecorded, err = rec.encoder.open(cfg, slog.New(ratelog.NewHandler(rec.log.Handler(), 0, nil)))
	if err != nil {
		return nil, err
	}
	if rec.states, err = newStates(); err != nil {
		return nil, err
	}
	if rec.prompts, err = newPrompts(rec.schemas.seed); err != nil {
		return nil, err
	}
	if rec.conversations, err = newConversations(); err != nil {
		return nil, err
	}
	if rec.results, err = lru.New[record.Session, *results](knownSessions); err != nil {
		return nil, err
	}
	if rec.rootNames, err = lru.New[string, string](knownApps); err != nil {
		return nil, err
	}
	return rec, nil
}

// Recording reports whether rows are written anywhere.
func (rec *Recorder) Recording() bool { return rec.sink != nil }

// Rescue recovers a panic of our own in an observing callback, which defers it. A panic in a
// tool callback would end the process, and observation must never cost a run. The record of
// the run gets a gap, so that a missing step does not pass for one that never happened.
func (rec *Recorder) Rescue(where string, r **Run) {
	p := recover()
	if p == nil {
		return
	}
	rec.Miss(*r)
	rec.panicked(where, p)
}

// Miss notes that a step of the run was not recorded, or of a run that is not known: r is nil
// then, and no approval can rest on the record of this process any more.
func (rec *Recorder) Miss(r *Run) {
	if r == nil {
		rec.lost.Add(1)
		return
	}
	r.skip()
}

// Gaps says, in sentences for people, which parts the configuration leaves out of the record, and how many steps of
// unknown runs could not be recorded. No approval can rest on such a record.
func (rec *Recorder) Gaps() []string {
	gaps := slices.Clone(rec.unrecorded)
	if n := rec.lost.Load(); n > 0 {
		gaps = append(gaps, fmt.Sprintf("steps of unknown runs could not be recorded (%d): restart the program and start a new session", n))
	}
	return gaps
}

func (rec *Recorder) panicked(where string, p any) {
	rec.counters.panics.Add(1)
	rec.often.Error("contextgraph: recovered from a panic while recording; a row is missing",
		"callback", where, "panic", p, "stack", string(debug.Stack()))
}

// knownApps bounds of how many applications the root agent is remembered.
const knownApps = 1000

// rootName remembers the root agent of an application. A run that resumes starts
// at the agent that asked, so only a session without history tells the root.
func (rec *Recorder) rootName(ctx agent.InvocationContext, r *Run) string {
	s := ctx.Session()
	if s != nil && s.Events() != nil && s.Events().Len() == 0 && r.RootAgent != "" {
		rec.rootNames.Add(r.Session.App, r.RootAgent)
		return r.RootAgent
	}
	if name, ok := rec.rootNames.Get(r.Session.App); ok {
		return name
	}
	return r.RootAgent
}

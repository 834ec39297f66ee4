// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// ObserverName is the name of the recorder's plugin as the runner knows it.
const ObserverName = "contextgraph_observer"

// Sink takes rows. The journal is one.
type Sink interface {
	// Append takes the row without I/O, and without waiting unless the sink is told to
	// wait for room; then rows of the same run wait for one another. It returns false
	// when the row had to be dropped, which the sink counts.
	Append(schema.Event) bool
}

// Limits bound what one row holds.
type Limits = jsonenc.Limits

// Config says what a [Recorder] records into.
type Config struct {
	// Sink takes the rows. Nil turns recording off.
	Sink Sink
	// Logger takes what has no other place. Defaults to slog.Default().
	Logger *slog.Logger
	// Limits bound a row. The zero value means 512,000 bytes for a string, 1,000,000
	// for a row, 50 levels and 100,000 values.
	Limits Limits
	// Options say what is written, and how.
	Options Options
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Recorder holds the callbacks and what they know of the runs under way. It is
// safe for concurrent use by any number of runners.
type Recorder struct {
	rows
	log *slog.Logger
	// unrecorded says what the record lacks by the options.
	unrecorded []string

	runs    runs
	states  *states
	prompts *prompts
	// conversations holds what models have read, answerRows the rows of their answers.
	conversations *conversations
	answerRows    *answerRows
	// rootNames holds the root agent of each application, as far as it is known.
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
	if rec.unrecorded, err = rec.encoder.open(cfg.Options, cfg.Limits, slog.New(ratelog.NewHandler(rec.log.Handler(), 0, nil))); err != nil {
		return nil, err
	}
	if rec.states, err = newStates(); err != nil {
		return nil, err
	}
	if rec.prompts, err = newPrompts(); err != nil {
		return nil, err
	}
	if rec.conversations, err = newConversations(); err != nil {
		return nil, err
	}
	if rec.answerRows, err = newAnswerRows(); err != nil {
		return nil, err
	}
	if rec.rootNames, err = lru.New[string, string](knownApps); err != nil {
		return nil, err
	}
	return rec, nil
}

// Recording reports whether rows are written anywhere.
func (rec *Recorder) Recording() bool { return rec.sink != nil }

// LiveRuns returns the ids of the runs of a session that are under way or ended
// just now: their record may not be finished and must not be taken for one that
// lost its end.
func (rec *Recorder) LiveRuns(s schema.Session) []string { return rec.runs.live(s, rec.now()) }

// Running reports whether a run is under way in this process. ADK ends no run before the
// tools that it called.
func (rec *Recorder) Running(s schema.Session, runID string) bool { return rec.runs.under(s, runID) }

// Rescue recovers a panic of our own in an observing callback, which defers it. A panic in a
// tool callback would end the process, and observation must never cost a run. What was
// not recorded must not pass for what did not happen, so the run gets a gap.
func (rec *Recorder) Rescue(where string, r **Run) {
	p := recover()
	if p == nil {
		return
	}
	if *r != nil {
		(*r).Skip()
	} else {
		rec.counters.unplacedRows.Add(1)
	}
	rec.panicked(where, p)
}

func (rec *Recorder) panicked(where string, p any) {
	rec.counters.panics.Add(1)
	rec.often.Error("contextgraph: recovered from a panic while recording; a row is missing",
		"callback", where, "panic", p, "stack", string(debug.Stack()))
}

// Gaps says, in sentences for people, what this process failed to record without
// knowing of which run, and what the options leave out. No approval can rest on such a record.
func (rec *Recorder) Gaps() []string {
	gaps := slices.Clone(rec.unrecorded)
	if n := rec.counters.unplacedRows.Load(); n > 0 {
		gaps = append(gaps, fmt.Sprintf("%s not be recorded, and of which run is not known: restart the program and start a new session", plural(int(n), "step could", "steps could")))
	}
	return gaps
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

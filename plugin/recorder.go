// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/ratelog"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Names of the two plugins as the runner knows them.
const (
	ObserverName = "contextgraph_observer"
	GateName     = "contextgraph_gate"
)

// Sink takes rows. The journal is one.
type Sink interface {
	// Append takes the row without I/O, and without waiting unless the sink is told to
	// wait for room; then rows of the same run wait for one another. It returns false
	// when the row had to be dropped, which the sink counts.
	Append(schema.Event) bool
}

// Limits bound what one row holds.
type Limits = jsonenc.Limits

// Config says what a [Recorder] records into and what it guards.
type Config struct {
	// Sink takes the rows. Nil turns recording off; tools that are guarded then
	// deny, because nothing can be known of what they rest on.
	Sink Sink
	// Guard decides. Nil denies every guarded call.
	Guard *safety.Guard
	// Tools are the names of the tools that never run without an approval, or patterns
	// of them, see [ToolPattern]. The gate asks for it where the tool does not ask
	// itself.
	Tools []string
	// RefuseUnguarded fails a model request that offers a tool which the gate is meant
	// to guard and cannot. False logs it.
	RefuseUnguarded bool
	// Inputs are the names of workflow nodes, or patterns of them, whose requests for an
	// input need an approval: the answer is one, and starts a run only if it is good.
	Inputs []string
	// Covered are the names of the tools whose confirmations are enforced, not
	// only observed, because a rule says what their arguments mean.
	Covered []string
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
	sink  Sink
	guard *safety.Guard
	log   *slog.Logger
	// often is log for what may happen with every row: one line per kind and minute.
	often   *slog.Logger
	limits  jsonenc.Limits
	now     func() time.Time
	options Options
	// policies holds what the options say about single event types, unrecorded what
	// the record lacks by that.
	policies   map[string]policy
	unrecorded []string

	observer, gate *plugin.Plugin

	runs     runs
	lanes    lanes
	redactor *jsonenc.Redactor
	writers  sync.Pool
	states   *states
	prompts  *prompts
	// conversations holds what models have read, answerRows the rows of their answers.
	conversations *conversations
	answerRows    *answerRows
	// rootNames holds the root agent of each application, as far as it is known.
	rootNames *lru.Cache[string, string]

	unwired sync.Map // names of agent tools that a warning was given for

	listed, inputs  toolNames
	covered         map[string]bool
	refuseUnguarded bool
	unguarded       unguarded

	mu        sync.Mutex
	protected map[string]bool
	// replayable holds the tools that a check may call again, by name, observers what sees
	// their calls. replays says that there are any.
	replayable map[string]tool.Tool
	observers  map[string]*observed
	// questions are the confirmations of tools that ask by themselves, by approval.
	questions *lru.Cache[string, toolconfirmation.ToolConfirmation]
	replays   atomic.Bool

	counters counters
	closed   atomic.Bool
}

// New returns a Recorder.
func New(cfg Config) (*Recorder, error) {
	rec := &Recorder{
		sink: cfg.Sink, guard: cfg.Guard, limits: cfg.Limits, now: cfg.Now, options: cfg.Options,
		covered: set(cfg.Covered), protected: make(map[string]bool), refuseUnguarded: cfg.RefuseUnguarded,
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.Default()
	}
	rec.log = slog.New(ratelog.Contain(logger.Handler()))
	rec.often = slog.New(ratelog.NewHandler(rec.log.Handler(), 0, nil))
	if rec.now == nil {
		rec.now = time.Now
	}
	rec.redactor = jsonenc.NewRedactor(cfg.Options.Redaction)
	rec.writers.New = func() any { return rec.redactor.NewWriter(rec.limits) }
	var err error
	if rec.listed, err = newToolNames(cfg.Tools); err != nil {
		return nil, err
	}
	if rec.inputs, err = newToolNames(cfg.Inputs); err != nil {
		return nil, err
	}
	if rec.unguarded.inside, err = newInside(); err != nil {
		return nil, err
	}
	if rec.policies, rec.unrecorded, err = rec.options.policies(); err != nil {
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
	if rec.questions, err = lru.New[string, toolconfirmation.ToolConfirmation](knownQuestions); err != nil {
		return nil, err
	}
	if err := rec.plugins(); err != nil {
		return nil, err
	}
	return rec, nil
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

func (rec *Recorder) plugins() (err error) {
	gate := plugin.Config{
		Name: GateName, BeforeRunCallback: rec.admit, BeforeModelCallback: rec.gateBeforeModel, BeforeToolCallback: rec.gateBeforeTool,
	}
	if rec.sink == nil && !rec.inputs.empty() {
		gate.OnUserMessageCallback = rec.refuseInputs
	}
	rec.gate, err = plugin.New(gate)
	if err != nil {
		return fmt.Errorf("contextgraph: gate plugin: %w", err)
	}
	if rec.sink == nil {
		return nil
	}
	rec.observer, err = plugin.New(plugin.Config{
		Name:                  ObserverName,
		OnUserMessageCallback: rec.onUserMessage,
		OnEventCallback:       rec.onEvent,
		BeforeRunCallback:     rec.beforeRun,
		AfterRunCallback:      rec.afterRun,
		BeforeAgentCallback:   rec.beforeAgent,
		AfterAgentCallback:    rec.afterAgent,
		BeforeModelCallback:   rec.beforeModel,
		AfterModelCallback:    rec.afterModel,
		OnModelErrorCallback:  rec.onModelError,
		BeforeToolCallback:    rec.beforeTool,
		AfterToolCallback:     rec.afterTool,
		OnToolErrorCallback:   rec.onToolError,
	})
	if err != nil {
		return fmt.Errorf("contextgraph: observer plugin: %w", err)
	}
	return nil
}

// PluginConfig returns the plugins in the order they must have: the observer,
// then the others as given, then the gate. With recording off there is only the
// gate, which denies what is guarded.
func (rec *Recorder) PluginConfig(others ...*plugin.Plugin) runner.PluginConfig {
	plugins := make([]*plugin.Plugin, 0, len(others)+2)
	if rec.observer != nil {
		plugins = append(plugins, rec.observer)
	}
	plugins = append(plugins, others...)
	plugins = append(plugins, rec.gate)
	return runner.PluginConfig{Plugins: plugins}
}

// LiveRuns returns the ids of the runs of a session that are under way or ended
// just now: their record may not be finished and must not be taken for one that
// lost its end.
func (rec *Recorder) LiveRuns(s schema.Session) []string { return rec.runs.live(s, rec.now()) }

// Running reports whether a run is under way in this process. ADK ends no run before the
// tools that it called.
func (rec *Recorder) Running(s schema.Session, runID string) bool { return rec.runs.under(s, runID) }

// Close makes every guarded tool deny from now on. What becomes of the rows of runs
// still under way is up to the sink.
func (rec *Recorder) Close() { rec.closed.Store(true) }

// rescue recovers a panic of our own in an observing callback. A panic in a tool
// callback would end the process, and observation must never cost a run. What was
// not recorded must not pass for what did not happen, so the run gets a gap.
func (rec *Recorder) rescue(where string, r **run) {
	p := recover()
	if p == nil {
		return
	}
	if *r != nil {
		(*r).skip()
	} else {
		rec.counters.unplacedRows.Add(1)
	}
	rec.recovered(where, p)
}

// recovered tells of a panic.
func (rec *Recorder) recovered(where string, p any) {
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

// enforced reports whether calls of tools of that name are enforced, and whether
// each needs an approval. Only the confirmations of a covered tool are enforced: it
// decides itself which of its calls need one.
func (rec *Recorder) enforced(name string) (enforced, always bool) {
	always = rec.listed.match(name) || rec.isProtected(name)
	return always || rec.covered[name], always
}

// isProtected reports whether Protect guards every tool of that name.
func (rec *Recorder) isProtected(name string) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.protected[name]
}

// knownApps bounds of how many applications the root agent is remembered.
const knownApps = 1000

// knownQuestions bounds how many confirmations of tools are remembered.
const knownQuestions = 1000

// rootName remembers the root agent of an application. A run that resumes starts
// at the agent that asked, so only a session without history tells the root.
func (rec *Recorder) rootName(ctx agent.InvocationContext, r *run) string {
	s := ctx.Session()
	if s != nil && s.Events() != nil && s.Events().Len() == 0 && r.rootAgent != "" {
		rec.rootNames.Add(r.session.App, r.rootAgent)
		return r.rootAgent
	}
	if name, ok := rec.rootNames.Get(r.session.App); ok {
		return name
	}
	return r.rootAgent
}

// detached is a context for work that must outlive the caller's cancellation: a
// client that hangs up must not leave an approval half recorded. It remembers the run.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(within(ctx)), d)
}

// errNotRecorded is the reason why an approval cannot be asked where no run is
// known.
var errNotRecorded = errors.New("this run is not recorded: its runner lacks contextgraph's plugins")

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/underway"
)

// runKey finds the run a callback belongs to. The runner makes one RunConfig per
// Run and every context of that run points at it; ids cannot serve, because a
// run that resumes after an approval reuses the invocation id and the call ids,
// and two such runs can be under way at once. A live run has no RunConfig.
type runKey struct {
	config     *agent.RunConfig
	session    schema.Session
	invocation string
}

// Run is one Run of a runner while it is under way. Its exported fields are set when it
// begins, and nobody changes them.
type Run struct {
	Session    schema.Session
	Invocation string
	// ID is that of the run: one turn, with one invocation id, may have several.
	ID        string
	TraceID   string
	RootSpan  string
	RootAgent string // the name of the root agent
	// Agent is the agent that the runner runs, with those below it.
	Agent agent.Agent
	// Live says that the run is a live session. Nested says that an agent runs as a tool.
	// Nobody can be asked in either.
	Live, Nested bool

	key        runKey
	rootParent string // of a run inside of a tool call
	// parent is the call that the run is inside of, launch what the one who started the run
	// knows of it.
	parent  *parentCall
	launch  *launch
	started time.Time

	// common is the part of the attributes that every row of the run shares, first
	// what the first one has in its place.
	common []byte
	first  atomic.Pointer[[]byte]
	// unwritten is the state that first holds, under unwrittenKey. Only the callbacks
	// before the first agent look at it.
	unwritten    map[string]any
	unwrittenKey string

	// begun says that the run did something; idle is since when it has not, in
	// nanoseconds since 1970, zero while its user message is being looked at. over says
	// that its last row is being written. They are read without the locks of the run:
	// another run must never wait for those.
	begun, over atomic.Bool
	idle        atomic.Int64

	// order is held while a row takes its number and is handed to the sink, which may
	// block for a while. No other lock is taken inside.
	order sync.Mutex
	seq   int64

	mu     sync.Mutex
	agents []*agentSpan
	// top is the name of the first agent, ended says that its end was the last thing
	// that happened.
	top   string
	ended bool
	// acted says that an agent was active, admitted that every plugin let the run
	// begin.
	acted, admitted bool
	// fault is what the run ends with unless something comes after it.
	fault *fault
	// closed holds the last activation of each agent that ended, for events that
	// come after it, closing their keys in the order in which they ended first.
	closed  map[agentKey]*agentSpan
	closing []agentKey
	calls   map[*session.EventActions]*Call
	// finished holds the calls that ended, by call id, until the event with the response
	// passes.
	finished map[string][]*Call
	// asked holds the calls whose confirmation is noted, by call id, until the event that
	// carries the request passes.
	asked map[string]*Call
	// stored says where the bytes of parts stand that this run has brought.
	stored map[storedKey]string
	// history is the run's copy of the session, to match requests of models with.
	history *history
	// branched says that steps of the run may have gone on at once, output is the row of the
	// last output of a node.
	branched atomic.Bool
	output   atomic.Pointer[rowID]
	// turns are those that the session told of when the run began.
	turns underway.Turns
	// nodes holds the activations of workflow nodes that are no agents and have no
	// output yet, by path; saved the versions of artifacts and interactions the
	// answers of remote agents that are on record.
	nodes        map[string]*nodeSpan
	saved        map[string]bool
	interactions map[string]bool

	// values are those of other packages; atEnd is called when the record ends.
	values sync.Map
	atEnd  []func(ctx context.Context, err error, unfinished bool)
}

type agentKey struct{ name, branch string }

// agentSpan is one activation of an agent.
type agentSpan struct {
	agentKey
	id, parent string
	outer      *agentSpan
	ctx        agent.InvocationContext
	started    time.Time
	// fault is what the activation ends with unless something comes after it.
	fault *fault
	// active says that something happened inside, delegated that an agent inside ended
	// a task, after which this one begins anew without an end.
	active, delegated bool
	// llm is the model call that is open, lastLLM the last one. answered is the row of the
	// last answer until its event passes.
	llm      *llmSpan
	lastLLM  *llmSpan
	answered rowID
}

// llmSpan is one model call.
type llmSpan struct {
	id         string
	agent      *agentSpan
	started    time.Time
	firstToken time.Time
	cached     bool
	// err is what the model failed with, at failed. A callback may still answer.
	err    error
	failed time.Time
	// around is the span that was current when the model failed.
	around trace.SpanContext
	// span is ADK's own of the call, where a SpanProcessor told of it.
	span *modelSpan
	// request is that of the call until it was answered, who made it.
	request *model.LLMRequest
	who     reader
	// row is that of the answer, first the call that it is a further answer to.
	row   rowID
	first *llmSpan
}

// Call is one call of a tool. Its exported fields are set when it begins, and nobody
// changes them.
type Call struct {
	ID, Name     string
	Agent        string
	Branch       string
	Span, Parent string
	Tool         tool.Tool

	started time.Time
	origin  string
	done    bool
	// startRow and endRow are the rows that began and ended the call, result is the digest
	// of the response that the latter tells of, tracked says that the run remembers it
	// until the event with the response passes.
	startRow, endRow rowID
	result           jsonenc.Digest
	tracked          bool
	// args is the digest of the arguments that the call began with.
	args digestOf
	// entities are those that the call declared, as JSON, and declared how many.
	entities []byte
	declared int64
	// failed is the error of the tool, which another plugin may turn into a result.
	failed error
	// confirmation is what is noted of the confirmation that the call asked for, and
	// confirmationSpan the span of the request.
	confirmation     Confirmation
	confirmationSpan string
	// child is the run of an agent that ran as this tool, claimed says that an agent of
	// this run did.
	child   *childRun
	claimed bool
}

// Failed returns the error of the tool, which another plugin may have turned into a result.
// It is for the callback after the tool.
func (c *Call) Failed() error { return c.failed }

func (rec *Recorder) newRun(ctx agent.InvocationContext, now time.Time) *Run {
	r := &Run{
		key:        keyOf(ctx),
		Invocation: ctx.InvocationID(),
		ID:         newID(),
		RootSpan:   newSpanID(),
		Live:       ctx.RunConfig() == nil,
		started:    now,
		calls:      make(map[*session.EventActions]*Call),
		closed:     make(map[agentKey]*agentSpan),
		asked:      make(map[string]*Call),
	}
	if s := ctx.Session(); s != nil {
		r.Session = schema.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		r.TraceID = sc.TraceID().String()
	} else {
		r.TraceID = newID()
	}
	if a := ctx.Agent(); a != nil {
		r.Agent = a
		r.RootAgent = a.Name()
	}
	if r.launch = launchOf(ctx, rec, r); r.launch != nil {
		r.Nested = r.launch.nested
		if r.launch.parent != nil {
			r.nest(r.launch.parent)
		}
	}
	return r
}

// NoRun returns a Run for rows that are written outside of any run of a runner: it has a
// trace of its own, and no end.
func (rec *Recorder) NoRun(s schema.Session) *Run {
	r := &Run{Session: s, TraceID: newID()}
	r.common = rec.commonAttributes(r, nil)
	return r
}

// Value returns what another package keeps with the run under a key of its own type. make
// gives it when it is asked for first.
func (r *Run) Value(key any, make func() any) any {
	if v := r.Known(key); v != nil {
		return v
	}
	v, _ := r.values.LoadOrStore(key, make())
	return v
}

// Known returns what another package keeps with the run under a key, nil for nothing yet.
func (r *Run) Known(key any) any {
	v, _ := r.values.Load(key)
	return v
}

// AtEnd has f called once, when the record of the run ends, before its last row: with what
// the run ended with, and whether it stopped before its end. f must not panic. It is called
// at once if the record has ended.
func (r *Run) AtEnd(f func(ctx context.Context, err error, unfinished bool)) {
	r.mu.Lock()
	over := r.over.Load()
	if !over {
		r.atEnd = append(r.atEnd, f)
	}
	r.mu.Unlock()
	if over {
		f(context.Background(), errUnfinished, true)
	}
}

// tellEnd calls what AtEnd was given.
func (r *Run) tellEnd(ctx context.Context, err error, unfinished bool) {
	r.mu.Lock()
	fs := r.atEnd
	r.atEnd = nil
	r.mu.Unlock()
	for _, f := range fs {
		f(ctx, err, unfinished)
	}
}

// Admit notes that every plugin let the run begin. Without it a run counts as refused. It is
// for the last of the BeforeRun callbacks.
func (r *Run) Admit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admitted = true
}

// Skip leaves a number out, so that the record shows that a row is missing.
func (r *Run) Skip() {
	r.order.Lock()
	defer r.order.Unlock()
	r.seq++
}

func (r *Run) abandoned(now time.Time) bool {
	idle := r.idle.Load()
	return !r.begun.Load() && idle != 0 && now.Sub(time.Unix(0, idle)) > abandonedAfter
}

// rest notes that nothing of the run is being worked on from now on. A run that has not
// begun, and rests for long, was given up.
func (r *Run) rest(now time.Time) { r.idle.Store(now.UnixNano()) }

// newCall returns the record of a tool call that begins.
func (r *Run) newCall(ctx agent.Context, t tool.Tool, now time.Time) *Call {
	c := &Call{
		ID: ctx.FunctionCallID(), Name: t.Name(), Agent: ctx.AgentName(), Branch: ctx.Branch(),
		Parent: r.RootSpan, started: now, Tool: t,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun.Store(true)
	r.proceedLocked(c.Branch)
	if a := r.agentLocked(c.Agent, c.Branch); a != nil {
		c.Parent, a.active = a.id, true
	}
	return c
}

// startCall makes c the call that ctx belongs to. The key is the call's own
// EventActions: it belongs to one call of one run, where a call id is reused by a
// resumed run. It reports false when the run has ended meanwhile, which closed the
// calls it knew.
func (r *Run) startCall(ctx agent.Context, c *Call) bool {
	r.join(trace.SpanFromContext(ctx), c.Span)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return false
	}
	r.calls[ctx.Actions()] = c
	return true
}

func (r *Run) call(ctx agent.Context) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[ctx.Actions()]
}

func (r *Run) endCall(ctx agent.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, ctx.Actions())
}

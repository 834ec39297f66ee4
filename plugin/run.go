// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
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
	"github.com/adk-contextgraph/contextgraph/safety"
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

// run is what is known of one Run of a runner while it is under way.
type run struct {
	key        runKey
	session    schema.Session
	invocation string
	id         string
	traceID    string
	rootSpan   string
	rootParent string // of a run inside of a tool call
	rootAgent  string
	// agentTree is the agent that the runner runs, with those below it.
	agentTree agent.Agent
	live      bool
	// nested says that an agent runs as a tool: nobody can be asked. parent is the
	// call it runs in, launch what the one who started the run knows of it.
	nested  bool
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

	// rows is held while a row takes its number and is handed to the sink, which may
	// block for a while. No other lock is taken inside.
	rows sync.Mutex
	seq  int64

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
	calls   map[*session.EventActions]*call
	// streaming are the calls whose stream is being read.
	streaming map[*session.EventActions]bool
	// finished holds the calls that ended, by call id, until the event with the response
	// passes.
	finished map[string][]*call
	// asked holds the calls that asked for an approval, by call id, until the
	// event that carries the confirmation id passes.
	asked map[string]*call
	// stored says where the bytes of parts stand that this run has brought.
	stored map[storedKey]string
	// history is the run's copy of the session, to match requests of models with.
	history *history
	// branched says that steps of the run may have gone on at once, output is the row of the
	// last output of a node.
	branched atomic.Bool
	output   atomic.Pointer[rowID]
	// answers holds what became of the answers this run brought, by call id.
	answers map[string]answered
	// refused holds the calls of this run that did not run.
	refused map[repeatKey]*refused
	// turns are those that the session told of when the run began, inputs the guarded
	// inputs that its message brought, whose permits are used up.
	turns  Turns
	inputs []*input
	// called holds the guarded tools that models of this run called, by call id.
	called map[string]string
	// nodes holds the activations of workflow nodes that are no agents and have no
	// output yet, by path; saved the versions of artifacts and interactions the
	// answers of remote agents that are on record.
	nodes        map[string]*nodeSpan
	saved        map[string]bool
	interactions map[string]bool
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

// call is one call of a tool.
type call struct {
	id, name     string
	agent        string
	branch       string
	span, parent string
	hitlSpan     string
	started      time.Time
	live         bool
	origin       string
	// replay is the digest of the arguments, if the call can be repeated with them.
	replay string
	// state is what a replayable call read of the session's, as JSON.
	state     map[string]json.RawMessage
	stateSize int
	done      bool
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
	approval safety.Approval
	permit   *safety.Permit
	// refused says why the call did not run, refusal the same as the model is told.
	refused string
	refusal *safety.Refusal
	// repeated says that the call was refused as an earlier one was, without a check.
	repeated bool
	tool     tool.Tool
	// failed is the error of the tool, which another plugin may turn into a result, digest
	// that of the arguments that were approved, where the gate consumed the permit.
	failed error
	digest string
	// answer is the one that approved the call, as the gate took it.
	answer []byte
	// running says that the tool behind Protect was started and has not ended.
	running atomic.Bool
	// child is the run of an agent that ran as this tool, claimed says that an agent of
	// this run did.
	child   *childRun
	claimed bool
	// inner says that the tool is behind Protect, which consumes the permit.
	inner bool
	// leave frees the lane of the session, where the call has it.
	leave func()
	// gated says that the gate saw this call before it ran; Protect refuses a
	// call that it did not see.
	gated bool
}

func (rec *Recorder) newRun(ctx agent.InvocationContext, now time.Time) *run {
	r := &run{
		key:        keyOf(ctx),
		invocation: ctx.InvocationID(),
		id:         newID(),
		rootSpan:   newSpanID(),
		live:       ctx.RunConfig() == nil,
		started:    now,
		calls:      make(map[*session.EventActions]*call),
		closed:     make(map[agentKey]*agentSpan),
		asked:      make(map[string]*call),
		answers:    make(map[string]answered),
	}
	if s := ctx.Session(); s != nil {
		r.session = schema.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		r.traceID = sc.TraceID().String()
	} else {
		r.traceID = newID()
	}
	if a := ctx.Agent(); a != nil {
		r.agentTree = a
		r.rootAgent = a.Name()
	}
	if r.launch = launchOf(ctx, rec, r); r.launch != nil {
		r.nested = r.launch.nested
		if r.launch.parent != nil {
			r.nest(r.launch.parent)
		}
	}
	return r
}

// skip leaves a number out, so that the record shows that a row is missing.
func (r *run) skip() {
	r.rows.Lock()
	defer r.rows.Unlock()
	r.seq++
}

func (r *run) abandoned(now time.Time) bool {
	idle := r.idle.Load()
	return !r.begun.Load() && idle != 0 && now.Sub(time.Unix(0, idle)) > abandonedAfter
}

// rest says that nothing of the run is being worked on for now.
func (r *run) rest(now time.Time) { r.idle.Store(now.UnixNano()) }

// newCall returns the record of a tool call that begins.
func (r *run) newCall(ctx agent.Context, t tool.Tool, now time.Time) *call {
	c := &call{
		id: ctx.FunctionCallID(), name: t.Name(), agent: ctx.AgentName(), branch: ctx.Branch(),
		parent: r.rootSpan, started: now, live: r.live, tool: bare(t),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun.Store(true)
	r.proceedLocked(c.branch)
	if a := r.agentLocked(c.agent, c.branch); a != nil {
		c.parent, a.active = a.id, true
	}
	return c
}

// startCall makes c the call that ctx belongs to. The key is the call's own
// EventActions: it belongs to one call of one run, where a call id is reused by a
// resumed run. It reports false when the run has ended meanwhile, which closed the
// calls it knew.
func (r *run) startCall(ctx agent.Context, c *call) bool {
	r.join(trace.SpanFromContext(ctx), c.span)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return false
	}
	r.calls[ctx.Actions()] = c
	return true
}

func (r *run) call(ctx agent.Context) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[ctx.Actions()]
}

func (r *run) endCall(ctx agent.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[ctx.Actions()]; c != nil {
		c.depart()
	}
	delete(r.calls, ctx.Actions())
}

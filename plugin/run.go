// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

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
	rootAgent  string
	live       bool
	started    time.Time

	// common is the part of the attributes that every row of the run shares.
	common []byte

	mu  sync.Mutex
	seq int64
	// begun says that the run did something; idle is since when it has not, zero
	// while its user message is being looked at.
	begun  bool
	idle   time.Time
	agents []*agentSpan
	// closed holds the last activation of each agent that ended, for events that
	// come after it.
	closed map[agentKey]*agentSpan
	calls  map[*session.EventActions]*call
	// asked holds the calls that asked for an approval, by call id, until the
	// event that carries the confirmation id passes.
	asked map[string]*call
	// answers holds what became of the answers this run brought, by call id.
	answers map[string]safety.Outcome
}

type agentKey struct{ name, branch string }

// agentSpan is one activation of an agent.
type agentSpan struct {
	agentKey
	id, parent string
	agent      agent.Agent
	started    time.Time
	// active says that something happened inside.
	active bool
	// llm is the model call that is open, lastLLM the last one.
	llm     *llmSpan
	lastLLM *llmSpan
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
	done         bool
	entities     []byte
	approval     safety.Approval
	permit       *safety.Permit
	refused      string
	tool         tool.Tool
	// inner says that the tool is behind Protect, which consumes the permit.
	inner bool
	// gated says that the gate saw this call before it ran; Protect refuses a
	// call that it did not see.
	gated bool
}

func newSpanID() string {
	var b [8]byte
	fill(b[:])
	return hex.EncodeToString(b[:])
}

// newID returns 32 hexadecimal digits: an event id, a trace id or a run id. They
// need to be unique, not secret; a nonce that must be secret is made in safety.
func newID() string {
	var b [16]byte
	fill(b[:])
	return hex.EncodeToString(b[:])
}

func fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		x := rand.Uint64() | 1 // never the all-zero id, which OpenTelemetry calls invalid
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
}

// runs holds the runs under way, and for a moment those that ended.
type runs struct {
	mu    sync.Mutex
	m     map[runKey]*run
	ended []endedRun
}

// endedRun is a run whose last row was handed to the sink at the given time.
type endedRun struct {
	session schema.Session
	id      string
	at      time.Time
}

// settles is how long a run that ended still counts as under way. Its last row
// may not be on disk yet when another run of the session reads the record.
const settles = 5 * time.Second

// abandonedAfter is how long a run may stand between its user message and its
// start, or, if it is live, before anything happens in it. A plugin that refuses the
// message ends a run there, as does a model that cannot be live, and nothing tells.
const abandonedAfter = 10 * time.Minute

// add stores r and returns the runs that were abandoned, which it removes.
func (rs *runs) add(r *run, now time.Time) (abandoned []*run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.m == nil {
		rs.m = make(map[runKey]*run)
	}
	for k, old := range rs.m {
		if old.abandoned(now) {
			delete(rs.m, k)
			abandoned = append(abandoned, old)
		}
	}
	rs.m[r.key] = r
	return abandoned
}

func (rs *runs) get(k runKey) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.m[k]
}

// end takes r off the runs under way.
func (rs *runs) end(r *run, now time.Time) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.m, r.key)
	rs.forget(now)
	rs.ended = append(rs.ended, endedRun{r.session, r.id, now})
}

func (rs *runs) forget(now time.Time) {
	rs.ended = slices.DeleteFunc(rs.ended, func(e endedRun) bool { return now.Sub(e.at) > settles })
}

// live returns the ids of the runs of a session that are under way or ended just
// now.
func (rs *runs) live(s schema.Session, now time.Time) []string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.forget(now)
	var ids []string
	for _, r := range rs.m {
		if r.session == s {
			ids = append(ids, r.id)
		}
	}
	for _, e := range rs.ended {
		if e.session == s {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// keyOf returns the key of the run that a run-level callback belongs to.
func keyOf(ctx agent.InvocationContext) runKey {
	if cfg := ctx.RunConfig(); cfg != nil {
		return runKey{config: cfg}
	}
	k := runKey{invocation: ctx.InvocationID()}
	if s := ctx.Session(); s != nil {
		k.session = schema.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
	}
	return k
}

// lookup finds the run of an agent, model or tool callback. The context there is
// a wrapper without RunConfig; WithICDelta(nil) returns what it wraps.
func (rs *runs) lookup(ctx agent.Context) *run {
	ic := ctx.WithICDelta(nil)
	if ic == nil {
		return nil
	}
	return rs.get(keyOf(ic))
}

func newRun(ctx agent.InvocationContext, now time.Time) *run {
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
		answers:    make(map[string]safety.Outcome),
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
		r.rootAgent = a.Name()
	}
	return r
}

// skip leaves a number out, so that the record shows that a row is missing.
func (r *run) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
}

func (r *run) abandoned(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.begun && !r.idle.IsZero() && now.Sub(r.idle) > abandonedAfter
}

// begin says that the run is really under way.
func (r *run) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
}

// rest says that nothing of the run is being worked on for now.
func (r *run) rest(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = now
}

// startCall records a tool call. The key is the call's own EventActions: it
// belongs to one call of one run, where a call id is reused by a resumed run.
func (r *run) startCall(ctx agent.Context, t tool.Tool, now time.Time) *call {
	c := &call{
		id: ctx.FunctionCallID(), name: t.Name(), agent: ctx.AgentName(), branch: ctx.Branch(),
		span: newSpanID(), parent: r.rootSpan, started: now, live: r.live, origin: originOf(t), tool: t,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
	if a := r.agentLocked(c.agent, c.branch); a != nil {
		c.parent, a.active = a.id, true
	}
	r.calls[ctx.Actions()] = c
	return c
}

func (r *run) call(ctx agent.Context) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[ctx.Actions()]
}

func (r *run) endCall(ctx agent.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, ctx.Actions())
}

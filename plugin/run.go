// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
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

	mu     sync.Mutex
	seq    int64
	begun  bool
	agents []*agentSpan
	calls  map[*session.EventActions]*call
	// asked holds the calls that asked for an approval, by call id, until the
	// event that carries the confirmation id passes.
	asked map[string]*call
	// answers holds what became of the answers this run brought, by call id.
	answers map[string]safety.Outcome
}

// agentSpan is one activation of an agent.
type agentSpan struct {
	id, parent   string
	name, branch string
	started      time.Time
	llm          *llmSpan
	lastLLM      *llmSpan
}

// llmSpan is one model call.
type llmSpan struct {
	id         string
	agent      *agentSpan
	started    time.Time
	firstToken time.Time
	cached     bool
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
	err          error
	done         bool
	entities     []byte
	approval     safety.Approval
	permit       *safety.Permit
	refused      string
	tool         tool.Tool
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
// start. A plugin that refuses the message ends a run there, and nothing tells.
const abandonedAfter = time.Minute

// add stores r and returns the runs that were abandoned, which it removes.
func (rs *runs) add(r *run, now time.Time) (abandoned []*run) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.m == nil {
		rs.m = make(map[runKey]*run)
	}
	for k, old := range rs.m {
		if now.Sub(old.started) > abandonedAfter && !old.hasBegun() {
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

func (r *run) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// openAgent opens the span of an agent's activation under the innermost agent
// that is open on the same branch or on one it came from.
func (r *run) openAgent(name, branch string, now time.Time) *agentSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &agentSpan{id: newSpanID(), parent: r.rootSpan, name: name, branch: branch, started: now}
	for i := len(r.agents) - 1; i >= 0; i-- {
		if above(r.agents[i].branch, branch) {
			a.parent = r.agents[i].id
			break
		}
	}
	r.agents = append(r.agents, a)
	return a
}

// above reports whether branch outer is inner or one that inner came from.
func above(outer, inner string) bool {
	return outer == inner || outer == "" || strings.HasPrefix(inner, outer) && inner[len(outer)] == '.'
}

// agent returns the innermost open activation of the named agent on the branch,
// or nil.
func (r *run) agent(name, branch string) *agentSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agentLocked(name, branch)
}

func (r *run) agentLocked(name, branch string) *agentSpan {
	for i := len(r.agents) - 1; i >= 0; i-- {
		if a := r.agents[i]; a.name == name && a.branch == branch {
			return a
		}
	}
	for i := len(r.agents) - 1; i >= 0; i-- {
		if a := r.agents[i]; a.name == name && above(a.branch, branch) {
			return a
		}
	}
	return nil
}

// closeAgent takes the activation off the open ones.
func (r *run) closeAgent(name, branch string) *agentSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agentLocked(name, branch)
	for i := len(r.agents) - 1; i >= 0; i-- {
		if r.agents[i] == a {
			r.agents = append(r.agents[:i], r.agents[i+1:]...)
			break
		}
	}
	return a
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
	if a := r.agentLocked(c.agent, c.branch); a != nil {
		c.parent = a.id
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

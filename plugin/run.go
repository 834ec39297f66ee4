// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Run is one Run of a runner while it is under way. Its exported fields are set when it
// begins, and nobody changes them.
type Run struct {
	Session    record.Session
	Invocation string
	// ID is that of the run: one turn, with one invocation id, may have several.
	ID        string
	TraceID   string
	RootSpan  string
	RootAgent string // the name of the root agent
	// Agent is the agent that the runner runs, with those below it.
	Agent agent.Agent
	// Live says that the run is a live session. Nested says that the run belongs to an agent that
	// runs as a tool. Nobody can be asked in either.
	Live, Nested bool
	// Rewinds are the rewinds that the history of the run goes by: see [Rewound]. ShowsLeft says that the session
	// went back, and that the run sees all the same what was left. Redoes is the approval whose turn is done again.
	Rewinds   []string
	Redoes    string
	ShowsLeft bool

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
	// fault is the error that the run ends with unless something comes after it.
	fault *fault
	// closed holds the last activation of each agent that ended, for events that come later.
	// closing has its keys in the order of the first ends.
	closed  map[agentKey]*agentSpan
	closing []agentKey
	calls   map[*session.EventActions]*Call
	// finished holds the calls that ended, by call id, until the event with the response
	// passes.
	finished map[string][]*Call
	// asked holds the calls with a noted confirmation, by call id, until the event with the request
	// passes.
	asked map[string]*Call
	// stored says where the bytes of parts stand that this run has brought.
	stored map[storedKey]string
	// past is the run's copy of the session.
	past *past
	// asks has the calls that models asked for in the run, by id. parts are those of the runner.
	asks  map[string][]ask
	parts func() parts
	// branched says that steps of the run may have gone on at once. output is the row of the
	// last output of a node.
	branched atomic.Bool
	output   atomic.Pointer[rowID]
	// turns are those that the session told of when the run began. fresh says that it told of nothing.
	turns Turns
	fresh bool
	// firstRow is the first row of the run.
	firstRow rowID
	// nodes holds the activations of workflow nodes that are no agents and have no
	// output yet, by path; saved the versions of artifacts and interactions the
	// answers of remote agents that are on record.
	nodes        map[string]*nodeSpan
	saved        map[string]bool
	interactions map[string]bool

	// values are those of other packages; atEnd is called when the record ends.
	values map[any]any
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
	// fault is the error that the activation ends with unless something comes after it.
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
	// err is the error of the model, at failed. A callback may still answer.
	err    error
	failed time.Time
	// around is the span that was current when the model failed.
	around trace.SpanContext
	// span is ADK's own of the call, where a SpanProcessor told of it.
	span *modelSpan
	// request is the request of the call until it was answered, who its maker.
	request *model.LLMRequest
	who     reader
	// row is the row of the answer; at first, it is the call that the answer continues.
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
	// startRow and endRow are the rows that began and ended the call. result is the digest of the
	// response in endRow. tracked says that the run remembers it until the event with the response
	// passes.
	startRow, endRow rowID
	result           jsonenc.Digest
	tracked          bool
	// args is the digest of the arguments that the call began with, atEnd of those that it ended with.
	args  digestOf
	atEnd jsonenc.Digest
	// declaring is held while a row with entities is handed to the sink, and while done is set: such
	// rows stand before the row that ends the call. declared is the size of the entities.
	declaring sync.Mutex
	declared  int
	// failed is the error of the tool, which another plugin may turn into a result.
	failed error
	// confirmation is the note about the confirmation that the call asked for, confirmationSpan the
	// span of the request.
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

// Value returns what another package keeps with the run under a key of its own type. The
// first caller keeps v there.
func (r *Run) Value(key, v any) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept := r.values[key]; kept != nil {
		return kept
	}
	if r.values == nil {
		r.values = make(map[any]any)
	}
	r.values[key] = v
	return v
}

// Known returns what another package keeps with the run under a key, nil for nothing yet.
func (r *Run) Known(key any) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values[key]
}

// AtEnd has f called once, when the record of the run ends, before its last row. f gets the
// error of the run, and whether the run stopped before its end. f must not panic. It is
// called at once if the record has ended.
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

// Admitted reports whether every plugin let the run begin, as [Run.Admit] noted.
func (r *Run) Admitted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admitted
}

// Admit notes that every plugin let the run begin. Without it a run counts as refused. It is
// for the last of the BeforeRun callbacks.
func (r *Run) Admit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admitted = true
}

// Over reports whether the record of the run has ended, or is about to: AtEnd is called then,
// if it was not yet.
func (r *Run) Over() bool { return r.over.Load() }

// skip leaves a number out, so that the record shows that a row is missing.
func (r *Run) skip() {
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

// Why a run ended that no callback and no iterator told of.
var (
	errAbandoned = errors.New("the run ended before it began: its user message was refused, or it could not be live")
	errRefused   = errors.New("the run was refused before it began: another plugin's BeforeRun callback stopped it")
)

// errUnfinished closes a span without an end.
var errUnfinished = errors.New("the run ended before this step did")

// fault is an error that ends an activation, the activations around it and the run, unless
// something comes after it. ADK tells plugins of no error of an agent or a run; this is the visible
// part of one.
type fault struct {
	err error
	in  *agentSpan
	// llm is the model call that failed, nil where an event said so.
	llm *llmSpan
}

// parentCall is the tool call that a run is inside of. Where a tool runs without one
// on record, as in a workflow tool node, call is nil.
type parentCall struct {
	run  *Run
	call *Call
}

// childRun is the run that went on inside of a tool call.
type childRun struct {
	session record.Session
	id      string
}

// storedKey tells the bytes of one part of a run from those of another.
type storedKey struct {
	hash uint64
	size int
}

// Confirmation is the approval in the row of a request for a confirmation. The zero value
// stands for a request without an approval.
type Confirmation struct {
	ApprovalID string
	// Replaces is the approval that this one takes the place of, "" for none.
	Replaces string
	// Enforced says that the call does not run without it.
	Enforced bool
}

// nodeSpan is one activation of a workflow node that is no agent: such a node has no
// callbacks, only its events.
type nodeSpan struct{ id, parent string }

// modelSpan is ADK's span of a model call.
type modelSpan struct {
	id string
	// event is the id of the event that the answer becomes, known once the whole
	// answer is there.
	event atomic.Pointer[string]
}

// abandonedAfter is how long a run may stand between its user message and its
// start, or, if it is live, before anything happens in it. A plugin that refuses the
// message ends a run there, as does a model that cannot be live, and nothing tells.
const abandonedAfter = 10 * time.Minute

// reader is whose request is matched.
type reader struct{ agent, branch, scope string }

// ask is a call that the answer of a model asked for. row is that of the answer, at when it passed.
type ask struct {
	row           rowID
	at            time.Time
	call          *genai.FunctionCall
	agent, branch string
}

// parts are the agents of a runner, by name, also those that run as tools, and the tools that nodes of its
// workflows run, by the names of the nodes.
type parts struct {
	agents map[string]bool
	nodes  map[string]string
}

func partsOf(root agent.Agent) func() parts {
	return sync.OnceValue(func() parts {
		out := parts{make(map[string]bool), make(map[string]string)}
		if root == nil {
			return out
		}
		for _, p := range adkreflect.Parts(root) {
			switch {
			case p.Node != nil && p.Tool != nil:
				out.nodes[p.Node.Name()] = p.Tool.Name()
			case p.Agent != nil:
				out.agents[p.Agent.Name()] = true
			}
		}
		return out
	})
}

// isAgent reports whether an agent of the runner has the name.
func (r *Run) isAgent(name string) bool { return r.parts().agents[name] }

// answerOf returns the row of the model call whose answer an event is, none for any other event.
func (r *Run) answerOf(a *agentSpan, ev *session.Event) (row rowID) {
	if ev.Content == nil || !answers(ev.Content) {
		return row
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	row, a.answered = a.answered, rowID{}
	return row
}

// answered notes the answer of a model, with the calls that it asks for.
func (r *Run) answered(ev *session.Event, row rowID, now func() time.Time) {
	if row == (rowID{}) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range ev.Content.Parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		if r.asks == nil {
			r.asks = make(map[string][]ask)
		}
		fc := p.FunctionCall
		r.asks[fc.ID] = append(r.asks[fc.ID], ask{row, now(), fc, ev.Author, ev.Branch})
	}
}

// askedFor returns the latest answer of an agent on a branch that asked for a call.
func (r *Run) askedFor(call, agent, branch string) (a ask, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range slices.Backward(r.asks[call]) {
		if a.agent == agent && a.branch == branch {
			return a, true
		}
	}
	return ask{}, false
}

// Decided returns the id of the row of the model call whose answer asked for a call; "c:" and the id of
// the call if that was before the run. If no model did, it returns the row after which the asking step
// began. own is the id of the event that asks by itself, "" if there is none.
func (r *Run) Decided(call, agent, branch, own string) (answer, after string) {
	if a, found := r.askedFor(call, agent, branch); found {
		return a.row.String(), ""
	}
	if own == "" && r.past.asks(call, agent, branch) {
		return "c:" + call, ""
	}
	return "", r.behind()
}

// behind returns the row after which the present step of the run began: the row of the last output
// of a node, if the steps came one after the other so far. Otherwise nobody can tell, and it is the
// start of the run.
func (r *Run) behind() string {
	output := r.output.Load()
	if output == nil || r.branched.Load() {
		return ""
	}
	return output.String()
}

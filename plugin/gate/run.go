// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// How long the work around an approval may take. The checks have deadlines of
// their own; these only keep a dead store from holding a run forever.
const (
	askTimeout    = 30 * time.Second
	answerTimeout = 2 * time.Minute
	ledgerTimeout = 10 * time.Second
)

// run is the gate's state of one run that is under way.
type run struct {
	*plugin.Run

	mu sync.Mutex
	// calls holds the calls of guarded tools, and those that a check may repeat.
	calls map[*plugin.Call]*call
	// asked holds the calls with a recorded approval, until the event with the request passes.
	asked map[*plugin.Call]*call
	// streaming are the calls with a stream that is being read.
	streaming map[*session.EventActions]bool
	// answers holds the answers that this run brought and their outcomes, by call id.
	answers map[string]answered
	// refused holds the calls of this run that did not run.
	refused map[repeatKey]*refused
	// called holds the tools that models of this run called beside guarded ones, and those, by call id.
	// second holds the calls of their answers that come second.
	called map[string]string
	second map[answerCall]*second
	// inputs are the guarded inputs that the message of the run brought. Their permits are
	// used up.
	inputs []*input
}

// call is the gate's state of one call of a tool.
type call struct {
	*plugin.Call

	// approval is the one that the call asked for.
	approval safety.Approval
	permit   *safety.Permit
	// was is what the call could read when it asked.
	was safety.Surroundings
	// refused says why the call did not run. refusal is the form that the model is told.
	refused string
	refusal *safety.Refusal
	// repeated says that the call was refused as an earlier one was, without a check.
	repeated bool
	// second refuses the call, unless it runs unasked: an equal call of the same answer came first.
	second *safety.Refusal
	// question is the tool's own request for a confirmation.
	question toolconfirmation.ToolConfirmation
	// digest is the digest of the approved arguments, if before.go consumed the permit. answer is
	// the answer that approved the call, as the gate took it.
	digest string
	answer []byte
	// running says that the tool behind Protect was started and has not ended.
	running atomic.Bool
	// inner says that the tool is behind Protect, which consumes the permit.
	inner bool
	// executed says that the effect ended well, and that the ledger has it.
	executed bool
	// release lets the next approved call of the session run, where this one has its turn.
	release func()
	// gated says that the gate saw this call before it ran; Protect refuses a
	// call that it did not see.
	gated bool

	// replay is the digest of the arguments, if the call can be repeated with them. state is
	// the part of the session's state that it read, as JSON. After done nothing is added.
	replay    string
	state     map[string]json.RawMessage
	stateSize int
	done      bool
}

// runKey is the key of the gate's part of a run.
type runKey struct{ *Gate }

// of returns the gate's part of a run.
func (g *Gate) of(r *plugin.Run) *run {
	if own, ok := r.Known(runKey{g}).(*run); ok {
		return own
	}
	fresh := &run{Run: r}
	own := r.Value(runKey{g}, fresh).(*run)
	if own == fresh {
		r.AtEnd(func(ctx context.Context, err error, unfinished bool) { g.end(ctx, own, err, unfinished) })
	}
	return own
}

// lookup returns the gate's part of the run and of the call that ctx belongs to, nil where
// there is none.
func (g *Gate) lookup(ctx agent.Context) (*run, *call) {
	r, c := g.rec.LookupCall(ctx)
	if r == nil {
		return nil, nil
	}
	own := g.of(r)
	if c == nil {
		return own, nil
	}
	return own, own.call(c)
}

// known returns the gate's part of a call, nil if it has none.
func (g *Gate) known(r *plugin.Run, c *plugin.Call) *call {
	own, _ := r.Known(runKey{g}).(*run)
	if own == nil || c == nil {
		return nil
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.calls[c]
}

// call returns the gate's part of a call, and makes one if it has none.
func (r *run) call(c *plugin.Call) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.calls[c]
	if own == nil {
		if r.calls == nil {
			r.calls = make(map[*plugin.Call]*call)
		}
		own = &call{Call: c}
		r.calls[c] = own
	}
	return own
}

// forget drops the gate's part of a call that has ended, and lets the next one have its turn.
func (g *Gate) forget(r *plugin.Run, c *plugin.Call) {
	if r == nil {
		return
	}
	own := g.known(r, c)
	if own == nil {
		return
	}
	in := g.of(r)
	in.mu.Lock()
	defer in.mu.Unlock()
	own.unlock()
	delete(in.calls, c)
}

// answerTo returns what became of the answer to the request of a call.
func (r *run) answerTo(call string) (answered, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[call]
	return a, ok
}

// end does what is left to do when the record of a run ends: calls that were never begun give
// up their turns, and the inputs that let the run begin have come to their end.
func (g *Gate) end(ctx context.Context, r *run, err error, unfinished bool) {
	r.mu.Lock()
	for _, c := range r.calls {
		if !c.running.Load() {
			c.unlock()
		}
	}
	clear(r.calls)
	inputs := r.inputs
	r.inputs = nil
	r.mu.Unlock()
	g.endInputs(ctx, inputs, err, unfinished)
}

// input is the answer to a guarded input in the message of a run.
type input struct {
	response *genai.FunctionResponse
	// said is the answer as the gate saw it, as JSON.
	said     []byte
	approval safety.Approval
	outcome  safety.Outcome
	permit   *safety.Permit
}

// answered is an answer and its outcome.
type answered struct {
	safety.Outcome
	said []byte
	// resolves says that it was about a call in doubt.
	resolves bool
}

// repeatKey tells the calls of a run apart by their effect.
type repeatKey struct{ agent, tool, digest string }

// refused is a call of a run that did not run. Of one that nobody was asked about it has the question.
type refused struct {
	refusal  *safety.Refusal
	question toolconfirmation.ToolConfirmation
}

// unlock ends the turn of the call, if it has one.
func (c *call) unlock() {
	if c.release != nil {
		c.release()
	}
}

// noteInput remembers an input with a consumed permit until the run ends.
func (r *run) noteInput(in *input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs = append(r.inputs, in)
}

// inputsTaken returns the guarded inputs that the message of the run brought.
func (g *Gate) inputsTaken(r *plugin.Run) []*input {
	own, _ := r.Known(runKey{g}).(*run)
	if own == nil {
		return nil
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	return slices.Clone(own.inputs)
}

// endInputs records the end of the run that the inputs started. If the run stopped before its end,
// nobody knows its effect: its inputs stay in doubt.
func (g *Gate) endInputs(ctx context.Context, inputs []*input, err error, unfinished bool) {
	for _, in := range inputs {
		if unfinished {
			g.log.Warn("contextgraph: a run stopped before its end, so the approval of its input stays in doubt", "approval", in.approval.ID)
			continue
		}
		dctx, cancel := plugin.Detach(ctx, ledgerTimeout)
		if derr := in.permit.Done(dctx, err); derr != nil {
			g.log.Error("contextgraph: the end of a run could not be recorded; the approval of its input stays in doubt",
				"approval", in.approval.ID, "error", derr)
		}
		cancel()
	}
}

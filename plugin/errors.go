// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// Why a run ended that no callback and no iterator told of.
var (
	errAbandoned = errors.New("the run ended before it began: its user message was refused, or it could not be live")
	errRefused   = errors.New("the run was refused before it began: another plugin's BeforeRun callback stopped it")
)

// fault is an error that ends an activation, the ones around it and the run, unless
// something comes after it. ADK tells plugins of no error of an agent or a run: this
// is what can be seen of one.
type fault struct {
	err error
	in  *agentSpan
	// llm is the model call that failed, nil where an event said so.
	llm *llmSpan
}

// failedLocked notes that a model call failed. One that was canceled failed for a
// reason that lies elsewhere: the caller's, or that of a parallel branch. over is the
// error of the call's context.
func (r *Run) failedLocked(l *llmSpan, over error) {
	if !errors.Is(over, context.Canceled) {
		r.faultLocked(&fault{err: l.err, in: l.agent, llm: l})
	}
}

func (r *Run) faultLocked(f *fault) { f.in.fault, r.fault = f, f }

func (r *Run) faultOf(a *agentSpan) *fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.fault
}

// recovered notes that a callback answered in the place of the model.
func (r *Run) recovered(l *llmSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := l.agent.fault
	if f == nil || f.llm != l {
		return
	}
	l.agent.fault = nil
	if r.fault == f {
		r.fault = nil
	}
}

// passed notes that an event of a passed: a goes on, and so does what is around it.
// An agent without a model, as a remote one, fails by an event that says so.
func (r *Run) passed(a *agentSpan, ev *session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = false
	r.proceedLocked(ev.Branch)
	if a == nil {
		return
	}
	a.fault = nil
	if ev.ErrorCode == "" && ev.ErrorMessage == "" || a.lastLLM != nil || !slices.Contains(r.agents, a) {
		return
	}
	if ev.NodeInfo != nil && ev.NodeInfo.Path != "" && parseNode(ev.NodeInfo.Path).name != a.name {
		return // a workflow node that is no agent
	}
	r.faultLocked(&fault{err: errors.New(cmp.Or(ev.ErrorMessage, ev.ErrorCode)), in: a})
}

// proceedLocked notes that something happened on the branch. A failure on a branch
// beside it stands.
func (r *Run) proceedLocked(branch string) {
	if f := r.fault; f != nil && above(branch, f.in.branch) {
		r.fault = nil
	}
}

// inside reports whether a is b or was called from it.
func (a *agentSpan) inside(b *agentSpan) bool {
	for ; a != nil; a = a.outer {
		if a == b {
			return true
		}
	}
	return false
}

// errorOf returns the error that a ends with now, nil if it ends well. What the
// consumer of the run was told is certain; without it, a failure that nothing
// followed has passed through every activation around it.
func (r *Run) errorOf(a *agentSpan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.fault != nil {
		return a.fault.err
	}
	f := r.fault
	if r.launch != nil && (f == nil || f.llm != nil) {
		err, _ := r.launch.last()
		return err
	}
	if f != nil && f.in.inside(a) {
		return f.err
	}
	return nil
}

// stopsHere reports whether nobody but the consumer can have kept the activations from
// their ends. ADK itself skips the end of one that a callback answered for or that
// ended the invocation, and of one that delegated a task; then its root agent ends all
// the same.
func (r *Run) stopsHere(open []*agentSpan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended && slices.ContainsFunc(open, func(a *agentSpan) bool { return !a.ctx.Ended() })
}

// outcome says how the run ended: with an error, or unfinished because its consumer
// stopped. open says that it may have.
func (r *Run) outcome(ctx context.Context, open bool) (err error, unfinished bool) {
	r.mu.Lock()
	f, acted, admitted := r.fault, r.acted, r.admitted
	r.mu.Unlock()
	stopped := open
	if r.launch != nil {
		if err, stopped = r.launch.last(); err != nil {
			return err, false
		}
	}
	switch {
	case f != nil && (r.launch == nil || f.llm == nil):
		return f.err, false
	case r.Live:
		return nil, stopped
	case !admitted && r.launch == nil:
		return errRefused, false
	case !admitted && r.begun.Load() && r.launch.answered():
		return nil, false // a BeforeRun callback answered: that is the whole run
	case ctx.Err() != nil && (open || !acted):
		return context.Cause(ctx), false
	}
	return nil, stopped || !admitted
}

// traceback writes the content of a row that ends an agent or a run with an error. An
// error that knows where it came from says so in its %+v form.
func traceback(d jsonenc.Doc, err error) {
	d.Open('{')
	d.Str("error_traceback", fmt.Sprintf("%+v", err))
	d.Close('}')
}

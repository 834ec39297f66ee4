// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
)

// openAgent opens the span of an agent's activation under the innermost agent
// that is open on the same branch or on one it came from. It also returns the
// activations that ended without a callback, which it closes. It returns nil when the
// run has ended meanwhile.
func (r *Run) openAgent(ctx agent.InvocationContext, key agentKey, now time.Time) (a *agentSpan, skipped []*agentSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return nil, nil
	}
	if !r.acted {
		r.top = key.name
	}
	r.begun.Store(true)
	r.acted, r.ended = true, false
	r.proceedLocked(key.branch)
	for {
		x, y := r.innermost(key.branch)
		if x == nil || x.fault == nil && !skippedBy(x, y, key.name) && !(x.delegated && x.agentKey == key) {
			break
		}
		r.dropLocked(x)
		skipped = append(skipped, x)
	}
	a = &agentSpan{agentKey: key, id: newSpanID(), parent: r.RootSpan, ctx: ctx, started: now}
	if x, _ := r.innermost(key.branch); x != nil {
		a.parent, a.outer, x.active = x.id, x, true
		if c := r.delegating(x, key); c != nil {
			a.parent, c.claimed = c.Span, true
		}
	}
	r.agents = append(r.agents, a)
	return a, skipped
}

// innermost returns the innermost activation that is open on the branch or above,
// and the one around it.
func (r *Run) innermost(branch string) (inner, outer *agentSpan) {
	for i := len(r.agents) - 1; i >= 0; i-- {
		if !above(r.agents[i].branch, branch) {
			continue
		}
		if inner != nil {
			return inner, r.agents[i]
		}
		inner = r.agents[i]
	}
	return inner, nil
}

// skippedBy reports whether x has ended without a callback. ADK fires none for an agent whose
// BeforeAgent callback answered in its place. Then nothing happened inside x, and the next agent
// belongs to an activation around x.
func skippedBy(x, y *agentSpan, next string) bool {
	return !x.active && y != nil && !has(x.ctx.Agent(), next) && has(y.ctx.Agent(), next)
}

// has reports whether an agent of that name is a or below it.
func has(a agent.Agent, name string) bool {
	return a != nil && a.FindAgent(name) != nil
}

// above reports whether branch outer is inner or one that inner came from.
func above(outer, inner string) bool {
	return outer == inner || outer == "" || strings.HasPrefix(inner, outer) && inner[len(outer)] == '.'
}

// agent returns the innermost open activation of the named agent on the branch,
// else the last one that ended, or nil.
func (r *Run) agent(name, branch string) *agentSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.openOrClosed(name, branch)
}

// openOrClosed is agent. The caller holds mu.
func (r *Run) openOrClosed(name, branch string) *agentSpan {
	return cmp.Or(r.agentLocked(name, branch), r.closed[agentKey{name, branch}])
}

func (r *Run) agentLocked(name, branch string) *agentSpan {
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

// closeAgent removes the activation from the open ones. It also removes those inside of it that no
// callback closed, innermost first.
func (r *Run) closeAgent(name, branch string) (a *agentSpan, inside []*agentSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a = r.agentLocked(name, branch); a == nil {
		return nil, nil
	}
	// An activation that was opened before a is not inside of it.
	for i := len(r.agents) - 1; i >= 0 && r.agents[i] != a; i-- {
		if x := r.agents[i]; x.inside(a) {
			inside = append(inside, x)
		}
	}
	for _, x := range inside {
		r.dropLocked(x)
	}
	r.dropLocked(a)
	r.ended = a.name == r.top
	return a, inside
}

func (r *Run) dropLocked(a *agentSpan) {
	for i := len(r.agents) - 1; i >= 0; i-- {
		if r.agents[i] == a {
			r.agents = append(r.agents[:i], r.agents[i+1:]...)
			break
		}
	}
	if _, ok := r.closed[a.agentKey]; !ok {
		r.closing = append(r.closing, a.agentKey)
	}
	r.closed[a.agentKey] = a
	if len(r.closing) > maxClosed {
		delete(r.closed, r.closing[0])
		r.closing = r.closing[1:]
	}
}

// maxClosed bounds how many agents a run remembers that ended. An agent that is called
// like a tool has a branch of its own each time, and no events come long after its end.
const maxClosed = 256

// delegating returns the call through which x runs the agent of key: ADK's tool for an
// agent that answers at once has the agent's name and gives it a branch of its own.
// Where several such calls are under way nobody can tell which one it is.
func (r *Run) delegating(x *agentSpan, key agentKey) *Call {
	if key.branch == x.branch {
		return nil
	}
	var found *Call
	for _, c := range r.calls {
		if c.Name != key.name || c.done || c.claimed || c.Agent != x.name || c.Branch != x.branch {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

// endTask closes the activation of an agent that ended the task it was given. ADK
// leaves both it and the one that gave the task without the callback: the latter
// begins anew with the result.
func (r *Run) endTask(name, branch string) (a *agentSpan, inside []*agentSpan) {
	if a, inside = r.closeAgent(name, branch); a == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.outer != nil {
		a.outer.delegated = true
	}
	return a, inside
}

// startLLM makes l the model call that is open in its agent. It reports false when the
// run has ended meanwhile, which closed the calls it knew.
func (r *Run) startLLM(l *llmSpan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over.Load() {
		return false
	}
	l.agent.llm, l.agent.lastLLM, l.agent.active = l, l, true
	return true
}

// takeLLM takes the model call that is open in a, so that one caller ends it.
func (r *Run) takeLLM(a *agentSpan) *llmSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := a.llm
	a.llm = nil
	return l
}

// failedLocked notes that a model call failed. A canceled call failed for another reason: the
// caller gave up, or a parallel branch did. over is the error of the call's context.
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

// errorOf returns the error that a ends with now, nil if it ends well. An error that the consumer
// of the run was told is certain. Without one, a failure with nothing after it has passed through
// every activation around it.
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

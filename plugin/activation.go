// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"time"

	"google.golang.org/adk/v2/agent"
)

// openAgent opens the span of an agent's activation under the innermost agent
// that is open on the same branch or on one it came from. It also returns the
// activations that ended without a callback, which it closes.
func (r *run) openAgent(ag agent.Agent, key agentKey, now time.Time) (a *agentSpan, skipped []*agentSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
	for {
		x, y := r.innermost(key.branch)
		if x == nil || !skippedBy(x, y, key.name) {
			break
		}
		r.dropLocked(x)
		skipped = append(skipped, x)
	}
	a = &agentSpan{agentKey: key, id: newSpanID(), parent: r.rootSpan, agent: ag, started: now}
	if x, _ := r.innermost(key.branch); x != nil {
		a.parent, x.active = x.id, true
	}
	r.agents = append(r.agents, a)
	return a, skipped
}

// innermost returns the innermost activation that is open on the branch or above,
// and the one around it.
func (r *run) innermost(branch string) (inner, outer *agentSpan) {
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

// skippedBy reports whether x is over although no callback said so: ADK fires none
// for an agent whose BeforeAgent callback answered in its place. Then nothing
// happened inside x, and the next agent is one of those around it, not of x.
func skippedBy(x, y *agentSpan, next string) bool {
	return !x.active && y != nil && !has(x.agent, next) && has(y.agent, next)
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
func (r *run) agent(name, branch string) *agentSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.agentLocked(name, branch); a != nil {
		return a
	}
	return r.closed[agentKey{name, branch}]
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
	if a != nil {
		r.dropLocked(a)
	}
	return a
}

func (r *run) dropLocked(a *agentSpan) {
	for i := len(r.agents) - 1; i >= 0; i-- {
		if r.agents[i] == a {
			r.agents = append(r.agents[:i], r.agents[i+1:]...)
			break
		}
	}
	r.closed[a.agentKey] = a
}

// takeLLM takes the model call that is open in a, so that one caller ends it.
func (r *run) takeLLM(a *agentSpan) *llmSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := a.llm
	a.llm = nil
	return l
}

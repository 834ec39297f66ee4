// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// permitted is the context of a protected tool while it runs. It lives as long as the effect may, and
// not as long as its caller. State and artifacts that it hands out are compared with the approval. The
// answer is a copy that nobody else can change. All of this holds for the contexts that are made from it.
type permitted struct {
	agent.Context
	life     context.Context
	effect   *effect
	consumed consumed
	answer   *toolconfirmation.ToolConfirmation
}

// withPermit returns the context for the tool, with the permit that its call consumed.
func withPermit(ctx agent.Context, life context.Context, e *effect) agent.Context {
	answer := new(toolconfirmation.ToolConfirmation)
	if json.Unmarshal(e.call.answer, answer) != nil {
		answer.Confirmed = false
	}
	return &permitted{Context: ctx, life: life, effect: e, consumed: consumed{permit: e.call.permit, call: ctx.Actions()}, answer: answer}
}

// from returns a context that ADK made of c; nil if it made none.
func (c *permitted) from(made agent.InvocationContext, life context.Context) agent.Context {
	if made == nil {
		return nil
	}
	out := *c
	out.life = life
	var ok bool
	if out.Context, ok = made.(agent.Context); !ok {
		out.Context = agent.Promote(made)
	}
	return &out
}

// ToolConfirmation implements [agent.Context].
func (c *permitted) ToolConfirmation() *toolconfirmation.ToolConfirmation { return c.answer }

// Deadline implements [context.Context].
func (c *permitted) Deadline() (time.Time, bool) { return c.life.Deadline() }

// Done implements [context.Context].
func (c *permitted) Done() <-chan struct{} { return c.life.Done() }

// Err implements [context.Context].
func (c *permitted) Err() error { return c.life.Err() }

// Value implements [context.Context].
func (c *permitted) Value(key any) any {
	if key == (permitKey{}) {
		return c.consumed
	}
	return c.life.Value(key)
}

// WithAgentCancel implements [agent.Context].
func (c *permitted) WithAgentCancel() (agent.Context, context.CancelFunc) {
	made, stop := c.Context.WithAgentCancel()
	return c.stopped(made, stop, func() (context.Context, context.CancelFunc) { return context.WithCancel(c.life) })
}

// WithAgentTimeout implements [agent.Context].
func (c *permitted) WithAgentTimeout(d time.Duration) (agent.Context, context.CancelFunc) {
	made, stop := c.Context.WithAgentTimeout(d)
	return c.stopped(made, stop, func() (context.Context, context.CancelFunc) { return context.WithTimeout(c.life, d) })
}

func (c *permitted) stopped(made agent.Context, stop context.CancelFunc, live func() (context.Context, context.CancelFunc)) (agent.Context, context.CancelFunc) {
	if made == nil {
		return nil, nil
	}
	life, cancel := live()
	return c.from(made, life), func() { cancel(); stop() }
}

// WithAgentContext implements [agent.Context].
func (c *permitted) WithAgentContext(ctx context.Context) agent.Context {
	if made := c.Context.WithAgentContext(ctx); made != nil {
		return c.from(made, ctx)
	}
	return nil
}

// WithContext implements [agent.InvocationContext].
func (c *permitted) WithContext(ctx context.Context) agent.InvocationContext {
	if made := c.Context.WithContext(ctx); made != nil {
		return c.from(made, ctx)
	}
	return nil
}

// WithDelta implements [agent.Context].
func (c *permitted) WithDelta(d *agent.CommonContextDelta) agent.Context {
	life := c.life
	if d != nil && d.InvocationContextDelta != nil && d.InvocationContextDelta.Context != nil {
		life = *d.InvocationContextDelta.Context
	}
	return c.from(c.Context.WithDelta(d), life)
}

// WithICDelta implements [agent.InvocationContext].
func (c *permitted) WithICDelta(d *agent.InvocationContextDelta) agent.InvocationContext {
	life := c.life
	if d != nil && d.Context != nil {
		life = *d.Context
	}
	return c.from(c.Context.WithICDelta(d), life)
}

// State implements [agent.Context].
func (c *permitted) State() session.State { return c.effect.watch(c.Context.State()) }

// ReadonlyState implements [agent.ReadonlyContext].
func (c *permitted) ReadonlyState() session.ReadonlyState {
	return &observedReadonly{c.Context.ReadonlyState(), c.effect.reads}
}

// Session implements [agent.InvocationContext].
func (c *permitted) Session() session.Session {
	if s := c.Context.Session(); s != nil {
		return &watchedSession{s, c.effect}
	}
	return nil
}

// Artifacts implements [agent.Context].
func (c *permitted) Artifacts() agent.Artifacts {
	if a := c.Context.Artifacts(); a != nil {
		return &watchedArtifacts{a, c.effect}
	}
	return nil
}

// watch returns a state whose reads are compared.
func (e *effect) watch(s session.State) session.State {
	return &observedState{State: s, read: e.reads, wrote: func(key string) { e.note("state " + key) }}
}

// watchedSession is the session of a protected tool while it runs.
type watchedSession struct {
	session.Session
	effect *effect
}

// State implements [session.Session].
func (s *watchedSession) State() session.State { return s.effect.watch(s.Session.State()) }

// watchedArtifacts are the artifacts of a protected tool while it runs. A version counts as the artifact: it
// may have been saved after the request.
type watchedArtifacts struct {
	agent.Artifacts
	effect *effect
}

// Save implements [agent.Artifacts].
func (a *watchedArtifacts) Save(ctx context.Context, name string, p *genai.Part) (*artifact.SaveResponse, error) {
	resp, err := a.Artifacts.Save(ctx, name, p)
	if err == nil {
		a.effect.note("artifact " + name)
	}
	return resp, err
}

// Load implements [agent.Artifacts].
func (a *watchedArtifacts) Load(ctx context.Context, name string) (*artifact.LoadResponse, error) {
	resp, err := a.Artifacts.Load(ctx, name)
	return a.compared(name, resp, err)
}

// LoadVersion implements [agent.Artifacts].
func (a *watchedArtifacts) LoadVersion(ctx context.Context, name string, version int) (*artifact.LoadResponse, error) {
	resp, err := a.Artifacts.LoadVersion(ctx, name, version)
	return a.compared(name, resp, err)
}

func (a *watchedArtifacts) compared(name string, resp *artifact.LoadResponse, err error) (*artifact.LoadResponse, error) {
	var p *genai.Part
	if resp != nil {
		p = resp.Part
	}
	if changed := a.effect.loads(name, p, err); changed != nil {
		return nil, changed
	}
	return resp, err
}

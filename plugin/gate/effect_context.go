// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// watched is the run as a protected tool sees it. It lives as long as the effect may, and not as long as
// its caller. State and artifacts that it hands out are compared with the approval. ADK makes the
// context of the tool from it, and from that all others.
type watched struct {
	context.Context // in the place of that of the run
	runContext
	effect *effect
}

// runContext is an [agent.InvocationContext] whose methods give way to those of a context.
type runContext struct{ agent.InvocationContext }

// context returns the context of the tool. The answer in it is a copy that nobody else can change.
func (e *effect) context(ctx agent.Context, life context.Context) agent.Context {
	answer := new(toolconfirmation.ToolConfirmation)
	if json.Unmarshal(e.call.answer, answer) != nil {
		answer.Confirmed = false
	}
	life = context.WithValue(life, permitKey{}, consumed{permit: e.call.permit, call: ctx.Actions()})
	of := agent.Promote(ctx.WithICDelta(nil)) // the run, which the context of a tool hides
	path, id, sub, above := of.Path(), of.RunID(), of.SubScheduler(), of.OutputForAncestors()
	run := agent.PromoteWithDelta(&watched{life, runContext{of}, e}, &agent.CommonContextDelta{
		Path: &path, RunID: &id, SubScheduler: &sub, OutputForAncestors: &above,
	})
	return agent.NewToolContext(run, ctx.FunctionCallID(), ctx.Actions(), answer)
}

// WithContext implements [agent.InvocationContext].
func (w *watched) WithContext(ctx context.Context) agent.InvocationContext {
	return &watched{ctx, w.runContext, w.effect}
}

// WithICDelta implements [agent.InvocationContext].
func (w *watched) WithICDelta(d *agent.InvocationContextDelta) agent.InvocationContext {
	life := w.Context
	if d != nil && d.Context != nil {
		life = *d.Context
	}
	return &watched{life, runContext{w.InvocationContext.WithICDelta(d)}, w.effect}
}

// Session implements [agent.InvocationContext].
func (w *watched) Session() session.Session {
	if s := w.InvocationContext.Session(); s != nil {
		return &watchedSession{s, w.effect}
	}
	return nil
}

// Artifacts implements [agent.InvocationContext].
func (w *watched) Artifacts() agent.Artifacts {
	if a := w.InvocationContext.Artifacts(); a != nil {
		return &watchedArtifacts{a, w.effect}
	}
	return nil
}

// watchedSession is the session of a protected tool while it runs.
type watchedSession struct {
	session.Session
	effect *effect
}

// State implements [session.Session].
func (s *watchedSession) State() session.State {
	return &observedState{State: s.Session.State(), read: s.effect.reads, wrote: func(key string) { s.effect.note("state " + key) }}
}

// watchedArtifacts are the artifacts of a protected tool while it runs. A version counts as the artifact:
// it may have been saved after the request.
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
	return a.effect.loads(name, resp, err)
}

// LoadVersion implements [agent.Artifacts].
func (a *watchedArtifacts) LoadVersion(ctx context.Context, name string, version int) (*artifact.LoadResponse, error) {
	resp, err := a.Artifacts.LoadVersion(ctx, name, version)
	return a.effect.loads(name, resp, err)
}

// reads compares what the tool reads under a key of the state with what was there when it asked.
func (e *effect) reads(key string, v any, there bool) error {
	now, was := "", e.call.was
	if there {
		now = e.gate.rec.Digest(v)
	}
	if now == was.State[key] || loose(e.free, key) || e.noted("state "+key) {
		return nil
	}
	why := "has changed since the approval was asked"
	if was.State[key] == "" && was.Unbound > 0 {
		why = "is new, or could not be kept when the approval was asked, as there was too much"
	}
	return e.ended("The key %q of the session's state %s, so %s was ended when it read it. If it may change, write guard.tools.%s.state: {free: [%q]}.",
		key, why, e.call.Name, e.call.Name, key)
}

// loads compares an artifact that the tool loads with its content when it asked.
func (e *effect) loads(name string, resp *artifact.LoadResponse, err error) (*artifact.LoadResponse, error) {
	now, was := "", e.call.was.Artifacts[name]
	if err == nil {
		now, _ = e.gate.artifactDigest(resp.Part)
	}
	switch gone := errors.Is(err, fs.ErrNotExist); {
	case err == nil && now == was && was != "", err != nil && (was == "" || !gone), e.noted("artifact " + name):
		return resp, err
	}
	return nil, e.ended("The artifact %q is not as it was when the approval was asked, or could not be kept then, so %s was ended when it loaded it.", name, e.call.Name)
}

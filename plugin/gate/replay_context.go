// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// replay is one repeated call, a [plugin.Apart]. It lets the tool read what a run has, and
// notes the first thing that it tries to change.
type replay struct {
	// ctx ends the call, whether or not the tool heeds it.
	ctx     context.Context
	session record.Session
	agent   string
	// run is the run that the check is made in; nil outside of any.
	run agent.InvocationContext

	// same compares values. state holds the values of the session's state that the first call read,
	// as JSON.
	same  func(a, b any) bool
	state map[string]json.RawMessage

	mu       sync.Mutex
	over     bool
	broken   string
	differs  string
	entities []byte
}

// forbid notes what the tool tried and returns it as an error.
func (p *replay) forbid(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == "" {
		p.broken = "the tool " + what
	}
	return fmt.Errorf("contextgraph: this call is repeated to find changes, and may change nothing itself: the tool %s", what)
}

// outside forbids a thing that only a run has.
func (p *replay) outside(what string) error {
	return p.forbid("reads " + what + ", which is at hand only while its agent runs")
}

// end ends the call and returns the entities that it declared.
func (p *replay) end() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	return p.entities
}

// ended reports whether the call has ended, so that anything that the tool still does is too late.
func (p *replay) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endedLocked()
}

func (p *replay) endedLocked() bool { return p.over || p.ctx.Err() != nil }

// NeedsRun implements [plugin.Apart].
func (p *replay) NeedsRun() { _ = p.forbid("calls a guarded tool, or an agent") }

// Declare implements [plugin.Apart].
func (p *replay) Declare(entities []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.endedLocked():
		return plugin.ErrNoCall
	case len(p.entities)+len(entities) > plugin.MaxDeclared:
		return errTooManyDeclared
	case len(p.entities) > 0:
		p.entities = append(p.entities, ',')
	}
	p.entities = append(p.entities, entities...)
	return nil
}

var errTooManyDeclared = fmt.Errorf("contextgraph: record entity: more than %d KiB of entities in one repeated call; record fewer, or let a rule extract them", plugin.MaxDeclared>>10)

// tried names the change that the tool tried to make, or returns "".
func (p *replay) tried(a *session.EventActions) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.broken != "":
		return p.broken
	case len(a.RequestedToolConfirmations) > 0:
		return "the tool asks for a confirmation"
	case a.TransferToAgent != "":
		return "the tool transfers to another agent"
	case a.Escalate:
		return "the tool escalates to another agent"
	case len(a.StateDelta) > 0:
		return "the tool changes the state of the session"
	case len(a.ArtifactDelta) > 0:
		return "the tool saves an artifact"
	}
	return ""
}

// context returns the context of the run that the tool believes to be in. Its invocation
// and its call have ids of their own: an answer that somebody keeps by one of these must
// not pass for the present.
func (p *replay) context() agent.InvocationContext {
	return &replayContext{Context: p.ctx, p: p, id: "replay-" + rand.Text()}
}

// replayContext is the [agent.InvocationContext] of a repeated call.
type replayContext struct {
	context.Context
	p  *replay
	id string
}

// Value implements [context.Context].
func (c *replayContext) Value(key any) any {
	if key == (plugin.ApartKey{}) {
		return c.p
	}
	return c.Context.Value(key)
}

// Agent returns an agent that has the name of the one that called the tool, and nothing
// else of it.
func (c *replayContext) Agent() agent.Agent {
	a, err := agent.New(agent.Config{Name: c.p.agent})
	if err != nil {
		panic(err) // no part of the configuration can be wrong
	}
	return a
}

func (c *replayContext) Artifacts() agent.Artifacts { return replayArtifacts{c.p} }
func (c *replayContext) Memory() agent.Memory       { return replayMemory{c.p} }
func (c *replayContext) Session() session.Session   { return replaySession{c.p} }
func (c *replayContext) InvocationID() string       { return c.id }
func (c *replayContext) Branch() string             { return "" }
func (c *replayContext) IsolationScope() string     { return "" }

// UserContent returns nothing: the message that began this run is not the one that led
// to the first call.
func (c *replayContext) UserContent() *genai.Content { return nil }

func (c *replayContext) RunConfig() *agent.RunConfig { return nil }

// EndInvocation implements [agent.InvocationContext].
func (c *replayContext) EndInvocation() { _ = c.p.forbid("ends the run") }

// Ended implements [agent.InvocationContext].
func (c *replayContext) Ended() bool { return c.p.ended() }

// ResumedInput implements [agent.InvocationContext].
func (c *replayContext) ResumedInput(string) (any, bool) { return nil, false }

// WithContext implements [agent.InvocationContext].
func (c *replayContext) WithContext(ctx context.Context) agent.InvocationContext {
	return &replayContext{Context: ctx, p: c.p, id: c.id}
}

// WithICDelta implements [agent.InvocationContext]. It applies only the change of the Go context.
func (c *replayContext) WithICDelta(d *agent.InvocationContextDelta) agent.InvocationContext {
	if d == nil || d.Context == nil {
		return c
	}
	return c.WithContext(*d.Context)
}

// errReplayOver is the error for a tool that goes on after its call has ended.
var errReplayOver = errors.New("contextgraph: the repeated call has ended")

// replaySession is the session as a repeated call sees it.
type replaySession struct{ p *replay }

func (s replaySession) ID() string                { return s.p.session.ID }
func (s replaySession) AppName() string           { return s.p.session.App }
func (s replaySession) UserID() string            { return s.p.session.User }
func (s replaySession) State() session.State      { return replayState(s) }
func (s replaySession) LastUpdateTime() time.Time { return time.Time{} }

// Events returns no events: a tool is given none either.
func (s replaySession) Events() session.Events { return noEvents{} }

type noEvents struct{}

func (noEvents) All() iter.Seq[*session.Event] { return func(func(*session.Event) bool) {} }
func (noEvents) Len() int                      { return 0 }
func (noEvents) At(int) *session.Event         { return nil }

// replayState is the state of the session, to be read.
type replayState struct{ p *replay }

func (s replayState) source() (session.State, error) {
	switch {
	case s.p.ended():
		return nil, errReplayOver
	case s.p.run == nil || s.p.run.Session() == nil:
		return nil, s.p.outside("the state of the session")
	}
	return s.p.run.Session().State(), nil
}

// Get implements [session.State].
func (s replayState) Get(key string) (any, error) {
	state, err := s.source()
	if err != nil {
		return nil, err
	}
	v, err := state.Get(key)
	if err == nil || errors.Is(err, session.ErrStateKeyNotExist) {
		if err := s.p.reads(key, v); err != nil {
			return nil, err
		}
	}
	return copied(v), err
}

// All implements [session.State].
func (s replayState) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		state, err := s.source()
		if err != nil {
			return
		}
		missing := maps.Clone(s.p.state)
		for k, v := range state.All() {
			delete(missing, k)
			if s.p.reads(k, v) != nil || !yield(k, copied(v)) {
				return
			}
		}
		for k := range missing {
			_ = s.p.reads(k, nil)
		}
	}
}

// Set implements [session.State].
func (s replayState) Set(string, any) error { return s.p.forbid("changes the state of the session") }

// copied returns v with maps and lists of its own, as JSON has them.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = copied(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copied(e)
		}
		return out
	}
	return v
}

// replayArtifacts are the artifacts of the session, to be read.
type replayArtifacts struct{ p *replay }

func (a replayArtifacts) source() (agent.Artifacts, error) {
	switch {
	case a.p.ended():
		return nil, errReplayOver
	case a.p.run == nil || a.p.run.Artifacts() == nil:
		return nil, a.p.outside("an artifact")
	}
	return a.p.run.Artifacts(), nil
}

// Save implements [agent.Artifacts].
func (a replayArtifacts) Save(context.Context, string, *genai.Part) (*artifact.SaveResponse, error) {
	return nil, a.p.forbid("saves an artifact")
}

// List implements [agent.Artifacts].
func (a replayArtifacts) List(ctx context.Context) (*artifact.ListResponse, error) {
	from, err := a.source()
	if err != nil {
		return nil, err
	}
	return from.List(ctx)
}

// Load implements [agent.Artifacts].
func (a replayArtifacts) Load(ctx context.Context, name string) (*artifact.LoadResponse, error) {
	from, err := a.source()
	if err != nil {
		return nil, err
	}
	return from.Load(ctx, name)
}

// LoadVersion implements [agent.Artifacts].
func (a replayArtifacts) LoadVersion(ctx context.Context, name string, version int) (*artifact.LoadResponse, error) {
	from, err := a.source()
	if err != nil {
		return nil, err
	}
	return from.LoadVersion(ctx, name, version)
}

// replayMemory is the memory of the user, to be searched.
type replayMemory struct{ p *replay }

// AddSessionToMemory implements [agent.Memory].
func (m replayMemory) AddSessionToMemory(context.Context, session.Session) error {
	return m.p.forbid("adds the session to the memory")
}

// SearchMemory implements [agent.Memory].
func (m replayMemory) SearchMemory(ctx context.Context, query string) (*memory.SearchResponse, error) {
	switch {
	case m.p.ended():
		return nil, errReplayOver
	case m.p.run == nil || m.p.run.Memory() == nil:
		return nil, m.p.outside("the memory")
	}
	return m.p.run.Memory().SearchMemory(ctx, query)
}

// reads compares the value that a repeated call reads under a key with the value of the first call.
// If they differ, it returns an error that names the key. A missing key counts as nil.
func (p *replay) reads(key string, v any) error {
	recorded, known := p.state[key]
	problem := "was not recorded when the tool was called first"
	if known {
		was, ok := jsonenc.Decode(recorded)
		if ok && p.same(was, v) {
			return nil
		}
		problem = "has another value than when the tool was called first"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.differs == "" {
		p.differs = fmt.Sprintf("the tool reads the state of the session, whose key %q %s: what it gives now may be the answer to another question", key, problem)
	}
	return errors.New("contextgraph: " + p.differs)
}

// differed says which key of the state was not what the first call read, or returns "".
func (p *replay) differed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.differs
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"errors"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
)

// The result of a tool may depend on the state of its session, which clients can write. So the
// keys that a replayable call reads are recorded with their values, and a repeated call must
// read the same ones. No callback sees the reads of a tool, so a request of a model gets the
// tool with an observer around it. The agent keeps the tool as it is. Without the observer, as
// in a live run, no key is on record, and a repeated call that reads one fails.

// observed is a replayable tool with observed calls.
type observed struct {
	gate  *Gate
	inner runnable
}

// observeReads puts the observers around the replayable tools that a request offers.
func (g *Gate) observeReads(req *model.LLMRequest) {
	if !g.replays.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, t := range g.replayable {
		offered, ok := req.Tools[name].(tool.Tool)
		if !ok || !sameTool(offered, t) {
			continue
		}
		if o := g.observers[name]; o != nil {
			req.Tools[name] = o
		}
	}
}

// newObserved returns the observer around a tool; nil for one of another kind than those
// that ADK calls by Run and nothing else.
func newObserved(g *Gate, t tool.Tool) *observed {
	_, streams := t.(streamable)
	_, defers := t.(interface{ DefersResponse() bool })
	inner, ok := t.(runnable)
	if streams || defers || !ok {
		return nil
	}
	return &observed{gate: g, inner: inner}
}

// bare returns the tool inside of its observer.
func bare(t tool.Tool) tool.Tool {
	if o, ok := t.(*observed); ok {
		return o.inner
	}
	return t
}

// Name implements [tool.Tool].
func (o *observed) Name() string { return o.inner.Name() }

// Description implements [tool.Tool].
func (o *observed) Description() string { return o.inner.Description() }

// IsLongRunning implements [tool.Tool].
func (o *observed) IsLongRunning() bool { return o.inner.IsLongRunning() }

// Declaration returns the declaration of the tool inside.
func (o *observed) Declaration() *genai.FunctionDeclaration { return o.inner.Declaration() }

// WrappedTool implements [adkreflect.Wrapper].
func (o *observed) WrappedTool() tool.Tool { return o.inner }

// Run runs the tool inside.
func (o *observed) Run(ctx agent.Context, args any) (map[string]any, error) {
	if r, recorded := o.gate.rec.LookupCall(ctx); recorded != nil {
		if c := o.gate.known(r, recorded); c != nil && c.replay != "" {
			own := o.gate.of(r)
			ctx = &observedContext{Context: ctx, read: func(key string, v any, _ bool) error { o.gate.noteRead(own, c, key, v); return nil }}
		}
	}
	return o.inner.Run(ctx, args)
}

// maxState bounds what a row holds of the state that a call read, in bytes.
const maxState = 16 << 10

// noteRead remembers the value that a call read first under a key of the state. It leaves out a
// value that cannot be recorded exactly: then the call cannot be repeated.
func (g *Gate) noteRead(r *run, c *call, key string, v any) {
	in := r.Run
	defer g.rec.Rescue("State", &in)
	under := g.rec.Encode(map[string]any{key: v}) // a key may make a secret of its value
	value := g.rec.Encode(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := c.state[key]; known || c.done || !under.Exact || under.Redacted || c.stateSize+len(key)+len(value.JSON) > maxState {
		return
	}
	if c.state == nil {
		c.state = make(map[string]json.RawMessage)
	}
	c.stateSize += len(key) + len(value.JSON)
	c.state[key] = value.JSON
}

// observedContext is a tool's context that tells of each key of the state that is read.
type observedContext struct {
	agent.Context
	read reader
}

// reader is called with each key that is read, its value, and whether it is there. An error ends the read.
type reader func(key string, v any, there bool) error

// State implements [agent.Context].
func (c *observedContext) State() session.State {
	return &observedState{State: c.Context.State(), read: c.read}
}

// ReadonlyState implements [agent.ReadonlyContext].
func (c *observedContext) ReadonlyState() session.ReadonlyState {
	return &observedReadonly{c.Context.ReadonlyState(), c.read}
}

// observedState is a state whose reads are told. wrote, if it is not nil, is told of each key that is set.
type observedState struct {
	session.State
	read  reader
	wrote func(key string)
}

// Set implements [session.State].
func (s *observedState) Set(key string, v any) error {
	if s.wrote != nil {
		s.wrote(key)
	}
	return s.State.Set(key, v)
}

// Get implements [session.State].
func (s *observedState) Get(key string) (any, error) { return readKey(s.State, key, s.read) }

// All implements [session.State].
func (s *observedState) All() iter.Seq2[string, any] { return readAll(s.State, s.read) }

type observedReadonly struct {
	session.ReadonlyState
	read reader
}

// Get implements [session.ReadonlyState].
func (s *observedReadonly) Get(key string) (any, error) {
	return readKey(s.ReadonlyState, key, s.read)
}

// All implements [session.ReadonlyState].
func (s *observedReadonly) All() iter.Seq2[string, any] { return readAll(s.ReadonlyState, s.read) }

func readKey(s session.ReadonlyState, key string, read reader) (any, error) {
	v, err := s.Get(key)
	if err == nil || errors.Is(err, session.ErrStateKeyNotExist) {
		if err := read(key, v, err == nil); err != nil {
			return nil, err
		}
	}
	return v, err
}

func readAll(s session.ReadonlyState, read reader) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for k, v := range s.All() {
			if read(k, v, true) != nil || !yield(k, v) {
				return
			}
		}
	}
}

// sameTool compares tools; one that cannot be compared is the same as none.
func sameTool(a, b tool.Tool) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

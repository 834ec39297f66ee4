// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// world is what is out there: by type and name the attributes of things. Other keys hold whatever
// tools of the flow show.
type world = map[string]any

// place is the world of one run, which changes.
type place struct {
	mu    sync.Mutex
	now   world
	down  map[string]bool     // types whose source answers no more
	stale map[string]duration // how old answers about a type are
}

// change lays a change over the world; null removes what is there.
func (p *place) change(w world) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = overlay(p.now, w)
}

// overlay returns a copy of m with the changes; it shares nothing that changes later.
func overlay(m, changes map[string]any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = make(map[string]any)
	}
	for key, value := range changes {
		next, isMap := value.(map[string]any)
		was, wasMap := out[key].(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isMap && wasMap:
			out[key] = overlay(was, next)
		default:
			out[key] = value
		}
	}
	return out
}

// step changes the world and its sources as a step says.
func (p *place) step(s step) {
	p.change(s.World)
	p.setDown(true, s.Down...)
	p.setDown(false, s.Up...)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.stale, s.Stale)
}

func (p *place) setDown(down bool, types ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range types {
		p.down[t] = down
	}
}

// scope is what a result can refer to: the world, and facts of the call under the keys args, state
// and artifact.
type scope map[string]any

// fill returns v with each text "=path" replaced by what is there. {name} in a path is an argument.
// A thing has its name beside its attributes; a type is the list of its things, by name. =text.N is a
// text of N letters.
func (s scope) fill(v any) any {
	switch v := v.(type) {
	case string:
		if path, ok := strings.CutPrefix(v, "="); ok {
			return s.at(path)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = s.fill(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = s.fill(value)
		}
		return out
	}
	return v
}

func (s scope) at(path string) any {
	segments := strings.Split(path, ".")
	if n, err := strconv.Atoi(segments[len(segments)-1]); err == nil && len(segments) == 2 && segments[0] == "text" {
		return strings.Repeat("x", n)
	}
	args, _ := s["args"].(map[string]any)
	var v any = map[string]any(s)
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			segment = fmt.Sprint(args[strings.TrimSuffix(name, "}")])
		}
		m, _ := v.(map[string]any)
		v = m[segment]
		row, isRow := v.(map[string]any)
		if i == 1 && i == len(segments)-1 && isRow && segments[0] != "args" && segments[0] != "state" {
			return withName(segment, row)
		}
	}
	if table, ok := v.(map[string]any); ok && len(segments) == 1 {
		return rowsOf(table)
	}
	return v
}

// rowsOf returns a type as the list of its things, or v as it is, if it is no type.
func rowsOf(table map[string]any) any {
	list := make([]any, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		row, ok := table[name].(map[string]any)
		if !ok {
			return table
		}
		list = append(list, withName(name, row))
	}
	return list
}

func withName(name string, row map[string]any) map[string]any {
	return overlay(map[string]any{"name": name}, row)
}

// scopeOf returns the scope of a call.
func (p *place) scopeOf(args, state map[string]any, artifact string) scope {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := scope(maps.Clone(p.now))
	if s == nil {
		s = make(scope)
	}
	s["args"], s["state"], s["artifact"] = args, state, artifact
	return s
}

// checker answers for the source of a type.
type checker struct {
	place      *place
	typ        string
	gone       bool // an answer may be that the thing does not exist
	attributes map[string]config.Attribute
	now        func() time.Time
	note       func(format string, args ...any) // writes into the trace
}

// Check implements [safety.Checker].
func (c checker) Check(_ context.Context, e entity.Canonical) (safety.State, error) {
	c.place.mu.Lock()
	defer c.place.mu.Unlock()
	if c.place.down[c.typ] {
		return safety.State{}, &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("the source of the flow is down")}
	}
	table, _ := c.place.now[c.typ].(map[string]any)
	row, there := table[e.Value].(map[string]any)
	if !there {
		for name, other := range table { // names of things are compared without case
			if r, ok := other.(map[string]any); ok && strings.EqualFold(name, e.Value) {
				row, there = r, true
			}
		}
	}
	if !there && c.gone {
		return safety.State{AsOf: c.now(), Attributes: map[string]entity.Value{safety.Exists: entity.Bool(false)}}, nil
	}
	if !there { // as a server that answers 404
		return safety.State{}, fmt.Errorf("the world has no %s %q", c.typ, e.Value)
	}
	state := safety.State{AsOf: c.now().Add(-time.Duration(c.place.stale[c.typ])), Attributes: map[string]entity.Value{safety.Exists: entity.Bool(true)}}
	for name, value := range row {
		v, err := valueOf(value, c.attributes[name])
		if err != nil {
			err = fmt.Errorf("world.%s.%s.%s: %w", c.typ, e.Value, name, err)
			c.note("CHECK   %v", err)
			return safety.State{}, err
		}
		state.Attributes[name] = v
	}
	return state, nil
}

// valueOf converts a value of the world as the rule of the attribute says, and without one by its
// looks.
func valueOf(v any, a config.Attribute) (entity.Value, error) {
	kind := a.Type
	if _, isBool := v.(bool); isBool {
		kind = entity.KindBool
	}
	if kind == entity.KindNone {
		kind = entity.KindNumber
		switch v.(type) {
		case string:
			kind = entity.KindText
		case []any:
			kind = entity.KindSet
		}
	}
	return entity.FromAny(v, kind, a.Currency)
}

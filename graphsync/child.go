// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"math"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// basis is what an agent that ran as a tool rests on, and the gaps in its record. A gap fails the
// checks of its caller, as it would fail its own.
type basis struct {
	sightings         []seenByChild
	choices           []choice
	lost              []*lost
	failed, truncated int
	err               string
}

// seenByChild is a reading of an attribute that the last step of an agent rests on.
type seenByChild struct {
	name string
	said
}

// childrenOf returns what the agents rest on that ran as the tool of the call that a row ends. A tool may run one
// several times, and several.
func childrenOf(e *record.Event, attrs *schema.Attributes, others rest) (list []basis, err error) {
	span, call := e.SpanID, ""
	switch {
	case attrs.ADK.Given == schema.GivenByHistory:
		span, call = "", attrs.ADK.CallID()
	case e.EventType != record.ToolCompleted || attrs.ADK.Given != "":
		span = ""
	}
	if span == "" && call == "" {
		return nil, nil
	}
	children, err := others.children(span, call)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		fold, err := others.child(child)
		if err != nil {
			return nil, fmt.Errorf("session %s, which ran as a tool: %w", child.ID, err)
		}
		list = append(list, fold.basis(child))
	}
	return list, nil
}

// basis returns what the last model call of a session rests on. Where no model ran, all readings
// count.
func (s *Session) basis(id record.Session) basis {
	out := basis{failed: s.counts.Failed, truncated: s.counts.Truncated, err: s.counts.Error}
	open := 0
	for _, r := range s.order {
		if r.open() {
			open++
		}
	}
	if len(s.rows) == 0 {
		open = 1
	}
	if open > 0 {
		out.failed += open
		if out.err == "" {
			out.err = fmt.Sprintf("the record of session %s, which ran as a tool, has gaps", id.ID)
		}
	}
	sel := selector{s: s, x: s.x, upTo: math.MaxInt64}
	if sel.everything = len(s.calls) == 0; !sel.everything {
		sel.knows(s.calls[len(s.calls)-1])
	}
	out.lost = sel.losses()
	keys := s.sortedKeys()
	for _, key := range keys {
		for _, a := range s.things[key].attributes {
			list, absent := sel.readings(a.said)
			for _, r := range list {
				out.sightings = append(out.sightings, seenByChild{a.name, *r.said})
			}
			if absent != nil {
				out.sightings = append(out.sightings, seenByChild{a.name, *absent})
			}
		}
	}
	if !s.x.choosing() {
		return out
	}
	for _, key := range keys {
		for _, c := range s.choices[key] {
			out.choices = append(out.choices, *c)
		}
	}
	for _, list := range s.found {
		for _, f := range list {
			if s.x.choices[f.Type] {
				out.choices = append(out.choices, choice{Key: f.Identity(), Row: f.row})
			}
		}
	}
	return out
}

// inherit adds what an agent that ran as a tool rests on to the result of the tool.
func (s *Session) inherit(of basis, r *result) {
	for _, seen := range of.sightings {
		one := *seen.sighted
		one.inner = true
		if r.given && one.Source.Reading() {
			one.Source = entity.SourceGiven
		}
		s.say(s.sight(&one, r), seen.name, said{sighted: &one, value: seen.value, near: seen.near, absent: seen.absent})
	}
	for _, c := range of.choices {
		s.choose(c, r)
	}
	for _, l := range of.lost {
		s.keepLost(*l, r.row, r)
	}
	if of.failed > 0 {
		s.failed(of.failed, of.err)
	}
	s.counts.Truncated += of.truncated
}

// finished gives the entities of a row their place, each type and value once.
func finished(e *record.Event, found []entity.Entity) []entity.Entity {
	return mergeRow(placed(e, RowNodeKey(e), found))
}

// bySource is finished, but keeps apart what different sources say: of a result that models
// read otherwise only what the tool declared is a reading. They are for the graph, which has no attributes that
// were not there, and no names of arguments.
func bySource(e *record.Event, node string, found []entity.Entity) (out []entity.Entity) {
	found = placed(e, node, found)
	for len(found) > 0 {
		source := found[0].Source
		var same, others []entity.Entity
		for _, en := range found {
			if en.Source == source {
				same = append(same, en)
			} else {
				others = append(others, en)
			}
		}
		out, found = append(out, mergeRow(same)...), others
	}
	for i := range out {
		out[i].Absent, out[i].EchoOf = nil, nil
	}
	return slices.Clip(out)
}

func placed(e *record.Event, node string, found []entity.Entity) []entity.Entity {
	for i := range found {
		en := &found[i]
		en.EventID, en.TechNode, en.SpanID, en.SeenAt = e.EventID, node, e.SpanID, e.Time()
	}
	return found
}

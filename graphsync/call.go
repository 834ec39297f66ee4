// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Call is a call of a tool as the record has it.
type Call struct {
	// Node is the key of its span.
	Node string
	// ID is the id that the model gave the call, Tool the tool, Agent its caller.
	ID, Tool, Agent string
	// Args are its arguments, if it can be repeated.
	Args map[string]any
	// State is what it read of the session's state, as JSON, by key.
	State map[string]json.RawMessage
	// Problem says why the call cannot be repeated with the same arguments; "" if it can.
	Problem string
}

// Source is a call, and what it gave of an entity.
type Source struct {
	Call Call
	// Attributes names the attributes whose values are from the call, sorted. An entity
	// that was seen without any has one source without any.
	Attributes []string
	// Named says that the result called the entity by its Value, and not by another spelling.
	Named bool
}

// Calls are the calls of a session. It is safe for concurrent use.
type Calls struct {
	rows map[string]*schema.Event // by event id
	// started are the TOOL_STARTING rows of each span, ended is the row that ended it.
	started map[string][]*schema.Event
	ended   map[string]*schema.Event
}

// NewCalls returns the calls in the rows of a session, which must not change.
func NewCalls(rows []schema.Event) *Calls {
	c := &Calls{rows: make(map[string]*schema.Event, len(rows)), started: make(map[string][]*schema.Event), ended: make(map[string]*schema.Event)}
	for _, e := range inOrder(rows) {
		c.rows[e.EventID] = e
		switch node := RowNodeKey(e); e.EventType {
		case schema.ToolStarting:
			c.started[node] = append(c.started[node], e)
		case schema.ToolCompleted, schema.ToolError:
			c.ended[node] = e
		}
	}
	return c
}

// Sources returns the calls whose results gave what was seen of e: for each attribute the
// call that gave the value which [entity.Canonicalize] took, and the last one that showed
// it by its Value, if none of them did. For an entity without attributes that is the last
// one that showed it at all. The error names what no result of a tool gave.
func (c *Calls) Sources(e entity.Canonical) ([]Source, error) {
	given := make(map[string]*Source) // by span
	give := func(s entity.Entity, attributes ...string) {
		from := given[s.TechNode]
		if from == nil {
			from = &Source{Call: c.call(s.TechNode)}
			given[s.TechNode] = from
		}
		from.Attributes = append(from.Attributes, attributes...)
		from.Named = from.Named || s.Value == e.Value
	}
	for _, name := range sortedKeys(e.Attributes) {
		s, ok := lastSeen(e, func(s entity.Entity) bool { return !s.Attributes[name].IsZero() })
		if !ok {
			return nil, fmt.Errorf("the record does not say where %s was seen", name)
		}
		if problem := c.notResult(s); problem != "" {
			return nil, fmt.Errorf("%s %s", name, problem)
		}
		give(s, name)
	}
	isResult := func(s entity.Entity) bool { return c.notResult(s) == "" }
	named, ok := lastSeen(e, func(s entity.Entity) bool { return s.Value == e.Value && isResult(s) })
	if !ok && len(given) == 0 {
		if named, ok = lastSeen(e, isResult); !ok {
			return nil, errors.New("it was never seen in the result of a tool")
		}
	}
	if ok && !slices.ContainsFunc(slices.Collect(maps.Values(given)), func(s *Source) bool { return s.Named }) {
		give(named)
	}
	out := make([]Source, 0, len(given))
	for _, node := range sortedKeys(given) {
		out = append(out, *given[node])
	}
	return out, nil
}

// lastSeen returns the sighting that counts among those that fit: the last, and one by a
// model only if no other fits.
func lastSeen(e entity.Canonical, fits func(entity.Entity) bool) (found entity.Entity, ok bool) {
	for _, s := range e.Seen {
		if fits(s) && (!ok || s.Source != entity.SourceModel || found.Source == entity.SourceModel) {
			found, ok = s, true
		}
	}
	return found, ok
}

// notResult says why a sighting is not one in the result of a tool, or returns "".
func (c *Calls) notResult(s entity.Entity) string {
	row := c.rows[s.EventID]
	switch {
	case s.Source == entity.SourceModel:
		return "was found by a model, not in the result of a tool"
	case row == nil:
		return "was seen in a row that the record does not have"
	case row.EventType == schema.ToolStarting:
		return "stands in the arguments of a call, which say nothing about the present"
	case row.EventType != schema.ToolCompleted && row.EventType != schema.ToolError:
		return fmt.Sprintf("was seen in a row of type %s, not in the result of a tool", row.EventType)
	}
	return ""
}

// call reads the call of a span.
func (c *Calls) call(node string) Call {
	out := Call{Node: node}
	started := c.started[node]
	if len(started) == 0 {
		out.Problem = "the record does not have its beginning"
		return out
	}
	row := started[0]
	out.Agent = row.Agent
	var content struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
	contentErr := json.Unmarshal(row.Content, &content)
	id, replay, _, attributesErr := replayOf(row)
	out.Tool, out.ID = content.Tool, id
	var ended string
	var endedErr error
	if row := c.ended[node]; row != nil && len(row.Attributes) > 0 {
		_, ended, out.State, endedErr = replayOf(row)
	}
	switch err := cmp.Or(contentErr, attributesErr, endedErr); {
	case err != nil:
		out.Problem = fmt.Sprintf("its row cannot be read: %v", err)
	case replay == "":
		out.Problem = "its tool was not registered with Replayable when it was called; register it before its agent runs"
	case replay != schema.ReplayReady:
		out.Problem = replay
	case ended != "":
		out.Problem = ended
	case row.IsTruncated:
		out.Problem = "its row was cut to a limit"
	case len(started) > 1:
		out.Problem = "the record has several beginnings of it"
	default:
		out.Args = content.Args
	}
	return out
}

// replayOf reads what the row of a call says of its repetition.
func replayOf(row *schema.Event) (id, replay string, state map[string]json.RawMessage, err error) {
	var attributes struct {
		ADK struct {
			ID     string                     `json:"function_call_id"`
			Replay string                     `json:"replay"`
			State  map[string]json.RawMessage `json:"state"`
		} `json:"adk"`
	}
	err = json.Unmarshal(row.Attributes, &attributes)
	return attributes.ADK.ID, attributes.ADK.Replay, attributes.ADK.State, err
}

// Found returns what the rules and the declarations find in one row, each thing once: the
// row of a call that was repeated is read as that of the first one was. A row that fails
// is an error.
func (x *Extractor) Found(row schema.Event) ([]entity.Canonical, error) {
	extraction := x.Extract([]schema.Event{row})
	if len(extraction.Failed) > 0 {
		return nil, extraction.Failed[0].Err
	}
	return entity.Canonicalize(extraction.Entities), nil
}

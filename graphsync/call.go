// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Call is a call of a tool as the record has it.
type Call struct {
	// Node is the key of its span.
	Node string
	// ID is the id that the model gave the call, Tool the tool, Agent its caller.
	ID, Tool, Agent string
	// Args are its arguments, if it can be repeated.
	Args map[string]any
	// State has the values of the session's state that the call read, as JSON, by key.
	State map[string]json.RawMessage
	// Problem says why the call cannot be repeated with the same arguments; "" if it can.
	Problem string
}

// Source is a call, with the attributes of an entity whose readings came from its result, sorted. Other says that the
// latest reading of none of them is of it: it is the latest call of another tool that showed them.
type Source struct {
	Call       Call
	Attributes []string
	Other      bool
}

// Sources returns the calls whose results gave the readings of e that count, as [Sessions.Select]
// returns it: the latest for each attribute. Behind them stand the latest calls of other tools that showed the
// attribute, if they can be repeated: an old index must not stand in for the live price. The error names the
// attributes that no result of a tool in this session gave.
func (ss *Sessions) Sources(ctx context.Context, s record.Session, e entity.Canonical) (out []Source, err error) {
	look := lookAt{ctx, ss.rows, s}
	given := make(map[string]*Source) // by event
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		id := latestReading(e, name)
		if id == "" {
			continue
		}
		if refused, ok, err := look.row(id); err != nil {
			return nil, err
		} else if ok && refused.EventType == record.ToolError {
			if id, err = ss.lookUp(ctx, s, e.Key, name); err != nil {
				return nil, err
			}
			if id == "" {
				continue // that it is gone: the calls that showed it are repeated
			}
		}
		from := given[id]
		if from == nil {
			call, err := look.call(id)
			if err != nil {
				return nil, fmt.Errorf("%s %w", name, err)
			}
			from = &Source{Call: call}
			given[id] = from
		}
		from.Attributes = append(from.Attributes, name)
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		out = append(out, *given[id])
	}
	if len(out) == 0 {
		return nil, errors.New("it was never seen in the result of a tool")
	}
	more, err := ss.otherTools(look, e, given)
	return append(out, more...), err
}

// otherTools returns the latest calls of the tools that showed an attribute of e, but for those in given, if they can
// be repeated. A call that a rewind left is none of them, and hides none.
func (ss *Sessions) otherTools(look lookAt, e entity.Canonical, given map[string]*Source) (out []Source, err error) {
	other := make(map[string][]string) // attributes by event
	err = ss.present(look.ctx, look.of, func(f *fold) error {
		sel := selector{s: f.session, upTo: math.MaxInt64}
		for name := range e.Attributes {
			attribute := name
			if name == entity.Exists {
				attribute = ""
			}
			seen := make(map[string]bool)
			for r := range sel.latest(f.session.said(e.Key, attribute), true) {
				if r.result == 0 || r.inner || !r.Source.Proves() {
					continue
				}
				if tool := f.session.results[r.result-1].tool; !seen[tool] {
					seen[tool] = true
					other[r.EventID] = append(other[r.EventID], name)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(other)) {
		if given[id] != nil {
			continue
		}
		if call, err := look.call(id); err == nil && call.Problem == "" && call.Tool != "" {
			slices.Sort(other[id])
			out = append(out, Source{Call: call, Attributes: other[id], Other: true})
		}
	}
	return out, nil
}

// latestReading returns the event of the latest reading of an attribute, "" if there is
// none.
func latestReading(e entity.Canonical, name string) (eventID string) {
	for _, seen := range e.Seen {
		if _, has := seen.Attributes[name]; has && seen.Source.Proves() {
			eventID = seen.EventID
		}
	}
	return eventID
}

// lookUp returns the event of the latest result that shows an attribute that a refusal told, "" if none does. A
// refused call looks nothing up, so another call has to be repeated. That call may be superseded; when repeated, it
// gives the present value all the same.
func (ss *Sessions) lookUp(ctx context.Context, s record.Session, key, attribute string) (eventID string, err error) {
	if attribute == entity.Exists {
		attribute = ""
	}
	err = ss.present(ctx, s, func(f *fold) error {
		sel := selector{s: f.session, upTo: math.MaxInt64}
		for seen := range sel.latest(f.session.said(key, attribute), true) {
			if row, ok, err := ss.rows.Row(ctx, seen.EventID); err != nil {
				return err
			} else if ok && row.EventType == record.ToolCompleted {
				eventID = seen.EventID
				return nil
			}
		}
		return nil
	})
	return eventID, err
}

// lookAt reads the calls of one session.
type lookAt struct {
	ctx  context.Context
	rows Rows
	of   record.Session
}

func (l lookAt) row(eventID string) (record.Event, bool, error) { return l.rows.Row(l.ctx, eventID) }

// call reads the call that the row with an event id ended.
func (l lookAt) call(eventID string) (Call, error) {
	ended, ok, err := l.row(eventID)
	switch {
	case err != nil:
		return Call{}, err
	case !ok:
		return Call{}, errors.New("was seen in a row that the record does not have")
	case ended.Session() != l.of:
		return Call{}, errors.New("was seen by an agent that ran as a tool, in a session of its own")
	case ended.EventType == record.ToolResultRewritten:
		if ended, ok, err = l.row(attributesOf(&ended).ADK.Of); err != nil {
			return Call{}, err
		}
		if !ok || ended.EventType != record.ToolCompleted || ended.Session() != l.of {
			return Call{}, errors.New("was seen in what a callback gave in the place of a result")
		}
	case ended.EventType != record.ToolCompleted && ended.EventType != record.ToolError:
		return Call{}, fmt.Errorf("was seen in a row of type %s, not in the result of a tool", ended.EventType)
	}
	started, ok, err := l.row(attributesOf(&ended).ADK.Started)
	if err != nil {
		return Call{}, err
	}
	if !ok || started.EventType != record.ToolStarting || started.Session() != l.of {
		return Call{Node: RowNodeKey(&ended), Problem: "the record does not have its beginning"}, nil
	}
	return readCall(&started, &ended), nil
}

// readCall reads a call from the rows that began and ended it.
func readCall(started, ended *record.Event) Call {
	out := Call{Node: RowNodeKey(started), Agent: started.Agent}
	var content struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
	contentErr := json.Unmarshal(started.Content, &content)
	var atStart, atEnd schema.Attributes
	startErr, endErr := atStart.Read(started.Attributes), atEnd.Read(ended.Attributes)
	begun, over := atStart.ADK, atEnd.ADK
	out.Tool, out.ID, out.State = content.Tool, begun.CallID(), over.State
	switch err := cmp.Or(contentErr, startErr, endErr); {
	case err != nil:
		out.Problem = fmt.Sprintf("its row cannot be read: %v", err)
	case begun.Replay == "":
		out.Problem = "its tool was not registered with Replayable when it was called; register it before its agent runs"
	case begun.Replay != schema.ReplayReady:
		out.Problem = begun.Replay
	case over.Replay != "":
		out.Problem = over.Replay
	case started.IsTruncated:
		out.Problem = "its row was cut to a limit"
	default:
		out.Args = content.Args
	}
	return out
}

// Found returns the entities that rules and declarations find in the row of a repeated call, and the sets, by
// [entity.Entity.Identity]. The row is read as the row of the first call was. A row that fails is an error.
func (x *Extractor) Found(row record.Event, of Call) (map[string]entity.Entity, error) {
	read, err := x.row(&row, nil, nil)
	if err != nil {
		return nil, &RowError{EventID: row.EventID, TechNode: RowNodeKey(&row), Rule: read.rule, Err: err}
	}
	if i := slices.IndexFunc(read.lost, func(l lost) bool { return !l.nothing }); i >= 0 && len(read.entities) == 0 {
		return nil, errors.New(read.lost[i].why)
	}
	out := make(map[string]entity.Entity)
	for _, e := range finished(&row, append(read.entities, x.sets(of.Tool, of.Args, read.rules)...)) {
		if old, known := out[e.Identity()]; known {
			e = merged(old, e)
		}
		out[e.Identity()] = e
	}
	return out, nil
}

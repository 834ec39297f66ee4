// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Fork copies a session up to a checkpoint into a new session of the same user, and returns that. newID is its id; with ""
// the service makes one. Events keep their ids and times, and their record is copied, so that what they show is evidence
// in the new session too, with that of agents that ran as tools. Open requests for approval are not copied: the agent has to
// ask anew.
func (c *Checkpoints) Fork(ctx context.Context, s record.Session, id, newID string) (record.Session, error) {
	p, err := c.positions(ctx, s)
	if err != nil {
		return record.Session{}, err
	}
	at, err := p.find(id)
	if err != nil {
		return record.Session{}, err
	}
	tale, err := p.tale(at)
	if err != nil {
		return record.Session{}, err
	}
	rows, err := store.Events(ctx, c.host.Store, s)
	if err != nil {
		return record.Session{}, fmt.Errorf("checkpoint: %w", err)
	}
	return c.create(ctx, record.Session{App: s.App, User: s.User, ID: newID}, tale, forked, func(to record.Session) error {
		return c.copyRows(ctx, s, rows, to, tale.Events)
	})
}

// tale is a session up to a position: the state that it begins with, and its events.
type tale struct {
	App    string           `json:"app"`
	User   string           `json:"user"`
	ID     string           `json:"session"`
	State  map[string]any   `json:"state"`
	Events []*session.Event `json:"events"`
}

// tale returns the session up to a position. An append applies what an event changes, so the changes of what is shared,
// and those from before the first known state, are not told.
func (p *positions) tale(at position) (*tale, error) {
	state, err := p.stateAt(at.place)
	if err != nil {
		return nil, err
	}
	kept, _ := p.split(at.place)
	known := slices.IndexFunc(kept, func(ev *session.Event) bool { _, has := base(ev); return has })
	out := &tale{App: p.AppName(), User: p.UserID(), ID: p.ID(), State: state}
	for i, ev := range kept {
		mine := *ev
		mine.Actions.StateDelta = own(ev.Actions.StateDelta)
		if plugin.Marker(ev) != "" {
			mine.CustomMetadata = maps.Clone(ev.CustomMetadata)
			delete(mine.CustomMetadata, plugin.RewindKey)
		}
		if known < 0 || i < known {
			mine.Actions.StateDelta = nil
		}
		out.Events = append(out.Events, &mine)
	}
	return out, nil
}

// create makes a session that a tale tells of. record writes its rows before it has events.
func (c *Checkpoints) create(ctx context.Context, s record.Session, t *tale, what string, recorded func(record.Session) error) (record.Session, error) {
	service := *c.service.Load()
	if s.ID != "" {
		if list, known, err := c.host.Store.Session(ctx, s); err != nil || known {
			return s, fmt.Errorf("checkpoint: session %q is on record already, with %d rows: %w", s.ID, list.Events, errors.Join(err, errTaken))
		}
	}
	made, err := service.Create(ctx, &session.CreateRequest{AppName: s.App, UserID: s.User, SessionID: s.ID, State: maps.Clone(t.State)})
	if err != nil {
		return s, fmt.Errorf("checkpoint: %w", err)
	}
	to := keyOf(made.Session)
	err = recorded(to)
	for _, ev := range t.Events {
		if err == nil {
			err = service.AppendEvent(ctx, made.Session, ev)
		}
	}
	if err == nil {
		_, err = c.note(ctx, to, "", what, plugin.Object{{Key: "of", Value: t.ID}})
	}
	if err != nil {
		gone := service.Delete(context.WithoutCancel(ctx), &session.DeleteRequest{AppName: to.App, UserID: to.User, SessionID: to.ID})
		return record.Session{}, errors.Join(fmt.Errorf("checkpoint: %w", err), gone)
	}
	return to, nil
}

var errTaken = errors.New("take another id")

var recordIDs = regexp.MustCompile(`[0-9a-f]{32}`)

// copyRows copies the rows of the runs that the messages among the events began, and those of agents that ran as tools in
// them. The copies, and the events, name each other by new ids.
func (c *Checkpoints) copyRows(ctx context.Context, from record.Session, rows []record.Event, to record.Session, events []*session.Event) error {
	ids := make(map[string]string)
	for _, ev := range events {
		if run, _ := stamp(ev)[keyRun].(string); run != "" {
			ids[run] = fresh("")
		}
	}
	rows = slices.DeleteFunc(rows, func(e record.Event) bool { return ids[e.RunID] == "" })
	rows, sessions, err := c.withNested(ctx, from, rows)
	if err != nil {
		return err
	}
	sessions[from.ID] = to.ID
	for _, e := range rows {
		ids[e.EventID] = fresh(e.EventID)
		if e.RunID != "" && ids[e.RunID] == "" {
			ids[e.RunID] = fresh("")
		}
	}
	for _, e := range rows {
		for was, is := range sessions {
			e.Attributes = bytes.ReplaceAll(e.Attributes, named(was), named(is))
		}
		e.Attributes = recordIDs.ReplaceAllFunc(e.Attributes, func(id []byte) []byte {
			if other := ids[string(id)]; other != "" {
				return []byte(other)
			}
			return id
		})
		e.SessionID, e.EventID, e.RunID, e.Seq = sessions[e.SessionID], ids[e.EventID], ids[e.RunID], 0
		if !c.host.Recorder.Copy(e) {
			return errors.New("a row of the record could not be copied; the log and Stats say why")
		}
	}
	for _, ev := range events {
		if noted := stamp(ev); noted != nil {
			noted = maps.Clone(noted)
			if run, _ := noted[keyRun].(string); run != "" {
				noted[keyRun] = ids[run]
			}
			ev.CustomMetadata = maps.Clone(ev.CustomMetadata)
			ev.CustomMetadata[messageKey] = noted
		}
	}
	return c.host.Store.Flush(ctx)
}

// withNested returns rows of a session, and before them those of the agents that ran as tools in them, with new ids for the
// sessions of these.
func (c *Checkpoints) withNested(ctx context.Context, of record.Session, rows []record.Event) ([]record.Event, map[string]string, error) {
	sessions, spans := make(map[string]string), make(map[string]bool)
	note := func(rows []record.Event) {
		for _, e := range rows {
			spans[e.SpanID] = true
		}
	}
	note(rows)
	for callers := []record.Session{of}; len(callers) > 0; callers = callers[1:] {
		children, err := c.host.Store.Children(ctx, callers[0])
		if err != nil {
			return nil, nil, err
		}
		for _, child := range children {
			if !spans[child.Span] || sessions[child.Session.ID] != "" {
				continue
			}
			nested, err := store.Events(ctx, c.host.Store, child.Session)
			if err != nil {
				return nil, nil, err
			}
			note(nested)
			sessions[child.Session.ID] = fresh("")
			callers, rows = append(callers, child.Session), append(nested, rows...)
		}
	}
	return rows, sessions, nil
}

// named returns what names a session in the attributes of a row.
func named(session string) []byte {
	id, _ := json.Marshal(session)
	return append([]byte(`"session_id":`), id...)
}

// fresh returns a new id of a row, with the time of an old one, or a new id of a run.
func fresh(old string) string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	if len(old) == len(id) {
		return old[:13] + id[13:]
	}
	return id
}

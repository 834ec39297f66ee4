// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Sessions returns the service with sessions that can go back. Give it to every runner and to the REST server in the
// place of the service, and call it once. ADK's services in memory and on a database are known to work; every call of
// the one of Vertex AI is an error, because that one changes the ids of events.
//
// A user message gets an entry in its custom metadata, which no prompt and no REST answer shows. A request for a window
// of the events reads all of them.
func (c *Checkpoints) Sessions(service session.Service) session.Service {
	if strings.Contains(fmt.Sprintf("%T", service), "vertexai") {
		return refusing{}
	}
	c.service.Store(&service)
	if c.host.OfferRedo != nil {
		c.host.OfferRedo()
	}
	return &sessions{service, c}
}

// sessions is the decorator around a session service.
type sessions struct {
	session.Service
	of *Checkpoints
}

// Create implements [session.Service].
func (d *sessions) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	made, err := d.Service.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return &session.CreateResponse{Session: &view{Session: made.Session, generation: d.of.generation(keyOf(made.Session))}}, nil
}

// Get implements [session.Service].
func (d *sessions) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	all := session.GetRequest{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID}
	// A rewind that comes after this makes the view stale.
	s := record.Session{App: req.AppName, User: req.UserID, ID: req.SessionID}
	v := &view{generation: d.of.generation(s)}
	due, err := v.join(ctx, s)
	if err != nil {
		return nil, err
	}
	got, err := d.Service.Get(ctx, &all)
	if err != nil {
		return nil, err
	}
	h, err := d.of.read(ctx, got.Session, due)
	if err != nil {
		return nil, err
	}
	v.Session, v.rewinds, v.redoes, v.foreign = got.Session, h.rewinds, h.redoes, h.foreign
	if len(h.rewinds) > 0 || req.NumRecentEvents > 0 || !req.After.IsZero() {
		h.list()
		v.cut, v.events = true, window(h.visible, req)
	}
	if len(h.rewinds) > 0 {
		if v.state, err = h.stateAt(len(h.visible)); err != nil {
			return nil, err
		}
		for key, value := range got.Session.State().All() {
			if shared(key) {
				v.state[key] = value
			}
		}
	}
	return &session.GetResponse{Session: v}, nil
}

// window returns the events that a request asks for.
func window(events []*session.Event, req *session.GetRequest) []*session.Event {
	if n := req.NumRecentEvents; n > 0 {
		events = events[max(len(events)-n, 0):]
	}
	for len(events) > 0 && events[0].Timestamp.Before(req.After) {
		events = events[1:]
	}
	return events
}

// AppendEvent implements [session.Service].
func (d *sessions) AppendEvent(ctx context.Context, s session.Session, ev *session.Event) (err error) {
	if s == nil || ev == nil || ev.Partial {
		return d.Service.AppendEvent(ctx, s, ev)
	}
	v, ok := s.(*view)
	if !ok {
		v = &view{Session: s, generation: d.of.generation(keyOf(s))}
	}
	var run *plugin.Run
	if ic, ok := ctx.(agent.InvocationContext); ok && isMessage(ev) && d.of.host.Store != nil {
		run = d.of.host.Recorder.Lookup(ic)
	}
	defer func() {
		if err != nil && run != nil {
			d.of.host.Recorder.TurnAway(ctx, run, err) // ADK starts nothing then, and no callback follows
		}
	}()
	lock, t := d.of.lock(keyOf(v.Session)), v.trip
	goes := t != nil && t.rewind != "" && isMessage(ev)
	if goes {
		lock.Lock()
		defer lock.Unlock()
	} else {
		lock.RLock()
		defer lock.RUnlock()
	}
	switch {
	case v.foreign != "":
		return fmt.Errorf("checkpoint: %w: %s; start a new session", ErrForeign, v.foreign)
	case v.generation != d.of.generation(keyOf(v.Session)):
		return fmt.Errorf("checkpoint: %w: it went back while this run had begun; send the message again", ErrRunning)
	}
	mine := *ev
	mine.CustomMetadata = d.metadata(v, ev, run)
	if t != nil && run != nil {
		t.run = run.ID
	}
	if goes {
		if err := d.of.undisturbed(ctx, t); err != nil {
			return err
		}
		mine.CustomMetadata[plugin.RewindKey] = t.rewind
	}
	if err := stale(d.Service.AppendEvent(ctx, v.Session, &mine)); err != nil {
		return err
	}
	if goes {
		v.generation++
		d.of.went.Store(keyOf(v.Session), v.generation)
		v.trip, t.gone = nil, true
	}
	v.add(&mine)
	v.change(ev.Actions.StateDelta)
	mine.CustomMetadata = ev.CustomMetadata
	*ev = mine // a service may have set its id, or rounded its time
	return nil
}

// metadata returns the custom metadata of an event as it is stored: without what only we write, and with what we know
// of a user message, which began a run.
func (d *sessions) metadata(v *view, ev *session.Event, run *plugin.Run) map[string]any {
	data := ev.CustomMetadata
	if data[plugin.RewindKey] != nil || data[messageKey] != nil {
		data = maps.Clone(data)
		delete(data, plugin.RewindKey)
		delete(data, messageKey)
	}
	if !isMessage(ev) || d.of.host.Store == nil {
		return data
	}
	noted := make(map[string]any)
	if run != nil {
		noted[keyRun] = run.ID
	}
	if !v.based() {
		noted[keyState] = own(maps.Collect(v.State().All()))
	}
	if data = maps.Clone(data); data == nil {
		data = make(map[string]any)
	}
	data[messageKey] = noted
	return data
}

// based reports whether a message in the session carries the state of its moment.
func (v *view) based() bool {
	for ev := range v.Events().All() {
		if _, has := base(ev); has {
			return true
		}
	}
	return false
}

// refusing is a service of which every call is an error.
type refusing struct{}

var errVertex = errors.New("checkpoint: the session service of Vertex AI changes the ids of events, so that nothing can be hidden in it; use the one on a database")

func (refusing) Create(context.Context, *session.CreateRequest) (*session.CreateResponse, error) {
	return nil, errVertex
}
func (refusing) Get(context.Context, *session.GetRequest) (*session.GetResponse, error) {
	return nil, errVertex
}
func (refusing) List(context.Context, *session.ListRequest) (*session.ListResponse, error) {
	return nil, errVertex
}
func (refusing) Delete(context.Context, *session.DeleteRequest) error { return errVertex }
func (refusing) AppendEvent(context.Context, session.Session, *session.Event) error {
	return errVertex
}

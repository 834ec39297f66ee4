// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// messageKey is the key in the custom metadata of a user message of what the decorator knows of it: the run that it
// began, and where no message before has it, the state of the session at that moment.
const (
	messageKey = "contextgraph.message"
	keyRun     = "run"
	keyState   = "state"
)

// stamp returns what the decorator noted of a message, nil of any other event.
func stamp(ev *session.Event) map[string]any {
	if len(ev.CustomMetadata) == 0 {
		return nil
	}
	noted, _ := ev.CustomMetadata[messageKey].(map[string]any)
	return noted
}

// base returns the state that a message carries.
func base(ev *session.Event) (state map[string]any, has bool) {
	state, has = stamp(ev)[keyState].(map[string]any)
	return state, has
}

// history is a session as its store has it, and what of it is visible.
type history struct {
	session.Session
	rewinds []string        // by the markers
	redoes  string          // the approval whose turn is done again since the last of them
	redone  map[string]bool // the approvals whose turns were done again
	foreign string          // a marker that the record does not know
	hidden  map[string]bool // events
	left    map[string]bool // runs
	all     []*session.Event
	visible []*session.Event
	// said are the places of the messages of the user among the visible events.
	said   []int
	turns  []turn
	turnOf map[string]int // by run, or by invocation where the message came past the decorator
	parted parted         // that was asked for last
}

// parted are the visible events before and behind a place.
type parted struct {
	place      int
	kept, gone []*session.Event
}

// turn is a turn among the visible events: the place of its message, and its run, "" if nobody recorded it.
type turn struct {
	at  int
	run string
}

// read sorts the events of a session that the bare service gave. due is a rewind whose marker comes next, "" for none.
func (c *Checkpoints) read(ctx context.Context, s session.Session, due string) (*history, error) {
	h := &history{Session: s, redone: make(map[string]bool)}
	of := keyOf(s)
	var ids []string
	for ev := range s.Events().All() {
		if id := plugin.Marker(ev); id != "" {
			ids = append(ids, id)
		}
	}
	if due != "" {
		ids = append(ids, due)
	}
	for _, id := range ids {
		r, err := c.rewind(ctx, of, id)
		switch {
		case err != nil:
			return nil, err
		case r == nil:
			h.foreign = id
			continue
		}
		if h.hidden == nil {
			h.hidden, h.left = make(map[string]bool), make(map[string]bool)
		}
		h.rewinds, h.redoes, h.redone[r.redo] = append(h.rewinds, id), r.redo, true
		for _, ev := range r.hidden {
			h.hidden[ev] = true
		}
		for _, run := range r.left {
			h.left[run] = true
		}
	}
	return h, nil
}

// list fills in what is visible.
func (h *history) list() {
	n := h.Events().Len()
	h.all, h.visible = make([]*session.Event, 0, n), make([]*session.Event, 0, n)
	for ev := range h.Events().All() {
		h.all = append(h.all, ev)
		if h.hidden[ev.ID] || ev.Content == nil && slices.Contains(h.rewinds, plugin.Marker(ev)) {
			continue
		}
		if isMessage(ev) {
			h.said = append(h.said, len(h.visible))
		}
		h.visible = append(h.visible, ev)
	}
}

// begin finds the turns. A run that another plugin stopped has its message twice.
func (h *history) begin() {
	last := ""
	h.turnOf = make(map[string]int, len(h.said))
	for _, i := range h.said {
		ev := h.visible[i]
		run, _ := stamp(ev)[keyRun].(string)
		if run == "" || run != last {
			h.turnOf[cmp.Or(run, ev.InvocationID)] = len(h.turns)
			h.turns = append(h.turns, turn{i, run})
		}
		last = run
	}
}

// isMessage reports whether an event is a message of a user.
func isMessage(ev *session.Event) bool { return ev.Author == genai.RoleUser && ev.Content != nil }

// open reads a session from the bare service.
func (c *Checkpoints) open(ctx context.Context, s record.Session) (*history, error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	got, err := (*c.service.Load()).Get(ctx, &session.GetRequest{AppName: s.App, UserID: s.User, SessionID: s.ID})
	if err != nil {
		if strings.Contains(err.Error(), "not found") {
			return nil, fmt.Errorf("%w: %v", ErrNotFound, err)
		}
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	h, err := c.read(ctx, got.Session, "")
	if err != nil {
		return nil, err
	}
	if h.foreign != "" {
		return nil, fmt.Errorf("%w: %s", ErrForeign, h.foreign)
	}
	h.list()
	h.begin()
	return h, nil
}

// split returns the visible events that stay if the session goes back to a place, and those that it leaves. The order of
// the store is that of clocks, and may be wrong for events of one moment, or of hosts whose clocks differ. So an event goes
// with its turn, and the order decides only about a turn that has messages on both sides.
func (h *history) split(place int) (kept, gone []*session.Event) {
	if place >= len(h.visible) {
		return h.visible, nil
	}
	if p := h.parted; p.place == place && p.gone != nil {
		return p.kept, p.gone
	}
	behind, stays, goes := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, ev := range h.visible[place:] {
		behind[ev.InvocationID] = true
	}
	for _, t := range h.turns {
		switch id := h.visible[t.at].InvocationID; {
		case t.at >= place:
			goes[id] = true
		case behind[id]: // of others nothing is in doubt
			stays[id] = true
		}
	}
	kept = make([]*session.Event, 0, place)
	id, stay, leave := "", false, false // of the turn before
	for i, ev := range h.visible {
		if i == 0 || ev.InvocationID != id {
			id = ev.InvocationID
			stay, leave = stays[id], goes[id]
		}
		if leave && !stay || leave == stay && i >= place {
			gone = append(gone, ev)
		} else {
			kept = append(kept, ev)
		}
	}
	h.parted = parted{place, kept, gone}
	return kept, gone
}

// stateAt returns the state of the session at a place: that which the first message carries that has one, with the changes
// since.
func (h *history) stateAt(place int) (map[string]any, error) {
	if place == len(h.visible) && h.hidden == nil {
		return own(maps.Collect(h.State().All())), nil
	}
	first, since, err := h.stateFrom(place)
	if err != nil {
		return nil, err
	}
	state, _ := base(first)
	state = maps.Clone(state)
	for _, ev := range since {
		take(state, ev.Actions.StateDelta)
	}
	return state, nil
}

// stateFrom returns the message that carries the state which the one at a place goes back to, and the events that may have
// changed it since.
func (h *history) stateFrom(place int) (first *session.Event, since []*session.Event, err error) {
	kept, _ := h.split(place)
	carries := func(ev *session.Event) bool { _, has := base(ev); return has }
	switch i := slices.IndexFunc(kept, carries); {
	case i >= 0:
		first, since = kept[i], kept[i:]
		var before []*session.Event
		for _, ev := range kept[:i] {
			if ev.InvocationID == first.InvocationID { // the turn may be of one moment
				before = append(before, ev)
			}
		}
		if before != nil {
			since = append(before, since...)
		}
	case place < len(h.visible):
		first = h.visible[place]
	default: // it went back to before that message
		if i = slices.IndexFunc(h.all, carries); i < 0 {
			return nil, nil, ErrTooEarly
		}
		first = h.all[i]
		since = slices.DeleteFunc(slices.Clone(h.all[i:]), func(ev *session.Event) bool { return h.hidden[ev.ID] })
	}
	if !carries(first) {
		return nil, nil, ErrTooEarly
	}
	return first, since, nil
}

// own returns the part of a state that belongs to the session alone.
func own(state map[string]any) map[string]any {
	out := make(map[string]any, len(state))
	take(out, state)
	return out
}

// take adds to a state what belongs to the session alone.
func take(to, from map[string]any) {
	for key, value := range from {
		if !shared(key) && !strings.HasPrefix(key, session.KeyPrefixTemp) {
			to[key] = value
		}
	}
}

// shared reports whether a key of the state belongs to more than one session.
func shared(key string) bool {
	return strings.HasPrefix(key, session.KeyPrefixApp) || strings.HasPrefix(key, session.KeyPrefixUser)
}

func keyOf(s session.Session) record.Session {
	return record.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}
}

// view is a session without what was left.
type view struct {
	session.Session // of the service, which takes new events
	rewinds         []string
	redoes          string
	trip            *trip // the run that reads it
	foreign         string
	generation      int
	// cut says that events and state are those below; else they are those of the service.
	cut bool

	mu     sync.RWMutex
	events eventList
	state  map[string]any
}

// Rewinds implements [plugin.Rewound].
func (v *view) Rewinds() (ids []string, redoes string) { return v.rewinds, v.redoes }

var _ plugin.Rewound = (*view)(nil)

// Events implements [session.Session].
func (v *view) Events() session.Events {
	if !v.cut {
		return v.Session.Events()
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.events
}

// State implements [session.Session].
func (v *view) State() session.State {
	if len(v.rewinds) == 0 {
		return v.Session.State()
	}
	return (*viewState)(v)
}

// add adds what the service has added to its session.
func (v *view) add(ev *session.Event) {
	if !v.cut {
		return
	}
	if all := v.Session.Events(); all.Len() > 0 && all.At(all.Len()-1).ID == ev.ID {
		ev = all.At(all.Len() - 1) // without what is meant for the run alone
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, ev)
}

// change takes the changes of an event into the state.
func (v *view) change(delta map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != nil {
		maps.Copy(v.state, delta)
	}
}

type eventList []*session.Event

func (e eventList) Len() int { return len(e) }

func (e eventList) All() iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		for _, ev := range e {
			if !yield(ev) {
				return
			}
		}
	}
}

func (e eventList) At(i int) *session.Event {
	if i < 0 || i >= len(e) {
		return nil
	}
	return e[i]
}

// viewState is the state of a view.
type viewState view

func (s *viewState) Get(key string) (any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if value, has := s.state[key]; has {
		return value, nil
	}
	return nil, session.ErrStateKeyNotExist
}

func (s *viewState) Set(key string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[key] = value
	return nil
}

func (s *viewState) All() iter.Seq2[string, any] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.All(maps.Clone(s.state))
}

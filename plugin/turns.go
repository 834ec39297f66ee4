// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Turns are the turns that the events of a session have when a run begins. The events prove nothing, because
// clients can write them. But a turn of the events that the record does not hold is missing there.
type Turns struct {
	Session record.Session
	// Run is the run that began, Invocation its turn. Continued says that the session
	// had events of that turn before.
	Run, Invocation string
	Continued       bool
	// Earlier are the other turns, in order, but for those in Unanswered: of these the events have words of the
	// user, and nothing else.
	Earlier, Unanswered []string
	// Unnamed counts the events of no turn that no agent of the session's wrote.
	Unnamed int
}

type turnsKey struct{}

// withTurns returns a context that carries the turns of the session of a run, which must not change any more.
func withTurns(ctx context.Context, t *Turns) context.Context {
	return context.WithValue(ctx, turnsKey{}, t)
}

// TurnsIn returns the turns that ctx carries, of whatever session; the zero value if it carries none.
func TurnsIn(ctx context.Context) Turns {
	if t, _ := ctx.Value(turnsKey{}).(*Turns); t != nil {
		return *t
	}
	return Turns{}
}

// TurnsOf returns the turns that ctx carries for a session. It returns the zero value if ctx carries
// none, or the turns of another session.
func TurnsOf(ctx context.Context, s record.Session) Turns {
	if t, _ := ctx.Value(turnsKey{}).(*Turns); t != nil && t.Session == s {
		return *t
	}
	return Turns{}
}

// turnsOf reads the events of the run's session. It is for the callback before
// anything runs: later the session may grow while it is read.
func turnsOf(ctx agent.InvocationContext, r *Run) Turns {
	t := Turns{Session: r.Session, Run: r.ID, Invocation: r.Invocation}
	s := ctx.Session()
	if s == nil || s.Events() == nil {
		return t
	}
	answered := make(map[string]bool) // of each turn
	var order []string
	last, begun, over := "", false, false // over says that the turn of the event before is answered
	for ev := range s.Events().All() {
		if ev == nil || over && ev.InvocationID == last {
			continue
		}
		id := ev.InvocationID
		switch {
		case id != "":
		case !begun || ev.Author == "" || ev.Author == genai.RoleUser:
			// A client's event has nobody's name but the user's.
			t.Unnamed++
			continue
		default:
			// An agent of the host's own may leave out what its events belong to; then it
			// is the turn of the event before.
			id = last
		}
		is, known := answered[id]
		if !known && id != r.Invocation {
			order = append(order, id)
		}
		answered[id] = is || !wordsAlone(ev)
		last, begun, over = id, true, answered[id]
	}
	_, t.Continued = answered[r.Invocation]
	for _, id := range order {
		if answered[id] {
			t.Earlier = append(t.Earlier, id)
		} else {
			t.Unanswered = append(t.Unanswered, id)
		}
	}
	return t
}

// wordsAlone reports whether an event has words of the user, and nothing else.
func wordsAlone(ev *session.Event) bool {
	if ev.Author != genai.RoleUser || ev.Output != nil || ev.NodeInfo != nil || len(ev.Actions.StateDelta) > 0 || ev.Content == nil {
		return false
	}
	return !slices.ContainsFunc(ev.Content.Parts, func(p *genai.Part) bool {
		return p == nil || p.FunctionCall != nil || p.FunctionResponse != nil
	})
}

// isFresh reports whether the session of a run has no events, and no state of its own: whatever the record has of
// its id is of a session that was deleted. It is for the callback before anything runs.
func isFresh(ctx agent.InvocationContext) bool {
	s := ctx.Session()
	if s == nil || s.Events() == nil || s.Events().Len() > 0 || s.State() == nil {
		return false
	}
	for key := range s.State().All() {
		shared := strings.HasPrefix(key, session.KeyPrefixApp) || strings.HasPrefix(key, session.KeyPrefixUser) || strings.HasPrefix(key, session.KeyPrefixTemp)
		if !shared {
			return false
		}
	}
	return true
}

// turn returns the events of an earlier turn, if the history has it from a user message on that answers nothing, or
// has none of it, and events from before it began. Otherwise a window of the session service may have cut it.
func (p *past) turn(of record.Turn) (events []*session.Event, whole bool) {
	for _, ev := range p.events {
		if ev.InvocationID == of.ID {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil, len(p.events) > 0 && p.events[0].Timestamp.Before(of.Started)
	}
	if events[0].Author != genai.RoleUser || len(Responses(events[0].Content)) > 0 {
		return nil, false
	}
	return events, true
}

// Close writes what the history of a run has of turns whose record is broken: each result and each output counts
// as given, at the place of the first row of the run. It returns why a run cannot be closed, by its id: the end of
// a sentence. runs are by their ids. The run is that of ctx, as [Detach] keeps it.
func (rec *Recorder) Close(ctx context.Context, runs map[string]record.Turn) (open map[string]string) {
	open = make(map[string]string)
	r := rec.within(ctx)
	written := make(map[string]bool)
	var closed []string
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		turn := runs[id]
		if r == nil || r.past == nil {
			open[id] = ""
			continue
		}
		events, whole := r.past.turn(turn)
		if !whole {
			open[id] = ", and the history of the session lacks its beginning"
			continue
		}
		if !written[turn.ID] && !rec.giveTurn(ctx, r, events) {
			open[id] = ", and what the history of the session has of it could not be recorded"
			continue
		}
		written[turn.ID] = true
		closed = append(closed, id)
	}
	if len(closed) == 0 {
		return open
	}
	out := rec.emit(ctx, r, row{typ: record.TurnClosed, agent: r.RootAgent, span: r.RootSpan}, body{
		adk: func(d jsonenc.Doc) { d.Any("closed", closed) },
	})
	if out.event == "" {
		for _, id := range closed {
			open[id] = ", and nobody could record that it is closed"
		}
	}
	return open
}

// giveTurn writes a row for each result and each output in the events of a turn.
func (rec *Recorder) giveTurn(ctx context.Context, r *Run, events []*session.Event) (written bool) {
	for _, ev := range events {
		for _, fr := range Responses(ev.Content) {
			if pauseOf(fr.Name).request != "" || fr.Name == finishTask {
				continue
			}
			args := r.past.argsOf(fr)
			g := given{
				by: schema.GivenByHistory, tool: fr.Name, call: fr.ID, value: fr.Response, digest: rec.digest(fr.Response),
				agent: ev.Author, branch: ev.Branch, span: r.RootSpan,
			}
			if args != nil {
				g.input, g.args = args, rec.digest(args)
			}
			if !rec.give(ctx, r, g) {
				return false
			}
		}
		if ev.Output == nil || ev.NodeInfo == nil || ev.NodeInfo.Path == "" || ev.NodeInfo.MessageAsOutput {
			continue
		}
		digest := rec.digest(ev.Output)
		s := source{Event: ev, run: r}
		out := rec.emitFrom(ctx, &s, row{typ: record.NodeOutput, agent: ev.Author, branch: ev.Branch, span: newSpanID(), parent: r.RootSpan}, body{
			content: func(d jsonenc.Doc) { d.Value(ev.Output) },
			adk: func(d jsonenc.Doc) {
				d.Str("given", schema.GivenByHistory)
				r.place(d)
				if r.joins(ev.Output) {
					d.Bool("joins", true)
				}
				d.ID("result", digest[:])
			},
		})
		if out.event == "" {
			return false
		}
	}
	return true
}

// place writes the first row of the run: what its history has counts as seen there.
func (r *Run) place(d jsonenc.Doc) {
	if r.firstRow != (rowID{}) {
		id := r.firstRow.digits()
		d.ID("place", id[:])
	}
}

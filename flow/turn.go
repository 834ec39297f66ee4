// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// Cancel, as the answer to any question of a run, ends the run: {"response": flow.Cancel}.
const Cancel = "flow.cancel"

// A turn is one message to a flow. It goes with the context to every node of the run.
type turn struct {
	// session is the whole session: the nodes of agents see a part of it.
	session session.Session
	run     string // "" outside of a flow, where ADK's invocation stands for the run
	boxed   any    // run, for all events
	invoked string
	answers map[string]any // of this message, by question
	cont    *continuation  // in Continue
	owner   *Graph         // the outermost; nil for a workflow
	graph   any            // what the first event still has to carry
	input   any
}

type turnKey struct{}

// turnOf returns the turn that the context is in, nil outside of a flow. An agent that runs as a tool is outside.
func turnOf(ctx agent.InvocationContext) *turn {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && t.session.ID() == ctx.Session().ID() {
		return t
	}
	return nil
}

// has says whether an event belongs to the run.
func (t *turn) has(ev *session.Event) bool {
	if t.run == "" {
		return ev.InvocationID == t.invoked
	}
	return noted(ev, keyRun) == t.run
}

// past is what the events of a session say about the runs of one flow.
type past struct {
	questions
	others    map[string]bool // questions of others
	order     []*question
	last      string          // the last run
	inputs    map[string]any  // what each run began with
	cancelled map[string]bool // runs
}

// readPast reads the events up to the message of this turn.
func (e *engine) readPast(events []*session.Event) *past {
	p := &past{
		questions: make(questions), others: make(map[string]bool),
		inputs: make(map[string]any), cancelled: make(map[string]bool),
	}
	for _, ev := range events {
		if fromUser(ev) {
			p.take(ev)
			continue
		}
		run := noted(ev, keyRun)
		if run == "" || !below(pathOf(ev), e.path()) {
			for _, id := range ev.LongRunningToolIDs {
				p.others[id] = ev.Author != e.name // ADK's own workflow of the name cannot be gone on with
			}
			continue
		}
		m := meta(ev)
		if m[keyEnd] != nil {
			p.cancelled[run] = true
		}
		p.withdraw(ev)
		if pathOf(ev) == e.path() {
			continue // the flow itself, of which a run may be any
		}
		if m[keyGraph] != nil {
			p.inputs[run] = m[keyInput]
		}
		p.last = run
		for _, q := range questionsOf(ev) {
			p.questions[q.id] = q
			p.order = append(p.order, q)
		}
	}
	return p
}

// waits returns the open questions of the last run.
func (p *past) waits() (open []*question) {
	for _, q := range p.order {
		if q.run == p.last && !q.answered && !q.withdrawn && p.questions[q.id] == q && !p.cancelled[q.run] {
			open = append(open, q)
		}
	}
	return open
}

// begin finds out what a message is for: it answers a run, begins one, or does neither. Then it is told by an event
// or an error, and the turn is nil.
func (e *engine) begin(ctx agent.InvocationContext) (*turn, *session.Event, error) {
	events := slices.Collect(ctx.Session().Events().All())
	t := &turn{session: ctx.Session(), answers: make(map[string]any), owner: e.graph}
	if c, ok := ctx.Value(continueKey{}).(*continuation); ok && !c.taken {
		t.cont, c.taken = c, true
		return t, nil, e.resume(t, e.readPast(events))
	}
	message, frs := messageOf(ctx, events)
	if len(frs) > 0 {
		events = events[:message]
	}
	p := e.readPast(events)
	run, cancel, err := p.accept(frs, t.answers)
	switch {
	case err != nil:
		return nil, nil, err
	case cancel:
		return nil, e.tell(ctx, run, keyEnd, "cancelled", "The run is cancelled."), nil
	case run != "":
		t.goOn(run, p.inputs[run])
		return t, nil, nil
	}
	if open := p.waits(); len(open) > 0 {
		return nil, e.tell(ctx, p.last, keyRun, p.last, waiting(open)), nil
	}
	t.goOn(platform.NewUUID(ctx), textInput(ctx, events))
	t.graph = e.describe
	return t, nil, nil
}

// goOn makes the turn one of the run.
func (t *turn) goOn(run string, input any) {
	t.run, t.boxed, t.input = run, run, input
}

// accept takes the answers of a message. It returns the run that they are for, "" if they are for another agent.
func (p *past) accept(frs []*genai.FunctionResponse, answers map[string]any) (run string, cancel bool, err error) {
	for _, fr := range frs {
		q := p.questions[fr.ID]
		if q == nil {
			if p.others[fr.ID] {
				continue
			}
			return "", false, fmt.Errorf("%w: nobody asked %q", workflow.ErrNothingToResume, fr.ID)
		}
		if q.answered || q.withdrawn || p.cancelled[q.run] || (run != "" && run != q.run) {
			return "", false, fmt.Errorf("%w: %s", ErrAnswered, q.says())
		}
		run = q.run
		for _, v := range fr.Response {
			cancel = cancel || v == Cancel
		}
		if answers[fr.ID], err = q.answer(fr); err != nil && !cancel {
			return "", false, err
		}
		d, _ := answers[fr.ID].(decision)
		cancel = cancel || d.Action == "cancel"
	}
	return run, cancel, nil
}

// waiting says what a run waits for.
func waiting(open []*question) string {
	lines := make([]string, len(open))
	for i, q := range open {
		lines[i] = q.says()
	}
	return "The flow waits for an answer: " + strings.Join(lines, "; ")
}

// tell returns an event of the flow itself.
func (e *engine) tell(ctx agent.InvocationContext, run, key string, value any, text string) *session.Event {
	ev := session.NewEvent(ctx, ctx.InvocationID())
	ev.Author, ev.Branch = e.name, ctx.Branch()
	ev.Content = genai.NewContentFromText(text, genai.RoleModel)
	ev.NodeInfo = &session.NodeInfo{Path: e.path()}
	note(ev, keyRun, run)
	note(ev, key, value)
	return ev
}

// messageOf returns where the message of this turn stands in the session, and its function responses. Below an LLM
// agent ADK hands no message over; then it is the last event.
func messageOf(ctx agent.InvocationContext, events []*session.Event) (int, []*genai.FunctionResponse) {
	i := len(events) - 1
	for i > 0 && !fromUser(events[i]) {
		i--
	}
	content := ctx.UserContent()
	if content == nil && i >= 0 && i == len(events)-1 && fromUser(events[i]) {
		content = events[i].Content
	}
	return i, slices.Collect(responses(content))
}

// textInput returns the text with which a run begins.
func textInput(ctx agent.InvocationContext, events []*session.Event) any {
	content := ctx.UserContent()
	for i := len(events) - 1; i >= 0 && content == nil; i-- {
		if fromUser(events[i]) {
			content = events[i].Content
		}
	}
	if content == nil {
		return nil
	}
	return textOf(content)
}

// stamp makes an event of a node one of the run.
func (t *turn) stamp(ev *session.Event, flow string) *session.Event {
	if ids, ok := meta(ev)[keyAsks].([]string); ok {
		ev.LongRunningToolIDs = ids
		delete(meta(ev), keyAsks)
	}
	if ev.Partial {
		return ev
	}
	if len(ev.LongRunningToolIDs) > 0 {
		// A runner gives the answer to the agent that asked; the agents of nodes are not known to it.
		c := *ev
		c.CustomMetadata = maps.Clone(ev.CustomMetadata)
		note(&c, keyAuthor, ev.Author)
		c.Author = flow
		ev = &c
	}
	note(ev, keyRun, t.boxed)
	if t.graph != nil {
		note(ev, keyGraph, t.graph)
		note(ev, keyInput, t.input)
		t.graph = nil
	}
	return ev
}

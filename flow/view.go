// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
)

type seq = iter.Seq2[*session.Event, error]

// A view is the session as the agent of a node sees it.
type view struct {
	session.Session
	turn      *turn
	path      string // of the node
	inputOnly bool
	input     *session.Event // nil for none
	// again says that the node begins anew, behind the first from events. Begun: its first event is out.
	again, begun bool
	from         int
	waits        bool // a question of the node stays open in this turn
}

// view returns what the agent of a node sees.
func (t *turn) view(ctx agent.Context, n *agentNode, input any) (*view, error) {
	v := &view{Session: t.session, turn: t, path: ctx.Path(), inputOnly: n.inputOnly}
	content, err := contentOf(input)
	if err != nil {
		return nil, err
	}
	if content != nil {
		v.input = session.NewEvent(ctx, ctx.InvocationID())
		v.input.Author, v.input.Content, v.input.Branch = "user", content, ctx.Branch()
	}
	open := make(map[string]bool)
	answered := false
	_, own := v.split()
	for _, ev := range own {
		for _, id := range ev.LongRunningToolIDs {
			open[id] = true
		}
		if fromUser(ev) {
			answered = true
			for fr := range responses(ev.Content) {
				delete(open, fr.ID)
			}
		}
	}
	v.waits = len(open) > 0
	if _, ok := ctx.ResumedInput(continued); ok && t.cont != nil && !answered && !v.waits {
		v.again, v.from = true, t.session.Events().Len()
	}
	return v, nil
}

// split returns what others did before the node began, and what it did since. Of what a person said it has the answers
// to its own questions.
func (v *view) split() (others, own []*session.Event) {
	asked := make(map[string]bool)
	events := v.turn.session.Events()
	for i := range events.Len() {
		ev := events.At(i)
		switch {
		case fromUser(ev):
			if a := answersTo(ev, asked); a != nil {
				own = append(own, a)
			}
		case !v.turn.has(ev):
		case !below(pathOf(ev), v.path):
			if len(own) == 0 {
				others = append(others, ev)
			}
		default:
			if v.again && i < v.from {
				own = nil
				continue
			}
			if meta(ev)[keyAgain] != nil {
				own = nil
			}
			for _, id := range ev.LongRunningToolIDs {
				asked[id] = true
			}
			own = append(own, asIs(ev))
			if pathOf(ev) == v.path && isEnd(ev) {
				others, own = append(others, own...), nil
			}
		}
	}
	return others, own
}

// answersTo returns the event with those of its answers that are to the questions, nil for none.
func answersTo(ev *session.Event, asked map[string]bool) *session.Event {
	var parts []*genai.Part
	if ev.Content == nil {
		return nil
	}
	for _, p := range ev.Content.Parts {
		if p != nil && p.FunctionResponse != nil && asked[p.FunctionResponse.ID] {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	c := *ev
	c.Content = &genai.Content{Role: ev.Content.Role, Parts: parts}
	return &c
}

// asIs returns the event with the author that it had in its node.
func asIs(ev *session.Event) *session.Event {
	author := noted(ev, keyAuthor)
	if author == "" {
		return ev
	}
	c := *ev
	c.Author = author
	return &c
}

// Events implements [session.Session].
func (v *view) Events() session.Events {
	others, own := v.split()
	if v.inputOnly {
		others = nil
	}
	if v.input != nil {
		others = append(others, v.input)
	}
	return eventList(append(others, own...))
}

// results are the last results of the tools that the node has called.
func (v *view) results() map[string]map[string]any {
	results := make(map[string]map[string]any)
	_, own := v.split()
	for _, ev := range own {
		for fr := range responses(ev.Content) {
			if ev.Author != "user" {
				results[fr.Name] = fr.Response
			}
		}
	}
	return results
}

type eventList []*session.Event

func (l eventList) Len() int { return len(l) }

func (l eventList) At(i int) *session.Event {
	if i < 0 || i >= len(l) {
		return nil
	}
	return l[i]
}

func (l eventList) All() iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		for _, ev := range l {
			if !yield(ev) {
				return
			}
		}
	}
}

// context returns the context of the agent: that of its node, over the view.
func (v *view) context(ctx agent.Context) agent.InvocationContext {
	path, runID, scheduler := ctx.Path(), ctx.RunID(), ctx.SubScheduler()
	if v.input != nil {
		ctx = ctx.WithDelta(&agent.CommonContextDelta{
			InvocationContextDelta: &agent.InvocationContextDelta{UserContent: &v.input.Content},
		})
	}
	return agent.NewContext(&viewContext{ctx, v}).
		WithDelta(&agent.CommonContextDelta{Path: &path, RunID: &runID, SubScheduler: &scheduler})
}

// A viewContext is a context whose session is a view.
type viewContext struct {
	agent.InvocationContext
	view *view
}

func (c *viewContext) Session() session.Session { return c.view }

func (c *viewContext) WithContext(ctx context.Context) agent.InvocationContext {
	return &viewContext{c.InvocationContext.WithContext(ctx), c.view}
}

func (c *viewContext) WithICDelta(d *agent.InvocationContextDelta) agent.InvocationContext {
	if d == nil {
		return c
	}
	return &viewContext{c.InvocationContext.WithICDelta(d), c.view}
}

// contentOf returns the input of a node as a message, in the form that ADK gives it; nil for nothing.
func contentOf(input any) (*genai.Content, error) {
	switch x := input.(type) {
	case nil:
		return nil, nil
	case *genai.Content:
		if x == nil {
			return nil, nil
		}
		return &genai.Content{Role: genai.RoleUser, Parts: x.Parts}, nil
	case string:
		return genai.NewContentFromText(x, genai.RoleUser), nil
	}
	data, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("flow: the input of the node is no JSON: %w", err)
	}
	return genai.NewContentFromText(string(data), genai.RoleUser), nil
}

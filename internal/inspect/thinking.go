// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The kinds of thoughts and of the edges between them.
const (
	incident    = "INCIDENT"
	thought     = "THOUGHT"
	toolCall    = "TOOL_CALL"
	observation = "OBSERVATION"
	action      = "ACTION"

	edgeNext     = "next"
	edgeCalls    = "calls"
	edgeObserves = "observes"
	edgeReturns  = "returns"
)

// thoughtBuilder makes the thoughts of a session.
type thoughtBuilder struct {
	x   *builder
	s   *Session
	out Thoughts
	// began and ended are the node that a span is entered by and the one that it is left
	// by: of a tool its call and its observation.
	began, ended map[string]string
	edges        map[ThoughtEdge]bool
	first        string
	// to and from are the edges of the graph over which one step knew of another.
	to, from map[string][]string
	// latest are the last thoughts of each branch, in the order of the rows.
	latest []recent
}

type recent struct {
	branch, agent, node string
	row                 int
}

// thoughts makes the backbone and the excursions of a session.
func (x *builder) thoughts(s *Session) Thoughts {
	m := &thoughtBuilder{
		x: x, s: s, began: make(map[string]string), ended: make(map[string]string),
		edges: make(map[ThoughtEdge]bool), to: make(map[string][]string), from: make(map[string][]string),
		out: Thoughts{Nodes: []Thought{}, Edges: []ThoughtEdge{}},
	}
	if len(s.Spans) == 0 {
		return m.out
	}
	for _, e := range s.Edges {
		if e.Kind == "informs" {
			m.to[e.From] = append(m.to[e.From], e.To)
			m.from[e.To] = append(m.from[e.To], e.From)
		}
	}
	m.incident()
	m.steps()
	m.humans()
	m.backbone()
	m.returns()
	m.action()
	m.number()
	return m.out
}

func (m *thoughtBuilder) add(t Thought) string {
	t.ID = fmt.Sprintf("t%d", len(m.out.Nodes)+1)
	t.Label = clip(cmp.Or(titleOf(t.Label), strings.ToLower(t.Kind)), maxLabel)
	t.Detail = strings.ToValidUTF8(t.Detail, "\uFFFD")
	m.out.Nodes = append(m.out.Nodes, t)
	return t.ID
}

// number gives the nodes the order of their rows, the action last.
func (m *thoughtBuilder) number() {
	slices.SortStableFunc(m.out.Nodes, func(a, b Thought) int {
		return cmp.Or(cmp.Compare(one(a.Kind == action), one(b.Kind == action)), cmp.Compare(a.Row, b.Row))
	})
	ids := make(map[string]string, len(m.out.Nodes))
	place := make(map[string]int, len(m.out.Nodes))
	for i := range m.out.Nodes {
		id := fmt.Sprintf("t%d", i+1)
		ids[m.out.Nodes[i].ID], place[id] = id, i
		m.out.Nodes[i].ID = id
	}
	for i, e := range m.out.Edges {
		m.out.Edges[i].From, m.out.Edges[i].To = ids[e.From], ids[e.To]
	}
	slices.SortStableFunc(m.out.Edges, func(a, b ThoughtEdge) int {
		return cmp.Or(cmp.Compare(place[a.From], place[b.From]), cmp.Compare(place[a.To], place[b.To]), cmp.Compare(a.Kind, b.Kind))
	})
}

// maxLabel is the length of a label in characters.
const maxLabel = 80

func (m *thoughtBuilder) link(from, to, kind string) {
	e := ThoughtEdge{From: from, To: to, Kind: kind}
	if from == "" || to == "" || from == to || m.edges[e] {
		return
	}
	m.edges[e] = true
	m.out.Edges = append(m.out.Edges, e)
}

// at makes the node of a row.
func (m *thoughtBuilder) at(kind string, n int, label, detail string) Thought {
	r := &m.x.rows[n]
	return Thought{
		Kind: kind, Label: label, Detail: detail, Agent: r.Agent, Turn: max(1, m.x.turns[r.run]), Span: r.span, Row: n,
		At: r.at(), Status: r.Status,
	}
}

// incident is the first message of the user, or the first row where there is none.
func (m *thoughtBuilder) incident() {
	for n := range m.x.rows {
		r := &m.x.rows[n]
		if r.EventType == record.UserMessageReceived {
			if text := userText(r); text != "" {
				m.first = m.add(m.at(incident, n, text, text))
				m.began[r.span], m.ended[r.span] = m.first, m.first
				return
			}
		}
	}
	m.first = m.add(m.at(incident, 0, "No message of the user is on record", ""))
}

// steps adds a thought for each call of a model, and a call and an observation for each call of a
// tool, in the order of their beginnings.
func (m *thoughtBuilder) steps() {
	for i := range m.s.Spans {
		s := &m.s.Spans[i]
		switch s.Class {
		case "model":
			n, text, decided := m.decision(s)
			label := cmp.Or(text, decided)
			if label == "" {
				label = "no answer of the model is on record"
				if s.Error != "" {
					label = s.Error
				}
			}
			t := m.at(thought, n, label, joinLines(text, decided, s.Error))
			t.Status = s.Status
			id := m.add(t)
			m.began[s.Key], m.ended[s.Key] = id, id
			m.latest = append(m.latest, recent{s.Branch, s.Agent, id, s.Rows[0]})
		case "tool":
			m.tool(s)
		case "user":
			m.message(s)
		}
	}
}

// message adds what the user says later on as an observation.
func (m *thoughtBuilder) message(s *Span) {
	if m.began[s.Key] != "" {
		return
	}
	for _, n := range s.Rows {
		if r := &m.x.rows[n]; r.EventType == record.UserMessageReceived {
			if text := userText(r); text != "" {
				id := m.add(m.at(observation, n, text, text))
				m.began[s.Key], m.ended[s.Key] = id, id
				return
			}
		}
	}
}

// tool adds the call of a tool and its result.
func (m *thoughtBuilder) tool(s *Span) {
	first := s.Rows[0]
	end := -1
	for _, n := range s.Rows {
		r := &m.x.rows[n]
		switch r.EventType {
		case record.ToolStarting:
			first = n
		case record.ToolCompleted, record.ToolError:
			end = n
		}
	}
	args, _ := callOf(m.x.rows[first].Content)
	t := m.at(toolCall, first, s.Name, args)
	t.Status = s.Status
	call := m.add(t)
	m.began[s.Key] = call
	if end < 0 {
		m.ended[s.Key] = call
		return
	}
	_, result := callOf(m.x.rows[end].Content)
	body := joinLines(m.x.rows[end].ErrorMessage, result)
	seen := m.add(m.at(observation, end, cmp.Or(body, s.Name+" returned nothing"), body))
	m.link(call, seen, edgeObserves)
	m.ended[s.Key] = seen
}

// humans adds the questions to humans and their answers, with the checks that followed. It links
// them to the run of the approved action.
func (m *thoughtBuilder) humans() {
	for i := range m.s.Approvals {
		a := &m.s.Approvals[i]
		from, ok := m.askedBy(a)
		if !ok {
			continue
		}
		for _, ans := range a.Answers {
			said := "A human said no"
			if ans.Confirmed {
				said = "A human said yes"
			}
			if a.Kind != KindConfirmation {
				said = "A human answered"
			}
			if ans.Approver != "" {
				said += " (" + ans.Approver + ")"
			}
			detail := said
			if !ans.Accepted && ans.Confirmed {
				detail += ", which was not accepted: " + ans.why()
			}
			id := m.add(m.at(observation, ans.Row, said, detail))
			m.link(from, id, edgeObserves)
			from = id
			for _, k := range a.Checks {
				if m.x.sameRun(k.Row, ans.Row) && k.Stage != "execution" {
					from = m.checked(from, k)
				}
			}
		}
		for _, k := range a.Checks {
			if k.Stage == "execution" {
				from = m.checked(from, k)
			}
		}
		for _, n := range m.resumed(a) {
			m.link(from, n, edgeReturns)
		}
		m.ended[a.Span] = from
	}
}

// askedBy adds the request to a human; ok is false if it is not among the rows.
func (m *thoughtBuilder) askedBy(a *Approval) (id string, ok bool) {
	i, ok := m.x.spans[a.Span]
	if !ok {
		return "", false
	}
	n := m.s.Spans[i].Rows[0]
	for _, r := range m.s.Spans[i].Rows {
		if isRequest(m.x.rows[r].EventType) {
			n = r
		}
	}
	t := m.at(toolCall, n, "ask a human: "+a.Tool, joinLines(a.Hint, compact(a.Args)))
	t.Status = string(a.Status)
	id = m.add(t)
	if m.began[a.Span] == "" {
		m.began[a.Span] = id
	}
	parent := m.s.Spans[i].Parent
	switch {
	case m.ended[parent] != "":
		m.link(m.ended[parent], id, edgeCalls)
	default:
		m.link(m.before(&m.s.Spans[i]), id, edgeCalls)
	}
	return id, true
}

func isRequest(eventType string) bool {
	return eventType == record.HITLConfirmationRequest || eventType == record.HITLInputRequest || eventType == record.HITLCredentialRequest
}

// checked adds a check of the world.
func (m *thoughtBuilder) checked(from string, k Check) string {
	if k.Row < 0 {
		return from
	}
	label := map[string]string{verdictSafe: "The world is unchanged", verdictDrift: "The world has changed"}[k.Verdict]
	var detail []string
	for _, a := range k.Alerts {
		detail = append(detail, fmt.Sprintf("%s %s: %s → %s", a.EntityType, a.Entity, a.Before, a.After))
	}
	for _, f := range k.Failures {
		detail = append(detail, f.String())
	}
	t := m.at(observation, k.Row, cmp.Or(label, "The check failed"), joinLines(detail...))
	t.Status = k.Verdict
	id := m.add(t)
	m.link(from, id, edgeObserves)
	m.began[k.Span], m.ended[k.Span] = id, id
	return id
}

// resumed returns the calls that were made because of an answer.
func (m *thoughtBuilder) resumed(a *Approval) []string {
	var out []string
	if len(a.Answers) == 0 || a.CallID == "" {
		return nil
	}
	for i := range m.s.Spans {
		s := &m.s.Spans[i]
		if s.Class == "tool" && s.CallID == a.CallID && s.Rows[0] > a.Answers[0].Row {
			out = append(out, m.began[s.Key])
		}
	}
	if len(out) == 0 && a.Execution != nil {
		out = append(out, m.began[a.Execution.Span])
	}
	return out
}

// sameRun reports whether two rows are of one run.
func (x *builder) sameRun(a, b int) bool {
	return a >= 0 && b >= 0 && a < len(x.rows) && b < len(x.rows) && x.rows[a].run == x.rows[b].run
}

// before returns the last thought before a span: that of its agent and branch, else of a branch
// around it, else the incident.
func (m *thoughtBuilder) before(s *Span) string {
	for branch := range schema.Branches(s.Branch) {
		for i := len(m.latest) - 1; i >= 0; i-- {
			if l := m.latest[i]; l.row < s.Rows[0] && l.branch == branch && l.node != m.began[s.Key] {
				return l.node
			}
		}
	}
	return m.first
}

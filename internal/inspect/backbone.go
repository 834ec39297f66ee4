// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// backbone links the thoughts: each to the thoughts that first knew of it, directly or by the
// result of a tool, and the calls to the thoughts that made them.
func (m *thoughtBuilder) backbone() {
	resumed := make(map[string]bool)
	for e := range m.edges {
		if e.Kind == edgeReturns {
			resumed[e.To] = true
		}
	}
	for i := range m.s.Spans {
		s := &m.s.Spans[i]
		here := m.began[s.Key]
		switch s.Class {
		case "model":
			if before := m.predecessors(s); len(before) > 0 {
				for _, from := range before {
					m.link(from, here, edgeNext)
				}
			} else {
				m.link(m.before(s), here, edgeNext)
			}
		case "tool":
			asked := false
			for _, from := range m.from[s.Key] {
				if m.class(from) == "model" && !resumed[here] {
					m.link(m.began[from], here, edgeCalls)
					asked = true
				}
			}
			if !asked && !resumed[here] {
				m.link(m.before(s), here, edgeCalls)
			}
		case "user":
			if here != "" && here != m.first {
				m.link(m.before(s), here, edgeObserves)
			}
		}
	}
}

// predecessors returns the thoughts that a model call is the first to know of.
func (m *thoughtBuilder) predecessors(s *Span) []string {
	var out []string
	add := func(key string) {
		if id := m.began[key]; m.class(key) == "model" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, from := range m.from[s.Key] {
		add(from)
		if m.class(from) != "tool" {
			continue
		}
		asked := false
		for _, asker := range m.from[from] {
			add(asker)
			asked = asked || m.class(asker) == "model"
		}
		if !asked {
			if i, ok := m.x.spans[from]; ok {
				if id := m.before(&m.s.Spans[i]); id != m.first && !slices.Contains(out, id) {
					out = append(out, id)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(id string) bool { return id == m.began[s.Key] })
}

func (m *thoughtBuilder) class(key string) string {
	i, ok := m.x.spans[key]
	if !ok {
		return ""
	}
	return m.s.Spans[i].Class
}

// returns leads what tools and users said back to the thoughts that knew it first.
func (m *thoughtBuilder) returns() {
	for i := range m.s.Spans {
		s := &m.s.Spans[i]
		end := m.ended[s.Key]
		if end == "" || end == m.first || s.Class != "tool" && s.Class != "user" {
			continue
		}
		for _, to := range m.to[s.Key] {
			if m.class(to) == "model" {
				m.link(end, m.began[to], edgeReturns)
			}
		}
	}
}

// action ends the backbone with the action: the approved call that ran, or the last answer. A
// session that waits or is under way has not ended yet.
func (m *thoughtBuilder) action() {
	n, label, detail := m.finalAction()
	if n < 0 {
		return
	}
	left := make(map[string]bool)
	for _, e := range m.out.Edges {
		if e.Kind == edgeNext || e.Kind == edgeReturns {
			left[e.From] = true
		}
	}
	nodes := m.out.Nodes
	end := m.add(m.at(action, n, label, detail))
	leads := false
	for _, t := range nodes {
		switch {
		case left[t.ID]:
		case t.Kind == thought:
			m.link(t.ID, end, edgeNext)
			leads = true
		case t.Kind == observation && !m.observed(t.ID):
			m.link(t.ID, end, edgeReturns)
		}
	}
	if !leads {
		m.link(m.first, end, edgeNext)
	}
}

// observed reports whether an observation leads on to another one.
func (m *thoughtBuilder) observed(id string) bool {
	return slices.ContainsFunc(m.out.Edges, func(e ThoughtEdge) bool {
		return e.From == id && (e.Kind == edgeObserves || e.Kind == edgeCalls)
	})
}

// finalAction returns the row of the action and its text; -1 for none.
func (m *thoughtBuilder) finalAction() (n int, label, detail string) {
	answer, text := m.lastAnswer()
	for _, a := range slices.Backward(m.s.Approvals) {
		if a.Execution == nil {
			continue
		}
		if i, ok := m.x.spans[a.Execution.Span]; ok && a.Kind == KindConfirmation {
			did := map[Status]string{StatusExecuted: " ran", StatusFailed: " failed", StatusInDoubt: " is in doubt"}[a.Status]
			rows := m.s.Spans[i].Rows
			return rows[len(rows)-1], a.Tool + cmp.Or(did, " ran"), joinLines(compact(a.Args), a.Execution.Error, text)
		}
	}
	if answer < 0 || len(m.s.Approvals) > 0 && answer < m.lastRequest() {
		return -1, "", ""
	}
	return answer, text, text
}

// lastAnswer returns the last final answer of an agent, -1 for none.
func (m *thoughtBuilder) lastAnswer() (n int, text string) {
	for i := len(m.x.rows) - 1; i >= 0; i-- {
		if r := &m.x.rows[i]; r.EventType == record.AgentResponse {
			return i, cmp.Or(r.ResponseText, responseText(r.Content))
		}
	}
	for i := len(m.x.rows) - 1; i >= 0; i-- {
		if r := &m.x.rows[i]; r.EventType == record.LLMResponse {
			if text := responseText(r.Content); text != "" && len(r.FunctionCalls) == 0 {
				return i, text
			}
			break
		}
	}
	return -1, ""
}

func (m *thoughtBuilder) lastRequest() int {
	for i := len(m.x.rows) - 1; i >= 0; i-- {
		if isRequest(m.x.rows[i].EventType) {
			return i
		}
	}
	return -1
}

// decision returns the row of a model's answer, its text, and the calls that it asked for.
func (m *thoughtBuilder) decision(s *Span) (n int, text, calls string) {
	n = s.Rows[0]
	var asked []string
	for _, i := range s.Rows {
		r := &m.x.rows[i]
		if r.EventType != record.LLMResponse && r.EventType != record.LLMError {
			continue
		}
		n = i
		text = cmp.Or(responseText(r.Content), text)
		for _, c := range r.FunctionCalls {
			asked = append(asked, strings.TrimSpace("call "+c.Name+" "+compact(c.Args)))
		}
	}
	if len(asked) == 0 {
		for _, name := range m.named(s) {
			asked = append(asked, "call "+name)
		}
	}
	return n, text, joinLines(asked...)
}

// named returns the tools that the decorated answer names, for rows without the calls.
func (m *thoughtBuilder) named(s *Span) []string {
	var out []string
	for _, i := range s.Rows {
		for _, part := range partsOf(m.x.rows[i].Content) {
			if name, ok := strings.CutPrefix(part, "call: "); ok && m.x.rows[i].EventType == record.LLMResponse {
				out = append(out, name)
			}
		}
	}
	return out
}

// responseText returns the plain text of an answer.
func responseText(content []byte) string {
	var texts []string
	for _, part := range partsOf(content) {
		if text, ok := strings.CutPrefix(part, "text: '"); ok {
			texts = append(texts, strings.TrimSuffix(text, "'"))
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	var plain struct {
		Response struct {
			Text string `json:"text_summary"`
		} `json:"response"`
	}
	unmarshal(content, &plain)
	return plain.Response.Text
}

// partsOf splits the answer of a model as rows have it: text: '…' | call: name | other. A text may
// hold the same marks, so a mark counts only if a name follows it.
func partsOf(content []byte) []string {
	var c struct {
		Response string `json:"response"`
	}
	unmarshal(content, &c)
	var out []string
	rest := c.Response
	for i := 0; i < len(rest); {
		n := strings.Index(rest[i:], " | ")
		if n < 0 {
			break
		}
		i += n
		if next := rest[i+len(" | "):]; begins(next) && (!strings.HasPrefix(rest, "text: '") || strings.HasSuffix(rest[:i], "'")) {
			out = append(out, rest[:i])
			rest, i = next, 0
			continue
		}
		i++
	}
	if rest != "" {
		out = append(out, rest)
	}
	return out
}

// begins reports whether a part of an answer begins here.
func begins(s string) bool {
	if strings.HasPrefix(s, "text: '") {
		return true
	}
	part, _, _ := strings.Cut(s, " | ")
	name, ok := strings.CutPrefix(part, "call: ")
	if !ok {
		name, ok = strings.CutPrefix(part, "resp: ")
	}
	return part == "other" || ok && name != "" && !strings.ContainsAny(name, "' \n")
}

// callOf returns the arguments and the result in the row of a tool.
func callOf(content []byte) (args, result string) {
	var c struct {
		Args   json.RawMessage `json:"args"`
		Result json.RawMessage `json:"result"`
	}
	unmarshal(content, &c)
	return compact(c.Args), compact(c.Result)
}

// compact returns JSON in one line.
func compact(data []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

func joinLines(lines ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" }), "\n")
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// shownSpans returns the spans of the trees below roots: in the order of their first
// rows, but each behind its parent.
func (x *builder) shownSpans(roots []*graphsync.SpanNode) []Span {
	type place struct {
		parent string
		depth  int
	}
	places := make(map[string]place)
	type visit struct {
		node *graphsync.SpanNode
		place
	}
	var todo []visit
	for _, n := range roots {
		todo = append(todo, visit{node: n})
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		places[v.node.Node.Key] = v.place
		for _, child := range v.node.Children {
			todo = append(todo, visit{child, place{v.node.Node.Key, v.depth + 1}})
		}
	}

	x.spans = make(map[string]int)
	nodes := make(map[string]graphsync.TechNode)
	var out []Span
	for _, n := range x.graph.Nodes() {
		nodes[n.Key] = n
	}
	for _, n := range x.graph.Nodes() {
		// The parents that are not there yet, the nearest last.
		chain := []string{}
		for key := n.Key; key != ""; key = places[key].parent {
			if _, there := x.spans[key]; there {
				break
			}
			chain = append(chain, key)
		}
		for i := len(chain) - 1; i >= 0; i-- {
			p := places[chain[i]]
			s := shownSpan(nodes[chain[i]])
			s.Parent, s.Depth = p.parent, p.depth
			x.spans[s.Key] = len(out)
			out = append(out, s)
		}
	}
	for i := range x.rows {
		r := &x.rows[i]
		s := &out[x.spans[r.span]]
		s.Rows = append(s.Rows, i)
		if s.Turn == 0 {
			s.Turn = x.turns[r.run]
		}
	}
	for i := range out {
		x.finish(&out[i])
	}
	return present(out)
}

func shownSpan(n graphsync.TechNode) Span {
	return Span{
		Key: n.Key, SpanID: n.SpanID, TraceID: n.TraceID, Kind: string(n.Kind), Class: classOf(n.Kind),
		Name: n.Name, Agent: n.Agent, InvocationID: n.InvocationID, Branch: n.Branch, CallID: n.CallID,
		Start: clock(n.Start), End: clock(n.End), DurationMS: max(0, finite(n.LatencyMS)),
		Status: n.Status, Error: n.ErrorMessage,
	}
}

func classOf(k graphsync.NodeKind) string {
	switch k {
	case graphsync.KindInvocation:
		return "user"
	case graphsync.KindAgent:
		return "agent"
	case graphsync.KindLLM:
		return "model"
	case graphsync.KindTool:
		return "tool"
	case graphsync.KindHITL:
		return "hitl"
	case graphsync.KindCheck:
		return "check"
	}
	return "other"
}

// finish sets what all rows of a span say together.
func (x *builder) finish(s *Span) {
	var started, ended bool
	rows := make([]*row, len(s.Rows))
	for i, n := range s.Rows {
		r := &x.rows[n]
		rows[i] = r
		begins, ends := boundary(s.Kind, r.EventType)
		started, ended = started || begins, ended || ends
	}
	s.Open = started && !ended
	s.Tokens = tokensOf(rows)
}

// boundary reports whether a row of the type begins or ends a span of the kind.
func boundary(kind, eventType string) (begins, ends bool) {
	switch graphsync.NodeKind(kind) {
	case graphsync.KindInvocation:
		return eventType == record.InvocationStarting, eventType == record.InvocationCompleted || eventType == record.InvocationError
	case graphsync.KindAgent:
		return eventType == record.AgentStarting, eventType == record.AgentCompleted || eventType == record.AgentError
	case graphsync.KindLLM:
		return eventType == record.LLMRequest, eventType == record.LLMResponse || eventType == record.LLMError
	case graphsync.KindTool:
		return eventType == record.ToolStarting, eventType == record.ToolCompleted || eventType == record.ToolError
	}
	return false, false
}

// tokensOf returns the tokens of the model calls in the rows of one span. Each part of a streamed
// answer has the sum so far, so the last part of a call counts.
func tokensOf(rows []*row) Tokens {
	var sum, call Tokens
	for _, r := range rows {
		switch r.EventType {
		case record.LLMRequest:
			sum.add(call)
			call = Tokens{}
		case record.LLMResponse:
			if u := r.usage(); u != (Tokens{}) {
				call = u
			}
		}
	}
	sum.add(call)
	return sum
}

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

// The states of a [Flow].
const (
	FlowEnded     = "ended"
	FlowFailed    = "failed" // at a step: no edge holds, a call was refused, no iteration is left
	FlowCancelled = "cancelled"
	FlowWaits     = "waits" // for a person
	FlowOpen      = "open"  // a node is under way, or was cut off
)

// Flow is a run of a graph or a workflow of package flow, as the rows tell it.
type Flow struct {
	Name  string `json:"name"`
	Run   string `json:"run"`
	State string `json:"state"`
	Error string `json:"error,omitempty"` // of a run that failed
	// Nodes and Edges are those of the graph, in the order of their declaration.
	Nodes []FlowNode `json:"nodes"`
	Edges []FlowEdge `json:"edges"`
	// Path are the nodes that have ended, in their order.
	Path []string `json:"path"`
}

// FlowNode is a node of a [Flow].
type FlowNode struct {
	Name string `json:"name"`
	// Visits is how often it has ended.
	Visits int `json:"visits"`
	// At says that the run has come to the node, and the node has not ended.
	At bool `json:"at,omitempty"`
	// Waits are the open questions of the node and of those in it.
	Waits []string `json:"waits,omitempty"`
	// Span is the key of the span of its last row.
	Span string `json:"span,omitempty"`
}

// FlowEdge is an edge of a [Flow].
type FlowEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Name is that of its condition or its route; "" for an edge without.
	Name  string `json:"name,omitempty"`
	Taken int    `json:"taken"`
}

// FlowStart is where the edge to the first node comes from.
const FlowStart = "START"

// flowStep is what package flow writes on an event, and where the event comes from.
type flowStep struct {
	ADK struct {
		Route json.RawMessage `json:"route"` // a text, or several
	} `json:"adk"`
	Metadata struct {
		Flow struct {
			Run                      string
			Graph                    *flowGraph
			N                        int
			To, Edge, Error, Refused string
			Done                     bool
			Withdrawn                []string // questions
			End                      any
		}
	} `json:"custom_metadata"`
}

type flowGraph struct {
	Name  string
	Nodes []string // none of a workflow of ADK's edges
	Edges []FlowEdge
}

// flowRun is a run on its way to a [Flow].
type flowRun struct {
	Flow
	graph  bool              // with conditions; else the edges are ADK's
	at     string            // of a graph, the node that the run has come to, "" behind an end
	index  map[string]int    // of the nodes, by name
	from   map[string][]int  // the edges that begin at a node
	waits  map[string]string // the node of each open question
	says   map[string]string
	events map[string]bool // that have been read: an event has several rows
}

// flows returns the runs of graphs, in the order of their beginnings.
func (x *builder) flows() (out []Flow) {
	runs := make(map[string]*flowRun)
	var order []*flowRun
	for i := range x.rows {
		r := &x.rows[i]
		if strings.HasSuffix(r.EventType, "_COMPLETED") {
			for _, f := range order {
				f.answered(r)
			}
		}
		if !bytes.Contains(r.Event.Attributes, []byte(`"flow":{`)) {
			continue
		}
		var s flowStep
		unmarshal(r.Event.Attributes, &s)
		step := &s.Metadata.Flow
		f := runs[step.Run]
		if f == nil {
			if step.Graph == nil {
				continue
			}
			f = newFlowRun(step.Run, step.Graph)
			runs[step.Run] = f
			order = append(order, f)
		}
		f.add(r, &s)
	}
	for _, f := range order {
		f.finish()
		out = append(out, f.Flow)
	}
	return out
}

func newFlowRun(run string, g *flowGraph) *flowRun {
	f := &flowRun{
		Flow:  Flow{Name: g.Name, Run: run, Edges: g.Edges, Path: []string{}},
		graph: g.Nodes != nil, index: make(map[string]int), from: make(map[string][]int), waits: make(map[string]string), says: make(map[string]string), events: make(map[string]bool),
	}
	drawn := make(map[string]bool)
	names := g.Nodes
	for i, e := range g.Edges {
		names = append(names, e.From, e.To)
		drawn[e.From], drawn[e.To] = true, true
		f.from[e.From] = append(f.from[e.From], i)
		f.Edges[i].Taken = 0
		if e.From == FlowStart {
			f.Edges[i].Taken, f.at = 1, e.To
		}
	}
	for _, name := range names { // members of a group have no edges
		if name != FlowStart && drawn[name] && f.node(name) == nil {
			f.index[name] = len(f.Nodes)
			f.Nodes = append(f.Nodes, FlowNode{Name: name})
		}
	}
	return f
}

func (f *flowRun) node(name string) *FlowNode {
	i, ok := f.index[name]
	if !ok {
		return nil
	}
	return &f.Nodes[i]
}

// add adds a row of the run.
func (f *flowRun) add(r *row, s *flowStep) {
	step := &s.Metadata.Flow
	if step.End != nil {
		f.State = FlowCancelled
	}
	for _, id := range step.Withdrawn {
		delete(f.waits, id)
	}
	inside, ok := strings.CutPrefix(r.ADK.Node.Path, f.Name+"@1/")
	first, _, deeper := strings.Cut(inside, "/")
	name, _, _ := strings.Cut(first, "@")
	n := f.node(name)
	if !ok || n == nil {
		return
	}
	n.Span = cmp.Or(r.span, n.Span)
	if id := questionOf(r); r.EventType == record.ToolPaused {
		f.waits[id], f.says[id] = name, questionText(r)
	}
	ends := step.N > 0 || step.Done || r.EventType == record.NodeOutput
	switch {
	case deeper:
		return
	case step.Refused != "" && step.N == 0: // in a workflow of ADK's edges
		f.Error = "a call was refused: " + step.Refused
		return
	case !ends || f.events[r.ADK.SourceEventID]:
		return
	}
	f.events[r.ADK.SourceEventID] = true
	f.at = step.To
	if f.graph && step.N == 0 {
		return // a person sent the run elsewhere
	}
	n.Visits++
	f.Path = append(f.Path, name)
	f.Error = step.Error
	for _, i := range f.from[name] {
		if e := &f.Edges[i]; f.took(e, s) {
			e.Taken++
			if f.graph {
				break
			}
		}
	}
}

// took says whether a step leads over an edge of its node.
func (f *flowRun) took(e *FlowEdge, s *flowStep) bool {
	if f.graph {
		return e.To == s.Metadata.Flow.To && e.Name == s.Metadata.Flow.Edge
	}
	var routes []string
	if one := ""; json.Unmarshal(s.ADK.Route, &one) == nil {
		routes = []string{one}
	} else {
		unmarshal(s.ADK.Route, &routes)
	}
	matches := func(name string) bool {
		return slices.ContainsFunc(routes, func(r string) bool { return r == name || slices.Contains(strings.Fields(name), r) })
	}
	if e.Name == "default" {
		return !slices.ContainsFunc(f.from[e.From], func(i int) bool { return f.Edges[i].Name != "" && matches(f.Edges[i].Name) })
	}
	return e.Name == "" || matches(e.Name)
}

// answered takes an answer to a question of the run. A guarded input that was refused stays open.
func (f *flowRun) answered(r *row) {
	if r.EventType == record.HITLInputRequestCompleted && r.ADK.Accepted.Text == "false" {
		return
	}
	delete(f.waits, questionOf(r))
}

// questionOf returns the id by which a question is answered.
func questionOf(r *row) string {
	return cmp.Or(r.ADK.InterruptID.Text, r.ADK.ConfirmationID.Text, r.ADK.FunctionCall.Text)
}

// questionText returns what a question asks.
func questionText(r *row) string {
	var c struct {
		Tool string
		Args struct {
			Message          string
			ToolConfirmation struct{ Hint string }
		}
	}
	unmarshal(r.Content, &c)
	return clip(cmp.Or(c.Args.Message, c.Args.ToolConfirmation.Hint, c.Tool), maxLabel)
}

// finish says how far the run has come.
func (f *flowRun) finish() {
	for id, name := range f.waits {
		n := f.node(name)
		n.Waits = append(n.Waits, f.says[id])
	}
	led := f.led()
	open := false
	for i := range f.Nodes {
		n := &f.Nodes[i]
		slices.Sort(n.Waits)
		come := led[n.Name] > n.Visits
		if f.graph {
			come = n.Name == f.at
		}
		n.At = f.Error == "" && f.State == "" && (come || len(n.Waits) > 0)
		open = open || n.At
	}
	switch {
	case f.State != "":
	case f.Error != "":
		f.State = FlowFailed
	case len(f.waits) > 0:
		f.State = FlowWaits
	case open:
		f.State = FlowOpen
	default:
		f.State = FlowEnded
	}
}

// led returns how often a run of a workflow has come to each node. A node with several edges to it is a join, which
// comes behind all of them.
func (f *flowRun) led() map[string]int {
	sum := make(map[string]int)
	plain := make(map[string][]int) // how often the edges without a route were taken
	for _, e := range f.Edges {
		sum[e.To] += e.Taken
		if e.Name == "" {
			plain[e.To] = append(plain[e.To], e.Taken)
		}
	}
	for name, taken := range plain {
		if len(taken) > 1 {
			sum[name] = slices.Min(taken)
		}
	}
	return sum
}

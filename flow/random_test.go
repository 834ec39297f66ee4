// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// A plan is a random graph.
type plan struct {
	nodes []planNode
	max   int
}

type planNode struct {
	name, kind, into string
	edges            []planEdge
	end              bool
	members          []planNode // of a group
	asks             bool       // a group that waits for those that ask too
}

type planEdge struct {
	to       string
	kind     string // when, fallback or cap
	of       string // what the condition reads: a key, or path
	mod, rem int
}

func newPlan(r *rand.Rand) plan {
	p := plan{max: 3 + r.IntN(12)}
	n := 1 + r.IntN(12)
	kinds := []string{"func", "func", "func", "reruns", "hands", "nested", "group"}
	for i := range n {
		x := planNode{name: fmt.Sprintf("n%d", i), kind: kinds[r.IntN(len(kinds))], end: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			x.into = fmt.Sprintf("k%d", r.IntN(3))
		}
		if x.kind == "group" {
			x.asks = r.IntN(2) == 0
			for j := range 2 + r.IntN(3) {
				x.members = append(x.members, planNode{name: fmt.Sprintf("%s-%d", x.name, j), kind: kinds[r.IntN(5)*min(j, 1)]})
			}
			if x.into == "" {
				x.into = "k0"
			}
		}
		to := func() string { return fmt.Sprintf("n%d", r.IntN(n)) }
		for range r.IntN(4) {
			e := planEdge{to: to(), kind: "when", of: "path", mod: 2 + r.IntN(2), rem: r.IntN(2)}
			if r.IntN(2) == 0 {
				e.of = fmt.Sprintf("k%d", r.IntN(3))
			}
			x.edges = append(x.edges, e)
		}
		if i < n-1 && r.IntN(2) == 0 {
			x.edges = append(x.edges, planEdge{to: fmt.Sprintf("n%d", i+1), kind: "fallback"})
		}
		if len(x.edges) > 0 && r.IntN(4) == 0 {
			x.edges = append(x.edges, planEdge{to: to(), kind: "cap"})
		}
		p.nodes = append(p.nodes, x)
	}
	return p
}

// value is what a node has as its output, or a person says, at a visit.
func value(name string, visit int) int {
	h := fnv.New32()
	fmt.Fprint(h, name, visit)
	return int(h.Sum32() % 7)
}

// interpret is what the package promises, on one page.
func (p plan) interpret() (path []string, state map[string]int, failed error) {
	state = make(map[string]int)
	visits := make(map[string]int)
	at, limit, capped := &p.nodes[0], p.max, false
	for {
		visits[at.name]++
		path = append(path, at.name)
		out := value(at.name, visits[at.name])
		if at.kind == "group" {
			for _, m := range at.members {
				if at.asks || m.kind == "func" {
					state[at.into] += value(m.name, visits[at.name])
				}
			}
		} else if at.into != "" {
			state[at.into] = out
		} else {
			state[at.name] = out
		}
		var taken, atCap *planEdge
		for i, e := range at.edges {
			holds := e.kind == "fallback" || e.kind == "when" && (e.of == "path" && len(path)%e.mod == e.rem || e.of != "path" && state[e.of]%e.mod == e.rem)
			if holds && taken == nil {
				taken = &at.edges[i]
			}
			if e.kind == "cap" {
				atCap = &at.edges[i]
			}
		}
		switch {
		case taken == nil && (at.end || len(at.edges) == 0):
			return path, state, nil
		case taken == nil:
			return path, state, flow.ErrNoEdge
		case len(path) >= limit && (atCap == nil || capped):
			return path, state, flow.ErrMaxIterations
		case len(path) >= limit:
			taken, capped, limit = atCap, true, 2*limit
		}
		at = &p.nodes[slices.IndexFunc(p.nodes, func(n planNode) bool { return n.name == taken.to })]
	}
}

// graph returns the graph of the plan.
func (p plan) graph() *flow.Graph {
	g := flow.New("g", flow.MaxIterations(p.max))
	for _, x := range p.nodes {
		if x.kind == "group" {
			x.group(g)
		} else {
			g.Node(x.name, x.node(x.name), x.options()...)
		}
		if x.end {
			g.End(x.name)
		}
		for i, e := range x.edges {
			switch e.kind {
			case "fallback":
				g.Edge(x.name, e.to)
			case "cap":
				g.Edge(x.name, e.to, flow.AtCap())
			default:
				g.Edge(x.name, e.to, flow.When(fmt.Sprint("c", i), func(s flow.State) bool {
					if e.of == "path" {
						return s.Iteration()%e.mod == e.rem
					}
					return flow.Get[int](s, e.of)%e.mod == e.rem
				}))
			}
		}
	}
	g.Edge(flow.Start, "n0")
	return g
}

// crashes has groups wait for all. A crash can leave a question open for which a group would not have waited, and its
// answer may win.
func (p plan) crashes() {
	for i := range p.nodes {
		p.nodes[i].asks = true
	}
}

// group adds the group: it waits for all members, or for those that ask nobody.
func (x planNode) group(g *flow.Graph) {
	var names []string
	funcs := 0
	for _, m := range x.members {
		g.Node(m.name, m.node(x.name), flow.Into(x.into, flow.Sum))
		names = append(names, m.name)
		if m.kind == "func" {
			funcs++
		}
	}
	j := flow.WaitN(funcs)
	if x.asks {
		j = flow.WaitAll()
	}
	g.Parallel(x.name, j, names...)
}

func (x planNode) options() []flow.NodeOption {
	if x.into == "" {
		return nil
	}
	return []flow.NodeOption{flow.Into(x.into)}
}

// node returns the node. The visits it counts are of the name in of: itself or its group.
func (x planNode) node(of string) workflow.Node {
	visit := func(ctx agent.Context) int { return flow.StateOf(ctx).Visits(of) + 1 }
	switch x.kind {
	case "func":
		return flow.FuncNode(func(ctx agent.Context, _ any) (int, error) { return value(x.name, visit(ctx)), nil })
	case "nested":
		in := flow.New("in" + x.name)
		in.Node("a", flow.FuncNode(func(_ agent.Context, in any) (any, error) { return in, nil }), flow.Into("in-a"))
		in.Node("b", asks(x.name, countAsked), flow.Into("in-b"))
		in.Edge(flow.Start, "a")
		in.Edge("a", "b")
		return flow.Nested(in)
	}
	n := asks(x.name, visit)
	if x.kind == "hands" {
		return handing{n}
	}
	return n
}

// handing is a node whose answer is its output.
type handing struct{ workflow.Node }

func (handing) Config() workflow.NodeConfig { return workflow.NodeConfig{} }

// countAsked counts the questions of the node that are answered, for nodes whose state has no path of the graph around.
func countAsked(ctx agent.Context) int {
	n := 1
	for ev := range ctx.Session().Events().All() {
		if ev.NodeInfo != nil && ev.Output != nil && strings.HasPrefix(ctx.Path(), ev.NodeInfo.Path) && ev.NodeInfo.Path != ctx.Path() {
			n++
		}
	}
	return n
}

func asks(name string, visit func(agent.Context) int) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		id := fmt.Sprintf("%s:%d", name, visit(ctx))
		return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: id, Message: "?"})
	}, workflow.NodeConfig{RerunOnResume: new(true)})
}

// dying is a session service that a process loses in the middle of a run: it stores a number of events, and no more.
type dying struct {
	session.Service
	left *atomic.Int64
}

var errDied = errors.New("the process died")

func (d dying) AppendEvent(ctx context.Context, s session.Session, ev *session.Event) error {
	if d.left.Add(-1) < 0 {
		return errDied
	}
	return d.Service.AppendEvent(ctx, s, ev)
}

// TestRandomGraphs runs random graphs beside the interpreter: in another process at each answer, and killed at random
// events.
func TestRandomGraphs(t *testing.T) {
	ran, most := 0, 500
	if testsize.Thorough() {
		most = 20000
	}
	for seed := uint64(0); ran < most; seed++ {
		r := rand.New(rand.NewPCG(seed, 52))
		p := newPlan(r)
		if _, err := p.graph().Agent(); err != nil {
			continue // it has no way out, or a node without a way in
		}
		ran++
		if ran%3 == 0 {
			p.crashes()
		}
		var left atomic.Int64
		left.Store(1 << 40)
		memory := session.InMemoryService()
		service := memory
		if ran%4 == 0 {
			service = carry{memory}
		}
		w := &world{t: t, plain: memory, service: dying{service, &left}, root: func(*world) agent.Agent {
			a, err := p.graph().Agent()
			if err != nil {
				t.Fatal(err)
			}
			return a
		}}
		deaths := 0
		die := func() {
			left.Store(1 << 40)
			if ran%3 == 0 && deaths < 5 {
				left.Store(int64(r.IntN(8)))
				deaths++
			}
		}
		die()
		err := w.play(p, die, false)
		w.ranAs(p, fmt.Sprintf("seed %d: error %v", seed, err))
	}
}

// ranAs holds the stored run against the interpreter.
func (w *world) ranAs(p plan, about string) {
	w.t.Helper()
	path, state, failed := p.interpret()
	var got []string
	var last map[string]any
	for _, ev := range w.stored() {
		m, _ := ev.CustomMetadata["flow"].(map[string]any)
		if m["n"] != nil && strings.Count(ev.NodeInfo.Path, "/") == 1 {
			_, name, _ := strings.Cut(strings.TrimSuffix(ev.NodeInfo.Path, "@1"), "/")
			got, last = append(got, name), m
		}
	}
	if !slices.Equal(got, path) {
		w.t.Fatalf("%s: path %v, want %v\n%+v", about, got, path, p)
	}
	if said := fmt.Sprint(last["error"]); (failed == nil) != (last["error"] == nil) || failed != nil && !strings.HasPrefix(said, failed.Error()) {
		w.t.Fatalf("%s: the run ended with %v, want %v", about, said, failed)
	}
	for k, v := range state {
		if fmt.Sprint(w.state(k)) != fmt.Sprint(v) {
			w.t.Fatalf("%s: state %s is %v, want %v", about, k, w.state(k), v)
		}
	}
}

// play runs the plan to its end, with the answers that it needs. CutOff says that an earlier process began.
func (w *world) play(p plan, die func(), cutOff bool) (err error) {
	msg := adktest.UserText("go")
	var opts []flow.ContinueOption
	for _, x := range p.nodes {
		opts = append(opts, flow.Again(x.name))
		for _, m := range x.members {
			opts = append(opts, flow.Again(m.name))
		}
	}
	opts = append(opts, flow.Again("a"), flow.Again("b"))
	for range 500 {
		if !cutOff {
			_, err = w.run(msg)
		}
		for cutOff || errors.Is(err, errDied) || errors.Is(err, flow.ErrInDoubt) {
			die()
			err, cutOff = nil, false
			for _, e := range flow.Continue(w.t.Context(), w.runner(), "alice", "s1", opts...) {
				if e != nil && err == nil {
					err = e
				}
			}
		}
		open := make(map[string]bool)
		begun, ended := false, false
		for _, ev := range w.stored() {
			for _, id := range ev.LongRunningToolIDs {
				open[id] = true
			}
			if ev.Content != nil && ev.Author == "user" {
				for _, part := range ev.Content.Parts {
					if part.FunctionResponse != nil {
						delete(open, part.FunctionResponse.ID)
					}
				}
			}
			m, _ := ev.CustomMetadata["flow"].(map[string]any)
			withdrawn, _ := m["withdrawn"].([]string)
			for _, id := range withdrawn {
				delete(open, id)
			}
			begun = begun || m != nil
			ended = m["n"] != nil && m["to"] == nil && strings.Count(ev.NodeInfo.Path, "/") == 1
		}
		switch {
		case ended:
			return err
		case !begun:
			msg = adktest.UserText("go")
		case len(open) > 0:
			for id := range open {
				name, visit, _ := strings.Cut(id, ":")
				var n int
				fmt.Sscan(visit, &n)
				msg = answer(pair(id, value(name, n)))
			}
		default:
			return fmt.Errorf("the run hangs: %w", err)
		}
	}
	return errors.New("the run has no end")
}

// stored returns the events of the session.
func (w *world) stored() []*session.Event {
	resp, err := w.plain.Get(w.t.Context(), &session.GetRequest{AppName: "app", UserID: "alice", SessionID: "s1"})
	if err != nil {
		return nil
	}
	return slices.Collect(resp.Session.Events().All())
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// grace is how long a group waits for a member that it has cancelled.
const grace = 5 * time.Second

// A Join says for how many of its members a group waits.
type Join struct {
	n       int // 0 for all
	onError Policy
}

// A JoinOption changes a [Join].
type JoinOption func(*Join)

// WaitAll waits for all members.
func WaitAll(opts ...JoinOption) Join { return join(0, opts) }

// WaitAny waits for the first member that ends. The others are cancelled.
func WaitAny(opts ...JoinOption) Join { return join(1, opts) }

// WaitN waits for the first n members that end. The others are cancelled.
func WaitN(n int, opts ...JoinOption) Join {
	if n < 1 {
		n = -1
	}
	return join(n, opts)
}

func join(n int, opts []JoinOption) Join {
	j := Join{n: n}
	for _, opt := range opts {
		opt(&j)
	}
	return j
}

// A Policy says what the failure of a member does to its group. A refused call is a failure.
type Policy int

const (
	// FailFast cancels the other members, and the group fails.
	FailFast Policy = iota
	// Collect lets the others end. If too few are left to end well, the group then fails with all errors.
	Collect
	// Ignore goes on without the member: the group fails only if no member ends well.
	Ignore
)

// OnError sets the policy of a group. Default: [FailFast].
func OnError(p Policy) JoinOption { return func(j *Join) { j.onError = p } }

// Parallel adds a node that runs other nodes of the graph side by side, each with its own branch. The members have no
// edges. Each gets the input of the group, and the output of the group is a map of theirs by name. When the group ends,
// the outputs of those that it waited for go to the state in the order of the members here.
//
// A member that nobody waits for is cancelled, and what it has asked can no longer be answered. If it does not end
// within five seconds it is left behind: its events are refused.
func (g *Graph) Parallel(name string, j Join, members ...string) {
	x := &group{BaseNode: workflow.NewBaseNode(name, "", workflow.NodeConfig{RerunOnResume: new(true)}), join: j, names: members}
	if j.n < 0 || j.n > len(members) {
		g.wrong("the group %q waits for a number of members that it does not have", name)
	}
	g.Node(name, x)
}

// checkGroups returns the mistakes of groups, and marks the members.
func (g *Graph) checkGroups(wrong func(string, ...any)) {
	of := make(map[string]string)
	for _, n := range g.nodes {
		x, ok := n.Node.(*group)
		if !ok || x.choose != nil {
			continue
		}
		if len(x.names) == 0 {
			wrong("the group %q has no members", n.name)
		}
		x.members = nil
		for _, name := range x.names {
			m := g.node(name)
			switch {
			case m == nil:
				wrong("the group %q has the member %q, which there is not", n.name, name)
				continue
			case of[name] != "":
				wrong("the node %q is a member of %q and of %q", name, of[name], n.name)
			}
			if _, inner := m.Node.(*group); inner {
				wrong("the member %q of the group %q is a group or dynamic; put it into a Nested graph", name, n.name)
			}
			if slices.ContainsFunc(g.edges, func(e *edge) bool { return e.from == name || e.to == name }) || slices.Contains(g.ends, name) {
				wrong("the member %q of the group %q has edges of its own; the edges of the group count", name, n.name)
			}
			of[name] = n.name
			m.member = true
			x.members = append(x.members, m)
		}
	}
}

// A group is a node that runs its members side by side.
type group struct {
	workflow.BaseNode
	join    Join
	names   []string
	members []*node
	choose  func(State) workflow.Node // of Dynamic: the one member, found when it runs
}

// A race is one run of a group.
type race struct {
	*group
	ctx     agent.Context
	turn    *turn
	yield   func(*session.Event, error) bool
	members []*node
	cancels []context.CancelFunc
	items   chan item
	ended   chan item     // has room for all members
	over    chan struct{} // closed when no event is taken any more
	late    atomic.Int64

	running, won, waiting int
	failed                []error
	refused               string // why a call was refused
	err                   error  // ends the race
	doubt                 error  // of a member that was cut off
	gone                  bool   // nobody takes events any more
}

// An item is an event of a member, or its end.
type item struct {
	member *node
	ctx    agent.Context // of the member
	ev     *session.Event
	taken  chan bool
	err    error
	left   bool // with an end event
}

// Run implements [workflow.Node].
func (g *group) Run(ctx agent.Context, input any) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		t := turnOf(ctx)
		if t == nil {
			yield(nil, fmt.Errorf("flow: %q runs in a flow alone", g.Name()))
			return
		}
		lv := t.read(ctx.Path())
		members, err := g.find(ctx, lv)
		if err != nil {
			yield(nil, err)
			return
		}
		r := &race{
			group: g, ctx: ctx, turn: t, yield: yield, members: members, items: make(chan item),
			ended: make(chan item, len(members)), over: make(chan struct{}),
		}
		r.begin(lv, input)
		r.run()
		r.finish()
	}
}

// begin starts the members that history does not know as ended or as waiting.
func (r *race) begin(lv *level, input any) {
	_, goesOn := r.ctx.ResumedInput(continued)
	started := goesOn || len(lv.nodes) > 0
	var start []func()
	for _, m := range r.members {
		a := lv.nodes[m.name]
		if a == nil {
			a = &activation{at: -1}
		}
		answered := a.answeredBy(r.turn.answers)
		inputs := resumed(m, a)
		switch {
		case a.at >= 0 && !a.begun:
			r.count(m, a)
			continue
		case len(a.open()) > 0 && (!answered || !takesEach(m)):
			r.waiting++
			continue
		case started && !answered:
			if err := r.turn.proceed(m, inputs); err != nil {
				r.doubt = err
				continue
			}
		}
		start = append(start, func() { r.start(m, input, inputs) })
	}
	if r.err != nil || r.won >= r.need() || r.doubt != nil && goesOn {
		return
	}
	for _, f := range start {
		f()
	}
}

// start starts a member.
func (r *race) start(m *node, input any, inputs map[string]any) {
	path, branch := r.ctx.Path()+"/"+m.name+"@1", m.name+"@1"
	if b := r.ctx.Branch(); b != "" {
		branch = b + "." + branch
	}
	ctx := at(r.ctx, r.turn, path).WithDelta(&agent.CommonContextDelta{
		ResumeInputs: &inputs, InvocationContextDelta: &agent.InvocationContextDelta{Branch: &branch},
	})
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		own := *p // a member that is left behind may still read it
		own.path = slices.Clone(p.path)
		ctx = in(ctx, placeKey{}, &own)
	}
	ctx, cancel := ctx.WithAgentCancel()
	r.cancels = append(r.cancels, cancel)
	r.running++
	go func() {
		it, late := item{member: m, ctx: ctx}, false
		defer func() {
			if p := recover(); p != nil {
				it.err = fmt.Errorf("flow: node %q panicked: %v", m.name, p)
			}
			r.ended <- it
		}()
		value, err := m.ValidateInput(input)
		if err != nil {
			it.err = fmt.Errorf("%w for node %q: %w", workflow.ErrInputValidation, m.name, err)
			return
		}
		for ev, err := range m.Run(ctx, value) {
			if err != nil {
				it.err = err
				return
			}
			if ev == nil {
				continue
			}
			it.ev, it.taken = ev, make(chan bool, 1)
			it.left = it.left || !ev.Partial && ends(ctx, ev)
			if !r.emit(it) {
				late = true
			}
		}
		if late || !it.left {
			it.err = ctx.Err()
		}
	}()
}

// emit hands an event over. It returns false for one that came too late.
func (r *race) emit(it item) bool {
	select {
	case <-r.over:
	default:
		select {
		case r.items <- it:
			return <-it.taken
		case <-r.over:
		}
	}
	// Nobody is there for an error of the hook.
	_ = it.member.graph.call(it.ctx, Moment{When: "late", Node: it.member.name, Late: r.late.Add(1)})
	return false
}

// need is how many members have to end well.
func (r *race) need() int {
	n := r.join.n
	if n == 0 {
		n = len(r.members)
	}
	if r.join.onError == Ignore {
		n = max(1, min(n, len(r.members)-len(r.failed)))
	}
	return n
}

// run takes events until the race is decided. Then it cancels the members that still run, and waits for them.
func (r *race) run() {
	for r.running > 0 && r.err == nil && !r.gone && r.won < r.need() {
		select {
		case it := <-r.items:
			it.taken <- r.take(it)
		case it := <-r.ended:
			r.running--
			r.end(it)
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		}
	}
	close(r.over)
	for _, cancel := range r.cancels {
		cancel()
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	for r.running > 0 {
		select {
		case <-r.ended:
			r.running--
		case <-patience.C:
			return
		}
	}
}

// take hands an event of a member on.
func (r *race) take(it item) bool {
	ev := it.ev
	if pathOf(ev) == "" {
		if ev.NodeInfo == nil {
			ev.NodeInfo = &session.NodeInfo{}
		}
		ev.NodeInfo.Path = it.ctx.Path()
	}
	if ev.Branch == "" {
		ev.Branch = it.ctx.Branch()
	}
	if len(ev.LongRunningToolIDs) > 0 {
		// ADK would have the group wait for the answer, though it may end without it.
		c := *ev
		c.CustomMetadata = maps.Clone(ev.CustomMetadata)
		note(&c, keyAsks, ev.LongRunningToolIDs)
		c.LongRunningToolIDs = nil
		ev = &c
	}
	if !r.yield(ev, nil) {
		r.gone = true
		return false
	}
	if !ev.Partial && pathOf(ev) == it.ctx.Path() && isEnd(ev) {
		if r.refused = cmp.Or(r.refused, noted(ev, keyRefused)); noted(ev, keyRefused) == "" {
			r.won++
		}
	}
	return true
}

// count counts a member that had ended before this run of the group.
func (r *race) count(m *node, a *activation) {
	switch {
	case a.refused != "":
		r.refused = a.refused
		r.lose(m.refusal(a.refused))
	case a.failed != "":
		r.lose(errors.New(a.failed))
	default:
		r.won++
	}
}

// lose counts a member that has failed.
func (r *race) lose(err error) {
	if r.join.onError == FailFast {
		r.err = err
		return
	}
	r.failed = append(r.failed, err)
}

// end takes the end of a member.
func (r *race) end(it item) {
	switch {
	case waits(it.err) || it.err == nil && !it.left:
		r.waiting++
	case it.err == nil: // its end event is counted
	case r.ctx.Err() != nil:
		r.err = r.ctx.Err()
	default:
		r.lose(it.err)
		if r.err == nil && !it.left {
			ev := session.NewEvent(r.ctx, r.ctx.InvocationID())
			ev.Branch, ev.NodeInfo = it.ctx.Branch(), &session.NodeInfo{Path: it.ctx.Path()}
			note(ev, keyDone, true)
			note(ev, keyFailed, it.err.Error())
			r.gone = !r.yield(ev, nil)
		}
	}
}

// finish ends the run of the group.
func (r *race) finish() {
	won := r.err == nil && r.won >= r.need()
	err := r.err
	if err == nil {
		err = errors.Join(r.failed...)
	}
	ev := session.NewEvent(r.ctx, r.ctx.InvocationID())
	switch {
	case r.gone:
	case r.ctx.Err() != nil:
		r.yield(nil, r.ctx.Err())
	case won:
		if err := r.result(ev); err != nil {
			r.yield(nil, err)
			return
		}
		r.yield(ev, nil)
	case r.err == nil && r.waiting > 0:
		r.yield(nil, workflow.ErrNodeWaitingForOutput)
	case r.err == nil && r.doubt != nil:
		r.yield(nil, r.doubt)
	case errors.Is(err, ErrRefused):
		note(ev, keyDone, true)
		note(ev, keyRefused, r.refused)
		r.yield(ev, nil)
	default:
		r.yield(nil, err)
	}
}

// result gives the event the outputs of the members that won, as history has them.
func (r *race) result(ev *session.Event) error {
	lv := r.turn.read(r.ctx.Path())
	var won []*node
	for _, m := range r.members {
		if a := lv.nodes[m.name]; a != nil && a.at >= 0 && !a.begun && a.failed == "" && a.refused == "" {
			won = append(won, m)
		}
	}
	slices.SortFunc(won, func(a, b *node) int { return cmp.Compare(lv.nodes[a.name].at, lv.nodes[b.name].at) })
	if r.join.n > 0 && len(won) > r.join.n {
		won = won[:r.join.n]
	}
	if r.choose != nil {
		if ev.Output = lv.nodes[won[0].name].output; ev.Output == nil {
			note(ev, keyDone, true)
		}
		return nil
	}
	outputs := make(map[string]any, len(won))
	ev.Output, ev.Actions.StateDelta = outputs, make(map[string]any)
	s := StateOf(r.ctx)
	s.over = ev.Actions.StateDelta
	for _, m := range r.members {
		if !slices.Contains(won, m) {
			continue
		}
		outputs[m.name] = lv.nodes[m.name].output
		if err := m.write(s, outputs[m.name]); err != nil {
			return err
		}
	}
	return nil
}

// Dynamic returns a node of a graph that is found when it runs. After an answer the function has to return a node of the
// same name, or the run ends with [ErrChanged].
func Dynamic(choose func(State) workflow.Node) workflow.Node {
	if choose == nil {
		return broken("", errors.New("Dynamic has no function"))
	}
	return &group{BaseNode: workflow.NewBaseNode("", "", workflow.NodeConfig{RerunOnResume: new(true)}), choose: choose}
}

// find returns the members: those of Parallel, or the one that Dynamic finds.
func (g *group) find(ctx agent.Context, lv *level) (members []*node, err error) {
	if g.choose == nil {
		return g.members, nil
	}
	defer recovered(&err, "the function of Dynamic")
	s := StateOf(ctx)
	n := g.choose(s)
	if n == nil {
		return nil, errors.New("flow: the function of Dynamic returned no node")
	}
	if b, ok := n.(interface{ mistake() error }); ok {
		return nil, b.mistake()
	}
	name := cmp.Or(n.Name(), "node")
	for begun := range lv.nodes {
		if begun != name {
			return nil, fmt.Errorf("%w: Dynamic had begun with the node %q, and now returns %q", ErrChanged, begun, name)
		}
	}
	return []*node{{Node: guarded(n), name: name, graph: s.place.graph, member: true}}, nil
}

// withdraw has the event that ends the group say which questions nobody has to answer any more.
func (g *group) withdraw(ctx agent.Context, ev *session.Event) {
	var ids []string
	for _, a := range turnOf(ctx).read(ctx.Path()).nodes {
		ids = append(ids, a.open()...)
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		note(ev, keyWithdrawn, ids)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The explorer goes through every way in which two processes, each with a guard of its
// own, can answer and carry out one approval in one ledger. Whatever a guard calls (the
// ledger, a checker, OnReport and, where a scenario says so, the clock) is a step; between
// any two steps the other process may take its own, the clock may go on and the world may
// change. A process that crashes is one that takes no more steps, which happens after
// every step.
//
// A guard keeps no state of its own, so what it does next follows from what it got so
// far in the operation it is in. That is learned by running the guard with what it got
// and seeing what it asks for next, once for every beginning of an operation. A state of
// the exploration is then a few small numbers, and its successors are table look-ups.
//
// States that are equal up to names are visited once: the two processes change places where
// both do the same, and a permit is called after the process that has it. A state is not
// visited either if the same one was, with more operations to go: all that follows from the
// one follows from the other.

// op is what an actor does.
type op uint8

const (
	opNone op = iota
	opApprove
	opReject
	opPermit
	opPermitOther // with other arguments
	opConsume
	opConsumeOther
	opDone
	opResolve  // somebody else says how the effect ended
	opOverride // approves although sources are down
	opChange   // rejects, and says what should be different
)

func (o op) String() string {
	return [...]string{"", "approve", "reject", "permit", "permit with other arguments", "consume", "consume with other arguments", "done", "resolve", "override", "want a change"}[o]
}

// got is what a guard got for one call. The kind is one of the letters below.
type got struct {
	kind     byte
	clock    uint8 // when
	drift    bool  // of c
	down     bool  // of c
	approval int32 // of f, g and t
}

const (
	gotBegin    = 'b' // the operation begins
	gotNow      = 'n'
	gotState    = 'c' // from the checker
	gotReport   = 'r' // OnReport returned
	gotFound    = 'f'
	gotApproval = 'g'
	gotMoved    = 't'
	gotConflict = 'x'
	gotExpired  = 'e'
)

// permitInfo is what of a permit differs from others of the same actor.
type permitInfo struct {
	has             bool
	consumed        bool
	expires, issued int64
	checked         int16 // instant at which the world was last seen unchanged, or the source down; -1 for never
	down            bool  // the source was down then
}

// local is the state of one actor: between operations if op is opNone, else in one.
type local struct {
	actor  uint8
	permit permitInfo
	op     op
	log    []got
	// How an actor gets its permit, as an example for all that have one like it.
	permitLog, consumeLog []got

	learned bool
	lesson
}

// lesson is what was learned of a local state.
type lesson struct {
	asks   byte              // what the guard asks for next, 0 if the operation is over
	change safety.Transition // of asks 't'
	after  int32             // the state when the operation is over
	ended  ended
}

// ended is how an operation ended, as far as the explorer judges it.
type ended struct {
	accepted bool // an answer
	effect   bool // a permit was consumed: the effect runs
}

// global is one state of everything.
type global struct {
	actors   [2]int32
	left     [2]uint8 // operations that each actor may still begin, at most maxOps
	approval int32
	clock    uint8
	drift    bool
	down     bool // nobody can say whether the world changed
	effects  uint8
	approved bool // a person approved
}

// maxOps is the greatest number of operations of an actor.
const maxOps = 4

// Keys of what was found out before.
type (
	localKey struct {
		actor  uint8
		permit permitInfo
		op     op
		log    string
	}
	gotAt struct {
		local int32
		got   got
	}
	begunAt struct {
		local int32
		op    op
		clock uint8
	}
	changedBy struct{ approval, local int32 }
	changed   struct {
		kind     byte
		approval int32
	}
)

type scenario struct {
	name      string
	instants  []time.Duration // the clock goes from one to the next
	approvers [2]string
	quick     [2]uint8 // how many operations each actor does, in the quick size
	ops       [2]uint8 // how many in the thorough size
	soon      int      // how many instants there are in the quick size; 0 for all
	choice    []op
	// clockSteps makes each reading of the clock a step. Otherwise time passes in calls.
	clockSteps bool
	approved   bool // the exploration begins with an approval
	// atOnce has the ledger hear of a permit when it is used.
	atOnce bool
	// sources lets the source of the check go down and come back.
	sources bool
	// needs is how many people have to approve; 0 for one.
	needs int
	// condition lets the price move up to what the arguments say; the other arguments would
	// let it move beyond the change.
	condition bool
}

const (
	exploreMaxAge   = 30 * time.Second
	exploreLifetime = 60 * time.Second
)

type explorer struct {
	t         testing.TB
	scenario  scenario
	args      map[string]any
	other     map[string]any
	snap      safety.Snapshot
	first     safety.Approval
	approvals []safety.Approval // canonical: what differs in no decision is the same
	byKey     map[string]int32
	locals    []*local
	byLocal   map[localKey]int32
	afterGot  map[gotAt]int32
	begun     map[begunAt]int32
	changes   map[changedBy]changed

	actors [2]*actor
	guards [2]*safety.Guard
	// Where both actors do the same: other names of the same approval, and of the same local.
	symmetric                bool
	otherApproval, otherSide map[int32]int32

	states  []global
	from    []int32 // the state before
	swapped []bool  // the actors changed places on the way from there
	// visited has, for a state with nothing to go, the numbers of operations to go with which it
	// was visited, or with more.
	visited map[global]uint32
	runs    int
	labels  bool // say what the steps are
}

func newExplorer(t testing.TB, s scenario) *explorer {
	x := &explorer{
		t: t, scenario: s, byKey: map[string]int32{}, byLocal: map[localKey]int32{}, visited: map[global]uint32{},
		afterGot: map[gotAt]int32{}, begun: map[begunAt]int32{}, changes: map[changedBy]changed{},
		symmetric: s.ops[0] == s.ops[1], otherApproval: map[int32]int32{}, otherSide: map[int32]int32{},
		args: map[string]any{"total": 1.0}, other: map[string]any{"total": 2.0},
		snap: safety.Snapshot{Evidence: entity.Evidence{Entities: []entity.Canonical{strava}}, Receipt: record.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"}},
	}
	if s.condition {
		x.args, x.other = map[string]any{"total": 45000.0}, map[string]any{"total": 60000.0}
	}
	sum, canonical, err := safety.ArgsDigest(x.args)
	if err != nil {
		t.Fatal(err)
	}
	x.first = safety.Approval{
		ID: "approval", Session: nike, ConfirmationID: "conf", CallID: "call", Tool: "buy", RunID: "run-0",
		ArgsDigest: sum, Args: canonical, Entities: x.snap.Entities, Fingerprint: safety.Fingerprint(x.snap.Entities),
		PolicyVersion: safety.VersionOf(x.policy()), Receipt: x.snap.Receipt, Requester: nike.User, Approvers: s.needs,
		RequestedAt: epoch, ExpiresAt: epoch.Add(exploreLifetime), State: safety.StatePending,
	}
	if s.approved {
		x.first.State, x.first.Approver, x.first.DecidedAt = safety.StateApproved, "eva", epoch
		x.first.Consents = []safety.Consent{{Who: "eva"}}
	}
	for i := range x.guards {
		a := &actor{x: x, name: "permit of " + runOf(i)}
		guard, err := safety.NewGuard(safety.GuardConfig{
			Ledger: a, Evidence: a, Checkers: map[string]safety.Checker{"Product": a}, Policy: x.policy(), Now: a.now,
			Authorizer: safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) {
				return s.approvers[i], nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		safety.OnReport(guard, func(safety.Report) { a.next(gotReport) })
		x.actors[i], x.guards[i] = a, guard
	}
	return x
}

// runOf names the run of an actor.
func runOf(i int) string { return fmt.Sprint("run-", i+1) }

func (x *explorer) policy() config.Guard {
	p := config.Guard{
		CheckAge: exploreMaxAge, RequestLifetime: exploreLifetime,
		SelfApproval: true, // one of the approvers has the name of the requester
		Tools:        map[string]config.ToolSettings{"buy": {ActsOn: config.ActsOnNothing, Approvers: x.scenario.needs, Override: []string{"eva", "tom"}}},
	}
	if x.scenario.condition {
		p.Types = map[string]config.TypePolicy{"Product": {Drift: map[string]config.Drift{"price": along(atMost, "$.total")}}}
	}
	return p
}

func (x *explorer) at(clock uint8) time.Time { return epoch.Add(x.scenario.instants[clock]) }

// stored returns the number of an approval.
func (x *explorer) stored(a safety.Approval) int32 {
	a = a.Clone()
	a.Report, a.Verdict, a.UpdatedAt = nil, "", time.Time{}
	for i := range a.Consents {
		a.Consents[i].At = time.Time{}
	}
	key := fmt.Sprint(a.Consents, "|", a.Overridden, "|", a.State, "|", a.Approver, "|", a.DecidedAt.UnixNano(), "|", a.PermitNonce, "|", a.PermitRun, "|", a.PermitExpiresAt.UnixNano())
	i, ok := x.byKey[key]
	if !ok {
		i = int32(len(x.approvals))
		x.approvals, x.byKey[key] = append(x.approvals, a), i
	}
	return i
}

// intern returns the number of a local state.
func (x *explorer) intern(l local) int32 {
	key := localKey{l.actor, l.permit, l.op, fmt.Sprint(l.log)}
	i, ok := x.byLocal[key]
	if !ok {
		i = int32(len(x.locals))
		x.locals, x.byLocal[key] = append(x.locals, &l), i
	}
	return i
}

// swapApproval returns the number of an approval after the actors changed places.
func (x *explorer) swapApproval(i int32) int32 {
	to, ok := x.otherApproval[i]
	if ok {
		return to
	}
	one, two := x.scenario.approvers[0], x.scenario.approvers[1]
	names := map[string]string{
		one: two, two: one, runOf(0): runOf(1), runOf(1): runOf(0), x.actors[0].name: x.actors[1].name, x.actors[1].name: x.actors[0].name,
	}
	swap := func(name *string) {
		if other, ok := names[*name]; ok {
			*name = other
		}
	}
	a := x.approvals[i].Clone()
	swap(&a.Approver)
	swap(&a.PermitRun)
	swap(&a.PermitNonce)
	for i := range a.Consents {
		swap(&a.Consents[i].Who)
	}
	to = x.stored(a)
	x.otherApproval[i], x.otherApproval[to] = to, i
	return to
}

// swapLocal returns the number of a local state after its actor took the place of the other one.
func (x *explorer) swapLocal(i int32) int32 {
	to, ok := x.otherSide[i]
	if ok {
		return to
	}
	swapped := func(log []got) []got {
		out := slices.Clone(log)
		for i, g := range out {
			if g.kind == gotFound || g.kind == gotApproval || g.kind == gotMoved {
				out[i].approval = x.swapApproval(g.approval)
			}
		}
		return out
	}
	l := *x.locals[i]
	to = x.intern(local{
		actor: 1 - l.actor, permit: l.permit, op: l.op, log: swapped(l.log), permitLog: swapped(l.permitLog), consumeLog: swapped(l.consumeLog),
	})
	x.otherSide[i], x.otherSide[to] = to, i
	return to
}

// canonical returns the one of all states that are equal up to names, and whether the actors have
// changed places in it.
func (x *explorer) canonical(s global) (global, bool) {
	if !x.symmetric {
		return s, false
	}
	o := s
	o.actors = [2]int32{x.swapLocal(s.actors[1]), x.swapLocal(s.actors[0])}
	o.left = [2]uint8{s.left[1], s.left[0]}
	o.approval = x.swapApproval(s.approval)
	order := slices.Compare(
		[]int32{o.actors[0], o.actors[1], o.approval, int32(o.left[0])},
		[]int32{s.actors[0], s.actors[1], s.approval, int32(s.left[0])},
	)
	if order < 0 {
		return o, true
	}
	return s, false
}

// unseen reports whether s was not visited yet, nor with more operations to go, and notes that it is.
func (x *explorer) unseen(s global) bool {
	left := s.left
	s.left = [2]uint8{}
	seen := x.visited[s]
	bit := func(a, b uint8) uint32 { return 1 << (a*(maxOps+1) + b) }
	if seen&bit(left[0], left[1]) != 0 {
		return false
	}
	for a := range left[0] + 1 {
		for b := range left[1] + 1 {
			seen |= bit(a, b)
		}
	}
	x.visited[s] = seen
	return true
}

// actor is every dependency of the guard of one actor. It gives what is in the log, notes
// what is asked for after that, and from then on lets everything fail.
type actor struct {
	safety.Ledger // nil: what is not below is not called
	x             *explorer
	clock         uint8
	log           []got
	asks          byte
	change        safety.Transition
	// A nonce is random: the explorer calls it by the name of its actor.
	nonce, name string
}

var errBeyond = errors.New("beyond what is known")

func (a *actor) next(kind byte) (got, error) {
	if a.asks == 0 && len(a.log) > 0 {
		g := a.log[0]
		if g.kind == kind || kind == gotMoved && (g.kind == gotConflict || g.kind == gotExpired) {
			a.log, a.clock = a.log[1:], g.clock
			return g, nil
		}
		a.x.t.Errorf("the guard asks for %c where it asked for %c before", kind, g.kind)
	}
	if a.asks == 0 {
		a.asks = kind
	}
	return got{}, errBeyond
}

func (a *actor) approval(g got) safety.Approval {
	found := a.x.approvals[g.approval].Clone()
	if found.PermitNonce == a.name && a.nonce != "" {
		found.PermitNonce = a.nonce
	}
	return found
}

// List returns the one approval, by its id or by its confirmation.
func (a *actor) List(_ context.Context, q safety.Query) ([]safety.Approval, error) {
	kind := byte(gotApproval)
	if q.ID == "" {
		kind = gotFound
	}
	g, err := a.next(kind)
	if err != nil {
		return nil, err
	}
	return []safety.Approval{a.approval(g)}, nil
}

func (a *actor) Transition(_ context.Context, t safety.Transition) (safety.Approval, error) {
	if first := t.First; first != nil {
		renamed := *first
		a.nonce, renamed.Set.PermitNonce, t.First = first.Set.PermitNonce, a.name, &renamed
	}
	if t.Set.PermitNonce != "" {
		a.nonce, t.Set.PermitNonce = t.Set.PermitNonce, a.name
	}
	if t.RequireNonce != "" && t.RequireNonce == a.nonce {
		t.RequireNonce = a.name
	}
	if len(a.log) == 0 && a.asks == 0 {
		a.change = t
	}
	g, err := a.next(gotMoved)
	switch {
	case err != nil:
		return safety.Approval{}, err
	case g.kind == gotConflict:
		return safety.Approval{}, safety.ErrConflict
	case g.kind == gotExpired:
		return safety.Approval{}, safety.ErrExpired
	}
	return a.approval(g), nil
}

// Collect takes no step: the record is the same for everybody at all times.
func (a *actor) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return a.x.snap, nil
}

func (a *actor) Check(context.Context, entity.Canonical) (safety.State, error) {
	g, err := a.next(gotState)
	if err != nil {
		return safety.State{}, err
	}
	if g.down {
		return safety.State{}, down
	}
	price := usd("$40,000")
	if a.x.scenario.condition {
		price = usd("$44,000")
	}
	if g.drift {
		price = usd("$52,000")
	}
	return safety.State{AsOf: a.x.at(g.clock), Attributes: values{"price": price, "availability": entity.Bool(true)}}, nil
}

func (a *actor) now() time.Time {
	if !a.x.scenario.clockSteps {
		return a.x.at(a.clock)
	}
	g, err := a.next(gotNow)
	if err != nil {
		return time.Time{}
	}
	return a.x.at(g.clock)
}

// start takes what was got in an operation that is to be done again.
func (a *actor) start(log []got) {
	a.clock, a.log = log[0].clock, slices.Clone(log[1:])
}

// learn runs the guard with what an actor got and notes what it asks for next, or how
// the operation ended.
func (x *explorer) learn(l *local) {
	if l.learned {
		return
	}
	l.learned = true
	x.runs++
	ctx, run := x.t.Context(), runOf(int(l.actor))
	a, guard := x.actors[l.actor], x.guards[l.actor]
	a.asks, a.change, a.nonce = 0, safety.Transition{}, ""
	do := func(o op, p *safety.Permit) (*safety.Permit, safety.Report, ended) {
		args := x.args
		if o == opPermitOther || o == opConsumeOther {
			args = x.other
		}
		switch o {
		case opApprove, opReject, opOverride, opChange:
			ans := safety.Answer{Session: nike, ConfirmationID: "conf", Confirmed: o == opApprove || o == opOverride, RunID: run}
			switch o {
			case opOverride:
				ans.Override = "down"
			case opChange:
				ans.Change = "less"
			}
			out, err := guard.Answer(ctx, ans)
			return p, safety.Report{}, ended{accepted: err == nil && out.Accepted}
		case opPermit, opPermitOther:
			p, r, err := guard.Permit(ctx, safety.Execution{Session: nike, ApprovalID: "approval", CallID: "call", Tool: "buy", RunID: run, Args: args, AtOnce: x.scenario.atOnce})
			if (err == nil) != (p != nil) {
				x.t.Fatalf("permit %v with error %v", p, err)
			}
			return p, r, ended{}
		case opConsume, opConsumeOther:
			return p, safety.Report{}, ended{effect: p.Consume(ctx, args) == nil}
		case opResolve:
			guard.Resolve(ctx, nike, "approval", false, "tom", "")
			return p, safety.Report{}, ended{}
		default:
			p.Done(ctx, nil)
			return p, safety.Report{}, ended{}
		}
	}
	var p *safety.Permit
	if l.permit.has {
		a.start(l.permitLog)
		p, _, _ = do(opPermit, nil)
		if l.permit.consumed {
			a.start(l.consumeLog)
			do(opConsume, p)
		}
	}
	if a.asks != 0 || len(a.log) > 0 {
		x.t.Fatalf("the guard is not deterministic: it asks for %c", a.asks)
	}
	a.start(l.log)
	p, report, end := do(l.op, p)
	l.asks, l.change, l.ended = a.asks, a.change, end
	if l.asks != 0 {
		return
	}
	if len(a.log) > 0 {
		x.t.Fatalf("%s: the guard asked for less than before: %v of %v; permit %+v; nonce %q %q", l.op, a.log, l.log, l.permit, a.nonce, a.name)
	}
	after := local{actor: l.actor, permit: l.permit, permitLog: l.permitLog}
	switch l.op {
	case opPermit, opPermitOther:
		after.permit = permitInfo{checked: -1}
		if p != nil {
			after.permit.has, after.permit.expires, after.permit.issued = true, p.ExpiresAt().UnixNano(), report.CheckedAt().UnixNano()
			after.permitLog = l.log
			for _, g := range l.log {
				if g.kind == gotState && (!g.drift || g.down) {
					after.permit.checked, after.permit.down = int16(g.clock), g.down
				}
			}
		}
	case opConsume, opConsumeOther:
		after.permit.consumed = end.effect
		if end.effect {
			after.consumeLog = l.log
		} else {
			after.permit, after.permitLog = permitInfo{}, nil
		}
	case opDone:
		after.permit, after.permitLog = permitInfo{}, nil
	}
	l.after = x.intern(after)
}

// respond is the world: it gives an actor what it asks for and changes as that says.
func (x *explorer) respond(s global, i int) (global, got) {
	l := x.locals[s.actors[i]]
	g := got{kind: l.asks, clock: s.clock}
	if x.scenario.clockSteps && l.asks != gotNow && l.asks != gotState {
		g.clock = 0 // nobody looks at it
	}
	switch l.asks {
	case gotNow, gotReport:
		return s, g
	case gotState:
		g.drift, g.down = s.drift && !s.down, s.down
		return s, g
	case gotFound, gotApproval:
		g.approval = s.approval
		return s, g
	}
	key := changedBy{s.approval, s.actors[i]}
	to, ok := x.changes[key]
	if !ok {
		moved, _, err := l.change.Apply(x.approvals[s.approval])
		switch {
		case errors.Is(err, safety.ErrExpired):
			to = changed{gotExpired, s.approval}
		case err != nil:
			to = changed{gotConflict, s.approval}
		default:
			to = changed{gotMoved, x.stored(moved)}
		}
		x.changes[key] = to
	}
	g.kind, s.approval = to.kind, to.approval
	if g.kind == gotMoved {
		g.approval = s.approval
		s.approved = s.approved || (l.op == opApprove || l.op == opOverride) && x.approvals[s.approval].State == safety.StateApproved
	}
	return s, g
}

// advance lets actor i take one step of the operation it is in.
func (x *explorer) advance(s global, i int) (global, string, error) {
	l := x.locals[s.actors[i]]
	x.learn(l)
	label := ""
	if x.labels {
		label = l.op.String() + ":"
	}
	if l.asks != 0 { // it may also end without having asked for anything
		var g got
		before := s.actors[i]
		s, g = x.respond(s, i)
		next, ok := x.afterGot[gotAt{before, g}]
		if !ok {
			n := *l
			n.learned, n.lesson, n.log = false, lesson{}, append(slices.Clone(l.log), g)
			next = x.intern(n)
			x.afterGot[gotAt{before, g}] = next
		}
		s.actors[i] = next
		l = x.locals[next]
		x.learn(l)
		if x.labels {
			label += " " + x.describe(g)
		}
	}
	if l.asks != 0 {
		return s, label, nil
	}
	s.actors[i] = l.after
	switch {
	case l.ended.accepted && !s.approved:
		return s, label, errors.New("an answer was accepted that approved nothing")
	case l.ended.effect:
		s.effects++
		return s, label + ", the effect runs", x.verifyEffect(s, l)
	default:
		return s, label + ", over", nil
	}
}

func (x *explorer) describe(g got) string {
	switch g.kind {
	case gotNow:
		return fmt.Sprintf("reads the clock at %v", x.scenario.instants[g.clock])
	case gotReport:
		return "reports"
	case gotState:
		return fmt.Sprintf("checks at %v, changed: %t, down: %t", x.scenario.instants[g.clock], g.drift, g.down)
	case gotMoved:
		return fmt.Sprintf("makes it %s", x.approvals[g.approval].State)
	case gotConflict, gotExpired:
		return "may not change the state"
	default:
		return fmt.Sprintf("finds it %s", x.approvals[g.approval].State)
	}
}

// verifyEffect returns an error if n must not have begun its effect.
func (x *explorer) verifyEffect(s global, n *local) error {
	var now time.Time // as the guard read the clock in this operation
	for _, g := range n.log {
		if g.kind == gotNow || g.kind == gotBegin {
			now = x.at(g.clock)
		}
	}
	a := x.approvals[s.approval]
	approved, overrode := map[string]bool{}, map[string]bool{}
	for _, c := range a.Consents {
		approved[c.Who] = true
		overrode[c.Who] = c.Override != ""
	}
	switch {
	case s.effects > 1:
		return errors.New("the effect runs twice")
	case len(approved) < x.scenario.needs:
		return fmt.Errorf("the effect runs on the word of %v", a.Consents)
	case n.permit.down && !(overrode["eva"] && overrode["tom"]):
		return fmt.Errorf("the effect runs while its source is down, on the word of %v", a.Consents)
	case n.permit.down != a.Overridden:
		return fmt.Errorf("overridden: %t, and its source was down: %t", a.Overridden, n.permit.down)
	case !s.approved || a.Approver == "":
		return errors.New("the effect runs without an approval")
	case a.State != safety.StateExecuting:
		return fmt.Errorf("the effect runs while the ledger says %s", a.State)
	case n.op != opConsume:
		return errors.New("the effect runs with other arguments")
	case now.IsZero() || now.After(a.ExpiresAt):
		return fmt.Errorf("the effect runs at %v, the request ended at %v", now, a.ExpiresAt)
	case n.permit.checked < 0:
		return errors.New("the effect runs without a check that found the world unchanged")
	case now.Sub(x.at(uint8(n.permit.checked))) > exploreMaxAge:
		return fmt.Errorf("the effect runs at %v, the world was last checked at %v", now, x.at(uint8(n.permit.checked)))
	}
	return nil
}

// may reports whether an actor may begin an operation.
func (l *local) may(o op) bool {
	switch o {
	case opConsume, opConsumeOther:
		return l.permit.has && !l.permit.consumed
	case opDone:
		return l.permit.consumed
	default: // who has a permit goes on with it
		return !l.permit.has
	}
}

// begin lets an actor begin an operation.
func (x *explorer) begin(s global, i int, o op) global {
	key := begunAt{s.actors[i], o, s.clock}
	if x.scenario.clockSteps {
		key.clock = 0
	}
	n, ok := x.begun[key]
	if !ok {
		l := *x.locals[s.actors[i]]
		l.op, l.log, l.learned, l.lesson = o, []got{{kind: gotBegin, clock: key.clock}}, false, lesson{}
		n = x.intern(l)
		x.begun[key] = n
	}
	s.actors[i] = n
	s.left[i]--
	return s
}

// successors calls f with every state that may follow, and with the actor that takes the step, or -1.
func (x *explorer) successors(s global, f func(who int, n global, label string, err error)) {
	for i := range s.actors {
		l := x.locals[s.actors[i]]
		if l.op != opNone {
			n, label, err := x.advance(s, i)
			f(i, n, label, err)
			continue
		}
		for _, o := range x.scenario.choice {
			if s.left[i] > 0 && l.may(o) {
				n, label, err := x.advance(x.begin(s, i, o), i)
				f(i, n, label, err)
			}
		}
	}
	if n := s; int(s.clock)+1 < len(x.scenario.instants) {
		n.clock++
		f(-1, n, "time passes", nil)
	}
	if n := s; !s.drift {
		n.drift = true
		f(-1, n, "the world changes", nil)
	}
	if n := s; x.scenario.sources {
		n.down = !s.down
		f(-1, n, "the source goes down, or comes back", nil)
	}
}

// explore visits every state, the nearest first.
func (x *explorer) explore(limit int) {
	start := global{approval: x.stored(x.first), approved: x.scenario.approved, left: x.scenario.ops}
	for i := range start.actors {
		start.actors[i] = x.intern(local{actor: uint8(i)})
	}
	start, _ = x.canonical(start)
	x.unseen(start)
	x.states, x.from, x.swapped = []global{start}, []int32{-1}, []bool{false}
	for i := 0; i < len(x.states) && !x.t.Failed(); i++ {
		x.successors(x.states[i], func(_ int, n global, _ string, err error) {
			if err != nil {
				x.t.Errorf("%v:\n%s", err, x.trace(int32(i), n))
			}
			n, swapped := x.canonical(n)
			if x.unseen(n) {
				x.states, x.from, x.swapped = append(x.states, n), append(x.from, int32(i)), append(x.swapped, swapped)
			}
		})
		if len(x.states) > limit {
			x.t.Fatalf("more than %d states", limit)
		}
	}
}

// trace says what led to a state, and from there to the last ones.
func (x *explorer) trace(i int32, last ...global) string {
	path := []int32{i}
	for ; x.from[i] >= 0; i = x.from[i] {
		path = append(path, x.from[i])
	}
	slices.Reverse(path)
	var out []string
	swapped := false
	for k, j := range path[1:] {
		out = append(out, x.stepTo(x.states[path[k]], x.states[j], swapped))
		swapped = swapped != x.swapped[j]
	}
	for _, n := range last {
		n, _ = x.canonical(n)
		out = append(out, x.stepTo(x.states[path[len(path)-1]], n, swapped))
	}
	return strings.Join(out, "\n")
}

// stepTo says what the step from s to n is. If the actors are swapped, A is the second one.
func (x *explorer) stepTo(s, n global, swapped bool) (step string) {
	x.labels = true
	defer func() { x.labels = false }()
	x.successors(s, func(who int, c global, label string, _ error) {
		c, _ = x.canonical(c)
		switch {
		case c != n:
		case who < 0:
			step = label
		case swapped:
			step = string(rune('B'-who)) + " " + label
		default:
			step = string(rune('A'+who)) + " " + label
		}
	})
	return step
}

// progress lets a process that nobody disturbs answer and carry out the approval, from
// every state in which that is possible: whatever others have left behind when they
// crashed, it gets to executed.
func (x *explorer) progress() (from int) {
	tried := map[global]bool{}
	for i, s := range x.states {
		a := x.approvals[s.approval]
		if !a.State.Open() || s.drift || x.at(s.clock).After(a.ExpiresAt) {
			continue
		}
		s.effects, s.actors, s.left, s.down = 0, [2]int32{}, [2]uint8{}, false
		for alone := range s.actors {
			if alone > 0 && !x.symmetric {
				break
			}
			if _, again := tried[s]; again && alone == 0 {
				break
			}
			tried[s] = true
			if end := x.carryOut(s, alone); x.approvals[end.approval].State != safety.StateExecuted || end.effects != 1 {
				x.t.Fatalf("%c alone gets to %s after:\n%s", 'A'+alone, x.approvals[end.approval].State, x.trace(int32(i)))
			}
		}
	}
	return len(tried)
}

// carryOut lets an actor approve and do the rest. If two have to approve, the other one approves first.
func (x *explorer) carryOut(s global, who int) global {
	s.actors, s.left = [2]int32{x.intern(local{actor: 0}), x.intern(local{actor: 1})}, [2]uint8{maxOps, maxOps}
	steps := []struct {
		actor int
		op    op
	}{{who, opApprove}, {who, opPermit}, {who, opConsume}, {who, opDone}}
	if x.scenario.needs > 1 {
		steps = slices.Insert(steps, 0, steps[0])
		steps[0].actor = 1 - who
	}
	for _, step := range steps {
		if !x.locals[s.actors[step.actor]].may(step.op) {
			break
		}
		s = x.begin(s, step.actor, step.op)
		for x.locals[s.actors[step.actor]].op != opNone {
			var err error
			if s, _, err = x.advance(s, step.actor); err != nil {
				x.t.Error(err)
			}
		}
	}
	return s
}

// TestExplore visits every state of two processes with one approval.
func TestExplore(t *testing.T) {
	everything := []op{opApprove, opReject, opPermit, opPermitOther, opConsume, opConsumeOther, opDone, opResolve}
	path := []op{opApprove, opPermit, opConsume, opDone}
	glass := append([]op{opOverride}, path...)
	beyond := []time.Duration{0, exploreMaxAge + time.Nanosecond, exploreLifetime + time.Nanosecond}
	bounds := []time.Duration{0, exploreMaxAge, exploreLifetime}
	one, two := [2]string{"eva", "eva"}, [2]string{"eva", "tom"}
	for _, s := range []scenario{
		{name: "two do the same", instants: beyond, approvers: one, quick: [2]uint8{1, 4}, ops: [2]uint8{4, 4}, choice: path},
		{name: "both carry it out", instants: beyond, approvers: one, quick: [2]uint8{3, 3}, ops: [2]uint8{4, 4}, choice: path, approved: true},
		{name: "at the bounds", instants: bounds, approvers: two, quick: [2]uint8{0, 4}, ops: [2]uint8{4, 4}, choice: path},
		{name: "one does anything", instants: beyond, approvers: two, quick: [2]uint8{1, 4}, ops: [2]uint8{4, 4}, choice: everything},
		{name: "every reading of the clock", instants: beyond, approvers: one, quick: [2]uint8{1, 2}, ops: [2]uint8{3, 3}, choice: everything, clockSteps: true, approved: true},
		{name: "two have to approve", instants: beyond, approvers: two, quick: [2]uint8{1, 3}, ops: [2]uint8{4, 4}, choice: append([]op{opChange}, everything...), needs: 2},
		{name: "a source that goes down", instants: beyond, approvers: two, quick: [2]uint8{1, 3}, soon: 2, ops: [2]uint8{1, 4}, choice: glass, sources: true},
		{name: "two, and a source that goes down", instants: beyond[:2], approvers: two, quick: [2]uint8{1, 3}, ops: [2]uint8{2, 3}, choice: glass, sources: true, needs: 2},
		{name: "both carry it out at once", instants: beyond, approvers: one, quick: [2]uint8{3, 3}, ops: [2]uint8{4, 4}, choice: path, approved: true, atOnce: true},
		{name: "one does anything, at once", instants: beyond, approvers: two, quick: [2]uint8{1, 4}, ops: [2]uint8{4, 4}, choice: everything, atOnce: true},
		{name: "at once, at every reading of the clock", instants: beyond, approvers: one, quick: [2]uint8{1, 2}, ops: [2]uint8{3, 3}, choice: everything, clockSteps: true, approved: true, atOnce: true},
		{name: "at once, and a source that goes down", instants: beyond, approvers: two, quick: [2]uint8{1, 3}, soon: 2, ops: [2]uint8{1, 4}, choice: glass, sources: true, atOnce: true},
		{name: "a condition on the arguments", instants: beyond, approvers: two, quick: [2]uint8{1, 4}, ops: [2]uint8{4, 4}, choice: everything, condition: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if testsize.Rounds(t, 0, 1) == 0 {
				s.ops = s.quick
				if s.soon > 0 {
					s.instants = s.instants[:s.soon]
				}
			}
			x := newExplorer(t, s)
			start := time.Now()
			x.explore(2e6)
			from := x.progress()
			t.Logf("%d states, %d runs of the guard, %d approvals, progress from %d; %v", len(x.states), x.runs, len(x.approvals), from, time.Since(start))
			if from == 0 {
				t.Error("there is no state to make progress from")
			}
		})
	}
}

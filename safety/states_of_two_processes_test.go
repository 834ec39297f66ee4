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

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
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
	left   uint8 // operations it may still do
	permit permitInfo
	nonce  string // of the permit, as the explorer calls it
	op     op
	log    []got
	// How an actor gets its permit, as an example for all that have one like it.
	permitLog, consumeLog []got
	permitNonce           string

	learned bool
	asks    byte              // what the guard asks for next, 0 if the operation is over
	change  safety.Transition // of asks 't'
	after   int32             // the state when the operation is over
	ended   ended
}

// ended is how an operation ended, as far as the explorer judges it.
type ended struct {
	accepted bool // an answer
	effect   bool // a permit was consumed: the effect runs
}

// global is one state of everything.
type global struct {
	actors   [2]int32
	approval int32
	clock    uint8
	drift    bool
	down     bool // nobody can say whether the world changed
	effects  uint8
	approved bool // a person approved
}

// Keys of what was found out before.
type (
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
	ops       [2]uint8 // how many operations each actor does
	short     [2]uint8 // how many in a short test
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
	byLocal   map[string]int32
	afterGot  map[gotAt]int32
	begun     map[begunAt]int32
	changes   map[changedBy]changed

	states []global
	from   []int32 // the state before
	known  map[global]struct{}
	runs   int
	labels bool // say what the steps are
}

func newExplorer(t testing.TB, s scenario) *explorer {
	x := &explorer{
		t: t, scenario: s, byKey: map[string]int32{}, byLocal: map[string]int32{}, known: map[global]struct{}{},
		afterGot: map[gotAt]int32{}, begun: map[begunAt]int32{}, changes: map[changedBy]changed{},
		args: map[string]any{"total": 1.0}, other: map[string]any{"total": 2.0},
		snap: safety.Snapshot{Entities: []entity.Canonical{strava}, Receipt: safety.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"}},
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
		PolicyVersion: x.policy().Version(), Receipt: x.snap.Receipt, Requester: nike.User, Approvers: s.needs,
		RequestedAt: epoch, ExpiresAt: epoch.Add(exploreLifetime), State: safety.StatePending,
	}
	if s.approved {
		x.first.State, x.first.Approver, x.first.DecidedAt = safety.StateApproved, "eva", epoch
		x.first.Consents = []safety.Consent{{Who: "eva"}}
	}
	return x
}

func (x *explorer) policy() safety.Policy {
	p := safety.DefaultPolicy()
	p.MaxAge, p.RequestLifetime, p.Parallel = exploreMaxAge, exploreLifetime, 1
	p.Approvals = []safety.ApprovalRule{{Tool: "buy", Approvers: x.scenario.needs, Override: []string{"eva", "tom"}}}
	if x.scenario.condition {
		p.Types = map[string]safety.TypePolicy{"Product": {Rules: map[string]safety.Rule{
			"price": {Drift: safety.PriceChanged, Condition: along(safety.AtMost, "$.total")},
		}}}
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
	key := fmt.Sprint(l.actor, l.left, l.permit, l.nonce, l.op, l.log)
	i, ok := x.byLocal[key]
	if !ok {
		i = int32(len(x.locals))
		x.locals, x.byLocal[key] = append(x.locals, &l), i
	}
	return i
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
	// A nonce is random: the explorer gives it a name.
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

func (a *actor) read(kind byte) (safety.Approval, error) {
	g, err := a.next(kind)
	if err != nil {
		return safety.Approval{}, err
	}
	return a.approval(g), nil
}

func (a *actor) Find(context.Context, safety.Session, string) (safety.Approval, error) {
	return a.read(gotFound)
}
func (a *actor) Get(context.Context, string) (safety.Approval, error) { return a.read(gotApproval) }
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
func (a *actor) Collect(context.Context, safety.Session, safety.Decision) (safety.Snapshot, error) {
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

func (a *actor) onReport(safety.Report, safety.Stage) { a.next(gotReport) }

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
	ctx := x.t.Context()
	run := fmt.Sprint("run-", l.actor+1)
	a := &actor{x: x, name: l.permitNonce}
	guard, err := safety.NewGuard(safety.GuardConfig{
		Ledger: a, Evidence: a, Checkers: map[string]safety.Checker{"Product": a}, Policy: x.policy(), Now: a.now, OnReport: a.onReport,
		Authorizer: safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) {
			return x.scenario.approvers[l.actor], nil
		}),
		SelfApproval: true, // one of the approvers has the name of the requester
	})
	if err != nil {
		x.t.Fatal(err)
	}
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
			guard.Resolve(ctx, safety.Resolution{Session: nike, ApprovalID: "approval", Who: "tom"})
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
	if !l.permit.has {
		a.name = fmt.Sprintf("nonce of %s, %d to go", run, l.left)
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
	after := local{actor: l.actor, left: l.left, permit: l.permit, nonce: l.nonce, permitLog: l.permitLog, permitNonce: l.permitNonce}
	switch l.op {
	case opPermit, opPermitOther:
		after.permit = permitInfo{checked: -1}
		if p != nil {
			after.permit.has, after.permit.expires, after.permit.issued = true, p.ExpiresAt().UnixNano(), report.CheckedAt().UnixNano()
			after.nonce, after.permitNonce, after.permitLog = a.name, a.name, l.log
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
			after.permit, after.nonce, after.permitLog, after.permitNonce = permitInfo{}, "", nil, ""
		}
	case opDone:
		after.permit, after.nonce, after.permitLog, after.permitNonce = permitInfo{}, "", nil, ""
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
			n.learned, n.log = false, append(slices.Clone(l.log), g)
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
		return l.left > 0 && l.permit.has && !l.permit.consumed
	case opDone:
		return l.left > 0 && l.permit.consumed
	default: // who has a permit goes on with it
		return l.left > 0 && !l.permit.has
	}
}

func (x *explorer) begin(i int32, o op, clock uint8) int32 {
	if x.scenario.clockSteps {
		clock = 0
	}
	key := begunAt{i, o, clock}
	n, ok := x.begun[key]
	if !ok {
		l := *x.locals[i]
		l.op, l.log, l.learned, l.left = o, []got{{kind: gotBegin, clock: clock}}, false, l.left-1
		n = x.intern(l)
		x.begun[key] = n
	}
	return n
}

// successors calls f with every state that may follow.
func (x *explorer) successors(s global, f func(global, string, error)) {
	for i := range s.actors {
		l := x.locals[s.actors[i]]
		if l.op != opNone {
			f(x.advance(s, i))
			continue
		}
		for _, o := range x.scenario.choice {
			if l.may(o) {
				n := s
				n.actors[i] = x.begin(s.actors[i], o, s.clock)
				f(x.advance(n, i))
			}
		}
	}
	if n := s; int(s.clock)+1 < len(x.scenario.instants) {
		n.clock++
		f(n, "time passes", nil)
	}
	if n := s; !s.drift {
		n.drift = true
		f(n, "the world changes", nil)
	}
	if n := s; x.scenario.sources {
		n.down = !s.down
		f(n, "the source goes down, or comes back", nil)
	}
}

// explore visits every state, the nearest first.
func (x *explorer) explore(limit int) {
	start := global{approval: x.stored(x.first), approved: x.scenario.approved}
	for i := range start.actors {
		start.actors[i] = x.intern(local{actor: uint8(i), left: x.scenario.ops[i]})
	}
	x.states, x.from, x.known[start] = []global{start}, []int32{-1}, struct{}{}
	for i := 0; i < len(x.states) && !x.t.Failed(); i++ {
		x.successors(x.states[i], func(n global, label string, err error) {
			if _, ok := x.known[n]; !ok {
				x.known[n] = struct{}{}
				x.states, x.from = append(x.states, n), append(x.from, int32(i))
			}
			if err != nil {
				x.t.Errorf("%v:\n%s", err, strings.Join(append(x.trace(int32(i)), x.stepTo(x.states[i], n)), "\n"))
			}
		})
		if len(x.states) > limit {
			x.t.Fatalf("more than %d states", limit)
		}
	}
}

// trace says what led to a state.
func (x *explorer) trace(i int32) []string {
	var out []string
	for ; x.from[i] >= 0; i = x.from[i] {
		out = append(out, x.stepTo(x.states[x.from[i]], x.states[i]))
	}
	slices.Reverse(out)
	return out
}

// stepTo says what the step from s to n is.
func (x *explorer) stepTo(s, n global) (label string) {
	x.labels = true
	defer func() { x.labels = false }()
	x.successors(s, func(c global, l string, _ error) {
		if c != n {
			return
		}
		label = l
		for i := range s.actors {
			if c.actors[i] != s.actors[i] {
				label = string(rune('A'+i)) + " " + l
			}
		}
	})
	return label
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
		s.effects, s.actors, s.down = 0, [2]int32{}, false
		if tried[s] {
			continue
		}
		tried[s] = true
		s.actors = [2]int32{x.intern(local{actor: 0, left: 4}), x.intern(local{actor: 1, left: 1})}
		steps := []struct {
			actor int
			op    op
		}{{0, opApprove}, {0, opPermit}, {0, opConsume}, {0, opDone}}
		if x.scenario.needs > 1 { // the other one approves first
			steps = slices.Insert(steps, 0, steps[0])
			steps[0].actor = 1
		}
		for _, step := range steps {
			if !x.locals[s.actors[step.actor]].may(step.op) {
				break
			}
			s.actors[step.actor] = x.begin(s.actors[step.actor], step.op, s.clock)
			for x.locals[s.actors[step.actor]].op != opNone {
				var err error
				if s, _, err = x.advance(s, step.actor); err != nil {
					x.t.Error(err)
				}
			}
		}
		if got := x.approvals[s.approval].State; got != safety.StateExecuted || s.effects != 1 {
			x.t.Fatalf("alone it gets to %s after:\n%s", got, strings.Join(x.trace(int32(i)), "\n"))
		}
	}
	return len(tried)
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
		{name: "two do the same", instants: beyond, approvers: one, ops: [2]uint8{4, 4}, short: [2]uint8{1, 4}, choice: path},
		{name: "both carry it out", instants: beyond, approvers: one, ops: [2]uint8{3, 3}, short: [2]uint8{3, 3}, choice: path, approved: true},
		{name: "at the bounds", instants: bounds, approvers: two, ops: [2]uint8{3, 4}, short: [2]uint8{0, 4}, choice: path},
		{name: "one does anything", instants: beyond, approvers: two, ops: [2]uint8{3, 4}, short: [2]uint8{1, 4}, choice: everything},
		{name: "every reading of the clock", instants: beyond, approvers: one, ops: [2]uint8{2, 2}, short: [2]uint8{1, 2}, choice: everything, clockSteps: true, approved: true},
		{name: "two have to approve", instants: beyond, approvers: two, ops: [2]uint8{3, 3}, short: [2]uint8{2, 3}, choice: append([]op{opChange}, everything...), needs: 2},
		{name: "a source that goes down", instants: beyond, approvers: two, ops: [2]uint8{1, 4}, short: [2]uint8{1, 3}, choice: glass, sources: true},
		{name: "two, and a source that goes down", instants: beyond[:2], approvers: two, ops: [2]uint8{2, 3}, short: [2]uint8{1, 3}, choice: glass, sources: true, needs: 2},
		{name: "both carry it out at once", instants: beyond, approvers: one, ops: [2]uint8{3, 3}, short: [2]uint8{3, 3}, choice: path, approved: true, atOnce: true},
		{name: "one does anything, at once", instants: beyond, approvers: two, ops: [2]uint8{3, 4}, short: [2]uint8{1, 4}, choice: everything, atOnce: true},
		{name: "at once, at every reading of the clock", instants: beyond, approvers: one, ops: [2]uint8{2, 2}, short: [2]uint8{1, 2}, choice: everything, clockSteps: true, approved: true, atOnce: true},
		{name: "at once, and a source that goes down", instants: beyond, approvers: two, ops: [2]uint8{1, 4}, short: [2]uint8{1, 3}, choice: glass, sources: true, atOnce: true},
		{name: "a condition on the arguments", instants: beyond, approvers: two, ops: [2]uint8{2, 4}, short: [2]uint8{1, 4}, choice: everything, condition: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if testing.Short() || testsize.Race { // the detector sees nothing more in more states
				s.ops = s.short
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

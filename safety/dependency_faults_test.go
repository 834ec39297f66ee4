// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The ways in which a call of a dependency can go wrong.
const (
	faultError = "error" // nothing is done, an error comes back
	faultLost  = "lost"  // it is done, and an error comes back
	faultZero  = "zero"  // nothing is done, and nothing says so
	faultPanic = "panic"
	faultHang  = "hang" // until the context ends
)

var errInjected = errors.New("injected")

// faults counts the calls of all dependencies and lets some go wrong.
type faults struct {
	mu    sync.Mutex
	calls []string
	at    map[int]string // number of the call, from 1
}

// inject runs one call.
func inject[T any](f *faults, ctx context.Context, name string, do func() (T, error)) (T, error) {
	f.mu.Lock()
	f.calls = append(f.calls, name)
	mode := f.at[len(f.calls)]
	f.mu.Unlock()
	var zero T
	switch mode {
	case faultError:
		return zero, errInjected
	case faultLost:
		do()
		return zero, errInjected
	case faultZero:
		return zero, nil
	case faultPanic:
		panic(errInjected)
	case faultHang:
		<-ctx.Done()
		return zero, ctx.Err()
	case "":
		return do()
	default: // it is done, and something else comes back
		v, err := do()
		return spoil(mode, v).(T), err
	}
}

// faulty is every dependency of a guard.
type faulty struct {
	*faults
	safety.Ledger // whose other methods no guard calls
	ledger        safety.Ledger
	evidence      safety.Evidence
	checker       safety.Checker
	now           func() time.Time
}

type none struct{}

func nothing(err error) (none, error) { return none{}, err }

func (f faulty) Create(ctx context.Context, a safety.Approval) error {
	_, err := inject(f.faults, ctx, "Create", func() (none, error) { return nothing(f.ledger.Create(ctx, a)) })
	return err
}

func (f faulty) Attach(ctx context.Context, id, confirmation string) error {
	_, err := inject(f.faults, ctx, "Attach", func() (none, error) { return nothing(f.ledger.Attach(ctx, id, confirmation)) })
	return err
}

// purpose names what a guard looks for with a query.
func purpose(q safety.Query) string {
	switch {
	case q.ID != "":
		return "Get"
	case q.ConfirmationID != "":
		return "Find"
	case q.ArgsDigest != "":
		return "Last"
	case q.Tool != "":
		return "LastChange"
	}
	return "List"
}

// List is a call with the name of its purpose. A fault changes the one approval that is looked
// for, or the last of those that are listed for a call.
func (f faulty) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	name := purpose(q)
	if name == "List" {
		return inject(f.faults, ctx, name, func() ([]safety.Approval, error) { return f.ledger.List(ctx, q) })
	}
	a, err := inject(f.faults, ctx, name, func() (safety.Approval, error) {
		found, err := f.ledger.List(ctx, q)
		if err != nil {
			return safety.Approval{}, err
		}
		if len(found) == 0 {
			return safety.Approval{}, safety.ErrNotFound
		}
		return found[len(found)-1], nil
	})
	if errors.Is(err, safety.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []safety.Approval{a}, nil
}

func (f faulty) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	return inject(f.faults, ctx, "Transition to "+string(t.To), func() (safety.Approval, error) { return f.ledger.Transition(ctx, t) })
}

func (f faulty) Collect(ctx context.Context, s record.Session, d record.Decision) (safety.Snapshot, error) {
	return inject(f.faults, ctx, "Collect", func() (safety.Snapshot, error) { return f.evidence.Collect(ctx, s, d) })
}

func (f faulty) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	return inject(f.faults, ctx, "Check", func() (safety.State, error) { return f.checker.Check(ctx, e) })
}

func (f faulty) Authorize(ctx context.Context, r safety.AuthorizationRequest) (string, error) {
	return inject(f.faults, ctx, "Authorize", func() (string, error) { return r.Session.User, nil })
}

func (f faulty) Now() time.Time {
	t, _ := inject(f.faults, context.Background(), "Now", func() (time.Time, error) { return f.now(), nil })
	return t
}

// counts lets the calls of a guard have an order, and counts its reports among them.
func (f *faults) counts(g *safety.Guard) {
	safety.InParallel(g, 1)
	safety.OnReport(g, func(safety.Report) {
		inject(f, context.Background(), "OnReport", func() (none, error) { return none{}, nil })
	})
}

// newFaulty returns a bench whose every dependency is counted. The price of a product has moved
// up since it was read, and is still what the arguments allow.
func newFaulty(t *testing.T, at map[int]string) (*bench, *faults) {
	f := &faults{at: at}
	things := seenNow(strava, budget)
	b := newBench(t, func(cfg *safety.GuardConfig) {
		all := faulty{f, nil, cfg.Ledger, cfg.Evidence, cfg.Checkers["Product"], time.Now}
		cfg.Ledger, cfg.Evidence, cfg.Authorizer, cfg.Now = all, all, all, all.Now
		cfg.Policy.SelfApproval = true
		cfg.Checkers = map[string]safety.Checker{"Product": all, "Budget": all}
		cfg.Policy.Types = map[string]config.TypePolicy{"Product": {Drift: map[string]config.Drift{"price": along(atMost, "$.most")}}}
	}, things...)
	f.counts(b.guard)
	b.args["lines"] = []any{map[string]any{"most": 45000.0}}
	b.record.snap.Places = map[string][]string{things[0].Key: {"$['lines'][0]"}}
	b.world.put(things[0], "price", usd("$44,000"))
	b.clock.now = time.Now() // the world's answers are of now
	return b, f
}

// wrong is what a dependency that works may say and must not be believed.
type wrong[T any] struct {
	name  string
	spoil func(T) T
	// from is the first of the calls of this name that is answered so, counted from 0:
	// what is said when a request is made is what later answers are held against.
	from int
}

var wrongApprovals = []wrong[safety.Approval]{
	{name: "none", spoil: func(safety.Approval) safety.Approval { return safety.Approval{} }},
	{name: "another", spoil: func(a safety.Approval) safety.Approval { a.ID = "another"; return a }},
	{name: "another session", spoil: func(a safety.Approval) safety.Approval { a.Session.ID = "another"; return a }},
	{name: "another user", spoil: func(a safety.Approval) safety.Approval { a.Session.User = "mallory"; return a }},
	{name: "rejected", spoil: func(a safety.Approval) safety.Approval { a.State = safety.StateRejected; return a }},
	{name: "blocked", spoil: func(a safety.Approval) safety.Approval { a.State = safety.StateBlocked; return a }},
	{name: "executed", spoil: func(a safety.Approval) safety.Approval { a.State = safety.StateExecuted; return a }},
	{name: "no state", spoil: func(a safety.Approval) safety.Approval { a.State = ""; return a }},
	{name: "a state that nobody knows", spoil: func(a safety.Approval) safety.Approval { a.State = "granted"; return a }},
}

// wrongReads are wrong where an approval is looked at, not where it was just changed.
var wrongReads = []wrong[safety.Approval]{
	{name: "expired", spoil: func(a safety.Approval) safety.Approval { a.ExpiresAt = a.RequestedAt.Add(-time.Hour); return a }},
	{name: "no expiry", spoil: func(a safety.Approval) safety.Approval { a.ExpiresAt = time.Time{}; return a }},
	{name: "no entities", spoil: func(a safety.Approval) safety.Approval { a.Entities = nil; return a }},
	{name: "fewer entities", spoil: func(a safety.Approval) safety.Approval { a.Entities = a.Entities[1:]; return a }},
	{name: "another value seen", spoil: func(a safety.Approval) safety.Approval {
		a.Entities[0].Attributes = values{"price": usd("$1")}
		return a
	}},
	{name: "weaker arguments", spoil: func(a safety.Approval) safety.Approval {
		a.Args = []byte(`{"lines":[{"most":1000000}]}`)
		return a
	}},
	{name: "half of the arguments", spoil: func(a safety.Approval) safety.Approval { a.Args = []byte(`{"lines":[`); return a }},
	{name: "no arguments", spoil: func(a safety.Approval) safety.Approval { a.Args = nil; return a }},
	{name: "no fingerprint", spoil: func(a safety.Approval) safety.Approval { a.Fingerprint = ""; return a }},
	{name: "no receipt", spoil: func(a safety.Approval) safety.Approval { a.Receipt = record.Receipt{}; return a }},
	{name: "a longer record", spoil: func(a safety.Approval) safety.Approval { a.Receipt.RowsRead++; return a }},
	{name: "a gap", spoil: func(a safety.Approval) safety.Approval { a.Gaps = []string{"a gap"}; return a }},
	{name: "another policy", spoil: func(a safety.Approval) safety.Approval { a.PolicyVersion = "another"; return a }},
	{name: "asked later", spoil: func(a safety.Approval) safety.Approval { a.RequestedAt = a.RequestedAt.Add(time.Hour); return a }},
}

var wrongAnswered = []wrong[safety.Approval]{
	{name: "another confirmation", spoil: func(a safety.Approval) safety.Approval { a.ConfirmationID = "conf-2"; return a }},
	{name: "approved by nobody", spoil: func(a safety.Approval) safety.Approval { a.State = safety.StateApproved; return a }},
}

var wrongCalls = []wrong[safety.Approval]{
	{name: "another call", spoil: func(a safety.Approval) safety.Approval { a.CallID = "call-2"; return a }},
	{name: "another tool", spoil: func(a safety.Approval) safety.Approval { a.Tool = "another"; return a }},
	{name: "another agent", spoil: func(a safety.Approval) safety.Approval { a.Agent = "another"; return a }},
	{name: "other arguments", spoil: func(a safety.Approval) safety.Approval { a.ArgsDigest = "another"; return a }},
	{name: "no digest", spoil: func(a safety.Approval) safety.Approval { a.ArgsDigest = ""; return a }},
	{name: "not approved yet", spoil: func(a safety.Approval) safety.Approval { a.State = safety.StatePending; return a }},
	{name: "nobody approved", spoil: func(a safety.Approval) safety.Approval { a.Approver = ""; return a }},
	{name: "approved later", spoil: func(a safety.Approval) safety.Approval { a.DecidedAt = a.DecidedAt.Add(time.Hour); return a }},
}

var wrongPermits = []wrong[safety.Approval]{
	{name: "the permit of another", spoil: func(a safety.Approval) safety.Approval { a.PermitNonce = "another"; return a }},
	{name: "no permit", spoil: func(a safety.Approval) safety.Approval { a.PermitNonce = ""; return a }},
}

var wrongRecords = []wrong[safety.Snapshot]{
	{name: "empty", spoil: func(safety.Snapshot) safety.Snapshot { return safety.Snapshot{} }},
	{name: "no rows", spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.RowsRead = 0; return s }},
	{name: "no watermark", spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.Watermark = 0; return s }},
	{name: "a row that failed", spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.Failed = 1; return s }},
	{name: "a row that was cut", spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.Truncated = 1; return s }},
	{name: "a gap", spoil: func(s safety.Snapshot) safety.Snapshot { s.Gaps = []string{"a gap"}; return s }},
	{name: "other rules", spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.Version = "others"; return s }},
	{name: "shorter", from: 1, spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.RowsRead--; return s }},
	{name: "an earlier one", from: 1, spoil: func(s safety.Snapshot) safety.Snapshot { s.Receipt.Watermark--; return s }},
	{name: "named elsewhere", from: 1, spoil: func(s safety.Snapshot) safety.Snapshot {
		s.Places = map[string][]string{strava.Key: {"$['campaign']"}}
		return s
	}},
	{name: "named nowhere", from: 1, spoil: func(s safety.Snapshot) safety.Snapshot { s.Places = nil; return s }},
	{name: "something nobody can check", spoil: func(s safety.Snapshot) safety.Snapshot {
		s.Entities = append(slices.Clone(s.Entities), thing("Ship", "Nautilus", fine))
		return s
	}},
}

var wrongStates = []wrong[safety.State]{
	{name: "empty", spoil: func(safety.State) safety.State { return safety.State{} }},
	{name: "no attributes", spoil: func(s safety.State) safety.State { s.Attributes = nil; return s }},
	{name: "no time", spoil: func(s safety.State) safety.State { s.AsOf = time.Time{}; return s }},
	{name: "old", spoil: func(s safety.State) safety.State { s.AsOf = s.AsOf.Add(-time.Hour); return s }},
	{name: "of the future", spoil: func(s safety.State) safety.State { s.AsOf = s.AsOf.Add(time.Hour); return s }},
	{name: "of another entity", spoil: func(s safety.State) safety.State { s.Attributes = values{"reach": number(1)}; return s }},
	{name: "another price", spoil: func(s safety.State) safety.State {
		s.Attributes = values{"price": usd("$45,000.01"), "amount": usd("$1"), "availability": entity.Bool(true)}
		return s
	}},
	{name: "text", spoil: func(s safety.State) safety.State {
		s.Attributes = values{"price": entity.Text("$40,000"), "amount": entity.Text("$200,000"), "availability": entity.Text("yes")}
		return s
	}},
	{name: "no values", spoil: func(s safety.State) safety.State {
		s.Attributes = values{"price": {}, "amount": {}, "availability": {}}
		return s
	}},
	{name: "not available", spoil: func(s safety.State) safety.State {
		s.Attributes = values{"price": usd("$40,000"), "amount": usd("$200,000"), "availability": entity.Bool(false)}
		return s
	}},
}

// names lists the wrong values of a call, those that apply to the n-th of its name.
func names[T any](n int, lists ...[]wrong[T]) (out []string) {
	for _, w := range slices.Concat(lists...) {
		if n >= w.from {
			out = append(out, "wrong: "+w.name)
		}
	}
	return out
}

// wrongs lists the wrong values of call i.
func wrongs(calls []string, i int) []string {
	name, n, next, before := calls[i], 0, "", ""
	for _, c := range calls[:i] {
		if c == name {
			n++
		}
	}
	if i > 0 {
		before = calls[i-1]
	}
	if i+1 < len(calls) {
		next = calls[i+1]
	}
	switch name {
	case "Create", "Attach", "OnReport", "Authorize": // an error, a panic or nothing
		return nil
	case "Last", "LastChange": // nothing was asked before; TestAskAgainOfABadLedger has what is wrong there
		return nil
	case "Find":
		return names(n, wrongApprovals, wrongReads, wrongAnswered)
	case "Get":
		return names(n, wrongApprovals, wrongReads, wrongCalls)
	case "Transition to approved":
		return names(n, wrongApprovals[:2])
	case "Transition to permitted", "Transition to executing":
		return names(n, wrongApprovals[:2], wrongPermits)
	case "Collect":
		return names(n, wrongRecords)
	case "Check":
		return names(n, wrongStates)
	case "Now":
		var out []string
		// A time that is only written down, or that can only make an answer or a
		// permit end earlier, does no harm.
		if next != "Create" && next != "Authorize" && !strings.HasPrefix(next, "Transition to") && before != "Get" || next == "Transition to executing" {
			out = append(out, "wrong: an hour early")
		}
		if next == "Create" || next == "Collect" || strings.HasPrefix(next, "Transition to") || before == "Get" {
			out = append(out, "wrong: a year late")
		}
		return out
	default:
		panic("no wrong value is known of " + name)
	}
}

// spoil gives the wrong value that a mode names.
func spoil(mode string, v any) any {
	mode = strings.TrimPrefix(mode, "wrong: ")
	switch v := v.(type) {
	case safety.Approval:
		return pick(mode, v, wrongApprovals, wrongReads, wrongAnswered, wrongCalls, wrongPermits)
	case safety.Snapshot:
		return pick(mode, v, wrongRecords)
	case safety.State:
		return pick(mode, v, wrongStates)
	case time.Time:
		if mode == "an hour early" {
			return v.Add(-time.Hour)
		}
		return v.AddDate(1, 0, 0)
	}
	panic(fmt.Sprintf("%T has no wrong values", v))
}

func pick[T any](name string, v T, lists ...[]wrong[T]) T {
	for _, w := range slices.Concat(lists...) {
		if w.name == name {
			return w.spoil(v)
		}
	}
	panic("there is no wrong value " + name)
}

// done is what a driver did with faults.
type done struct {
	ran    int    // times that the effect ran
	reason string // of the refusal at which it stopped; "" for none
	safe   bool   // a check was safe after a fault before it
	calls  []string
	steps  []safety.Step
}

// withFaults runs a driver in a bubble of its own.
func withFaults(t *testing.T, at map[int]string, drive func(context.Context, *bench, *faults, *done)) (got done) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, f := newFaulty(t, at)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		drive(ctx, b, f, &got)
		synctest.Wait() // for the calls that were abandoned
		got.calls = slices.Clone(f.calls)
		if b.approval.ID != "" {
			got.steps, _ = b.ledger.History(t.Context(), b.approval.ID)
		}
	})
	return got
}

// stubborn goes on whatever it is told, and tries everything three times.
func stubborn(ctx context.Context, b *bench, _ *faults, got *done) {
	for range 3 {
		b.guard.Ask(ctx, b.request())
		stored, _ := b.ledger.List(ctx, safety.Query{Session: nike})
		if len(stored) == 0 {
			continue
		}
		b.approval = stored[0]
		for range 3 {
			b.guard.Attach(ctx, b.approval.ID, "conf-1")
			b.guard.Answer(ctx, yes)
			if p, _, _ := b.guard.Permit(ctx, b.execution()); p != nil {
				for range 3 {
					if p.Consume(ctx, b.args) == nil {
						got.ran++
					}
				}
			}
		}
	}
}

// sweep takes an approval all the way and stops at the first refusal.
func sweep(ctx context.Context, b *bench, f *faults, got *done) {
	// saw notes a check that was safe, if a call before its report went wrong. An approval with
	// another id is checked as well as any, and then not found.
	saw := func(r safety.Report) {
		f.mu.Lock()
		defer f.mu.Unlock()
		told := len(f.calls)
		for told > 0 && f.calls[told-1] != "OnReport" {
			told--
		}
		for i, mode := range f.at {
			got.safe = got.safe || i < told && r.IsSafeToApprove() && mode != "wrong: another"
		}
	}
	a, err := b.guard.Ask(ctx, b.request())
	if err == nil {
		err = b.guard.Attach(ctx, a.ID, "conf-1")
	}
	if err != nil {
		got.reason = err.Error()
		return
	}
	b.approval = a
	out, err := b.guard.Answer(ctx, yes)
	saw(out.Report)
	if err != nil || !out.Accepted {
		got.reason = reasonGiven(out.Reason, out.Report)
		return
	}
	p, r, err := b.guard.Permit(ctx, b.execution())
	saw(r)
	if err == nil {
		err = p.Consume(ctx, b.args)
	}
	if err == nil {
		got.ran++
		return
	}
	if refusal, ok := errors.AsType[*safety.Refusal](err); ok && refusal.Message != "" {
		got.reason = reasonGiven(refusal.Code, refusal.Report)
	}
}

// reasonGiven returns the code of a refusal, and "" if it says nothing of why: a check
// that failed has failures, and one that found a change has alerts.
func reasonGiven(code string, r safety.Report) string {
	if code == safety.CodeCheckFailed && len(r.Failures()) == 0 || code == safety.CodeDrift && len(r.Alerts()) == 0 {
		return ""
	}
	return code
}

// regular reports whether a history leads to the effect as it should.
func regular(steps []safety.Step) bool {
	var path []string
	for _, s := range steps {
		path = append(path, string(s.To)+" "+s.Verdict)
	}
	approved, permitted := slices.Index(path, "approved safe"), slices.Index(path, "permitted safe")
	executing := slices.Index(path, "executing ")
	return approved > 0 && permitted > approved && executing > permitted && !slices.ContainsFunc(steps, func(s safety.Step) bool {
		return s.To == safety.StateBlocked || s.To == safety.StateRejected || s.To == safety.StateExpired
	})
}

// broken are the ways in which a call of a name can go wrong.
func broken(name string) []string {
	switch name {
	case "OnReport": // cannot fail
		return []string{faultPanic}
	case "Now": // cannot be told to stop
		return []string{faultError, faultLost, faultZero, faultPanic}
	default:
		return []string{faultError, faultLost, faultZero, faultPanic, faultHang}
	}
}

// TestSweep lets each call of the whole path go wrong in each way, and give each value that it must
// not be believed: nothing runs, no check is safe after it, and what is refused says why. Tried again
// and again, it runs once at most.
func TestSweep(t *testing.T) {
	clean := withFaults(t, nil, sweep)
	if clean.ran != 1 || clean.reason != "" || !regular(clean.steps) {
		t.Fatalf("without a fault: %+v", clean)
	}
	tried := 0
	for i, name := range clean.calls {
		for _, mode := range append(wrongs(clean.calls, i), broken(name)...) {
			at := map[int]string{i + 1: mode}
			if got := withFaults(t, at, sweep); got.ran != 0 || got.reason == "" || got.safe {
				t.Errorf("call %d, %s, %s: ran %d times, reason %q, safe after it: %t; calls %q", i+1, name, mode, got.ran, got.reason, got.safe, got.calls)
			}
			if strings.HasPrefix(mode, "wrong: ") {
				tried++
				if testsize.Rounds(t, tried%4, 0) > 0 { // in the quick size every fourth
					continue
				}
			}
			if got := withFaults(t, at, stubborn); got.ran > 1 || got.ran == 1 && !regular(got.steps) {
				t.Errorf("call %d, %s, %s: tried again and again it ran %d times after %+v", i+1, name, mode, got.ran, got.steps)
			}
		}
	}
	if tried < 120 {
		t.Errorf("only %d wrong values", tried)
	}
}

// TestTwoFaults lets each two calls of the whole path fail: in the quick size each two in one way of
// the three, and every third two of them.
func TestTwoFaults(t *testing.T) {
	ways := [][2]string{{faultError, faultError}, {faultError, faultLost}, {faultLost, faultZero}, {faultPanic, faultLost}, {faultError, faultZero}, {faultLost, faultLost}, {faultPanic, faultZero}}
	calls := withFaults(t, nil, sweep).calls
	tried := 0
	for i := range calls {
		for j := i + 1; j < len(calls)+10; j++ {
			for k, way := range ways {
				if (i+2*j+k)%testsize.Rounds(t, 3*len(ways), 1) != 0 {
					continue
				}
				tried++
				at := map[int]string{i + 1: way[0], j + 1: way[1]}
				if got := withFaults(t, at, stubborn); got.ran > 1 || got.ran == 1 && !regular(got.steps) {
					t.Errorf("faults %v: the effect ran %d times after %+v\n%v", at, got.ran, got.steps, got.calls)
				}
			}
		}
	}
	t.Logf("%d times two faults", tried)
}

// A fault of what is done last is told, and what was not recorded can be recorded again.
func TestFaultOfDone(t *testing.T) {
	for _, mode := range broken("Transition") {
		synctest.Test(t, func(t *testing.T) {
			at := map[int]string{}
			b, f := newFaulty(t, at)
			p := b.permitted()
			if err := p.Consume(t.Context(), b.args); err != nil {
				t.Fatal(err)
			}
			at[len(f.calls)+2] = mode // after the clock
			if err := p.Done(t.Context(), nil); err == nil {
				t.Errorf("%s: no error", mode)
			}
			err := p.Done(t.Context(), nil)
			if want := mode != faultLost; (err == nil) != want {
				t.Errorf("%s: again: %v", mode, err)
			}
			if b.state() != safety.StateExecuted {
				t.Errorf("%s: state %s", mode, b.state())
			}
		})
	}
}

// What the path does not call, and where else it is tested that it may fail.
var notOnThePath = map[string]string{
	"List":    "Check: TestSweepCheck",
	"History": "not called by a guard",
}

// TestSweepIsComplete fails for a dependency, or a method of one, that the sweep does not
// let go wrong.
func TestSweepIsComplete(t *testing.T) {
	calls := withFaults(t, nil, sweep).calls
	called := func(name string) bool {
		return slices.ContainsFunc(calls, func(c string) bool { return c == name || strings.HasPrefix(c, name+" to ") })
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[safety.Ledger](), reflect.TypeFor[safety.Evidence](), reflect.TypeFor[safety.Checker](), reflect.TypeFor[safety.Authorizer](),
	} {
		for i := range typ.NumMethod() {
			name := typ.Method(i).Name
			if _, isElsewhere := notOnThePath[name]; called(name) == isElsewhere {
				t.Errorf("%s.%s: called on the path: %t, said to be tested elsewhere: %t; the sweep has to let it fail", typ, name, called(name), isElsewhere)
			}
		}
	}
	// Fields that hold something that can fail, with the name of a call.
	dependencies := map[string]string{
		"Ledger": "Transition", "Evidence": "Collect", "Checkers": "Check", "Authorizer": "Authorize", "Now": "Now",
	}
	cfg := reflect.TypeFor[safety.GuardConfig]()
	for i := range cfg.NumField() {
		field := cfg.Field(i)
		switch field.Type.Kind() {
		case reflect.Struct, reflect.Bool, reflect.Int, reflect.Int64, reflect.String:
			continue // a value cannot fail
		}
		if field.Name == "Identity" || field.Name == "Running" {
			continue // a request of somebody unknown goes on as one: TestRequester, TestIdentityOfAnswer; TestResolveByAnAnswer
		}
		if name := dependencies[field.Name]; name == "" || !called(name) {
			t.Errorf("GuardConfig.%s: the sweep does not let it fail", field.Name)
		}
	}
}

// TestSweepCheck lets each call of a check that somebody asks for go wrong, with a request
// that is open and without one.
func TestSweepCheck(t *testing.T) {
	for _, asked := range []bool{true, false} {
		check := func(at map[int]string) (r safety.Report, calls []string, err error) {
			synctest.Test(t, func(t *testing.T) {
				b, f := newFaulty(t, nil)
				if asked {
					b.ask()
				} else { // without arguments
					b.cfg.Policy.Types["Product"].Drift["price"] = literal(atMost, "45000")
					b.guard = b.made()
					f.counts(b.guard)
				}
				f.calls, f.at = nil, at
				r, err = b.guard.Check(t.Context(), nike)
				synctest.Wait()
				calls = slices.Clone(f.calls)
			})
			return r, calls, err
		}
		r, calls, err := check(nil)
		if err != nil || !r.IsSafeToApprove() || calls[0] != "List" {
			t.Fatalf("without a fault: %v, calls %q\n%s", err, calls, r.Summary())
		}
		for i, name := range calls {
			for _, mode := range broken(name) {
				if mode == faultZero || name == "List" && mode == faultHang {
					continue // says that nothing is asked, or ends with the caller
				}
				if r, _, err := check(map[int]string{i + 1: mode}); r.IsSafeToApprove() || err == nil && len(r.Failures()) == 0 {
					t.Errorf("with a request: %t; call %d, %s, %s: safe: %t, error %v\n%s", asked, i+1, name, mode, r.IsSafeToApprove(), err, r.Summary())
				}
			}
		}
	}
}

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
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
		return []string{"no wrong value is known of " + name}
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

// sweepResult is what a run through the whole path came to.
type sweepResult struct {
	ran    int
	reason string // of the refusal; "" if nothing was refused
	safe   bool   // a check was safe after a fault before it
	calls  []string
	steps  []safety.Step
}

// sweep takes an approval all the way with faults and stops at the first refusal.
func sweep(t *testing.T, at map[int]string) (got sweepResult) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, f := newFaulty(t, at)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		seen := func(r safety.Report) {
			f.mu.Lock()
			defer f.mu.Unlock()
			told := 0 // the call that told of the report
			for i, name := range f.calls {
				if name == "OnReport" {
					told = i + 1
				}
			}
			for i, mode := range at {
				// An approval with another id is checked as well as any, and then not found.
				if i < told && r.IsSafeToApprove() && mode != "wrong: another" {
					got.safe = true
				}
			}
		}
		got.reason = func() string {
			a, err := b.guard.Ask(ctx, b.request())
			if err != nil {
				return "ask: " + err.Error()
			}
			if err := b.guard.Attach(ctx, a.ID, "conf-1"); err != nil {
				return "attach: " + err.Error()
			}
			b.approval = a
			out, err := b.guard.Answer(ctx, safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, RunID: "run-2"})
			seen(out.Report)
			if err != nil || !out.Accepted {
				return reasonGiven("answer", out.Reason, out.Report)
			}
			p, r, err := b.guard.Permit(ctx, b.execution())
			seen(r)
			if err == nil {
				if err = p.Consume(ctx, b.args); err == nil {
					got.ran++
					return ""
				}
			}
			refusal, _ := errors.AsType[*safety.Refusal](err)
			if refusal == nil || refusal.Message == "" {
				t.Errorf("refused without a reason: %v", err)
				return "none"
			}
			return reasonGiven("call", refusal.Code, refusal.Report)
		}()
		synctest.Wait()
		f.mu.Lock()
		got.calls = slices.Clone(f.calls)
		f.mu.Unlock()
		if b.approval.ID != "" {
			got.steps, _ = b.ledger.History(t.Context(), b.approval.ID)
		}
	})
	return got
}

// reasonGiven returns the code of a refusal, and "" if it says nothing of why: a check
// that failed has failures, and one that found a change has alerts.
func reasonGiven(what, code string, r safety.Report) string {
	switch {
	case code == safety.CodeCheckFailed && len(r.Failures()) == 0, code == safety.CodeDrift && len(r.Alerts()) == 0:
		return ""
	case code == "":
		return ""
	default:
		return what + ": " + code
	}
}

// TestSweepWrongValues lets each call of the whole path give each value that it must not be
// believed.
func TestSweepWrongValues(t *testing.T) {
	clean := sweep(t, nil)
	if clean.ran != 1 || clean.reason != "" || !regular(clean.steps) {
		t.Fatalf("without a fault: %+v", clean)
	}
	tried := 0
	for i, name := range clean.calls {
		for _, mode := range wrongs(clean.calls, i) {
			if !strings.HasPrefix(mode, "wrong: ") {
				t.Fatal(mode)
			}
			tried++
			at := map[int]string{i + 1: mode}
			if got := sweep(t, at); got.ran != 0 || got.reason == "" || got.safe {
				t.Errorf("call %d, %s, %s: ran %d times, reason %q, safe after it: %t; calls %q", i+1, name, mode, got.ran, got.reason, got.safe, got.calls)
			}
			if testsize.Rounds(t, tried%4, 0) > 0 { // in the quick size every fourth
				continue
			}
			if ran, _, history := withFaults(t, at, stubborn); ran > 1 || ran == 1 && !regular(history) {
				t.Errorf("call %d, %s, %s: tried again and again it ran %d times after %+v", i+1, name, mode, ran, history)
			}
		}
	}
	if tried < 120 {
		t.Errorf("only %d wrong values", tried)
	}
}

// TestSweepReasons lets each call of the whole path fail in each way: nothing runs, no
// check is safe after it, and what is refused says why. Tried again and again, it runs once.
func TestSweepReasons(t *testing.T) {
	for i, name := range sweep(t, nil).calls {
		for _, mode := range []string{faultError, faultLost, faultZero, faultPanic, faultHang} {
			if name == "OnReport" && mode != faultPanic || name == "Now" && mode == faultHang {
				continue // cannot fail, cannot be told to stop
			}
			at := map[int]string{i + 1: mode}
			if got := sweep(t, at); got.ran != 0 || got.reason == "" || got.safe {
				t.Errorf("call %d, %s, %s: ran %d times, reason %q, safe after it: %t", i+1, name, mode, got.ran, got.reason, got.safe)
			}
			if ran, _, history := withFaults(t, at, stubborn); ran > 1 || ran == 1 && !regular(history) {
				t.Errorf("call %d, %s, %s: tried again and again it ran %d times after %+v", i+1, name, mode, ran, history)
			}
		}
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
	calls := sweep(t, nil).calls
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
		"Ledger": "Transition", "Evidence": "Collect", "Checkers": "Check", "Authorizer": "Authorize", "Now": "Now", "OnReport": "OnReport",
	}
	cfg := reflect.TypeFor[safety.GuardConfig]()
	for i := range cfg.NumField() {
		field := cfg.Field(i)
		switch field.Type.Kind() {
		case reflect.Struct, reflect.Bool, reflect.Int, reflect.Int64, reflect.String:
			continue // a value cannot fail
		}
		if field.Name == "Identity" {
			continue // a request of somebody unknown goes on as one: TestRequester, TestIdentityOfAnswer
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
					r := b.cfg.Policy.Types["Product"].Rules
					r["price"] = safety.Rule{Drift: safety.PriceChanged, Condition: literal(safety.AtMost, "45000")}
					b.guard = b.made()
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
			for _, mode := range []string{faultError, faultLost, faultPanic, faultHang} {
				if name == "OnReport" && mode != faultPanic || name == "Now" && mode == faultHang || name == "List" && mode == faultHang {
					continue // cannot fail, or ends with the caller
				}
				if r, _, err := check(map[int]string{i + 1: mode}); r.IsSafeToApprove() || err == nil && len(r.Failures()) == 0 {
					t.Errorf("with a request: %t; call %d, %s, %s: safe: %t, error %v\n%s", asked, i+1, name, mode, r.IsSafeToApprove(), err, r.Summary())
				}
			}
		}
	}
}

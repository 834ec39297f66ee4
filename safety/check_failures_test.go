// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var fine = values{"price": usd("$40,000"), "availability": entity.Bool(true)}

// failures has at least one way to every reason.
var failures = []struct {
	name   string
	reason string
	change func(*safety.GuardConfig)
	spoil  func(*bench)
}{
	{"no entities", safety.ReasonNoEntities, nil, func(b *bench) { b.record.snap.Entities = nil }},
	{"no checkers", safety.ReasonNoChecker, func(cfg *safety.GuardConfig) { cfg.Checkers = nil }, nil},
	{"no checker of the type", safety.ReasonNoChecker, func(cfg *safety.GuardConfig) {
		cfg.Checkers = map[string]safety.Checker{"product": cfg.Checkers["Product"]}
	}, nil},
	{"no type", safety.ReasonInvalidEntity, nil, func(b *bench) { b.record.snap.Entities[0].Type = "" }},
	{"no value", safety.ReasonInvalidEntity, nil, func(b *bench) { b.record.snap.Entities[0].Value = "" }},
	{"no key", safety.ReasonInvalidEntity, nil, func(b *bench) { b.record.snap.Entities[0].Key = "" }},
	{"low confidence", safety.ReasonLowConfidence, nil, func(b *bench) { b.record.snap.Entities[0].Confidence = 0.499 }},
	{"confidence above one", safety.ReasonLowConfidence, nil, func(b *bench) { b.record.snap.Entities[0].Confidence = 1.01 }},
	{"confidence that is no number", safety.ReasonLowConfidence, nil, func(b *bench) { b.record.snap.Entities[0].Confidence = math.NaN() }},
	{"never seen", safety.ReasonNotSeen, nil, func(b *bench) { b.record.snap.Entities[0].LastSeen = time.Time{} }},
	{"seen in the future", safety.ReasonNotSeen, nil, func(b *bench) { b.record.snap.Entities[0].LastSeen = epoch.Add(2*time.Second + 1) }},
	{"seen in the year 20000", safety.ReasonNotSeen, nil, func(b *bench) {
		b.record.snap.Entities[0].LastSeen = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	}},
	{"error", safety.ReasonError, answering(safety.State{}, errors.New("boom")), nil},
	{"error beside a good answer", safety.ReasonError, answering(safety.State{Attributes: fine, AsOf: epoch}, errors.New("boom")), nil},
	{"nil checker function", safety.ReasonError, checkerOf(nil), nil},
	{"only the agent can ask", safety.ReasonNeedsAgent, answering(safety.State{}, &safety.AnswerError{Reason: safety.ReasonNeedsAgent, Err: errors.New("elsewhere")}), nil},
	{"an error that does not name its reason", safety.ReasonError, answering(safety.State{}, &safety.AnswerError{Err: errors.New("x")}), nil},
	{"an error with a reason", safety.ReasonTypeMismatch,
		answering(safety.State{}, fmt.Errorf("x: %w", &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: errors.New("x")})), nil},
	{"an entity that is gone", safety.ReasonMissingEntity,
		answering(safety.State{}, &safety.AnswerError{Reason: safety.ReasonMissingEntity, Err: errors.New("x")}), nil},
	{"a canceled call of its own", safety.ReasonError, answering(safety.State{}, context.Canceled), nil},
	{"panic", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) { panic("boom") }), nil},
	{"nil pointer", safety.ReasonPanic, func(cfg *safety.GuardConfig) { cfg.Checkers["Product"] = (*world)(nil) }, nil},
	{"nil panic", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) { panic(nil) }), nil},
	{"end of the goroutine", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) {
		runtime.Goexit()
		return safety.State{Attributes: fine, AsOf: epoch}, nil
	}), nil},
	{"its own deadline", safety.ReasonTimeout, answering(safety.State{}, fmt.Errorf("x: %w", context.DeadlineExceeded)), nil},
	{"zero answer", safety.ReasonEmptyAnswer, answering(safety.State{}, nil), nil},
	{"empty answer", safety.ReasonEmptyAnswer, answering(safety.State{Attributes: values{}, AsOf: epoch, Version: "v"}, nil), nil},
	{"no time", safety.ReasonNoAsOf, answering(safety.State{Attributes: fine}, nil), nil},
	{"too old", safety.ReasonStaleAnswer, answering(safety.State{Attributes: fine, AsOf: epoch.Add(-30*time.Second - 1)}, nil), nil},
	{"from the future", safety.ReasonFutureAnswer, answering(safety.State{Attributes: fine, AsOf: epoch.Add(2*time.Second + 1)}, nil), nil},
	{"from the year 20000", safety.ReasonFutureAnswer, answering(safety.State{Attributes: fine, AsOf: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil), nil},
	{"before the year 0", safety.ReasonStaleAnswer, answering(safety.State{Attributes: fine, AsOf: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, nil), nil},
	{"missing attribute", safety.ReasonMissingAttribute, answering(safety.State{Attributes: values{"availability": entity.Bool(true)}, AsOf: epoch}, nil), nil},
	{"attribute without a value", safety.ReasonMissingAttribute,
		answering(safety.State{Attributes: values{"availability": entity.Bool(true), "price": {}}, AsOf: epoch}, nil), nil},
	{"misspelt attribute", safety.ReasonMissingAttribute,
		answering(safety.State{Attributes: values{"availability": entity.Bool(true), "prise": usd("$40,000")}, AsOf: epoch}, nil), nil},
	{"number for money", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": entity.Bool(true), "price": number(40000)}, AsOf: epoch}, nil), nil},
	{"text for money", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": entity.Bool(true), "price": entity.Text("$40,000")}, AsOf: epoch}, nil), nil},
	{"money without a currency", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": entity.Bool(true), "price": noCurrency("40000")}, AsOf: epoch}, nil), nil},
	{"seen without a value", safety.ReasonTypeMismatch, nil, func(b *bench) { b.record.snap.Entities[0].Attributes["price"] = entity.Value{} }},
	{"seen without a currency", safety.ReasonTypeMismatch, nil, func(b *bench) { b.record.snap.Entities[0].Attributes["price"] = noCurrency("40000") }},
	{"text for an availability", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": entity.Text("true"), "price": usd("$40,000")}, AsOf: epoch}, nil), nil},
	{"number for an availability", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": number(1), "price": usd("$40,000")}, AsOf: epoch}, nil), nil},
	{"text for an availability nobody saw", safety.ReasonTypeMismatch,
		answering(safety.State{Attributes: values{"availability": entity.Text("false"), "price": usd("$40,000")}, AsOf: epoch}, nil),
		func(b *bench) { delete(b.record.snap.Entities[0].Attributes, "availability") }},
	{"nothing compared", safety.ReasonNothingCompared, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Optional: true}
	}, func(b *bench) {
		b.record.snap.Entities = []entity.Canonical{thing("Product", strava.Value, values{"price": usd("$40,000")})}
		b.world.states[strava.Key] = safety.State{Attributes: values{"reach": number(1)}}
	}},
	{"result rewritten", safety.ReasonResultRewritten, nil, func(b *bench) {
		b.record.snap.Entities[0].Attributes = nil
		b.record.snap.Expected, b.record.snap.Rewritten = []entity.Shown{{Type: "Product", Rule: "r", Tool: "search"}}, []string{"search"}
	}},
	{"nothing seen", safety.ReasonNothingSeen, nil, func(b *bench) { b.record.snap.Entities[0].Attributes = nil }},
	{"no rows", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt.RowsRead = 0 }},
	{"no watermark", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt.Watermark = 0 }},
	{"no receipt", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt = record.Receipt{} }},
	{"truncated row", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt.Truncated = 1 }},
	{"negative truncated", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt.Truncated = -1 }},
	{"gap", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Gaps = []string{"run-1 lost rows 3 to 5"} }},
	{"nameless gap", safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Gaps = []string{""} }},
	{"failed row", safety.ReasonExtractionFailed, nil, func(b *bench) { b.record.snap.Receipt.Failed = 1 }},
	{"unreadable record", safety.ReasonStore, nil, func(b *bench) { b.record.err = errors.New("disk") }},
	{"record that panics", safety.ReasonStore, func(cfg *safety.GuardConfig) { cfg.Evidence = (*recorded)(nil) }, nil},
	{"a budget rule without a budget", safety.ReasonPolicy, func(cfg *safety.GuardConfig) {
		cfg.Policy.Budgets = []safety.BudgetRule{{CostType: "Product", CostAttribute: "price", LimitType: "Budget", Everything: true}}
	}, nil},
	{"nothing but optional entities", safety.ReasonNoEntities, func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Optional: true}}
		delete(cfg.Checkers, "Product")
	}, nil},
	{"no arguments without a request", safety.ReasonNoEntities, func(cfg *safety.GuardConfig) {
		cfg.Policy.Require = safety.RequireNamed
	}, nil},
	{"clock that stops working", safety.ReasonClock, func(cfg *safety.GuardConfig) {
		cfg.Now = clockOf(epoch, epoch, time.Time{})
	}, nil},
	{"clock that fails at the answer", safety.ReasonClock, func(cfg *safety.GuardConfig) {
		cfg.Now = clockOf(epoch, time.Time{}, epoch)
	}, nil},
	{"clock that runs backwards", safety.ReasonClock, func(cfg *safety.GuardConfig) {
		cfg.Now = clockOf(epoch, epoch, epoch.Add(-1))
	}, nil},
}

func noCurrency(amount string) entity.Value {
	v, err := entity.ParseMoney(amount, "")
	if err != nil {
		panic(err)
	}
	return v
}

// clockOf is a clock that gives these times, the last for ever.
func clockOf(times ...time.Time) func() time.Time {
	i := -1
	return func() time.Time {
		i = min(i+1, len(times)-1)
		return times[i]
	}
}

// checkOnly has the failures that are tried without a request alone: there is none on such a record, it
// has arguments, or its check reads the clock at other moments.
var checkOnly = []string{
	"record that panics", "no arguments without a request", "clock that stops working", "clock that fails at the answer", "clock that runs backwards",
}

// What fails a check fails the one for an answer, and the one for an approved call.
func TestFailures(t *testing.T) {
	for _, test := range failures {
		spoiled := func(t *testing.T) *bench {
			b := newBench(t, test.change, strava)
			if test.spoil != nil {
				test.spoil(b)
			}
			return b
		}
		t.Run(test.name, func(t *testing.T) {
			r := spoiled(t).check()
			wantFailure(t, r, test.reason)
			if r.Verdict() != safety.CheckFailed {
				t.Errorf("verdict %s, want check_failed", r.Verdict())
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("the report cannot be written down: %v", err)
			}
			if !strings.Contains(r.Summary(), "CHECK FAILED     : "+test.reason) {
				t.Errorf("the summary does not say why:\n%s", r.Summary())
			}
			if slices.Contains(checkOnly, test.name) {
				return
			}
			b := spoiled(t)
			unreadable := b.record.err
			b.record.err = nil
			b.ask()
			b.record.err = unreadable
			out := b.answer(true)
			wantFailure(t, out.Report, test.reason)
			b.wantOutcome(out, safety.CodeCheckFailed, safety.StatePending)

			b.approvedAnyway()
			p, r, err := b.permit()
			wantRefusal(t, err, safety.CodeCheckFailed)
			wantFailure(t, r, test.reason)
			if stored, err := safety.Get(t.Context(), b.ledger, b.approval.ID); p != nil || err != nil || stored.State != safety.StateApproved || stored.Verdict != "check_failed" {
				t.Errorf("permit %v, state %s, verdict %q, error %v", p, stored.State, stored.Verdict, err)
			}
		})
	}
}

// What the person did not see stays a failure, although the record is whole by now. It is told once.
func TestGapAtTheRequestStays(t *testing.T) {
	for reason, spoil := range map[string]func(*safety.Snapshot){
		safety.ReasonExtractionFailed: func(s *safety.Snapshot) { s.Receipt.Failed = 1 },
		safety.ReasonIncompleteRecord: func(s *safety.Snapshot) { s.Gaps = []string{"a gap"} },
	} {
		for _, healed := range []bool{true, false} {
			b := newBench(t, nil, strava)
			whole := b.record.snap
			spoil(&b.record.snap)
			b.ask()
			if healed {
				b.record.snap = whole
			}
			if got := reasons(b.answer(true).Report); !slices.Equal(got, []string{reason}) {
				t.Errorf("healed %t: failures %v, want %s", healed, got, reason)
			}
		}
	}
}

// Every reason and every code must have a test that ends in it: a new one without
// fails here.
func TestEveryReasonIsTested(t *testing.T) {
	tested := map[string]bool{
		safety.ReasonCanceled:      true, // TestCanceled
		safety.ReasonSession:       true, // TestW03UnknownSessionDenies
		safety.ReasonRulesChanged:  true, // TestOtherThanAtTheRequest
		safety.ReasonPolicyChanged: true, // TestOtherThanAtTheRequest
		// TestBasis
		safety.ReasonNotRead: true, safety.ReasonArgumentDiffers: true,
		safety.ReasonConditionUnmet: true, // TestCondition
		safety.ReasonSourceDown:     true, // TestOverride
	}
	for _, f := range failures {
		tested[f.reason] = true
	}
	for name, value := range constants(t, "Reason") {
		if !tested[value] {
			t.Errorf("%s (%q) has no test", name, value)
		}
	}
}

// constants returns the text constants of the package whose names have the prefix.
func constants(t *testing.T, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range []string{"alert.go", "answer.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ast.Preorder(f) {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, prefix) && len(v.Values) == 1 {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out[v.Names[0].Name] = text
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("no constants %s*", prefix)
	}
	return out
}

// The bounds of what TestFailures refuses.
func TestBoundsPass(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"confidence at the floor": func(b *bench) { b.record.snap.Entities[0].Confidence = 0.5 },
		"confidence one":          func(b *bench) { b.record.snap.Entities[0].Confidence = 1 },
		"seen just now":           func(b *bench) { b.record.snap.Entities[0].LastSeen = epoch.Add(2 * time.Second) },
		"answer of the greatest age": func(b *bench) {
			b.world.states[strava.Key] = safety.State{Attributes: fine, AsOf: epoch.Add(-30 * time.Second)}
		},
		"answer just ahead": func(b *bench) {
			b.world.states[strava.Key] = safety.State{Attributes: fine, AsOf: epoch.Add(2 * time.Second)}
		},
		"one row": func(b *bench) { b.record.snap.Receipt = record.Receipt{Watermark: 1, RowsRead: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			change(b)
			wantSafe(t, b.check())
		})
	}
}

// A failure of one entity does not hide what was found of the others.
func TestEveryEntityIsRecorded(t *testing.T) {
	lost := thing("Product", "Lost", values{"price": usd("$1")})
	b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Policy.Parallel = 1 }, yahoo, lost, strava, thing("Mystery", "M", fine))
	b.cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		if e.Value == "Lost" {
			panic("lost")
		}
		return b.world.Check(ctx, e)
	})
	delete(b.cfg.Checkers, "Mystery")
	g := b.made()
	b.world.put(strava, "price", usd("$52,000"))
	r, err := g.Check(t.Context(), nike)
	if err != nil {
		t.Fatal(err)
	}
	wantDrift(t, r, safety.PriceChanged)
	if want := []string{safety.ReasonPanic, safety.ReasonNoChecker}; !slices.Equal(reasons(r), want) {
		t.Errorf("failures %v, want %v", reasons(r), want)
	}
	var got []string
	for _, e := range r.Entities() {
		got = append(got, e.Value+" "+e.Outcome.String())
	}
	if want := []string{"Yahoo Homepage Takeover unchanged", "Lost failed", "Strava Sponsored Routes changed", "M failed"}; !slices.Equal(got, want) {
		t.Errorf("entities %q, want %q", got, want)
	}
}

// A failure is told once, and in words.
func TestFailureDetail(t *testing.T) {
	r := newBench(t, answering(safety.State{}, errors.New("boom")), strava).check()
	want := safety.Failure{EntityType: "Product", Entity: "Strava Sponsored Routes", Reason: safety.ReasonError, Detail: "boom"}
	if got := r.Failures(); len(got) != 1 || got[0] != want {
		t.Errorf("failures %+v, want %+v", got, want)
	}
}

// A change that was found counts, whatever else went wrong with the entity.
func TestDriftBesideFailure(t *testing.T) {
	dearer := safety.State{Attributes: values{"price": usd("$52,000")}, AsOf: epoch}
	b := newBench(t, answering(dearer, errors.New("availability could not be read")), strava)
	b.record.snap.Entities[0].Confidence = 0.1
	r := b.check()
	wantDrift(t, r, safety.PriceChanged)
	if want := []string{safety.ReasonLowConfidence, safety.ReasonMissingAttribute, safety.ReasonError}; !slices.Equal(reasons(r), want) {
		t.Errorf("failures %v, want %v", reasons(r), want)
	}
	if r.Entities()[0].Outcome != safety.EntityChanged || !r.CheckFailed() {
		t.Errorf("outcome %s, check failed %t", r.Entities()[0].Outcome, r.CheckFailed())
	}
}

// An answer that cannot be trusted is not compared: it must not block for good.
func TestStaleDriftIsNoDrift(t *testing.T) {
	old := safety.State{Attributes: values{"price": usd("$52,000"), "availability": entity.Bool(false)}, AsOf: epoch.Add(-time.Hour)}
	r := newBench(t, answering(old, nil), strava).check()
	wantFailure(t, r, safety.ReasonStaleAnswer)
	if len(r.Alerts()) != 0 {
		t.Errorf("alerts %v from an answer that is an hour old", r.Alerts())
	}
}

func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, checkerOf(func(ctx context.Context, _ entity.Canonical) (safety.State, error) {
			cancel()
			<-ctx.Done()
			return safety.State{}, ctx.Err()
		}), strava)
		r, err := b.guard.Check(ctx, nike)
		if err != nil {
			t.Fatal(err)
		}
		wantFailure(t, r, safety.ReasonCanceled)
		if want := []string{safety.ReasonCanceled, safety.ReasonCanceled}; !slices.Equal(reasons(r), want) {
			t.Errorf("failures %v, want %v", reasons(r), want)
		}
	})
}

// A checker that names what is wrong with its answer is not told so a second time.
func TestFailureIsToldOnce(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{Attributes: map[string]entity.Value{"price": entity.Text("x")}},
				&safety.AnswerError{Reason: safety.ReasonNoAsOf, Err: errors.New("$.asof selects nothing")}
		})
	}, strava)
	b.ask()
	failures := b.answer(true).Report.Failures()
	if len(failures) != 1 || !strings.Contains(failures[0].Detail, "$.asof") {
		t.Errorf("failures = %+v, want the one of the checker", failures)
	}
}

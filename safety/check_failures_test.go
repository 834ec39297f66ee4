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

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var fine = values{"price": usd("$40,000"), "availability": entity.Bool(true)}

// The makers of the rows of failures: a checker that answers with attributes, at a time, or with an
// error, and what the record says of the entity, or as a whole.
func answers(attributes values) func(*safety.GuardConfig) {
	return answering(safety.State{Attributes: attributes, AsOf: epoch}, nil)
}

func answersAt(at time.Time) func(*safety.GuardConfig) {
	return answering(safety.State{Attributes: fine, AsOf: at}, nil)
}

func errs(err error) func(*safety.GuardConfig) { return answering(safety.State{}, err) }

func seen(change func(*entity.Canonical)) func(*bench) {
	return func(b *bench) { change(&b.record.snap.Entities[0]) }
}

func snapped(change func(*safety.Snapshot)) func(*bench) {
	return func(b *bench) { change(&b.record.snap) }
}

// failures has at least one way to every reason, and the bounds at which there is none.
var failures = []struct {
	name   string
	reason string // "" if the check is safe
	change func(*safety.GuardConfig)
	spoil  func(*bench)
}{
	{"no entities", safety.ReasonNoEntities, nil, snapped(func(s *safety.Snapshot) { s.Entities = nil })},
	{"no checkers", safety.ReasonNoChecker, func(cfg *safety.GuardConfig) { cfg.Checkers = nil }, nil},
	{"a checker of a type in lower case", safety.ReasonNoChecker, all(without("Product"), checking("product", answer(safety.State{Attributes: fine, AsOf: epoch}, nil))), nil},
	{"no type", safety.ReasonInvalidEntity, nil, seen(func(e *entity.Canonical) { e.Type = "" })},
	{"no value", safety.ReasonInvalidEntity, nil, seen(func(e *entity.Canonical) { e.Value = "" })},
	{"no key", safety.ReasonInvalidEntity, nil, seen(func(e *entity.Canonical) { e.Key = "" })},
	{"low confidence", safety.ReasonLowConfidence, nil, seen(func(e *entity.Canonical) { e.Confidence = 0.499 })},
	{"confidence at the floor", "", nil, seen(func(e *entity.Canonical) { e.Confidence = 0.5 })},
	{"confidence one", "", nil, seen(func(e *entity.Canonical) { e.Confidence = 1 })},
	{"confidence above one", safety.ReasonLowConfidence, nil, seen(func(e *entity.Canonical) { e.Confidence = 1.01 })},
	{"confidence that is no number", safety.ReasonLowConfidence, nil, seen(func(e *entity.Canonical) { e.Confidence = math.NaN() })},
	{"never seen", safety.ReasonNotSeen, nil, seen(func(e *entity.Canonical) { e.LastSeen = time.Time{} })},
	{"seen just now", "", nil, seen(func(e *entity.Canonical) { e.LastSeen = epoch.Add(2 * time.Second) })},
	{"seen in the future", safety.ReasonNotSeen, nil, seen(func(e *entity.Canonical) { e.LastSeen = epoch.Add(2*time.Second + 1) })},
	{"seen in the year 20000", safety.ReasonNotSeen, nil, seen(func(e *entity.Canonical) { e.LastSeen = epoch.AddDate(17974, 0, 0) })},
	{"error", safety.ReasonError, errs(errors.New("boom")), nil},
	{"error beside a good answer", safety.ReasonError, answering(safety.State{Attributes: fine, AsOf: epoch}, errors.New("boom")), nil},
	{"nil checker function", safety.ReasonError, checkerOf(nil), nil},
	{"only the agent can ask", safety.ReasonNeedsAgent, errs(&safety.AnswerError{Reason: safety.ReasonNeedsAgent, Err: errors.New("elsewhere")}), nil},
	{"an error that does not name its reason", safety.ReasonError, errs(&safety.AnswerError{Err: errors.New("x")}), nil},
	{"an error with a reason", safety.ReasonTypeMismatch, errs(fmt.Errorf("x: %w", &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: errors.New("x")})), nil},
	{"an entity that is gone", safety.ReasonMissingEntity, errs(&safety.AnswerError{Reason: safety.ReasonMissingEntity, Err: errors.New("x")}), nil},
	{"a canceled call of its own", safety.ReasonError, errs(context.Canceled), nil},
	{"its own deadline", safety.ReasonTimeout, errs(fmt.Errorf("x: %w", context.DeadlineExceeded)), nil},
	{"panic", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) { panic("boom") }), nil},
	{"nil pointer", safety.ReasonPanic, func(cfg *safety.GuardConfig) { cfg.Checkers["Product"] = (*world)(nil) }, nil},
	{"nil panic", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) { panic(nil) }), nil},
	{"end of the goroutine", safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) {
		runtime.Goexit()
		return safety.State{Attributes: fine, AsOf: epoch}, nil
	}), nil},
	{"zero answer", safety.ReasonEmptyAnswer, errs(nil), nil},
	{"empty answer", safety.ReasonEmptyAnswer, answers(values{}), nil},
	{"no time", safety.ReasonNoAsOf, answersAt(time.Time{}), nil},
	{"of the greatest age", "", answersAt(epoch.Add(-30 * time.Second)), nil},
	{"too old", safety.ReasonStaleAnswer, answersAt(epoch.Add(-30*time.Second - 1)), nil},
	{"just ahead", "", answersAt(epoch.Add(2 * time.Second)), nil},
	{"from the future", safety.ReasonFutureAnswer, answersAt(epoch.Add(2*time.Second + 1)), nil},
	{"from the year 20000", safety.ReasonFutureAnswer, answersAt(epoch.AddDate(17974, 0, 0)), nil},
	{"before the year 0", safety.ReasonStaleAnswer, answersAt(epoch.AddDate(-2027, 0, 0)), nil},
	{"missing attribute", safety.ReasonMissingAttribute, answers(values{"availability": entity.Bool(true)}), nil},
	{"text for money", safety.ReasonTypeMismatch, answers(values{"availability": entity.Bool(true), "price": entity.Text("$40,000")}), nil},
	{"money without a currency", safety.ReasonTypeMismatch, answers(values{"availability": entity.Bool(true), "price": noCurrency("40000")}), nil},
	{"seen without a value", safety.ReasonTypeMismatch, nil, seen(func(e *entity.Canonical) { e.Attributes["price"] = entity.Value{} })},
	{"seen without a currency", safety.ReasonTypeMismatch, nil, seen(func(e *entity.Canonical) { e.Attributes["price"] = noCurrency("40000") })},
	{"nothing compared", safety.ReasonNothingCompared, all(ruled("price", config.Drift{Optional: true}), answers(values{"reach": number(1)})), snapped(func(s *safety.Snapshot) {
		s.Entities = []entity.Canonical{thing("Product", strava.Value, values{"price": usd("$40,000")})}
	})},
	{"nothing seen", safety.ReasonNothingSeen, nil, seen(func(e *entity.Canonical) { e.Attributes = nil })},
	{"one row", "", nil, snapped(func(s *safety.Snapshot) { s.Receipt.Watermark, s.Receipt.RowsRead = 1, 1 })},
	{"no rows", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Receipt.RowsRead = 0 })},
	{"no watermark", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Receipt.Watermark = 0 })},
	{"no receipt", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Receipt = record.Receipt{} })},
	{"truncated row", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Receipt.Truncated = 1 })},
	{"negative truncated", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Receipt.Truncated = -1 })},
	{"gap", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Gaps = []string{"run-1 lost rows 3 to 5"} })},
	{"nameless gap", safety.ReasonIncompleteRecord, nil, snapped(func(s *safety.Snapshot) { s.Gaps = []string{""} })},
	{"failed row", safety.ReasonExtractionFailed, nil, snapped(func(s *safety.Snapshot) { s.Receipt.Failed = 1 })},
	{"unreadable record", safety.ReasonStore, nil, func(b *bench) { b.record.err = errors.New("disk") }},
	{"record that panics", safety.ReasonStore, func(cfg *safety.GuardConfig) { cfg.Evidence = (*recorded)(nil) }, nil},
	{"a budget rule without a budget", safety.ReasonPolicy, within(config.Budget{Cost: fits.Cost, Limit: config.Limit{Type: "Budget"}, Everything: true}), nil},
	{"nothing but optional entities", safety.ReasonNoEntities, all(ofType("Product", config.TypePolicy{Optional: true}), without("Product")), nil},
	{"no arguments without a request", safety.ReasonNoEntities, requiring(config.RequireNamed), nil},
	{"clock that stops working", safety.ReasonClock, func(cfg *safety.GuardConfig) { cfg.Now = clockOf(epoch, epoch, time.Time{}) }, nil},
	{"clock that fails at the answer", safety.ReasonClock, func(cfg *safety.GuardConfig) { cfg.Now = clockOf(epoch, time.Time{}, epoch) }, nil},
	{"clock that runs backwards", safety.ReasonClock, func(cfg *safety.GuardConfig) { cfg.Now = clockOf(epoch, epoch, epoch.Add(-1)) }, nil},
}

func noCurrency(amount string) entity.Value { return must(entity.Money(amount, "")) }

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
			if test.reason == "" {
				wantSafe(t, r)
				return
			}
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
			if stored := b.stored(); p != nil || stored.State != safety.StateApproved || stored.Verdict != "check_failed" {
				t.Errorf("permit %v, state %s, verdict %q", p, stored.State, stored.Verdict)
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
		safety.ReasonNotRead: true, safety.ReasonNothingRead: true, safety.ReasonArgumentDiffers: true,
		safety.ReasonConditionUnmet: true, // TestCondition
		safety.ReasonActionNotRead:  true, // TestActionNotRead
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
	for _, file := range []string{"finding.go", "answer.go"} {
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

// TestFailureDetail says how failures are told: once, in words, whole or cut.
func TestFailureDetail(t *testing.T) {
	long := strings.Repeat("x", 500)
	dearer := safety.State{Attributes: values{"price": usd("$52,000")}, AsOf: epoch}
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		spoil  func(*bench)
		want   []string
	}{
		"an error":                    {errs(errors.New("boom")), nil, []string{"error: boom"}},
		"a text of the greatest size": {errs(errors.New(long)), nil, []string{"error: " + long}},
		"a text that is cut":          {errs(errors.New(long + "x")), nil, []string{"error: " + long[:497] + "…"}},
		// The checker says better than we do what is wrong with its answer.
		"a reason of the checker": {answering(safety.State{Attributes: values{"price": entity.Text("x")}}, &safety.AnswerError{Reason: safety.ReasonNoAsOf, Err: errors.New("$.asof selects nothing")}),
			nil, []string{"no_as_of: $.asof selects nothing"}},
		"a place": {answering(safety.State{Attributes: values{"availability": entity.Bool(true)}, AsOf: epoch, Missing: map[string]string{"price": "$.cost"}}, nil), nil,
			[]string{"missing_attribute: price was seen as $40,000 and is not in the answer, where it was looked for at $.cost"}},
		"a row":    {nil, snapped(func(s *safety.Snapshot) { s.Receipt.Failed = 1 }), []string{"extraction_failed: no entities could be extracted from 1 row: reason unknown"}},
		"two rows": {nil, snapped(func(s *safety.Snapshot) { s.Receipt.Failed = 2 }), []string{"extraction_failed: no entities could be extracted from 2 rows: reason unknown"}},
		// A change that was found counts, whatever else went wrong with the entity.
		"drift beside failures": {answering(dearer, errors.New("availability could not be read")), seen(func(e *entity.Canonical) { e.Confidence = 0.1 }),
			[]string{"low_confidence: ...", "missing_attribute: ...", "error: availability could not be read", "$40,000 -> $52,000: ..."}},
		// An answer that cannot be trusted is not compared: it must not block for good.
		"drift in an old answer": {answering(safety.State{Attributes: dearer.Attributes, AsOf: epoch.Add(-time.Hour)}, nil), nil, []string{"stale_answer: ..."}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.change, strava)
			if test.spoil != nil {
				test.spoil(b)
			}
			r := b.check()
			said(t, r, test.want...)
			if e := r.Entities()[0]; len(r.Alerts()) > 0 && (e.Outcome != safety.EntityChanged || !r.CheckFailed()) {
				t.Errorf("outcome %s, check failed %t", e.Outcome, r.CheckFailed())
			}
		})
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
		if want := []string{safety.ReasonCanceled, safety.ReasonCanceled}; !slices.Equal(reasons(r), want) || r.IsSafeToApprove() {
			t.Errorf("failures %v, want %v", reasons(r), want)
		}
	})
}

func TestW03UnknownSessionDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	for _, s := range []record.Session{
		{}, {App: "a", User: "b"}, {App: "a", ID: "c"}, {User: "b", ID: "c"},
	} {
		r, err := b.guard.Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		wantFailure(t, r, safety.ReasonSession)
	}
	b.record.snap = safety.Snapshot{} // what a mistyped session has
	r := b.check()
	wantFailure(t, r, safety.ReasonNoEntities)
	wantFailure(t, r, safety.ReasonIncompleteRecord)
}

// The years that JSON can hold are recorded.
func TestYearsThatAreRecorded(t *testing.T) {
	for year, recorded := range map[int]bool{-1: false, 0: true, 1: true, 9999: true, 10000: false} {
		asOf := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		r := newBench(t, answersAt(asOf), strava).check()
		if got := r.Entities()[0].AsOf; got.Equal(asOf) != recorded || !recorded && !got.IsZero() {
			t.Errorf("year %d: recorded as %v", year, got)
		}
	}
}

// A model is told no addresses, whatever a checker says.
func TestTold(t *testing.T) {
	for name, tt := range map[string]struct {
		reason, detail, want string
	}{
		"an error":         {safety.ReasonError, "GET http://ads.internal/x: status 500", "its checker returned an error"},
		"a panic":          {safety.ReasonPanic, "/srv/app", "its checker broke down"},
		"a timeout":        {safety.ReasonTimeout, "dial ads.internal", "its source gave no answer in time"},
		"a source":         {safety.ReasonSourceDown, "lookup ads.internal", "its source is down"},
		"another process":  {safety.ReasonNeedsAgent, "/srv", "only the process of the agent can check it"},
		"the record":       {safety.ReasonStore, "open /var/lib/j.db", "the record could not be read"},
		"the clock":        {safety.ReasonClock, "ntp.internal", "the clock cannot be trusted"},
		"the caller":       {safety.ReasonCanceled, "peer 10.0.0.1", "the run ended before the check did"},
		"a URL":            {safety.ReasonMissingAttribute, `GET https://ads.internal:8443/v1/x?k=1: price at $.price`, "GET [address] price at $.price"},
		"a host":           {safety.ReasonNoAsOf, "asked db.internal:5432 and localhost:80", "asked [address] and [address]"},
		"an IP":            {safety.ReasonTypeMismatch, "10.1.2.3 and 10.1.2.3:80 and [fe80::1]:80 say", "[address] and [address] and [address] say"},
		"a line":           {safety.ReasonNothingSeen, "rule (contextgraph.yaml:120) and (a.yml:12)", "rule (contextgraph.yaml:120) and (a.yml:12)"},
		"no address":       {safety.ReasonNothingSeen, "price is 10.5 of 12:30", "price is 10.5 of 12:30"},
		"a time":           {safety.ReasonNoAsOf, "as of 2026-11-26T16:40:48Z, 2026-11-26t16:40 and UTC-05:30", "as of 2026-11-26T16:40:48Z, 2026-11-26t16:40 and UTC-05:30"},
		"no time":          {safety.ReasonNoAsOf, "2026-11-26T16:80 and 2026-11-26T24:40 and 11-26T16:40, t16:40, utc:05", "[address] and [address] and [address], [address], [address]"},
		"our own, in full": {safety.ReasonIncompleteRecord, strings.Repeat("x", 400), strings.Repeat("x", 400)},
	} {
		f := safety.Failure{EntityType: "Product", Entity: "Strava", Reason: tt.reason, Detail: tt.detail}
		got := safety.Public(f)
		if got.Detail != tt.want || got.EntityType != f.EntityType || got.Entity != f.Entity || got.Reason != f.Reason {
			t.Errorf("%s: %+v, want the detail %q", name, got, tt.want)
		}
	}
}

func TestRefusalTellsNoAddress(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.world.down[strava.Key] = &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: errors.New("GET http://ads.internal/x")}
	_, r, err := b.permit()
	refusal := wantRefusal(t, err, safety.CodeCheckFailed)
	if detail := refusal.Map()["failures"].([]any)[0].(map[string]any)["detail"]; detail != "GET [address]" {
		t.Errorf("detail %q", detail)
	}
	if got := r.Failures()[0].Detail; !strings.Contains(got, "http://ads.internal/x") {
		t.Errorf("the report says %q", got)
	}
}

// What is not what it was at the request fails the check of the call.
func TestOtherThanAtTheRequest(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*bench)
		want  string // the reason, "" for a permit
	}{
		"a lower watermark":    {snapped(func(s *safety.Snapshot) { s.Receipt.Watermark-- }), safety.ReasonIncompleteRecord},
		"fewer rows":           {snapped(func(s *safety.Snapshot) { s.Receipt.RowsRead-- }), safety.ReasonIncompleteRecord},
		"more, as a run gives": {snapped(func(s *safety.Snapshot) { s.Receipt.Watermark, s.Receipt.RowsRead = 13, 11 }), ""},
		"other rules":          {snapped(func(s *safety.Snapshot) { s.Receipt.Version = "other rules" }), safety.ReasonRulesChanged},
		"another policy": {func(b *bench) {
			b.cfg.Policy.MinConfidence = new(0.6)
			b.guard = b.made()
		}, safety.ReasonPolicyChanged},
	} {
		b := newBench(t, nil, strava).approved()
		test.spoil(b)
		_, r, err := b.permit()
		if got := strings.Join(reasons(r), " "); got != test.want || (err == nil) != (test.want == "") {
			t.Errorf("%s: failures %s, want %s; %v", name, got, test.want, err)
		}
	}
}

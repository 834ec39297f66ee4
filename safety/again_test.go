// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// told is the reading of the present that a refusal brings.
func told(e entity.Canonical, at time.Time, read bool, attributes values) entity.Canonical {
	s := entity.Entity{
		Type: e.Type, Value: e.Value, Attributes: attributes, Source: entity.SourceDeclared, Confidence: 1, SeenAt: at, Read: read, EventID: "refusal",
	}
	out := snapshotted(s)
	out.Key = e.Key
	return out
}

// blocked asks, lets the price rise and has the answer blocked.
func (b *bench) blocked(price string) safety.Approval {
	b.t.Helper()
	b.world.put(strava, "price", usd(price))
	if out := b.answer(true); out.Reason != safety.CodeDrift {
		b.t.Fatalf("the answer came to %q, want drift", out.Reason)
	}
	b.clock.Add(time.Second)
	return b.approval
}

// know makes what the record says of the product in future.
func (b *bench) know(price string, read bool) {
	b.record.mu.Lock()
	defer b.record.mu.Unlock()
	b.record.snap.Entities = []entity.Canonical{told(strava, b.clock.Now(), read, values{"price": usd(price), "availability": entity.Bool(true)})}
}

// askAgain asks for the same call by the n-th call of the turn.
func (b *bench) askAgain(n int, change ...func(*safety.Request)) (safety.Approval, error) {
	b.t.Helper()
	r := b.request()
	r.CallID = fmt.Sprintf("call-%d", n)
	for _, f := range change {
		f(&r)
	}
	before := b.list()
	replaces, err := b.guard.Replaces(b.t.Context(), r)
	if n := len(b.list()); n != len(before) {
		b.t.Fatalf("Replaces left %d requests where there were %d", n, len(before))
	}
	a, askErr := b.guard.Ask(b.t.Context(), r)
	if fmt.Sprint(err) != fmt.Sprint(askErr) || err == nil && replaces != a.Replaces {
		b.t.Errorf("Replaces said %q, %v; Ask did %q, %v", replaces, err, a.Replaces, askErr)
	}
	if askErr == nil {
		if err := b.guard.Attach(b.t.Context(), a.ID, "conf-"+r.CallID); err != nil {
			b.t.Fatal(err)
		}
		b.approval = a
	}
	return a, askErr
}

func (b *bench) list() []safety.Approval {
	b.t.Helper()
	as, err := b.ledger.List(b.t.Context(), nike)
	if err != nil {
		b.t.Fatal(err)
	}
	return as
}

// answerTo answers the last request.
func (b *bench) answerTo(n int, confirmed bool) safety.Outcome {
	b.t.Helper()
	out, err := b.guard.Answer(b.t.Context(), safety.Answer{Session: nike, ConfirmationID: fmt.Sprintf("conf-call-%d", n), Confirmed: confirmed, RunID: "run-2"})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func wantCode(t *testing.T, err error, code, says string) {
	t.Helper()
	refusal := wantRefusal(t, err, code)
	if refusal != nil && !strings.Contains(refusal.Message, says) {
		t.Errorf("the refusal says %q, want %q", refusal.Message, says)
	}
}

func TestAskAgain(t *testing.T) {
	laterTurn := func(r *safety.Request) { r.InvocationID = "inv-2" }
	for name, tt := range map[string]struct {
		before func(b *bench)
		change func(*safety.Request)
		// code is that of the refusal, replaces whether it replaces the first request.
		code, says string
		replaces   bool
	}{
		"read the refusal": {before: func(b *bench) { b.know("$52,000", true) }, replaces: true},
		"read the refusal as another agent": {
			before: func(b *bench) { b.know("$52,000", true) }, change: func(r *safety.Request) { r.Agent = "other" }, replaces: true,
		},
		"nothing new on record": {code: safety.CodeDrift, says: "not read since: price of Product Strava Sponsored Routes. Read that"},
		"the refusal was not read": {
			before: func(b *bench) { b.know("$52,000", false) }, code: safety.CodeDrift, says: "price of Product",
		},
		"read before the check": {
			before: func(b *bench) { b.clock.Add(-2 * time.Second); b.know("$52,000", true); b.clock.Add(2 * time.Second) },
			code:   safety.CodeDrift, says: "price of Product",
		},
		"read at the moment of the check": {
			before: func(b *bench) { b.clock.Add(-time.Second); b.know("$52,000", true); b.clock.Add(time.Second) }, replaces: true,
		},
		"only another attribute was read": {
			before: func(b *bench) {
				b.record.snap.Entities = []entity.Canonical{told(strava, b.clock.Now(), true, values{"availability": entity.Bool(true)})}
			}, code: safety.CodeDrift, says: "price of Product",
		},
		"only an echo was read": {
			before: func(b *bench) {
				e := told(strava, b.clock.Now(), true, values{"price": usd("$52,000")})
				e.Seen[0].Echoes = []string{"price"}
				b.record.snap.Entities = []entity.Canonical{e}
			}, code: safety.CodeDrift, says: "price of Product",
		},
		"only a claim": {
			before: func(b *bench) {
				e := told(strava, b.clock.Now(), true, values{"price": usd("$52,000")})
				e.Seen[0].Source = entity.SourceClaim
				b.record.snap.Entities = []entity.Canonical{e}
			}, code: safety.CodeDrift, says: "price of Product",
		},
		"another thing was read": {
			before: func(b *bench) {
				b.record.snap.Entities = []entity.Canonical{told(yahoo, b.clock.Now(), true, values{"price": usd("$52,000")})}
			}, code: safety.CodeDrift, says: "price of Product",
		},
		"in a later turn":    {change: laterTurn, replaces: true},
		"with other args":    {change: func(r *safety.Request) { r.Args = map[string]any{"campaign": "winter"} }},
		"of another tool":    {change: func(r *safety.Request) { r.Tool = "other" }},
		"of another session": {change: func(r *safety.Request) { r.Session.ID = "other" }},
		"not chained":        {change: func(r *safety.Request) { r.Chained = false }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			b.ask()
			first := b.blocked("$52,000")
			if tt.before != nil {
				tt.before(b)
			}
			change := func(r *safety.Request) { r.RunID = "run-2" }
			a, err := b.askAgain(2, change, func(r *safety.Request) {
				if tt.change != nil {
					tt.change(r)
				}
			})
			switch {
			case tt.code != "":
				wantCode(t, err, tt.code, tt.says)
				if len(b.list()) != 1 {
					t.Errorf("%d requests are on record", len(b.list()))
				}
			case err != nil:
				t.Fatal(err)
			case tt.replaces != (a.Replaces == first.ID) || tt.replaces != (a.Chain == 1) || !tt.replaces && a.Replaces != "":
				t.Errorf("it replaces %q as link %d, want that of %s: %t", a.Replaces, a.Chain, first.ID, tt.replaces)
			}
		})
	}
}

// Three requests are asked in a turn. In a later one a new chain begins.
func TestChainEnds(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.blocked("$52,000")
	price := 52000
	for n := range 2 {
		b.know(fmt.Sprintf("$%d", price), true)
		a, err := b.askAgain(n + 2)
		if err != nil || a.Chain != n+1 || a.Last() != (n == 1) {
			t.Fatalf("request %d: link %d, last %t, %v", n+2, a.Chain, a.Last(), err)
		}
		price += 1000
		b.world.put(strava, "price", usd(fmt.Sprintf("$%d", price)))
		if out := b.answerTo(n+2, true); out.Reason != safety.CodeDrift || out.Approval.Last() != (n == 1) {
			t.Fatalf("answer %d came to %q", n+2, out.Reason)
		}
		b.clock.Add(time.Second)
	}
	b.know("$54,000", true)
	_, err := b.askAgain(4)
	wantCode(t, err, safety.CodeAskedTooOften, "asked for 3 times")
	a, err := b.askAgain(4, func(r *safety.Request) { r.InvocationID = "inv-2" })
	if err != nil || a.Replaces != "" || a.Chain != 0 || a.Last() {
		t.Errorf("in a later turn it replaces %q, link %d, %v", a.Replaces, a.Chain, err)
	}
}

// A permit that drift denies at the end of a chain says that it is the end.
func TestLastPermitSaysSo(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.blocked("$52,000")
	for n := range 2 {
		b.know("$52,000", true)
		if _, err := b.askAgain(n + 2); err != nil {
			t.Fatal(err)
		}
		if out := b.answerTo(n+2, true); !out.Accepted {
			t.Fatalf("not accepted: %s", out.Reason)
		}
		b.world.put(strava, "price", usd("$53,000"))
		e := b.execution()
		e.CallID, e.ApprovalID = fmt.Sprintf("call-%d", n+2), b.approval.ID
		_, _, err := b.guard.Permit(t.Context(), e)
		if refusal := wantRefusal(t, err, safety.CodeDrift); refusal.Last != (n == 1) {
			t.Errorf("permit %d: last is %t", n+2, refusal.Last)
		}
		b.world.put(strava, "price", usd("$52,000"))
		b.clock.Add(time.Second)
	}
}

// Who rejects is not asked again in the turn, in a later one a new chain begins.
func TestRejectionEndsAChain(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.blocked("$52,000")
	b.know("$52,000", true)
	if _, err := b.askAgain(2); err != nil {
		t.Fatal(err)
	}
	if out := b.answerTo(2, false); out.Reason != safety.CodeRejected {
		t.Fatalf("the rejection came to %q", out.Reason)
	}
	_, err := b.askAgain(3)
	wantCode(t, err, safety.CodeRejected, "nobody is asked again")
	a, err := b.askAgain(3, func(r *safety.Request) { r.InvocationID = "inv-2" })
	if err != nil || a.Replaces != "" {
		t.Errorf("in a later turn it replaces %q, %v", a.Replaces, err)
	}
}

// A request that waits for its answer, or that ended otherwise than by drift, is replaced by
// none.
func TestWhatIsNotReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(b *bench)
		code   string
	}{
		"the first is pending":         {before: func(b *bench) { b.ask() }},
		"the first was carried out":    {before: func(b *bench) { b.carriedOut() }},
		"the first expired":            {before: func(b *bench) { b.ask(); b.clock.Add(100 * time.Hour); b.answer(true) }},
		"the replacement is pending":   {before: func(b *bench) { b.replaced() }, code: safety.CodeAsked},
		"the replacement was approved": {before: func(b *bench) { b.replaced(); b.answerTo(2, true) }, code: safety.CodeAsked},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			tt.before(b)
			a, err := b.askAgain(3)
			if tt.code != "" {
				wantCode(t, err, tt.code, "already")
				a, err = b.askAgain(3, func(r *safety.Request) { r.InvocationID = "inv-2" })
			}
			if err != nil || a.Replaces != "" {
				t.Errorf("it replaces %q, %v", a.Replaces, err)
			}
		})
	}
}

func (b *bench) carriedOut() {
	p := b.permitted()
	if err := errors.Join(p.Consume(b.t.Context(), b.args), p.Done(b.t.Context(), nil)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) replaced() {
	b.t.Helper()
	b.ask()
	b.blocked("$52,000")
	b.know("$52,000", true)
	if _, err := b.askAgain(2); err != nil {
		b.t.Fatal(err)
	}
}

// After a budget was exceeded its news is needed too: the refusal has none.
func TestAskAgainAfterABudget(t *testing.T) {
	product := bought("Product", "Strava Sponsored Routes", values{"price": usd("$40,000")}, nil)
	small := thing("Budget", "$50,000", values{"amount": usd("$50,000")})
	setup := func(t *testing.T) *bench {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Budgets = []safety.BudgetRule{{CostType: "Product", CostAttribute: "price", LimitType: "Budget", LimitAttribute: "amount", Everything: true}}
		}, product, small)
		b.ask()
		b.world.put(product, "price", usd("$52,000"))
		if out := b.answer(true); out.Reason != safety.CodeDrift || len(out.Report.Alerts()) != 2 {
			t.Fatalf("the answer came to %q\n%s", out.Reason, out.Report.Summary())
		}
		b.clock.Add(time.Second)
		b.record.snap.Entities = []entity.Canonical{told(product, b.clock.Now(), true, values{"price": usd("$52,000")}), small}
		return b
	}
	b := setup(t)
	_, err := b.askAgain(2)
	wantCode(t, err, safety.CodeDrift, "not read since: Budget $50,000. Read that")
	b.record.snap.Entities[1] = told(small, b.clock.Now(), true, values{"amount": usd("$60,000")})
	if a, err := b.askAgain(2); err != nil || a.Replaces == "" {
		t.Errorf("it replaces %q, %v", a.Replaces, err)
	}
}

// What nobody had been shown, because it was found after the request, is read again by its
// type and value.
func TestAskAgainAfterWhatWasUnseen(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.record.snap.Entities = append(b.record.snap.Entities, yahoo)
	b.world.states[yahoo.Key] = safety.State{Attributes: values{"price": usd("$95,000"), "availability": entity.Bool(true)}}
	if out := b.answer(true); out.Reason != safety.CodeDrift {
		t.Fatalf("the answer came to %q\n%s", out.Reason, out.Report.Summary())
	}
	b.clock.Add(time.Second)
	_, err := b.askAgain(2)
	wantCode(t, err, safety.CodeDrift, "price of Product Yahoo")
	b.record.snap.Entities[1] = told(yahoo, b.clock.Now(), true, values{"price": usd("$95,000")})
	if _, err := b.askAgain(2); err != nil {
		t.Error(err)
	}
}

// Of many things that were not read the refusal names five.
func TestManyUnread(t *testing.T) {
	for n, says := range map[int]string{
		5: "price of Product p3, price of Product p4. Read that", 6: "price of Product p4, and 1 more. Read that", 8: "price of Product p4, and 3 more. Read that",
	} {
		var things []entity.Canonical
		for i := range n {
			things = append(things, thing("Product", fmt.Sprintf("p%d", i), values{"price": usd("$1")}))
		}
		b := newBench(t, nil, things...)
		b.ask()
		for _, e := range things {
			b.world.put(e, "price", usd("$2"))
		}
		b.answer(true)
		b.clock.Add(time.Second)
		_, err := b.askAgain(2)
		wantCode(t, err, safety.CodeDrift, says)
	}
}

// A turn may have no name.
func TestAskInATurnWithoutAName(t *testing.T) {
	b := newBench(t, nil, strava)
	nameless := func(r *safety.Request) { r.InvocationID = "" }
	if a, err := b.askAgain(1, nameless); err != nil || a.Replaces != "" {
		t.Errorf("the first request replaces %q, %v", a.Replaces, err)
	}
	if out := b.answerTo(1, false); out.Reason != safety.CodeRejected {
		t.Fatalf("the rejection came to %q", out.Reason)
	}
	_, err := b.askAgain(2, nameless)
	wantCode(t, err, safety.CodeRejected, "in this turn")
}

// Of two that ask at the same time one asks.
func TestAskAgainAtOnce(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.blocked("$52,000")
	b.know("$52,000", true)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			r := b.request()
			r.CallID = fmt.Sprintf("call-%d", i+2)
			_, errs[i] = b.guard.Ask(t.Context(), r)
		})
	}
	wg.Wait()
	asked := 0
	for _, err := range errs {
		if err == nil {
			asked++
			continue
		}
		wantCode(t, err, safety.CodeAsked, "already")
	}
	if asked != 1 || len(b.list()) != 2 {
		t.Errorf("%d asked, %d requests", asked, len(b.list()))
	}
}

// racing is a ledger in which somebody else replaced the request just before.
type racing struct{ safety.Ledger }

func (racing) Create(context.Context, safety.Approval) error { return safety.ErrConflict }

func TestAskAgainLosesTheRace(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	b.blocked("$52,000")
	b.know("$52,000", true)
	r := b.request()
	r.CallID = "call-2"
	_, err := b.with(racing{b.ledger}).Ask(t.Context(), r)
	wantCode(t, err, safety.CodeAsked, "already")
	r.Args = map[string]any{}
	if _, err := b.with(racing{b.ledger}).Ask(t.Context(), r); !errors.Is(err, safety.ErrConflict) {
		t.Errorf("a conflict of a first request is %v", err)
	}
}

// spoiled is a ledger whose answers are changed.
type spoiled struct {
	safety.Ledger
	last, change, got func(*safety.Approval) error
}

func (s spoiled) Last(ctx context.Context, ses safety.Session, tool, digest, invocation string) (safety.Approval, error) {
	a, err := s.Ledger.Last(ctx, ses, tool, digest, invocation)
	if err == nil && s.last != nil {
		err = s.last(&a)
	}
	return a, err
}

func (s spoiled) LastChange(ctx context.Context, ses safety.Session, tool string) (safety.Approval, error) {
	a, err := s.Ledger.LastChange(ctx, ses, tool)
	if err == nil && s.change != nil {
		err = s.change(&a)
	}
	return a, err
}

func (s spoiled) Get(ctx context.Context, id string) (safety.Approval, error) {
	a, err := s.Ledger.Get(ctx, id)
	if err == nil && s.got != nil {
		err = s.got(&a)
	}
	return a, err
}

// What the ledger cannot say, or says of another call, refuses.
func TestAskAgainOfABadLedger(t *testing.T) {
	change := func(f func(*safety.Approval)) func(*safety.Approval) error {
		return func(a *safety.Approval) error { f(a); return nil }
	}
	fails := func(*safety.Approval) error { return errors.New("disk") }
	for name, l := range map[string]spoiled{
		"the last one cannot be read":     {last: fails},
		"the last one of another session": {last: change(func(a *safety.Approval) { a.Session.ID = "other" })},
		"the last one of another tool":    {last: change(func(a *safety.Approval) { a.Tool = "other" })},
		"the last one of other arguments": {last: change(func(a *safety.Approval) { a.ArgsDigest = "other" })},
		"it cannot be read in full":       {got: fails},
		"its report is damaged":           {got: change(func(a *safety.Approval) { a.Report = []byte("{") })},
		"its report is none":              {got: change(func(a *safety.Approval) { a.Report = nil })},
		"its report has no alerts":        {got: change(func(a *safety.Approval) { a.Report = []byte(`{"checked_at":"2026-01-19T11:00:13Z"}`) })},
		"its report has no time":          {got: change(func(a *safety.Approval) { a.Report = []byte(`{"alerts":[{"attribute":"price"}]}`) })},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			b.ask()
			b.blocked("$52,000")
			b.know("$52,000", true)
			l.Ledger = b.ledger
			r := b.request()
			r.CallID = "call-2"
			if _, err := b.with(l).Ask(t.Context(), r); err == nil {
				t.Error("asked")
			} else {
				wantCode(t, err, safety.CodeStore, "")
			}
			if _, err := b.with(l).Replaces(t.Context(), r); err == nil {
				t.Error("replaced")
			}
		})
	}
}

func TestReplacesRefuses(t *testing.T) {
	b := newBench(t, nil, strava)
	if _, err := (*safety.Guard)(nil).Replaces(t.Context(), b.request()); err == nil {
		t.Error("no guard lets ask")
	}
	r := b.request()
	r.Args = map[string]any{"f": func() {}}
	_, err := b.guard.Replaces(t.Context(), r)
	wantCode(t, err, safety.CodeInvalid, "no digest")
	b.ask()
	b.blocked("$52,000")
	b.record.err = errors.New("disk")
	_, err = b.guard.Replaces(t.Context(), b.request())
	wantCode(t, err, safety.CodeStore, "could not be read")
	_, err = b.with(spoiled{Ledger: b.ledger, last: func(*safety.Approval) error { panic("boom") }}).Replaces(t.Context(), b.request())
	if err == nil {
		t.Error("a panic lets ask")
	}
}

// What a request shows is the difference to the one that it replaces.
func TestDifferenceIsShown(t *testing.T) {
	b := newBench(t, nil, strava)
	first := b.ask()
	b.blocked("$52,000")
	b.know("$52,000", true)
	a, err := b.askAgain(2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"since": first.RequestedAt.Format(time.RFC3339Nano),
		"entities": []any{map[string]any{
			"type": "Product", "value": "Strava Sponsored Routes", "change": "changed",
			"attributes": []any{map[string]any{"name": "price", "was": "$40,000", "now": "$52,000"}},
		}},
	}
	shown := a.Shown()
	if diff := cmp.Diff(want, shown["difference"]); diff != "" || shown["replaces"] != first.ID {
		t.Errorf("replaces %v, difference (-want +got):\n%s", shown["replaces"], diff)
	}
	if data, err := json.Marshal(first.Shown()); err != nil || strings.Contains(string(data), "replaces") || strings.Contains(string(data), "difference") {
		t.Errorf("the first request shows %s, %v", data, err)
	}
	clone := a.Clone()
	clone.Difference.Entities[0].Attributes[0].Now = "spoiled"
	clone.Difference.Entities[0].Value = "spoiled"
	if diff := cmp.Diff(want, a.Shown()["difference"]); diff != "" {
		t.Errorf("a clone shares its difference:\n%s", diff)
	}
}

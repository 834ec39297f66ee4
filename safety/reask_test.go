// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// told is the reading of the present that a refusal brings.
func told(e entity.Canonical, at time.Time, read bool, attributes values) entity.Canonical {
	out := snapshotted(entity.Entity{
		Type: e.Type, Value: e.Value, Attributes: attributes, Source: entity.SourceDeclared, Confidence: 1, SeenAt: at, Read: read, EventID: "refusal",
	})
	out.Key = e.Key
	return out
}

// blocked asks, lets the price rise and has the answer blocked.
func (b *bench) blocked(price string) safety.Approval {
	b.t.Helper()
	b.ask()
	b.world.put(strava, "price", usd(price))
	if out := b.answer(true); out.Reason != safety.CodeDrift {
		b.t.Fatalf("the answer came to %q, want drift", out.Reason)
	}
	b.clock.Add(time.Second)
	return b.approval
}

// know makes what the record says of the product in future.
func (b *bench) know(price string, read bool) {
	b.record.snap.Entities = []entity.Canonical{told(strava, b.clock.Now(), read, values{"price": usd(price), "availability": entity.Bool(true)})}
}

// replaced is the request that replaces one that drift had ended.
func (b *bench) replaced() {
	b.t.Helper()
	b.blocked("$52,000")
	b.know("$52,000", true)
	if _, err := b.askAgain(2); err != nil {
		b.t.Fatal(err)
	}
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
	replaces, err := b.guard.Replaces(b.t.Context(), r, false)
	if n := len(b.list()); n != len(before) {
		b.t.Fatalf("Replaces left %d requests where there were %d", n, len(before))
	}
	a, askErr := b.guard.Ask(b.t.Context(), r)
	if fmt.Sprint(err) != fmt.Sprint(askErr) || err == nil && replaces != a.Replaces {
		b.t.Errorf("Replaces said %q, %v; Ask did %q, %v", replaces, err, a.Replaces, askErr)
	}
	if askErr != nil {
		if n := len(b.list()); n != len(before) {
			b.t.Errorf("a refusal left %d requests where there were %d", n, len(before))
		}
		return a, askErr
	}
	if err := b.guard.Attach(b.t.Context(), a.ID, "conf-"+r.CallID); err != nil {
		b.t.Fatal(err)
	}
	b.approval = a
	return a, nil
}

func (b *bench) list() []safety.Approval {
	b.t.Helper()
	as, err := b.ledger.List(b.t.Context(), safety.Query{Session: nike})
	if err != nil {
		b.t.Fatal(err)
	}
	return as
}

// answerTo answers the request of a call.
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
	if !strings.Contains(refusal.Message, says) {
		t.Errorf("the refusal says %q, want %q", refusal.Message, says)
	}
}

func laterTurn(r *safety.Request) { r.InvocationID = "inv-2" }

// TestAskAgain asks for a call that drift had ended, after what the record says since.
func TestAskAgain(t *testing.T) {
	price := values{"price": usd("$52,000")}
	read := func(b *bench) { b.know("$52,000", true) }
	// news is what the record says, of a thing or of what the sighting is made to.
	news := func(e entity.Canonical, attributes values, change func(*entity.Entity)) func(*bench) {
		return func(b *bench) {
			e := told(e, b.clock.Now(), true, attributes)
			change(&e.Seen[0])
			b.record.snap.Entities = []entity.Canonical{e}
		}
	}
	asIs := func(*entity.Entity) {}
	for name, tt := range map[string]struct {
		before func(b *bench)
		change func(*safety.Request)
		// unread is what the refusal says of it, replaces whether the first request is replaced, chained whether it
		// counts as one of the same agent and turn.
		unread            string
		replaces, chained bool
	}{
		"read the refusal":                  {before: read, replaces: true, chained: true},
		"read the refusal as another agent": {before: read, change: func(r *safety.Request) { r.Agent = "other" }, replaces: true},
		"read the refusal in another run":   {before: read, change: func(r *safety.Request) { r.RunID = "run-2" }, replaces: true, chained: true},
		"nothing new on record":             {unread: "not read since: price of Product Strava Sponsored Routes. Read that"},
		"the refusal was not read":          {before: func(b *bench) { b.know("$52,000", false) }, unread: "price of Product"},
		"read before the check":             {before: news(strava, price, func(e *entity.Entity) { e.SeenAt = epoch.Add(-1) }), unread: "price of Product"},
		"read at the moment of the check":   {before: news(strava, price, func(e *entity.Entity) { e.SeenAt = epoch }), replaces: true, chained: true},
		"only another attribute was read":   {before: news(strava, values{"availability": entity.Bool(true)}, asIs), unread: "price of Product"},
		"only an echo was read":             {before: news(strava, price, func(e *entity.Entity) { e.Echoes = []string{"price"} }), unread: "price of Product"},
		"only a claim":                      {before: news(strava, price, func(e *entity.Entity) { e.Source = entity.SourceClaim }), unread: "price of Product"},
		"another thing was read":            {before: news(yahoo, price, asIs), unread: "price of Product"},
		"in a later turn":                   {change: laterTurn, replaces: true},
		"with other args":                   {change: func(r *safety.Request) { r.Args = map[string]any{"campaign": "winter"} }},
		"of another tool":                   {change: func(r *safety.Request) { r.Tool = "other" }},
		"of another session":                {change: func(r *safety.Request) { r.Session.ID = "other" }},
		"not chained":                       {change: func(r *safety.Request) { r.Chained = false }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			first := b.blocked("$52,000")
			if tt.before != nil {
				tt.before(b)
			}
			if tt.change == nil {
				tt.change = func(*safety.Request) {}
			}
			a, err := b.askAgain(2, tt.change)
			switch {
			case tt.unread != "":
				wantCode(t, err, safety.CodeDrift, tt.unread)
			case err != nil:
				t.Fatal(err)
			case tt.replaces != (a.Replaces == first.ID) || tt.chained != (a.Chain == 1) || !tt.replaces && a.Replaces != "":
				t.Errorf("it replaces %q as link %d, want that of %s: %t", a.Replaces, a.Chain, first.ID, tt.replaces)
			}
		})
	}
}

// TestWhatIsNotReplaced asks for a call whose last request did not end by drift. Where the turn is
// told no, a later one begins a new chain.
func TestWhatIsNotReplaced(t *testing.T) {
	asks, replaces := do(func(b *bench) { b.ask() }), do((*bench).replaced)
	answers := func(confirmed bool) step {
		return do(func(b *bench) { b.answerTo(2, confirmed) })
	}
	for name, tt := range map[string]struct {
		before     []step
		code, says string
		// open says that the last request is open, so that the new one supersedes it. chain is its number in the turn.
		open  bool
		chain int
	}{
		"nothing was asked":            {},
		"the first is pending":         {before: []step{asks}, open: true, chain: 1},
		"the first was carried out":    {before: []step{asks, approves(""), runs, ends(nil)}, chain: 1},
		"the first expired":            {before: []step{asks, wait(200 * time.Hour), approves("")}, chain: 1},
		"the first was rejected":       {before: []step{asks, rejects("")}, code: safety.CodeRejected, says: "in this turn, and nobody is asked again"},
		"the replacement is pending":   {before: []step{replaces}, code: safety.CodeAsked, says: "already", open: true},
		"the replacement was approved": {before: []step{replaces, answers(true)}, code: safety.CodeAskedTooOften, says: "asked for it 2 times", open: true},
		"the replacement was rejected": {before: []step{replaces, answers(false)}, code: safety.CodeRejected, says: "nobody is asked again"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			for _, take := range tt.before {
				take(b)
			}
			a, err := b.askAgain(3)
			if tt.code != "" {
				wantCode(t, err, tt.code, tt.says)
				a, err = b.askAgain(3, laterTurn)
			}
			if err != nil || (a.Replaces != "") != tt.open || a.Chain != tt.chain {
				t.Fatalf("it replaces %q as link %d, %v", a.Replaces, a.Chain, err)
			}
			if tt.open {
				if old, err := safety.Get(t.Context(), b.ledger, a.Replaces); err != nil || old.State != safety.StateSuperseded {
					t.Errorf("the last one is %s, %v", old.State, err)
				}
			}
		})
	}
}

// After a budget was exceeded its news is needed too: the refusal has none.
func TestAskAgainAfterABudget(t *testing.T) {
	rule := fits
	rule.Everything = true
	small := thing("Budget", "$50,000", values{"amount": usd("$50,000")})
	b := newBench(t, within(rule), strava, small)
	b.blocked("$52,000")
	b.know("$52,000", true)
	b.record.snap.Entities = append(b.record.snap.Entities, small)
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
	b.world.put(yahoo, "price", usd("$95,000"))
	b.world.put(yahoo, "availability", entity.Bool(true))
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

// Who is not the first to ask again is refused.
func TestAskAgainLosesTheRace(t *testing.T) {
	b := newBench(t, nil, strava)
	b.blocked("$52,000")
	b.know("$52,000", true)
	b.guard = b.with(altered{Ledger: b.ledger, create: func() error { return safety.ErrConflict }})
	r := b.request()
	r.CallID = "call-2"
	_, err := b.guard.Ask(t.Context(), r)
	wantCode(t, err, safety.CodeAsked, "already")
	r.Args = map[string]any{}
	if _, err := b.guard.Ask(t.Context(), r); !errors.Is(err, safety.ErrConflict) {
		t.Errorf("a conflict of a first request is %v", err)
	}
}

// What the ledger cannot say of an earlier request, or says of another one, refuses.
func TestAskAgainOfABadLedger(t *testing.T) {
	say := func(f func(*safety.Approval)) func(*safety.Approval) error {
		return func(a *safety.Approval) error {
			f(a)
			return nil
		}
	}
	report := func(text string) func(*safety.Approval) error {
		return say(func(a *safety.Approval) { a.Report = []byte(text) })
	}
	fails := func(*safety.Approval) error { return errors.New("disk") }
	otherTool := say(func(a *safety.Approval) { a.Tool = "other" })
	otherSession := say(func(a *safety.Approval) { a.Session.ID = "other" })
	for name, l := range map[string]altered{
		"the last one cannot be read":     {last: fails},
		"the last one of another session": {last: otherSession},
		"the last one of another tool":    {last: otherTool},
		"it cannot be read in full":       {get: fails},
		"its report is damaged":           {get: report("{")},
		"its report is none":              {get: report("")},
		"its report has no alerts":        {get: report(`{"checked_at":"2026-01-19T11:00:13Z"}`)},
		"its report has no time":          {get: report(`{"alerts":[{"attribute":"price"}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			r := b.request()
			r.CallID = "call-2"
			b.blocked("$52,000")
			b.know("$52,000", true)
			l.Ledger = b.ledger
			g := b.with(l)
			_, err := g.Ask(t.Context(), r)
			wantRefusal(t, err, safety.CodeStore)
			if _, err := g.Replaces(t.Context(), r, false); err == nil || len(b.list()) != 1 {
				t.Errorf("replaced, or asked: %v, %d requests", err, len(b.list()))
			}
		})
	}
}

func TestReplacesRefuses(t *testing.T) {
	b := newBench(t, nil, strava)
	if _, err := (*safety.Guard)(nil).Replaces(t.Context(), b.request(), false); err == nil {
		t.Error("no guard lets ask")
	}
	r := b.request()
	r.Args = map[string]any{"f": func() {}}
	_, err := b.guard.Replaces(t.Context(), r, false)
	wantCode(t, err, safety.CodeInvalid, "no digest")
	b.blocked("$52,000")
	b.record.err = errors.New("disk")
	_, err = b.guard.Replaces(t.Context(), b.request(), false)
	wantCode(t, err, safety.CodeStore, "could not be read")
	_, err = b.with(altered{Ledger: b.ledger, last: func(*safety.Approval) error { panic("boom") }}).Replaces(t.Context(), b.request(), false)
	if err == nil {
		t.Error("a panic lets ask")
	}
}

// A check that failed leaves the request open. If the step has read something since, the basis is another one.
func TestReadAnew(t *testing.T) {
	b := newBench(t, errs(errors.New("boom")), strava)
	b.ask()
	b.answer(true)
	anew := func(g *safety.Guard) (string, error) {
		r := b.request()
		r.CallID, r.Chained = "call-2", true
		return g.Replaces(t.Context(), r, true)
	}
	if id, err := anew(b.guard); id != "" || err != nil {
		t.Errorf("nothing was read, and it replaces %q, %v", id, err)
	}
	b.clock.Add(time.Second)
	for _, read := range []bool{false, true} {
		b.know("$40,000", read)
		if id, err := anew(b.guard); (id == b.approval.ID) != read || err != nil {
			t.Errorf("read %t, and it replaces %q, %v", read, id, err)
		}
	}
	_, ofLedger := anew(b.with(altered{Ledger: b.ledger, get: func(*safety.Approval) error { return errors.New("disk") }}))
	b.record.err = errors.New("disk")
	id, ofRecord := anew(b.guard)
	if ofLedger == nil || ofRecord == nil || id != "" {
		t.Errorf("no error: %v, %v", ofLedger, ofRecord)
	}
}

// A person who rejects can wish for a change: the next request for the tool that has one replaces
// theirs.
func TestChange(t *testing.T) {
	b := newBench(t, nil, strava)
	first := b.ask()
	out := b.says("", safety.Answer{Change: " at most $30,000\n"})
	b.wantOutcome(out, safety.CodeChange, safety.StateRejected)
	if out.Approval.Change != "at most $30,000" || out.Approval.Approver != "ana" {
		t.Errorf("%+v", out.Approval)
	}
	_, err := b.askAgain(2)
	wantCode(t, err, safety.CodeChange, `to be different: "at most $30,000".`)
	id, err := b.guard.Replaces(t.Context(), safety.Request{Session: nike, CallID: "call-2", Tool: "provision_campaign", InvocationID: "inv-2", Args: b.args, Chained: true}, false)
	if err != nil || id != first.ID {
		t.Errorf("the same call in a later turn replaces %q, %v", id, err)
	}
	b.args = map[string]any{"campaign": "summer", "total": 30000.0}
	if a, err := b.askAgain(2, func(r *safety.Request) { r.Chained, r.Agent = false, "other" }); err != nil || a.Replaces != "" {
		t.Errorf("not chained: replaces %q, error %v", a.Replaces, err)
	}
	a, err := b.askAgain(3, func(r *safety.Request) { r.Redact = func(args []byte) []byte { return args } })
	if err != nil || a.Replaces != first.ID || a.Chain != 0 {
		t.Fatalf("replaces %q, chain %d, error %v", a.Replaces, a.Chain, err)
	}
	want := []safety.ValueDifference{{Name: "total", Was: "200000", Now: "30000"}}
	if diff := cmp.Diff(want, a.Difference.Arguments); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if hint := a.Hint("buy"); !strings.Contains(hint, "Replaces the request of 11:00 UTC: argument total 200000 → 30000") {
		t.Errorf("hint %q", hint)
	}
	b.args = map[string]any{"total": 1.0}
	if a, err := b.askAgain(4); err != nil || a.Replaces != "" {
		t.Errorf("one more: replaces %q, error %v", a.Replaces, err)
	}
}

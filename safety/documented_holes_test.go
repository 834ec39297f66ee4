// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests in this file are named after the ways in which a world-change check can
// approve by mistake. Each must deny.

// deniesAtEveryStep checks that a session like this is not approved, and that an
// approval given before it came to this is not carried out.
func deniesAtEveryStep(t *testing.T, reason string, change func(*safety.GuardConfig), spoil func(*bench)) {
	t.Helper()
	b := newBench(t, change, strava)
	spoil(b)
	wantFailure(t, b.check(), reason)
	b.ask()
	out := b.answer(true)
	wantFailure(t, out.Report, reason)
	b.wantOutcome(out, safety.CodeCheckFailed, safety.StatePending)

	b = newBench(t, change, strava)
	b.approvedAnyway()
	spoil(b)
	p, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, reason)
	if p != nil {
		t.Error("a permit was given")
	}
}

func TestW01ZeroEntitiesDenies(t *testing.T) {
	b := newBench(t, nil)
	wantFailure(t, b.check(), safety.ReasonNoEntities)
	b.ask()
	out := b.answer(true)
	wantFailure(t, out.Report, safety.ReasonNoEntities)
	b.wantOutcome(out, safety.CodeCheckFailed, safety.StatePending)
	if out.Report.TotalEntities() != 0 {
		t.Errorf("%d entities", out.Report.TotalEntities())
	}
}

func TestW02NoCheckerDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonNoChecker, func(cfg *safety.GuardConfig) { cfg.Checkers = nil }, func(*bench) {})
}

func TestW03UnknownSessionDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	for _, s := range []safety.Session{
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

func TestW04NoReceiptDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt = safety.Receipt{} })
}

func TestW05ShorterRecordDenies(t *testing.T) {
	for name, spoil := range map[string]func(*safety.Receipt){
		"watermark": func(r *safety.Receipt) { r.Watermark-- },
		"rows":      func(r *safety.Receipt) { r.RowsRead-- },
	} {
		b := newBench(t, nil, strava).approved()
		spoil(&b.record.snap.Receipt)
		_, r, err := b.permit()
		wantRefusal(t, err, safety.CodeCheckFailed)
		if got := reasons(r); len(got) != 1 || got[0] != safety.ReasonIncompleteRecord {
			t.Errorf("%s: failures %v", name, got)
		}
	}
	b := newBench(t, nil, strava).approved()
	b.record.snap.Receipt.Watermark++ // a longer one is what a run brings
	b.record.snap.Receipt.RowsRead++
	if _, _, err := b.permit(); err != nil {
		t.Error(err)
	}
}

func TestW06FailedExtractionDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonExtractionFailed, nil, func(b *bench) { b.record.snap.Receipt.Failed = 1 })

	b := newBench(t, nil, strava) // failed when it was asked, healed since: the person did not see everything
	b.record.snap.Receipt.Failed = 1
	b.ask()
	b.record.snap.Receipt.Failed = 0
	out := b.answer(true)
	wantFailure(t, out.Report, safety.ReasonExtractionFailed)
}

func TestW07LostRowsDeny(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Gaps = []string{"run-1: rows 3 to 5 are missing"} })

	b := newBench(t, nil, strava)
	b.record.snap.Gaps = []string{"a gap"}
	b.ask()
	out := b.answer(true)
	if got := reasons(out.Report); len(got) != 1 {
		t.Errorf("one gap, seen when asked and when answered, gives failures %v", got)
	}
}

// An entity the record does not link to a span any more is checked all the same.
func TestW08LostEntityIsChecked(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.record.snap.Entities = nil
	b.world.put(strava, "price", usd("$52,000"))
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.PriceChanged)
}

// An attribute that the record gained after the request is compared like the others; the
// values that were shown stay those that count.
func TestLateAttributeIsChecked(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	late := sighted("Product", strava.Value, entity.Entity{Source: entity.SourceRule, Attributes: strava.Attributes},
		entity.Entity{Source: entity.SourceRule, Attributes: values{"reach": number(9)}})
	late.Attributes["price"] = usd("$1")
	b.record.snap.Entities = []entity.Canonical{late}
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonMissingAttribute)
	b.world.put(strava, "reach", number(9))
	if _, r, err = b.permit(); err != nil {
		t.Fatalf("%v\n%s", err, r.Summary())
	}
	if seen := r.Entities()[0].Seen; r.Fingerprint() != b.approval.Fingerprint || !seen["reach"].Equal(number(9)) || !seen["price"].Equal(strava.Attributes["price"]) {
		t.Errorf("seen %v", seen)
	}
	b = newBench(t, nil, strava).approved()
	b.record.snap.Entities = []entity.Canonical{late}
	b.world.put(strava, "reach", number(8))
	_, r, err = b.permit()
	wantRefusal(t, err, safety.CodeDrift)
	wantDrift(t, r, safety.Changed)
}

func TestW09OtherRulesDeny(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.record.snap.Receipt.Version = "other rules"
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonRulesChanged)
}

// What changed between the request and the reader is not what was asked.
func TestW10TornReadDenies(t *testing.T) {
	b := newBench(t, nil, strava, budget)
	b.cfg.Ledger = tearingLedger{b.ledger}
	g, err := safety.NewGuard(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.approved()
	_, r, err := g.Permit(t.Context(), b.execution())
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonIncompleteRecord)
}

// tearingLedger loses an entity.
type tearingLedger struct{ safety.Ledger }

func (l tearingLedger) Get(ctx context.Context, id string) (safety.Approval, error) {
	a, err := l.Ledger.Get(ctx, id)
	a.Entities = a.Entities[:1]
	return a, err
}

// What a model adds is checked; what it leaves out stays.
func TestW12ModelsAddAndNeverRemove(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	added := entity.Canonicalize([]entity.Entity{{
		Type: "Audience", Value: "Runners", Confidence: 0.9, Source: entity.SourceModel, SeenAt: epoch, Attributes: values{"reach": number(9)},
	}})[0]
	b.record.snap.Entities = []entity.Canonical{added}
	_, r, err := b.permit()
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonNoChecker)
	if r.TotalEntities() != 2 || r.Entities()[0].Outcome != safety.EntityUnchanged {
		t.Errorf("%d entities, the first %s", r.TotalEntities(), r.Entities()[0].Outcome)
	}
}

func TestW13TruncatedRowsDeny(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonIncompleteRecord, nil, func(b *bench) { b.record.snap.Receipt.Truncated = 1 })
}

func TestW17OtherUsersSessionDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	e := b.execution()
	e.Session.User = "bob"
	_, _, err := b.guard.Permit(t.Context(), e)
	wantRefusal(t, err, safety.CodeUnknownRequest)
}

func TestW18UnknownTypeDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	b.record.snap.Entities = append(b.record.snap.Entities, thing("product", "Lower case", fine))
	wantFailure(t, b.check(), safety.ReasonNoChecker)
}

func TestW19LowConfidenceDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonLowConfidence, nil, func(b *bench) {
		b.record.snap.Entities = []entity.Canonical{thing("Product", "Guess", fine)}
		b.record.snap.Entities[0].Confidence = 0.4
		b.world.states[b.record.snap.Entities[0].Key] = safety.State{Attributes: fine}
	})
}

// The same thing seen in many spans is checked once, against all values that count.
func TestW20OneThingIsCheckedOnce(t *testing.T) {
	var seen []entity.Entity
	for i := range 10 {
		seen = append(seen, entity.Entity{Source: entity.SourceRule, Attributes: values{"price": number(100 + i)}})
	}
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Tolerance: safety.Tolerance{Absolute: 9}}
	}, sighted("Product", "Strava", seen...))
	r := b.check()
	wantSafe(t, r)
	if b.world.calls != 1 || r.TotalEntities() != 1 || !r.Entities()[0].Seen["price"].Equal(number(109)) {
		t.Errorf("%d checks of %d entities, seen %v", b.world.calls, r.TotalEntities(), r.Entities()[0].Seen)
	}
	// Twice under one key, with answers that differ: the stricter one counts.
	twice := newBench(t, nil, strava, thing("Product", strava.Value, values{"price": usd("$39,000")}))
	twice.world.put(strava, "price", usd("$40,000"))
	twice.world.put(strava, "availability", entity.Bool(true))
	wantDrift(t, twice.check(), safety.PriceChanged)
}

func TestW21EmptyAnswerDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonEmptyAnswer, answering(safety.State{AsOf: epoch}, nil), func(*bench) {})
	deniesAtEveryStep(t, safety.ReasonMissingAttribute,
		answering(safety.State{AsOf: epoch, Attributes: values{"avaliable": entity.Bool(true), "price": usd("$40,000")}}, nil), func(*bench) {})
}

func TestW22TruthyTextDenies(t *testing.T) {
	for _, v := range []entity.Value{entity.Text("true"), entity.Text("false"), entity.Text("no"), entity.Text("0"), number(1)} {
		deniesAtEveryStep(t, safety.ReasonTypeMismatch,
			answering(safety.State{AsOf: epoch, Attributes: values{"availability": v, "price": usd("$40,000")}}, nil), func(*bench) {})
	}
}

func TestW23ChangedValueOfAvailableThingDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	b.world.put(strava, "price", usd("$75"))
	r := b.check()
	wantDrift(t, r, safety.PriceChanged)
	if !r.Entities()[0].Now["availability"].Equal(entity.Bool(true)) {
		t.Error("the thing is not available")
	}
}

func TestW24AnyDriftSignalDenies(t *testing.T) {
	plain := thing("Product", "P", values{"price": usd("$1")})
	b := newBench(t, nil, plain)
	b.world.put(plain, "availability", entity.Bool(false)) // nobody had asked
	wantDrift(t, b.check(), safety.Unavailable)
}

func TestW25PanickingCheckerDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonPanic, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) {
		panic(errors.New("boom"))
	}), func(*bench) {})
}

func TestW26ReportOfAnyValueIsMade(t *testing.T) {
	odd := thing("Product", "P", values{"price": number(52000), "at": entity.Time(epoch), "ok": entity.Bool(true)})
	b := newBench(t, nil, odd)
	b.world.put(odd, "price", number(40000))
	b.world.put(odd, "at", entity.Time(epoch.Add(1)))
	b.world.put(odd, "ok", entity.Bool(false))
	b.world.put(odd, "more", entity.Value{})
	r := b.check()
	if r.Verdict() != safety.Drift {
		t.Errorf("verdict %s", r.Verdict())
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestW27SeverityIsBounded(t *testing.T) {
	for _, severity := range []float64{-0.1, 1.1, 7} {
		cfg := newBench(t, nil, strava).cfg
		cfg.Policy.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Severity: severity}
		if _, err := safety.NewGuard(cfg); err == nil {
			t.Errorf("severity %v was taken", severity)
		}
	}
}

func TestW28UnknownTimeOfSightDenies(t *testing.T) {
	for _, at := range []time.Time{{}, epoch.Add(time.Hour)} {
		deniesAtEveryStep(t, safety.ReasonNotSeen, nil, func(b *bench) {
			b.record.snap.Entities = []entity.Canonical{thing("Product", "P", fine)}
			b.record.snap.Entities[0].LastSeen = at
			b.world.states[b.record.snap.Entities[0].Key] = safety.State{Attributes: fine}
		})
	}
}

func TestW30LazyCheckerDenies(t *testing.T) {
	deniesAtEveryStep(t, safety.ReasonStaleAnswer, answering(safety.State{Attributes: fine, AsOf: epoch.Add(-time.Hour)}, nil), func(*bench) {})
	deniesAtEveryStep(t, safety.ReasonNoAsOf, answering(safety.State{Attributes: fine}, nil), func(*bench) {})
}

func TestW31HangingCheckerDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			realTime(cfg)
			cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				time.Sleep(24 * time.Hour)
				return safety.State{Attributes: fine, AsOf: time.Now()}, nil
			})
		}, seenNow(strava)...)
		b.approvedAnyway()
		_, r, err := b.permit()
		wantRefusal(t, err, safety.CodeCheckFailed)
		wantFailure(t, r, safety.ReasonTimeout)
		time.Sleep(48 * time.Hour)
	})
}

func TestW32CanceledRunDenies(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.Checkers["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
		cancel()
		return safety.State{Attributes: fine, AsOf: epoch}, nil
	})
	g, err := safety.NewGuard(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, r, err := g.Permit(ctx, b.execution())
	wantRefusal(t, err, safety.CodeCheckFailed)
	wantFailure(t, r, safety.ReasonCanceled)
	if p != nil || b.state() != safety.StateApproved {
		t.Errorf("permit %v, state %s", p, b.state())
	}
	if stored, _ := b.ledger.Get(t.Context(), b.approval.ID); stored.Verdict != "check_failed" {
		t.Errorf("the report of a canceled run is not stored: %q", stored.Verdict)
	}
}

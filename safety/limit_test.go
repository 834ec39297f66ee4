// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// shop is a bench with requests that each buy a desk at $400, within a limit.
type shop struct {
	*bench
	limit, desk entity.Canonical
}

func newShop(t *testing.T, left string, change func(*safety.GuardConfig), rules ...config.Budget) *shop {
	s := &shop{limit: thing("Limit", "CC1", values{"left": usd(left)}), desk: bought("Product", "Desk", values{"price": usd("$400")}, nil)}
	s.bench = newBench(t, all(within(rules...), change), s.limit, s.desk)
	return s
}

// shared is the rule that adds up what the requests of a session cost.
var shared = config.Budget{
	Across: config.AcrossSession, Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Limit", Attribute: "left"},
}

// asks asks for the n-th purchase.
func (s *shop) asks(n int) safety.Approval {
	s.t.Helper()
	r := s.request()
	r.CallID, r.Args, r.Chained = fmt.Sprint("call-", n), map[string]any{"n": n}, false
	a, err := s.guard.Ask(s.t.Context(), r)
	if err = errors.Join(err, s.guard.Attach(s.t.Context(), a.ID, fmt.Sprint("conf-", n))); err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *shop) yes(n int) safety.Outcome {
	out, err := s.guard.Answer(s.t.Context(), safety.Answer{Session: nike, ConfirmationID: fmt.Sprint("conf-", n), RunID: "run-2", Confirmed: true})
	if err != nil {
		s.t.Error(err)
	}
	return out
}

// allows gets a permit for the n-th purchase.
func (s *shop) allows(n int, a safety.Approval, atOnce bool) (*safety.Permit, safety.Report, error) {
	return s.guard.Permit(s.t.Context(), safety.Execution{
		Session: nike, ApprovalID: a.ID, CallID: fmt.Sprint("call-", n), Tool: a.Tool, Agent: a.Agent, RunID: "run-2", Args: map[string]any{"n": n}, AtOnce: atOnce,
	})
}

// buys asks, approves and carries out the n-th purchase, and returns how that ended.
func (s *shop) buys(n int) string {
	s.t.Helper()
	a := s.asks(n)
	if out := s.yes(n); !out.Accepted {
		return out.Reason
	}
	p, _, err := s.allows(n, a, true)
	if err == nil {
		err = errors.Join(p.Consume(s.t.Context(), map[string]any{"n": n}), p.Done(s.t.Context(), nil))
	}
	if err != nil {
		return err.Error()
	}
	return "bought"
}

func wantBuys(t *testing.T, s *shop, n int, want string) {
	t.Helper()
	if got := s.buys(n); got != want {
		t.Errorf("purchase %d: %s, want %s", n, got, want)
	}
}

// What a session has bought counts against its limit until the amount of that changes.
func TestSharedLimit(t *testing.T) {
	s := newShop(t, "$1,000", nil, shared)
	wantBuys(t, s, 1, "bought")
	wantBuys(t, s, 2, "bought")
	a := s.asks(3)
	if want := "Planned cost: $400, and $800 of other requests, of Limit $1,000 (exceeded)."; !strings.Contains(a.Hint(""), want) {
		t.Errorf("hint %q, want %q in it", a.Hint(""), want)
	}
	out := s.yes(3)
	wantDrift(t, out.Report, safety.BudgetExceeded)
	want := safety.Cost{BudgetType: "Limit", Budget: "CC1", Limit: "$1,000", Seen: "$400", Now: "$400", Others: "$800", Exceeded: true}
	if got := out.Report.Costs(); !slices.Equal(got, []safety.Cost{want}) {
		t.Errorf("costs %+v", got)
	}
	if got := out.Report.Alerts()[0].Recommendation; !strings.Contains(got, "costs, with the $800 of other requests, no more than $1,000 (Limit CC1)") {
		t.Error(got)
	}
	s.reads("$1,500")
	wantBuys(t, s, 4, "bought")
	wantBuys(t, s, 5, "bought")
	wantBuys(t, s, 6, "bought")
	wantBuys(t, s, 7, safety.CodeDrift)
}

// reads makes the record and the world say that so much is left.
func (s *shop) reads(left string) {
	s.world.put(s.limit, "left", usd(left))
	for i, e := range s.record.snap.Entities {
		if e.Key == s.limit.Key {
			s.record.snap.Entities[i] = thing("Limit", "CC1", values{"left": usd(left)})
		}
	}
}

// Plain numbers are limits and costs too.
func TestSharedNumbers(t *testing.T) {
	seats, team := thing("Limit", "CC1", values{"left": number(10)}), bought("Product", "Desk", values{"price": number(4)}, nil)
	for _, enough := range []bool{false, true} {
		rule := shared
		rule.Enough = enough
		s := &shop{bench: newBench(t, within(rule), seats, team)}
		wantBuys(t, s, 1, "bought")
		wantBuys(t, s, 2, "bought")
		wantBuys(t, s, 3, safety.CodeDrift)
		s.asks(4)
		s.world.put(seats, "left", entity.Text("many"))
		if r := s.yes(4).Report; r.IsSafeToApprove() || !strings.Contains(r.Summary(), "type_mismatch") {
			t.Error(r.Summary())
		}
	}
}

// What is approved, runs, ran or is in doubt counts. What waits, ended otherwise or is too late does not.
func TestWhatTakesFromASharedLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(s *shop, a safety.Approval)
		taken  bool
	}{
		{"pending", func(*shop, safety.Approval) {}, false},
		{"approved", func(s *shop, _ safety.Approval) { s.yes(1) }, true},
		{"rejected", func(s *shop, _ safety.Approval) {
			s.yes(1)
			if _, err := s.guard.Answer(s.t.Context(), safety.Answer{Session: nike, ConfirmationID: "conf-1", RunID: "run-2"}); err != nil {
				s.t.Error(err)
			}
		}, false},
		{"expired", func(s *shop, _ safety.Approval) {
			s.yes(1)
			s.clock.Add(7*24*time.Hour + 3*time.Second)
		}, false},
		{"permitted", func(s *shop, a safety.Approval) { s.yes(1); _, _, _ = s.allows(1, a, false) }, true},
		{"permitted, too late", func(s *shop, a safety.Approval) {
			s.yes(1)
			_, _, _ = s.allows(1, a, false)
			s.clock.Add(33 * time.Second)
		}, false},
		{"in doubt", func(s *shop, a safety.Approval) { s.ends(a, false, nil) }, true},
		{"executed", func(s *shop, a safety.Approval) { s.ends(a, true, nil) }, true},
		{"failed", func(s *shop, a safety.Approval) { s.ends(a, true, errors.New("no")) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t, "$700", nil, shared)
			tt.before(s, s.asks(1))
			want := "bought"
			if tt.taken {
				want = safety.CodeDrift
			}
			wantBuys(t, s, 2, want)
		})
	}
}

// ends approves the first purchase and carries it out; its end is recorded if done.
func (s *shop) ends(a safety.Approval, done bool, effect error) {
	s.yes(1)
	p, _, err := s.allows(1, a, true)
	if err == nil {
		err = p.Consume(s.t.Context(), map[string]any{"n": 1})
	}
	if err == nil && done {
		err = p.Done(s.t.Context(), effect)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// The cost at the last check counts, and of several rules of one call the greatest.
func TestCostOfOthers(t *testing.T) {
	tolerant := all(ruled("price", config.Drift{Tolerance: config.Tolerance{Percent: 50}}), ruled("fee", config.Drift{Effect: config.EffectWarn}))
	fee, alone := shared, shared
	fee.Cost.Attribute, alone.Across = "fee", config.AcrossNone
	s := newShop(t, "$1,000", tolerant, shared, fee, alone)
	s.record.snap.Entities[1] = bought("Product", "Desk", values{"price": usd("$400"), "fee": usd("$1")}, nil)
	s.world.put(s.desk, "price", usd("$550"))
	s.world.put(s.desk, "fee", usd("$10"))
	wantBuys(t, s, 1, "bought")
	if costs := s.costs(1); len(costs) != 2 || costs[0].Cost != usd("$550") || costs[1].Cost != usd("$10") || costs[1].Left != usd("$1,000") {
		t.Errorf("in the ledger: %+v", costs)
	}
	wantBuys(t, s, 2, safety.CodeDrift) // 550 + 550
	s.world.put(s.desk, "price", usd("$450"))
	wantBuys(t, s, 3, "bought")
}

// costs returns what the ledger has of what the n-th purchase takes.
func (s *shop) costs(n int) []safety.LimitCost {
	s.t.Helper()
	a, err := s.guard.Find(s.t.Context(), nike, fmt.Sprint("conf-", n))
	if err != nil || len(a.Consents) == 0 {
		s.t.Fatal(a.State, err)
	}
	return a.Consents[len(a.Consents)-1].Costs
}

// A check fails if nobody can say what others take.
func TestOthersAreNotKnown(t *testing.T) {
	const unknown = "policy: it cannot be shown that what the plan costs now fits its Limit: "
	for _, tt := range []struct {
		name string
		cost entity.Value
		want string
	}{
		{"no cost", entity.Value{}, unknown + "it is not known what provision_campaign takes from it, which was approved before"},
		{"a negative cost", usd("-$5"), unknown + "the cost of another request is negative: -$5"},
		{"another currency", usd("€5"), unknown + "the plan costs a money in USD, other requests cost a money in EUR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t, "$1,000", nil, shared)
			a := s.asks(1)
			_, err := s.ledger.Transition(t.Context(), safety.Transition{
				ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateApproved, At: epoch,
				Set: safety.Update{Consent: safety.Consent{Who: "ana"}, Costs: []safety.LimitCost{{Limit: "Limit:text:cc1 left", Left: usd("$1,000"), Cost: tt.cost}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			s.asks(2)
			said(t, s.yes(2).Report, tt.want)
		})
	}
	t.Run("no ledger", func(t *testing.T) {
		s := newShop(t, "$1,000", nil, shared)
		s.asks(1)
		broken := &unlisted{Ledger: s.ledger}
		s.cfg.Ledger = broken
		s.guard = s.made()
		broken.broken = true
		if r := s.yes(1).Report; !strings.Contains(r.Summary(), "store: the record could not be read (reading what other requests take from a limit: disk") {
			t.Error(r.Summary())
		}
		r := s.request()
		r.Chained = false
		if a, err := s.guard.Ask(t.Context(), r); err == nil || a.ID != "" {
			t.Errorf("asked %q, %v", a.ID, err)
		}
	})
}

// unlisted is a ledger that cannot list the requests of a session.
type unlisted struct {
	safety.Ledger
	broken bool
}

func (l *unlisted) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	if l.broken && q.ID == "" && q.ConfirmationID == "" {
		return nil, errors.New("disk")
	}
	return l.Ledger.List(ctx, q)
}

// Where enough is left, a limit that has changed has not; the smallest amount counts.
func TestEnough(t *testing.T) {
	enough := shared
	enough.Across, enough.Enough = config.AcrossNone, true
	exact, severe := enough, enough
	exact.Enough, severe.Severity = false, new(1.0)
	for _, tt := range []struct {
		name  string
		rules []config.Budget
		now   string // what is left
		price string
		want  []string
	}{
		{"as it was", []config.Budget{enough}, "$500", "$400", nil},
		{"less, and enough", []config.Budget{enough}, "$400", "$400", nil},
		{"too little", []config.Budget{enough}, "$399.99", "$400", []string{"$400 -> $400: ..."}},
		{"more", []config.Budget{enough}, "$900", "$400", nil},
		{"more, and dearer than what was read", []config.Budget{enough}, "$900", "$501", []string{"$400 -> $501: ..."}},
		{"for each rule", []config.Budget{enough, severe}, "$400", "$400", nil},
		{"not for all rules", []config.Budget{enough, exact}, "$400", "$400", []string{"$500 -> $400: ..."}},
		{"another currency", []config.Budget{enough}, "€500", "$400", []string{"type_mismatch: ...", "nothing_compared: ..."}},
		{"a rule of another tool", []config.Budget{ofOther(enough), exact}, "$400", "$400", []string{"$500 -> $400: ..."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t, "$500", all(func(cfg *safety.GuardConfig) {
				cfg.Policy.Types = map[string]config.TypePolicy{"Product": {Drift: map[string]config.Drift{"price": {Effect: config.EffectWarn}}}}
			}), tt.rules...)
			s.asks(1)
			s.world.put(s.limit, "left", usd(tt.now))
			s.world.put(s.desk, "price", usd(tt.price))
			r := s.yes(1).Report
			warned := len(r.Warnings()) > 0
			if warned != (tt.price != "$400") {
				t.Error(r.Summary())
			}
			said(t, r, tt.want...)
		})
	}
}

func ofOther(b config.Budget) config.Budget {
	b.Tool = "other"
	return b
}

// Nobody knows whether it is enough if the limit cannot be read, and a limit that is not the one of the call
// changes as any other thing.
func TestEnoughIsNotKnown(t *testing.T) {
	enough := shared
	enough.Enough = true
	s := newShop(t, "$500", ofType("Limit", config.TypePolicy{Optional: true}), enough)
	s.asks(1)
	s.world.down[s.limit.Key] = down
	said(t, s.yes(1).Report, "source_down: ... the present left of Limit CC1 could not be read")

	other := thing("Limit", "CC2", values{"left": usd("$9")})
	mine := bought("Limit", "CC1", values{"left": usd("$500")}, nil)
	b := newBench(t, within(enough), other, mine, bought("Product", "Desk", values{"price": usd("$400")}, nil))
	b.ask()
	b.world.put(mine, "left", usd("$450"))
	b.world.put(other, "left", usd("$8"))
	said(t, b.answer(true).Report, "$9 -> $8: ...")
}

// What is approved and has not begun can run with a new amount too, where that is enough.
func TestEnoughForWhatWaits(t *testing.T) {
	enough := shared
	enough.Enough = true
	s := newShop(t, "$1,000", nil, enough)
	s.asks(1)
	first := s.yes(1)
	s.world.put(s.limit, "left", usd("$700"))
	wantBuys(t, s, 2, safety.CodeDrift)
	if p, r, err := s.allows(1, first.Approval, true); err != nil || p == nil {
		t.Errorf("%v\n%s", err, r.Summary())
	}
}

// Of two requests that are approved, and let run, at the same time, one runs if the limit has enough for one.
func TestSharedLimitAtOnce(t *testing.T) {
	for round := range 20 {
		s := newShop(t, "$700", nil, shared)
		approvals := []safety.Approval{s.asks(1), s.asks(2), s.asks(3)}
		var bought sync.Map
		var workers sync.WaitGroup
		for i, a := range approvals {
			workers.Go(func() {
				if !s.yes(i + 1).Accepted {
					return
				}
				p, _, err := s.allows(i+1, a, round%2 == 0)
				if err == nil && p.Consume(t.Context(), map[string]any{"n": i + 1}) == nil {
					bought.Store(i, true)
				}
			})
		}
		workers.Wait()
		n := 0
		bought.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d of three ran", n)
		}
	}
}

// Guards of two processes share the ledger alone: of two requests that do not fit together one runs at the most.
func TestSharedLimitOfTwoProcesses(t *testing.T) {
	for range 20 {
		s := newShop(t, "$700", nil, shared)
		approvals := []safety.Approval{s.asks(1), s.asks(2)}
		guards := []*safety.Guard{s.guard, s.made()}
		var bought [2]bool
		var workers sync.WaitGroup
		for i, a := range approvals {
			workers.Go(func() {
				mine := shop{bench: &bench{t: s.t, guard: guards[i]}}
				if !mine.yes(i + 1).Accepted {
					return
				}
				p, _, err := mine.allows(i+1, a, true)
				bought[i] = err == nil && p.Consume(t.Context(), map[string]any{"n": i + 1}) == nil
			})
		}
		workers.Wait()
		if bought[0] && bought[1] {
			t.Error("both ran")
		}
	}
}

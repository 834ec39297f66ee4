// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// stubborn is a model that repeats a call that was refused, as often as it says, and
// then reports.
type stubborn struct {
	repeats int
	args    func(repeat int) map[string]any
	told    []map[string]any
}

func (s *stubborn) answer(req *model.LLMRequest) (*model.LLMResponse, error) {
	last := adktest.LastResponse(req)
	switch {
	case last == nil:
		return adktest.Call("search", map[string]any{"query": "routes"}), nil
	case last.Name == "search":
		return adktest.Call("buy", s.args(0)), nil
	}
	s.told = append(s.told, cgtest.Unstreamed(last.Response))
	if len(s.told) > s.repeats {
		return adktest.Text("Not bought."), nil
	}
	return adktest.Call("buy", s.args(len(s.told))), nil
}

// unanswered is a checker that asks another and loses the answer.
func unanswered(c safety.Checker) safety.Checker {
	return safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		_, _ = c.Check(ctx, e)
		return safety.State{}, errors.New("the shop is closed")
	})
}

// What blocked a call reaches the model, which repeats the call all the same: it is
// refused at once, nobody is asked again and nothing is checked again. What can be asked for
// again is in TestAskedAgainAfterDrift.
func TestRefusedCallRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		yes    bool
		reason string
		checks int64
	}{
		"check failed": {true, safety.CodeCheckFailed, 1},
		"rejected":     {false, safety.CodeRejected, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
				m := &stubborn{repeats: 9, args: cgtest.SameArgs}
				h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
					o.Answer = m.answer
					o.Config.CheckFuncs["Product"] = unanswered(o.Config.CheckFuncs["Product"])
				})
				id, _ := h.Ask(cgtest.SessionID)
				events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, tt.yes))
				h.WantBought(0)
				if n := len(adktest.Confirmations(events)); n != 0 {
					t.Errorf("the person is asked %d times again", n)
				}
				if n := len(h.Approvals(cgtest.SessionID)); n != 1 {
					t.Errorf("%d requests on record, want 1", n)
				}
				if n := h.Checks.Load(); n != tt.checks {
					t.Errorf("%d checks, want %d", n, tt.checks)
				}
				if len(m.told) != 10 {
					t.Fatalf("the model was told %d times", len(m.told))
				}
				for i, told := range m.told[1:] {
					if told["reason"] != tt.reason || told["next"] == nil {
						t.Errorf("repeat %d was told %v", i+1, told)
					}
					if d := cmp.Diff(m.told[0]["failures"], told["failures"]); tt.yes && d != "" {
						t.Errorf("repeat %d was not told the failures (-first +repeat):\n%s", i+1, d)
					}
				}
			})
		})
	}
}

// A model that does nothing else ends its run.
func TestRefusedCallRepeatedForever(t *testing.T) {
	m := &stubborn{repeats: 1000, args: cgtest.SameArgs}
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = m.answer
		o.Config.CheckFuncs["Product"] = unanswered(o.Config.CheckFuncs["Product"])
	})
	id, _ := h.Ask(cgtest.SessionID)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
	if n := len(m.told); n > 10 {
		t.Errorf("the model was told %d times in one run", n)
	}
	if n := len(h.Approvals(cgtest.SessionID)); n != 1 {
		t.Errorf("%d requests on record, want 1", n)
	}
}

// A new plan is another call: it asks anew, in the same turn, and its approval is good
// in a world that has not changed since. So is the same call in a later turn.
func TestNewPlanAfterABlock(t *testing.T) {
	m := &stubborn{repeats: 1, args: func(repeat int) map[string]any {
		return map[string]any{"item": "Strava Sponsored Routes", "count": 1 + repeat}
	}}
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			if last != nil && last.Name == "buy" && len(m.told) == 0 {
				m.told = append(m.told, last.Response)
				return adktest.Call("search", map[string]any{"query": "present prices"}), nil
			}
			if last != nil && last.Name == "search" && len(m.told) == 1 {
				return adktest.Call("buy", m.args(1)), nil
			}
			return m.answer(req)
		}
	})
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		t.Fatalf("%d confirmations for the new plan, want 1", len(calls))
	}
	h.WantBought(0)
	if got := h.Answer(cgtest.SessionID, calls[0].ID, true); got["status"] != "bought" {
		t.Fatalf("the new plan answered %v", got)
	}
	h.WantBought(1)
	as := h.Approvals(cgtest.SessionID)
	if len(as) != 2 || as[0].State != safety.StateBlocked || as[1].State != safety.StateExecuted || as[0].ArgsDigest == as[1].ArgsDigest {
		t.Errorf("approvals %+v", as)
	}
}

// Every alert of a block stands in the model's next request.
func TestEveryAlertReachesTheModel(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, _ := h.Ask(cgtest.SessionID)
		h.Shop.Set("$52,000", false)
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(0)
		requests := h.Model.Requests()
		last := adktest.LastResponse(requests[len(requests)-1])
		if last == nil || last.Name != "buy" {
			t.Fatalf("the last request ends with %+v", last)
		}
		told := cgtest.Unstreamed(last.Response)
		got := make(map[string][]any)
		for _, a := range told["alerts"].([]any) {
			a := a.(map[string]any)
			got[a["attribute"].(string)] = []any{a["drift_type"], a["before"], a["after"], a["entity"], a["recommendation"] != ""}
		}
		want := map[string][]any{
			"price":        {"price_changed", "$40,000", "$52,000", "Strava Sponsored Routes", true},
			"availability": {"unavailable", "available", "unavailable", "Strava Sponsored Routes", true},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("alerts (-want +got):\n%s", d)
		}
	})
}

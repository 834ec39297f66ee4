// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// cheaper is a model that buys as many as $100,000 pays for, at the price that it read last.
func cheaper(o *cgtest.Options) {
	o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		last := adktest.LastResponse(req)
		if last == nil || last.Name != "search" {
			return cgtest.Shopper(req)
		}
		count := 1
		if strings.Contains(fmt.Sprint(last.Response), "$40,000") {
			count = 2
		}
		return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": count}), nil
	}
}

// drifted is a request whose yes met drift. It returns its approval.
func (s *shop) drifted(price string) safety.Approval {
	s.T.Helper()
	id, _ := s.Ask(cgtest.SessionID)
	return s.meets(id, price)
}

// meets has a yes to a request meet another price.
func (s *shop) meets(confirmation, price string) safety.Approval {
	s.T.Helper()
	s.Shop.Set(price, true)
	got := s.Answer(cgtest.SessionID, confirmation, true)
	if got["reason"] != safety.CodeDrift {
		s.T.Fatalf("the answer came to %v, want drift", got)
	}
	if next := fmt.Sprint(got["next"]); !strings.Contains(next, "contextgraph redo "+fmt.Sprint(got["approval_id"])) {
		s.T.Errorf("the refusal does not offer a redo: %s", next)
	}
	all := s.Approvals(cgtest.SessionID)
	return all[len(all)-1]
}

func (s *shop) plan(a safety.Approval) checkpoint.Plan {
	s.T.Helper()
	plan, err := s.cps.Plan(s.T.Context(), a.ID)
	if err != nil {
		s.T.Fatal(err)
	}
	return plan
}

// redo carries out a plan, and returns the events but the first, which names those that are void.
func (s *shop) redo(plan checkpoint.Plan) (void []string, events []*session.Event, err error) {
	s.T.Helper()
	for ev, failed := range s.cps.Redo(s.T.Context(), s.Runner, plan) {
		switch {
		case failed != nil:
			err = failed
		case checkpoint.Void(ev) != nil:
			void = checkpoint.Void(ev)
		default:
			events = append(events, ev)
		}
	}
	return void, events, err
}

// A yes met drift. The turn is done again: the session goes back, the same message is sent, and the new request names
// the old one, has both plans, and waits for a new yes. Then it runs once.
func TestRedo(t *testing.T) {
	s := newShop(t, cheaper)
	id, asked := s.Ask(cgtest.SessionID)
	old := s.meets(id, "$52,000")
	before := s.Session(cgtest.User, cgtest.SessionID).Events().Len()

	plan := s.plan(old)
	if got := strings.Join(plan.Messages, "|"); got != "buy a route" || plan.Redo != 1 || plan.Events != before || len(plan.Left) > 0 || plan.Tool != "buy" {
		t.Errorf("plan %+v", plan)
	}
	var steps []string
	for _, step := range plan.Steps {
		steps = append(steps, step.Tool+" "+step.What+": "+step.Reason)
	}
	if want := []string{
		"search again: it read what has changed: price of Product Strava Sponsored Routes: $40,000 → $52,000",
		"buy again: it comes after the message",
	}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != before || len(s.list()) != 2 {
		t.Errorf("the plan touched the session: %d events, want %d", n, before)
	}

	void, events, err := s.redo(plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(void) != before || !slices.Contains(void, asked[0].ID) {
		t.Errorf("%d events are void, want %d", len(void), before)
	}
	requests := adktest.Confirmations(events)
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	s.WantBought(0)
	all := s.Approvals(cgtest.SessionID)
	now := all[len(all)-1]
	if now.Replaces != old.ID || now.State != safety.StatePending || len(now.Consents) > 0 || string(now.Difference.Args) != `{"count":2,"item":"Strava Sponsored Routes"}` {
		t.Errorf("the new request is %s, replaces %q, with the plan %s before", now.State, now.Replaces, now.Difference.Args)
	}
	if d := now.Difference; len(d.Arguments) != 1 || d.Arguments[0] != (safety.ValueDifference{Name: "count", Was: "2", Now: "1"}) || len(d.Entities) != 1 || d.Entities[0].Attributes[0].Now != "$52,000" {
		t.Errorf("what is different: %+v", d)
	}
	request := fmt.Sprint(requests[0].Args)
	for _, want := range []string{old.ID, "Replaces the request of", "$40,000 → $52,000"} {
		if !strings.Contains(request, want) {
			t.Errorf("the request does not say %q: %s", want, request)
		}
	}
	first := s.Session(cgtest.User, cgtest.SessionID).Events().At(0)
	if first.Content.Parts[0].Text != "buy a route" || first.Author != genai.RoleUser || plugin.Marker(first) == "" {
		t.Errorf("the session begins with %+v", first)
	}

	// An answer to the old one counts for nothing, with and without the decorator.
	for _, service := range []session.Service{s.Harness.Sessions, s.bare} {
		was := s.Harness.Sessions
		s.serve(t, service)
		_, _ = adktest.TryRun(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
		s.serve(t, was)
		s.WantBought(0)
	}
	if got := s.Answer(cgtest.SessionID, requests[0].ID, true); got["status"] != "bought" {
		t.Fatalf("the new yes came to %v", got)
	}
	s.WantBought(1)
	if last := s.LastBuy.Load().(cgtest.BuyArgs); last.Count != 1 {
		t.Errorf("bought %+v", last)
	}
	if _, err := s.cps.Plan(t.Context(), old.ID); !errors.Is(err, checkpoint.ErrNoPlan) {
		t.Errorf("the first request has a plan again: %v", err)
	}
	if _, err := s.cps.Plan(t.Context(), now.ID); !errors.Is(err, checkpoint.ErrNoPlan) || !strings.Contains(err.Error(), "executed") {
		t.Errorf("a plan for what was carried out: %v", err)
	}
}

// A turn is done again twice, with a yes each time. Nothing is done a third time.
func TestChain(t *testing.T) {
	s := newShop(t)
	a := s.drifted("$41,000")
	for n := 1; n <= 2; n++ {
		plan := s.plan(a)
		if plan.Redo != n {
			t.Errorf("redo %d, want %d", plan.Redo, n)
		}
		_, events, err := s.redo(plan)
		if err != nil {
			t.Fatal(err)
		}
		a = s.meets(adktest.Confirmations(events)[0].ID, fmt.Sprintf("$4%d,000", n+1))
	}
	before := s.Session(cgtest.User, cgtest.SessionID).Events().Len()
	plan, err := s.cps.Plan(t.Context(), a.ID)
	if !errors.Is(err, checkpoint.ErrChain) {
		t.Errorf("a third time: %v, want ErrChain", err)
	}
	if _, _, err := s.redo(plan); !errors.Is(err, checkpoint.ErrChain) {
		t.Errorf("a third redo: %v, want ErrChain", err)
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != before {
		t.Errorf("%d events, want %d", n, before)
	}
	s.WantBought(0)
	// A person who starts over is asked as ever.
	id, _ := s.Ask(cgtest.SessionID)
	if got := s.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("a new turn came to %v", got)
	}
}

// talking has the model do what the last message says: look, buy, buy two, send, or nothing.
func talking(o *cgtest.Options) {
	o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		buy := &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 1}}
		last := req.Contents[len(req.Contents)-1].Parts[0]
		switch {
		case last.Text == "look", last.Text == "look and buy":
			return adktest.Call("search", map[string]any{"query": "routes"}), nil
		case last.Text == "buy":
			return adktest.Calls(buy), nil
		case last.Text == "buy twice":
			return adktest.Calls(buy, &genai.FunctionCall{Name: "buy", Args: map[string]any{"item": cgtest.Item, "count": 2}}), nil
		case last.Text == "send":
			return adktest.Call("send", map[string]any{"query": "mail"}), nil
		case last.FunctionResponse != nil && last.FunctionResponse.Name == "search":
			for _, c := range slices.Backward(req.Contents) {
				if c.Parts[0].Text == "look and buy" {
					return adktest.Calls(buy), nil
				}
				if c.Parts[0].Text != "" {
					break
				}
			}
		}
		return adktest.Text("Done."), nil
	}
}

// talkingShop has an agent that also sends mail.
func talkingShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t, talking, cgtest.NotChecked)
	s.Tools = append(s.Tools, cgtest.NewTool(t, "send", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"sent": true}, nil
	}))
	s.serve(t, s.Harness.Sessions)
	return s
}

// ran lets a request run at the present price.
func (s *shop) ran(confirmation string) {
	s.T.Helper()
	if got := s.Answer(cgtest.SessionID, confirmation, true); got["status"] != "bought" {
		s.T.Fatalf("the answer came to %v", got)
	}
}

// Nothing is done again where that would repeat what must not be repeated, or where a person is being asked already.
func TestNoPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		play func(s *shop) string // returns the approval
		want string
		what string // of a step
	}{
		"an answer among the messages": {func(s *shop) string {
			s.Say("look")
			first := s.ask(cgtest.SessionID, "buy")
			_ = s.Answer(cgtest.SessionID, first, false)
			return s.meets(s.ask(cgtest.SessionID, "buy"), "$52,000").ID
		}, "answers a request", checkpoint.StepAgain},
		"too many messages": {func(s *shop) string {
			s.Say("look")
			for range 4 {
				s.Say("hello")
			}
			return s.meets(s.ask(cgtest.SessionID, "buy"), "$52,000").ID
		}, "6 messages", checkpoint.StepAgain},
		"several approvals": {func(s *shop) string {
			s.Say("look")
			both := adktest.Confirmations(s.Say("buy twice"))
			if len(both) != 2 {
				s.T.Fatalf("%d requests", len(both))
			}
			s.Answer(cgtest.SessionID, both[1].ID, false)
			s.Shop.Set("$52,000", true)
			s.Answer(cgtest.SessionID, both[0].ID, true)
			all := s.Approvals(cgtest.SessionID)
			return all[slices.IndexFunc(all, func(a safety.Approval) bool { return a.State == safety.StateBlocked })].ID
		}, "asked for 2 approvals", checkpoint.StepAgain},
		"the other approval is open": {func(s *shop) string {
			s.Say("look")
			both := adktest.Confirmations(s.Say("buy twice"))
			s.Shop.Set("$52,000", true)
			s.Answer(cgtest.SessionID, both[0].ID, true)
			all := s.Approvals(cgtest.SessionID)
			return all[slices.IndexFunc(all, func(a safety.Approval) bool { return a.State == safety.StateBlocked })].ID
		}, "asked for 2 approvals|has come in its place", ""},
		"an effect": {func(s *shop) string {
			s.Say("look")
			s.Say("send")
			return s.meets(s.ask(cgtest.SessionID, "buy"), "$52,000").ID
		}, "send (", checkpoint.StepInTheWay},
		"an effect after the drift": {func(s *shop) string {
			a := s.meets(s.ask(cgtest.SessionID, "look and buy"), "$52,000")
			s.Say("send")
			return a.ID
		}, "send (", checkpoint.StepInTheWay},
		"an approved effect": {func(s *shop) string {
			a := s.meets(s.ask(cgtest.SessionID, "look and buy"), "$52,000")
			s.ran(s.ask(cgtest.SessionID, "look and buy"))
			return a.ID
		}, "buy (|has come in its place", ""},
		"asked anew": {func(s *shop) string {
			a := s.meets(s.ask(cgtest.SessionID, "look and buy"), "$52,000")
			s.ask(cgtest.SessionID, "look and buy")
			return a.ID
		}, "has come in its place", ""},
		"pending": {func(s *shop) string {
			s.ask(cgtest.SessionID, "look and buy")
			return s.Approvals(cgtest.SessionID)[0].ID
		}, "is pending", ""},
		"left": {func(s *shop) string {
			a := s.meets(s.ask(cgtest.SessionID, "look and buy"), "$52,000")
			s.rewind(s.list()[len(s.list())-1].ID)
			return a.ID
		}, "went back", ""},
		"past the decorator": {func(s *shop) string {
			decorated := s.Harness.Sessions
			s.serve(s.T.(*testing.T), s.bare)
			a := s.meets(s.ask(cgtest.SessionID, "look and buy"), "$52,000")
			s.serve(s.T.(*testing.T), decorated)
			return a.ID
		}, "did not come through Sessions", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := talkingShop(t)
			id := tt.play(s)
			events, bought := s.Session(cgtest.User, cgtest.SessionID).Events().Len(), s.Bought.Load()
			plan, err := s.cps.Plan(t.Context(), id)
			if !errors.Is(err, checkpoint.ErrNoPlan) || !slices.ContainsFunc(strings.Split(tt.want, "|"), func(want string) bool { return strings.Contains(err.Error(), want) }) {
				t.Errorf("%v, want ErrNoPlan with %q", err, tt.want)
			}
			if tt.what != "" && !slices.ContainsFunc(plan.Steps, func(step checkpoint.Step) bool { return step.What == tt.what && step.Reason != "" }) {
				t.Errorf("steps %+v, want one %s", plan.Steps, tt.what)
			}
			if _, _, err := s.redo(plan); !errors.Is(err, checkpoint.ErrNoPlan) {
				t.Errorf("redo without a plan: %v", err)
			}
			if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != events || s.Bought.Load() != bought {
				t.Errorf("%d events, want %d; bought %d, want %d", n, events, s.Bought.Load(), bought)
			}
		})
	}
	if _, err := talkingShop(t).cps.Plan(t.Context(), "none"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("an unknown approval: %v, want ErrNotFound", err)
	}
}

// The stale reading is in an earlier turn: both messages are sent again, in order. Events before them stay.
func TestRedoOfSeveralMessages(t *testing.T) {
	s := talkingShop(t)
	s.Say("hello")
	s.Say("look")
	s.Say("hello again")
	a := s.meets(s.ask(cgtest.SessionID, "buy"), "$52,000")
	s.Say("what now?")
	plan := s.plan(a)
	if got := strings.Join(plan.Messages, "|"); got != "look|hello again|buy" || strings.Join(plan.Left, "|") != "what now?" {
		t.Errorf("messages %q, left %q", got, plan.Left)
	}
	_, events, err := s.redo(plan)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for ev := range s.Session(cgtest.User, cgtest.SessionID).Events().All() {
		if ev.Author == genai.RoleUser {
			said = append(said, ev.Content.Parts[0].Text)
		}
	}
	if got := strings.Join(said, "|"); got != "hello|look|hello again|buy" {
		t.Errorf("the session has the messages %q", got)
	}
	s.ran(adktest.Confirmations(events)[0].ID)
	s.WantBought(1)
}

// What was read before the message and has not changed stays, and the request still rests on it.
func TestKeptReading(t *testing.T) {
	price := map[string]string{"Atlas": "$10", cgtest.Item: "$40,000"}
	s := newShop(t, talking, cgtest.NotChecked, func(o *cgtest.Options) {
		o.Search = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			items := []any{map[string]any{"name": cgtest.Item, "price": price[cgtest.Item], "available": true}}
			if a.Query == "Atlas" {
				items = []any{map[string]any{"name": "Atlas", "price": price["Atlas"], "available": true}}
			}
			return map[string]any{"items": items}, nil
		}
		answer := o.Answer
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if req.Contents[len(req.Contents)-1].Parts[0].Text == "look at Atlas" {
				return adktest.Call("search", map[string]any{"query": "Atlas"}), nil
			}
			return answer(req)
		}
	}, cgtest.WithChecker(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, price[e.Value]), "availability": entity.Bool(true),
		}}, nil
	}))
	s.Say("look at Atlas")
	id := s.ask(cgtest.SessionID, "look and buy")
	price[cgtest.Item] = "$52,000"
	if got := s.Answer(cgtest.SessionID, id, true); got["reason"] != safety.CodeDrift {
		t.Fatalf("the answer came to %v", got)
	}
	plan := s.plan(s.Approvals(cgtest.SessionID)[0])
	if len(plan.Messages) != 1 || plan.Steps[0].What != checkpoint.StepKept || plan.Steps[0].Reason != "what it read has not changed" {
		t.Errorf("plan %+v", plan)
	}
	_, events, err := s.redo(plan)
	if err != nil {
		t.Fatal(err)
	}
	s.ran(adktest.Confirmations(events)[0].ID)
}

// Run does a turn again by itself, as often as it may, and each time waits for a yes.
func TestAutoRedo(t *testing.T) {
	for _, tt := range []struct{ redos, want int }{{0, 0}, {1, 1}, {2, 2}, {5, 2}} {
		s := newShop(t)
		run := func(msg *genai.Content) (void int, events []*session.Event) {
			t.Helper()
			for ev, err := range s.cps.Run(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, msg, checkpoint.AutoRedo(tt.redos)) {
				if err != nil {
					t.Fatal(err)
				}
				if ids := checkpoint.Void(ev); ids != nil {
					void += len(ids)
					events = nil
					continue
				}
				events = append(events, ev)
			}
			return void, events
		}
		_, events := run(adktest.UserText("buy a route"))
		did := 0
		for n := 1; ; n++ {
			id := adktest.Confirmations(events)[0].ID
			s.Shop.Set(fmt.Sprintf("$4%d,000", n), true)
			void := 0
			if void, events = run(adktest.Answer(id, true)); void == 0 {
				break
			}
			did++
		}
		s.WantBought(0)
		if did != tt.want {
			t.Errorf("AutoRedo(%d) did it %d times, want %d", tt.redos, did, tt.want)
		}
	}
	// An old answer, or a conversation that went on, takes nothing back.
	s := newShop(t)
	id, _ := s.Ask(cgtest.SessionID)
	s.meets(id, "$52,000")
	before := s.Session(cgtest.User, cgtest.SessionID).Events().Len()
	for ev, err := range s.cps.Run(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true), checkpoint.AutoRedo(2)) {
		if err == nil && checkpoint.Void(ev) != nil {
			t.Error("an answer that was given before takes the session back")
		}
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n < before {
		t.Errorf("%d events, want at least %d", n, before)
	}
	s = talkingShop(t)
	id = s.ask(cgtest.SessionID, "look and buy")
	s.Say("hello")
	s.Shop.Set("$52,000", true)
	for ev, err := range s.cps.Run(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true), checkpoint.AutoRedo(2)) {
		if err == nil && checkpoint.Void(ev) != nil {
			t.Error("a message that nobody sends again is left")
		}
	}
	if plan := s.plan(s.Approvals(cgtest.SessionID)[0]); strings.Join(plan.Left, "|") != "hello" {
		t.Errorf("left %q", plan.Left)
	}
}

// Of two redos at once one wins. A plan that the session has passed, or that another program uses, is not carried out.
func TestRedoAtOnce(t *testing.T) {
	s := newShop(t)
	a := s.drifted("$52,000")
	plan := s.plan(a)
	var inside error
	before := s.Model.Answer
	s.Model.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if inside == nil {
			_, _, inside = s.redo(plan)
		}
		return before(req)
	}
	_, events, err := s.redo(plan)
	if err != nil || len(adktest.Confirmations(events)) != 1 {
		t.Fatalf("%d requests, %v", len(adktest.Confirmations(events)), err)
	}
	if !errors.Is(inside, checkpoint.ErrRunning) {
		t.Errorf("the second one: %v, want ErrRunning", inside)
	}
	s.Model.Answer = before
	if _, _, err := s.redo(plan); !errors.Is(err, checkpoint.ErrNoPlan) {
		t.Errorf("the plan once more: %v, want ErrNoPlan", err)
	}
	a = s.meets(adktest.Confirmations(events)[0].ID, "$53,000")
	plan = s.plan(a)
	s.Model.Answer = func(*model.LLMRequest) (*model.LLMResponse, error) { return adktest.Text("Hello."), nil }
	s.Say("hello")
	if _, _, err := s.redo(plan); !errors.Is(err, checkpoint.ErrRunning) {
		t.Errorf("a plan from before a message: %v, want ErrRunning", err)
	}
	s.WantBought(0)
}

// other is a session service through which another process appends an event, once, right before the message of a redo.
type other struct {
	session.Service
	during func()
}

func (o *other) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	if during := o.during; during != nil && ev.Content != nil && ev.Author == genai.RoleUser {
		o.during = nil
		during()
	}
	return o.Service.AppendEvent(ctx, to, ev)
}

// While a redo is on its way to the store, the session changes: nothing goes back, and nothing is lost.
func TestRedoMeetsAnotherRun(t *testing.T) {
	s := newShop(t)
	a := s.drifted("$52,000")
	plan := s.plan(a)
	before := s.Session(cgtest.User, cgtest.SessionID).Events().Len()
	o := &other{Service: s.Harness.Sessions}
	s.serve(t, o)
	o.during = func() {
		got, err := s.bare.Get(t.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
		if err != nil {
			t.Fatal(err)
		}
		ev := session.NewEvent(t.Context(), "another")
		ev.Author, ev.Content = "root", genai.NewContentFromText("of another process", genai.RoleModel)
		if err := s.bare.AppendEvent(t.Context(), got.Session, ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.redo(plan); !errors.Is(err, checkpoint.ErrRunning) {
		t.Errorf("%v, want ErrRunning", err)
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != before+1 {
		t.Errorf("%d events, want %d", n, before+1)
	}
	// It is tried again.
	if _, events, err := s.redo(s.plan(a)); err != nil || len(adktest.Confirmations(events)) != 1 {
		t.Errorf("the second try: %d requests, %v", len(adktest.Confirmations(events)), err)
	}
}

// A runner that does not use the decorator, or is of another program, takes no session back.
func TestRedoWithAnotherRunner(t *testing.T) {
	s := newShop(t)
	a := s.drifted("$52,000")
	plan, decorated := s.plan(a), s.Harness.Sessions
	s.serve(t, s.bare)
	if _, _, err := s.redo(plan); err == nil || !strings.Contains(err.Error(), "Sessions") {
		t.Errorf("a runner without the decorator: %v", err)
	}
	s.serve(t, decorated)
	s.WantBought(0)
	for ev := range s.Session(cgtest.User, cgtest.SessionID).Events().All() {
		if plugin.Marker(ev) != "" {
			t.Error("the session went back")
		}
	}
}

// The turn is done again in a fork's source and exported: neither takes the marker along.
func TestForkOfWhatWasDoneAgain(t *testing.T) {
	s := newShop(t)
	_, _, err := s.redo(s.plan(s.drifted("$52,000")))
	if err != nil {
		t.Fatal(err)
	}
	end := s.create("end")
	to, err := s.cps.Fork(t.Context(), cgtest.Key(cgtest.SessionID), end.ID, "fork")
	if err != nil {
		t.Fatal(err)
	}
	if id := s.ask(to.ID, "buy a route"); id == "" {
		t.Error("nothing is asked in the fork")
	}
}

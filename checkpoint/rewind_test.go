// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// shop is the shop agent over sessions that can go back.
type shop struct {
	*cgtest.Harness
	cps  *checkpoint.Checkpoints
	bare session.Service
}

func newShop(t *testing.T, opts ...cgtest.Option) *shop {
	t.Helper()
	s := new(shop)
	s.Harness = cgtest.New(t, opts...)
	s.bare = s.Harness.Sessions
	s.cps = checkpoint.New(s.CG, checkpoint.Reads("search"))
	s.serve(t, s.cps.Sessions(s.bare))
	return s
}

// serve makes the runner anew over another session service.
func (s *shop) serve(t *testing.T, service session.Service, change ...func(*runner.Config)) {
	t.Helper()
	s.Harness.Sessions = service
	c := runner.Config{
		AppName: cgtest.App, Agent: cgtest.RootAgent(t, s.Model, s.Tools...), SessionService: service,
		PluginConfig: s.CG.PluginConfig(), AutoCreateSession: true,
	}
	for _, f := range change {
		f(&c)
	}
	r, err := runner.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Runner = r
}

func (s *shop) list() []checkpoint.Checkpoint {
	s.T.Helper()
	list, err := s.cps.List(s.T.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		s.T.Fatal(err)
	}
	return list
}

func (s *shop) rewind(id string, opts ...checkpoint.RewindOption) checkpoint.Result {
	s.T.Helper()
	result, err := s.cps.Rewind(s.T.Context(), cgtest.Key(cgtest.SessionID), id, opts...)
	if err != nil {
		s.T.Fatal(err)
	}
	return result
}

// A request met drift. The session goes back to before the message, the agent reads the new price, and the new request is
// approved and runs.
func TestRewindAfterDrift(t *testing.T) {
	s := newShop(t)
	id, _ := s.Ask(cgtest.SessionID)
	s.Shop.Set("$52,000", true)
	if got := s.Answer(cgtest.SessionID, id, true); got["reason"] != safety.CodeDrift {
		t.Fatalf("the answer came to %v, want drift", got)
	}
	list := s.list()
	if len(list) != 2 || list[1].Events != 0 || list[1].Message != "buy a route" {
		t.Fatalf("checkpoints %+v", list)
	}
	result := s.rewind(list[1].ID)
	if result.ID == "" || result.Events == 0 || len(result.Effects) > 0 {
		t.Errorf("the rewind did %+v", result)
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != 0 {
		t.Errorf("the session shows %d events, want none", n)
	}
	id, _ = s.Ask(cgtest.SessionID)
	if got := s.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Fatalf("the new answer came to %v", got)
	}
	s.WantBought(1)

	_, err := s.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), s.list()[1].ID)
	if !errors.Is(err, checkpoint.ErrEffects) {
		t.Errorf("a rewind over the purchase: %v, want ErrEffects", err)
	}
}

// An open request behind the position ends, with and without the decorator.
func TestAnswerToWhatWasLeft(t *testing.T) {
	for _, decorated := range []bool{true, false} {
		s := newShop(t)
		id, _ := s.Ask(cgtest.SessionID)
		if result := s.rewind(s.list()[0].ID); len(result.Withdrawn) != 1 {
			t.Errorf("withdrawn: %v", result.Withdrawn)
		}
		if !decorated {
			s.serve(t, s.bare)
		}
		if _, err := adktest.TryRun(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true)); err != nil {
			t.Log(err)
		}
		s.WantBought(0)
		if got := s.Approvals(cgtest.SessionID)[0].State; got != safety.StateSuperseded {
			t.Errorf("the request is %s", got)
		}
	}
}

// A runner without the decorator shows the model what was left, so nothing guarded runs.
func TestWithoutTheDecorator(t *testing.T) {
	s := newShop(t)
	s.Ask(cgtest.SessionID)
	s.rewind(s.list()[0].ID)
	s.serve(t, s.bare)
	events := adktest.Run(t, s.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	got := adktest.Responses(events, "buy")
	if len(got) != 1 || got[0]["reason"] != "rewound" {
		t.Errorf("buy answered %v, want rewound", got)
	}
	if asked := adktest.Confirmations(events); len(asked) > 0 {
		t.Errorf("a person is asked: %v", asked)
	}
}

// A price that only the abandoned branch read blocks nothing. Without the rewind it does.
func TestReadingOfWhatWasLeft(t *testing.T) {
	for _, back := range []bool{true, false} {
		s := newShop(t, lookOrBuy, cgtest.NotChecked)
		s.Say("look")
		s.Shop.Set("$52,000", true)
		s.Say("look") // the same call began after the first was read: it takes its place
		s.Shop.Set("$40,000", true)
		if back {
			s.rewind(s.list()[0].ID)
		}
		got := s.Answer(cgtest.SessionID, s.ask(cgtest.SessionID, "buy"), true)
		if bought := got["status"] == "bought"; bought != back {
			t.Errorf("went back: %t, and buy came to %v", back, got)
		}
		if err := s.CG.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a service that stores no marker.
type failing struct{ session.Service }

func (f failing) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	if plugin.Marker(ev) != "" {
		return errors.New("the process ended")
	}
	return f.Service.AppendEvent(ctx, to, ev)
}

// A rewind that ends before its marker leaves the session as it was, with its requests withdrawn. What it would have left
// still counts.
func TestCrashBeforeTheMarker(t *testing.T) {
	s := newShop(t, lookOrBuy, cgtest.NotChecked)
	s.serve(t, s.cps.Sessions(failing{s.bare}))
	s.Say("look")
	id := s.ask(cgtest.SessionID, "buy")
	before := s.Session(cgtest.User, cgtest.SessionID).Events().Len()
	if _, err := s.cps.Rewind(t.Context(), cgtest.Key(cgtest.SessionID), s.list()[1].ID); err == nil {
		t.Fatal("went back without a marker")
	}
	s.serve(t, s.cps.Sessions(s.bare))
	if after := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); after != before {
		t.Errorf("%d events, want %d", after, before)
	}
	if got := s.Answer(cgtest.SessionID, id, true); got["reason"] != safety.CodeSuperseded {
		t.Errorf("the withdrawn request came to %v", got)
	}
	s.Shop.Set("$52,000", true)
	if got := s.Answer(cgtest.SessionID, s.ask(cgtest.SessionID, "buy"), true); got["reason"] != safety.CodeDrift {
		t.Errorf("a new request came to %v, want drift: the look still counts", got)
	}
	s.WantBought(0)
}

// lookOrBuy has the model do what the last message says.
func lookOrBuy(o *cgtest.Options) {
	o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		last := req.Contents[len(req.Contents)-1].Parts[0]
		switch last.Text {
		case "look":
			return adktest.Call("search", map[string]any{"query": "routes"}), nil
		case "buy":
			return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1}), nil
		}
		return adktest.Text("Done."), nil
	}
}

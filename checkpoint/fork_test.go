// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// ask runs a turn, and returns the confirmation that it asks for, "" for none.
func (s *shop) ask(id, text string) (confirmation string) {
	s.T.Helper()
	events := adktest.Run(s.T, s.Runner, cgtest.User, id, adktest.UserText(text))
	asked := adktest.Confirmations(events)
	if len(asked) != 1 {
		return ""
	}
	return asked[0].ID
}

// A fork has the evidence of the session that it is of: the agent asks without another look. Its request stands on its
// own.
func TestFork(t *testing.T) {
	s := newShop(t, lookOrBuy)
	s.Say("look")
	s.Say("hello")
	s.ask(cgtest.SessionID, "buy")
	list := s.list() // buy, hello, look
	to, err := s.cps.Fork(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID, "fork")
	if err != nil || to != cgtest.Key("fork") {
		t.Fatalf("Fork: %v, %v", to, err)
	}
	of, is := s.Session(cgtest.User, cgtest.SessionID).Events(), s.Session(cgtest.User, "fork").Events()
	if is.Len() != list[0].Events {
		t.Fatalf("the fork has %d events, want %d", is.Len(), list[0].Events)
	}
	for i := range is.Len() {
		if a, b := of.At(i), is.At(i); a.ID != b.ID || !a.Timestamp.Equal(b.Timestamp) {
			t.Errorf("event %d is %s of %s, want %s of %s", i, b.ID, b.Timestamp, a.ID, a.Timestamp)
		}
	}
	if got := s.Answer("fork", s.ask("fork", "buy"), true); got["status"] != "bought" {
		t.Errorf("the fork could not buy: %v", got)
	}
	if got := s.Approvals("fork"); len(got) != 1 || got[0].State != safety.StateExecuted {
		t.Errorf("approvals of the fork: %+v", got)
	}
	if got := s.Approvals(cgtest.SessionID); len(got) != 1 || got[0].State != safety.StatePending {
		t.Errorf("approvals of the session: %+v", got)
	}
	if _, err := s.cps.Rewind(t.Context(), to, mustList(t, s, to)[0].ID); !errors.Is(err, checkpoint.ErrEffects) {
		t.Errorf("rewind of the fork over its purchase: %v", err)
	}
	if _, err := s.cps.Fork(t.Context(), cgtest.Key(cgtest.SessionID), list[0].ID, "fork"); err == nil {
		t.Error("forked into a session that is there")
	}
}

func mustList(t *testing.T, s *shop, of record.Session) []checkpoint.Checkpoint {
	t.Helper()
	list, err := s.cps.List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A fork knows the old price, so a changed world is seen.
func TestForkMeetsDrift(t *testing.T) {
	s := newShop(t, lookOrBuy, cgtest.NotChecked)
	s.Say("look")
	s.Say("hello")
	if _, err := s.cps.Fork(t.Context(), cgtest.Key(cgtest.SessionID), s.list()[0].ID, "fork"); err != nil {
		t.Fatal(err)
	}
	s.Shop.Set("$52,000", true)
	if got := s.Answer("fork", s.ask("fork", "buy"), true); got["reason"] != safety.CodeDrift {
		t.Errorf("the fork came to %v, want drift", got)
	}
	s.WantBought(0)
}

// What an agent read that ran as a tool is evidence in the fork, too, and only if the fork has the call.
func TestForkOfAgentTools(t *testing.T) {
	for name, tt := range map[string]struct {
		place int // of the list, the newest first: buy, look, hello
		price string
		want  string
	}{
		"unchanged":           {0, "$40,000", "bought"},
		"changed":             {0, "$52,000", safety.CodeDrift},
		"before it was read":  {1, "$40,000", ""},
		"before, and changed": {1, "$52,000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, lookOrBuy, cgtest.NotChecked)
			scout := cgtest.NewAgent(t, llmagent.Config{Name: "scout", Tools: s.Tools[:1], Model: adktest.CallsOnce(&genai.FunctionCall{
				Name: "search", Args: map[string]any{"query": "routes"},
			})})
			s.Tools = append(s.Tools[1:], s.CG.AgentTool(scout, nil))
			s.Model.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if req.Contents[len(req.Contents)-1].Parts[0].Text == "look" {
					return adktest.Call("scout", map[string]any{"request": "what is there?"}), nil
				}
				o := new(cgtest.Options)
				lookOrBuy(o)
				return o.Answer(req)
			}
			s.serve(t, s.Harness.Sessions)
			s.Say("hello")
			s.Say("look")
			s.ask(cgtest.SessionID, "buy")
			if _, err := s.cps.Fork(t.Context(), cgtest.Key(cgtest.SessionID), s.list()[tt.place].ID, "fork"); err != nil {
				t.Fatal(err)
			}
			s.Shop.Set(tt.price, true)
			got := s.Answer("fork", s.ask("fork", "buy"), true)
			if reason, _ := got["reason"].(string); tt.want == "bought" && got["status"] != "bought" || tt.want != "bought" && (got["status"] == "bought" || tt.want != "" && reason != tt.want) {
				t.Errorf("buy came to %v, want %q", got, tt.want)
			}
			of, err := s.Store().Children(t.Context(), here)
			if err != nil || len(of) != 1 {
				t.Fatalf("agents that ran as tools: %+v, %v", of, err)
			}
			for _, a := range s.Approvals("fork") {
				for _, e := range a.Entities {
					for _, seen := range e.Seen {
						if seen.EventID == "" {
							continue // the arguments of the call name it
						}
						if row, found, err := s.Store().Row(t.Context(), seen.EventID); err != nil || !found || row.Session() == here || row.Session() == of[0].Session {
							t.Errorf("the fork rests on row %s of session %s: %v", seen.EventID, row.SessionID, err)
						}
					}
				}
			}
		})
	}
}

// An imported session goes on, and what it shows proves nothing until it is read again.
func TestExportAndImport(t *testing.T) {
	s := newShop(t, lookOrBuy, cgtest.NotChecked)
	s.Say("look")
	s.Say("hello")
	cp, err := s.cps.Create(t.Context(), cgtest.Key(cgtest.SessionID), "end")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.cps.Export(t.Context(), cgtest.Key(cgtest.SessionID), cp.ID, &out); err != nil {
		t.Fatal(err)
	}
	to, err := s.cps.Import(t.Context(), bytes.NewReader(out.Bytes()), record.Session{ID: "imported"})
	if err != nil || to != cgtest.Key("imported") {
		t.Fatalf("Import: %v, %v", to, err)
	}
	if is, of := s.Session(cgtest.User, "imported").Events().Len(), s.Session(cgtest.User, cgtest.SessionID).Events().Len(); is != of {
		t.Errorf("%d events, want %d", is, of)
	}
	if got := s.Answer("imported", s.ask("imported", "buy"), true); got["status"] == "bought" {
		t.Error("bought on the word of a file")
	}
	s.WantBought(0)
	adktest.Run(t, s.Runner, cgtest.User, "imported", adktest.UserText("look"))
	if got := s.Answer("imported", s.ask("imported", "buy"), true); got["status"] != "bought" {
		t.Errorf("after another look: %v", got)
	}
	if _, err := s.cps.Import(t.Context(), bytes.NewReader(out.Bytes()), record.Session{}); err == nil {
		t.Error("imported over the session that is there")
	}
	for name, damage := range map[string]func(string) string{
		"content":  func(f string) string { return strings.Replace(f, "hello", "hallo", 1) },
		"version":  func(f string) string { return strings.Replace(f, `"version":1`, `"version":2`, 1) },
		"format":   func(f string) string { return strings.Replace(f, "contextgraph session", "session", 1) },
		"no JSON":  func(f string) string { return f[:len(f)/2] },
		"checksum": func(f string) string { return strings.Replace(f, `"sha256":"`, `"sha256":"0`, 1) },
	} {
		if _, err := s.cps.Import(t.Context(), strings.NewReader(damage(out.String())), record.Session{ID: "d"}); !errors.Is(err, checkpoint.ErrCorrupted) {
			t.Errorf("%s: %v, want ErrCorrupted", name, err)
		}
	}
	large := strings.NewReader(strings.Repeat(" ", checkpoint.MaxBytes+1))
	if _, err := s.cps.Import(t.Context(), large, record.Session{ID: "d"}); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	if got, err := s.bare.Get(t.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: "d"}); err == nil {
		t.Errorf("a damaged file made session %v", got.Session.ID())
	}
}

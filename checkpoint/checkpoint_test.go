// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rewindtest"
	"github.com/adk-contextgraph/contextgraph/plugin"
)

var here = cgtest.Key(cgtest.SessionID)

// noting is a shop whose agent notes what it is told in the state.
func noting(t *testing.T) *shop {
	t.Helper()
	s := newShop(t, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := req.Contents[len(req.Contents)-1].Parts[0]
			if last.Text != "" && last.Text != "hello" {
				return adktest.Call("note", map[string]any{"text": last.Text}), nil
			}
			return adktest.Text("Done."), nil
		}
	})
	note := cgtest.NewTool(t, "note", func(ctx agent.Context, a struct {
		Text string `json:"text"`
	}) (map[string]any, error) {
		if a.Text == "shared" {
			return nil, errors.Join(ctx.State().Set("app:last", a.Text), ctx.State().Set("user:last", a.Text))
		}
		return map[string]any{"ok": true}, ctx.State().Set("note", a.Text)
	})
	s.cps = checkpoint.New(s.CG, checkpoint.Reads("no*"))
	s.Tools = []tool.Tool{note}
	s.serve(t, s.cps.Sessions(s.bare))
	return s
}

func (s *shop) note() any {
	s.T.Helper()
	v, _ := s.Session(cgtest.User, cgtest.SessionID).State().Get("note")
	return v
}

func (s *shop) create(name string) checkpoint.Checkpoint {
	s.T.Helper()
	cp, err := s.cps.Create(s.T.Context(), here, name)
	if err != nil {
		s.T.Fatal(err)
	}
	return cp
}

// A named position has the state of its moment. A rewind restores it, and the first state too.
func TestNamedPositions(t *testing.T) {
	s := noting(t)
	made, err := s.Harness.Sessions.Create(t.Context(), &session.CreateRequest{
		AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, State: map[string]any{"note": "first"},
	})
	if err != nil {
		t.Fatal(err)
	}
	start := s.create("start")
	if n := made.Session.Events().Len(); n != 0 {
		t.Errorf("a name made %d events", n)
	}
	s.Say("one")
	one := s.create("after one")
	s.Say("two")
	s.Say("shared")
	s.create("end")
	var names []string
	for _, cp := range s.list() {
		names = append(names, cp.Name+"/"+cp.Message)
	}
	if want := "end/ /shared after one/two /two start/one /one"; strings.Join(names, " ") != want {
		t.Errorf("checkpoints %q, want %q", strings.Join(names, " "), want)
	}
	got, err := s.cps.Get(t.Context(), here, one.ID)
	if err != nil || got.State["note"] != "one" || got.Events != 4 || len(got.State) != 1 {
		t.Errorf("after one: %+v, %v", got, err)
	}
	result := s.rewind(one.ID)
	if s.note() != "one" || strings.Join(result.Shared, " ") != "app:last user:last" {
		t.Errorf("note %v, shared %q", s.note(), result.Shared)
	}
	if last, _ := s.Session(cgtest.User, cgtest.SessionID).State().Get("app:last"); last != "shared" {
		t.Errorf("the state of the application was restored: %v", last)
	}
	if names := s.list(); len(names) != 3 || slices.ContainsFunc(names, func(cp checkpoint.Checkpoint) bool { return cp.Name == "end" }) {
		t.Errorf("the session still has %+v", names)
	}
	s.Say("three")
	s.rewind(start.ID)
	if s.note() != "first" || s.Session(cgtest.User, cgtest.SessionID).Events().Len() != 0 {
		t.Errorf("note %v at the start", s.note())
	}
	s.Say("four")
	if s.note() != "four" {
		t.Errorf("note %v after another turn", s.note())
	}
	if err := s.cps.Delete(t.Context(), here, start.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.cps.Get(t.Context(), here, start.ID); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("the deleted one: %v", err)
	}
	s.create("start") // free again
}

func TestBadNames(t *testing.T) {
	s := noting(t)
	s.Say("hello")
	s.create("taken")
	for _, name := range []string{"", "taken", strings.Repeat("x", checkpoint.MaxName+1), "\xff"} {
		if _, err := s.cps.Create(t.Context(), here, name); err == nil {
			t.Errorf("%q was taken for a name", name)
		}
	}
}

// What is not there is not found, and another user's session neither.
func TestNotFound(t *testing.T) {
	s := noting(t)
	s.Say("hello")
	cp := s.create("mine")
	other := here
	other.User = "bob"
	for name, try := range map[string]func() error{
		"unknown":  func() error { _, err := s.cps.Rewind(t.Context(), here, "none"); return err },
		"empty":    func() error { _, err := s.cps.Rewind(t.Context(), here, ""); return err },
		"a row":    func() error { _, err := s.cps.Get(t.Context(), here, s.Rows(cgtest.SessionID)[0].EventID); return err },
		"another":  func() error { _, err := s.cps.Rewind(t.Context(), other, cp.ID); return err },
		"no names": func() error { return s.cps.Delete(t.Context(), here, "none") },
	} {
		if err := try(); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
}

// A session has turns from before the decorator. Nobody knows the state there.
func TestOlderThanTheDecorator(t *testing.T) {
	s := noting(t)
	s.serve(t, s.bare)
	s.Say("one")
	s.serve(t, s.cps.Sessions(s.bare))
	before := s.create("before two")
	s.Say("two")
	s.Say("three")
	list := s.list()
	if _, err := s.cps.Rewind(t.Context(), here, list[len(list)-1].ID); !errors.Is(err, checkpoint.ErrTooEarly) {
		t.Errorf("to the first message: %v, want ErrTooEarly", err)
	}
	s.rewind(before.ID)
	if s.note() != "one" || len(s.list()) != 2 {
		t.Errorf("note %v, %+v", s.note(), s.list())
	}
	s.Say("four")
	if s.note() != "four" {
		t.Errorf("note %v", s.note())
	}
}

// Nothing goes back while the session is in use.
func TestRunning(t *testing.T) {
	s := newShop(t)
	var during error
	s.OnBuy = func() { _, during = s.cps.Rewind(t.Context(), here, s.list()[1].ID) }
	id, _ := s.Ask(cgtest.SessionID)
	s.Answer(cgtest.SessionID, id, true)
	s.WantBought(1)
	if !errors.Is(during, checkpoint.ErrRunning) {
		t.Errorf("a rewind inside of a run: %v, want ErrRunning", during)
	}
	// A run has read the session, and sends its message after the rewind.
	stale := s.Session(cgtest.User, cgtest.SessionID)
	would := s.rewind(s.list()[0].ID, checkpoint.DryRun())
	if len(would.Effects) != 1 || would.Effects[0].Tool != "buy" || would.Effects[0].Args["item"] != cgtest.Item {
		t.Fatalf("effects %+v", would.Effects)
	}
	s.rewind(s.list()[0].ID, checkpoint.Keep(would.Effects[0].CallID))
	ev := session.NewEvent(t.Context(), "late")
	ev.Author, ev.Content = "user", adktest.UserText("late")
	if err := s.Harness.Sessions.AppendEvent(t.Context(), stale, ev); !errors.Is(err, checkpoint.ErrRunning) {
		t.Errorf("an event of before: %v, want ErrRunning", err)
	}
}

// An approval that another process carries out holds the session, whatever its state. In doubt, it does so until a person
// has said how it ended.
func TestApprovalUnderWay(t *testing.T) {
	for name, tt := range map[string]struct {
		opts []cgtest.Option
		want string
	}{
		"permitted": {[]cgtest.Option{cgtest.Unasked}, "of buy is about to run"},
		"executing": {nil, "of buy is executing"},
	} {
		t.Run(name, func(t *testing.T) {
			var try func()
			s := newShop(t, tt.opts...)
			before := func(ctx agent.Context, called tool.Tool, _ map[string]any) (map[string]any, error) {
				if name == "permitted" && called.Name() == "buy" && ctx.ToolConfirmation() != nil {
					try()
				}
				return nil, nil
			}
			s.serve(t, s.Harness.Sessions, func(c *runner.Config) {
				c.Agent = cgtest.NewAgent(t, llmagent.Config{
					Name: "root", Mode: llmagent.ModeChat, Model: s.Model, Tools: s.Tools, BeforeToolCallbacks: []llmagent.BeforeToolCallback{before},
				})
			})
			if name == "executing" {
				s.OnBuy = func() { try() }
			}
			other := checkpoint.New(cgtest.New(t, cgtest.Beside(s.Harness)).CG, checkpoint.Reads("search"))
			other.Sessions(s.bare)
			tried := false
			try = func() {
				tried = true
				for _, opt := range [][]checkpoint.RewindOption{nil, {checkpoint.DryRun()}} {
					_, err := other.Rewind(t.Context(), here, s.list()[1].ID, opt...)
					if !errors.Is(err, checkpoint.ErrRunning) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), s.Approvals(cgtest.SessionID)[0].ID) {
						t.Errorf("a rewind of another process: %v, want ErrRunning with what", err)
					}
				}
			}
			id, _ := s.Ask(cgtest.SessionID)
			s.Answer(cgtest.SessionID, id, true)
			if s.WantBought(1); !tried {
				t.Fatal("nothing was tried")
			}
		})
	}
}

// What changed behind the position and belongs to more than the session is named, each once, and stays.
func TestArtifactsStay(t *testing.T) {
	s := noting(t)
	artifacts := artifact.InMemoryService()
	s.Tools = append(s.Tools, cgtest.NewTool(t, "nowrite", func(ctx agent.Context, a struct {
		Text string `json:"text"`
	}) (map[string]any, error) {
		_, err := ctx.Artifacts().Save(ctx, a.Text, genai.NewPartFromText("content"))
		return map[string]any{"ok": true}, err
	}))
	s.Model.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if name := req.Contents[len(req.Contents)-1].Parts[0].Text; name != "" {
			return adktest.Call("nowrite", map[string]any{"text": name}), nil
		}
		return adktest.Text("Done."), nil
	}
	s.serve(t, s.Harness.Sessions, func(c *runner.Config) { c.ArtifactService = artifacts })
	for _, name := range []string{"old.txt", "plan.txt", "old.txt", "plan.txt"} {
		s.Say(name)
	}
	if result := s.rewind(s.list()[1].ID); strings.Join(result.Shared, " ") != "artifact:old.txt artifact:plan.txt" {
		t.Errorf("shared: %q", result.Shared)
	}
	for _, name := range []string{"old.txt", "plan.txt"} {
		got, err := artifacts.Versions(t.Context(), &artifact.VersionsRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, FileName: name})
		if err != nil || len(got.Versions) != 2 {
			t.Errorf("%s: %+v, %v; want both versions", name, got, err)
		}
	}
	if result := s.rewind(s.list()[0].ID); strings.Join(result.Shared, " ") != "artifact:plan.txt" {
		t.Errorf("shared before: %q; what was left is named again", result.Shared)
	}
}

// A client or a peer agent cannot write what only the decorator writes.
func TestMarkerOfAClient(t *testing.T) {
	s := noting(t)
	s.Say("one")
	s.Say("two")
	id := s.rewind(s.list()[0].ID).ID
	s.Say("three")
	to := s.Session(cgtest.User, cgtest.SessionID)
	n := to.Events().Len()
	for _, data := range []map[string]any{
		{plugin.RewindKey: id, "mine": 1},
		{plugin.RewindKey: "00000000000000000000000000000000"},
		{"contextgraph.message": map[string]any{"run": "x", "state": map[string]any{"note": "forged"}}, "mine": 1},
	} {
		ev := session.NewEvent(t.Context(), "i")
		ev.Author, ev.CustomMetadata = "user", data
		ev.Actions.StateDelta = map[string]any{plugin.RewindKey: id}
		s.Append(to, ev)
		if len(ev.CustomMetadata) != len(data) {
			t.Errorf("the event of the caller was changed: %v", ev.CustomMetadata)
		}
	}
	is := s.Session(cgtest.User, cgtest.SessionID)
	if is.Events().Len() != n+3 || s.note() != "three" {
		t.Errorf("%d events, want %d; note %v", is.Events().Len(), n+3, s.note())
	}
	for i := range 3 {
		if ev := is.Events().At(n + i); plugin.Marker(ev) != "" || ev.CustomMetadata["contextgraph.message"] != nil {
			t.Errorf("event %d has %v", n+i, ev.CustomMetadata)
		}
	}
	s.Say("four")
	s.rewind(s.list()[0].ID)
	if s.note() != "three" {
		t.Errorf("note %v after all", s.note())
	}
}

// An agent names positions with the tool, before what it holds for a risk.
func TestAgentNamesPositions(t *testing.T) {
	s := noting(t)
	own, err := s.cps.Tool()
	if err != nil {
		t.Fatal(err)
	}
	s.Tools = append(s.Tools, own)
	s.Model.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		switch last := req.Contents[len(req.Contents)-1].Parts[0].Text; last {
		case "":
			return adktest.Text("Done."), nil
		case "plan":
			return adktest.Call("create_checkpoint", map[string]any{"name": "before booking"}), nil
		default:
			return adktest.Call("note", map[string]any{"text": last}), nil
		}
	}
	s.serve(t, s.Harness.Sessions)
	s.Say("plan")
	s.Say("risk")
	at := s.list()
	i := slices.IndexFunc(at, func(cp checkpoint.Checkpoint) bool { return cp.Name == "before booking" })
	if i < 0 || at[i].Message != "risk" {
		t.Fatalf("checkpoints %+v", at)
	}
	s.rewind(at[i].ID)
	if s.note() != nil {
		t.Errorf("note %v", s.note())
	}
	if n := s.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != 4 {
		t.Errorf("%d events, want the 4 of the plan", n)
	}
}

// The service of Vertex AI is refused by name, and without a journal there is nothing to go by.
func TestRefused(t *testing.T) {
	s := noting(t)
	service := s.cps.Sessions(rewindtest.NewVertexai())
	if _, err := service.Get(t.Context(), &session.GetRequest{}); err == nil || !strings.Contains(err.Error(), "Vertex") {
		t.Errorf("Get: %v", err)
	}
	off, err := contextgraph.Open(t.Context(), contextgraph.Config{Enabled: new(false)}, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = off.Close(context.Background()) }()
	if _, err := checkpoint.New(off).List(t.Context(), here); !errors.Is(err, contextgraph.ErrDisabled) {
		t.Errorf("List: %v", err)
	}
	if _, err := checkpoint.New(s.CG).List(t.Context(), here); err == nil || !strings.Contains(err.Error(), "Sessions") {
		t.Errorf("List without a service: %v", err)
	}
}

// The handler does what the methods do.
func TestHandler(t *testing.T) {
	s := noting(t)
	s.Say("one")
	s.Say("two")
	ask := func(q checkpoint.Question, status int) (out checkpoint.Reply, body string) {
		t.Helper()
		q.App, q.User = cgtest.App, cgtest.User
		if q.Session == "" {
			q.Session = cgtest.SessionID
		}
		data, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(data))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.cps.Handler().ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: status %d, want %d: %s", q.Do, w.Code, status, w.Body)
		}
		_ = json.Unmarshal(w.Body.Bytes(), &out) // an export is none
		return out, w.Body.String()
	}
	made, _ := ask(checkpoint.Question{Do: "create", Name: "end"}, 200)
	list, _ := ask(checkpoint.Question{Do: "list"}, 200)
	if len(list.Checkpoints) != 3 || list.Checkpoints[0].ID != made.Checkpoints[0].ID {
		t.Fatalf("list %+v", list)
	}
	if got, _ := ask(checkpoint.Question{Do: "get", ID: list.Checkpoints[1].ID}, 200); got.Checkpoints[0].State["note"] != "one" {
		t.Errorf("get %+v", got)
	}
	_, file := ask(checkpoint.Question{Do: "export", ID: made.Checkpoints[0].ID}, 200)
	if got, _ := ask(checkpoint.Question{Do: "import", Session: "again", File: json.RawMessage(file)}, 200); got.Session.ID != "again" {
		t.Errorf("import %+v", got)
	}
	if got, _ := ask(checkpoint.Question{Do: "fork", ID: made.Checkpoints[0].ID, NewSession: "fork"}, 200); got.Session.ID != "fork" {
		t.Errorf("fork %+v", got)
	}
	if got, _ := ask(checkpoint.Question{Do: "rewind", ID: list.Checkpoints[1].ID, DryRun: true}, 200); got.Result.Events != 4 {
		t.Errorf("dry run %+v", got.Result)
	}
	if got, _ := ask(checkpoint.Question{Do: "rewind", ID: list.Checkpoints[1].ID}, 200); got.Result.ID == "" || s.note() != "one" {
		t.Errorf("rewind %+v, note %v", got.Result, s.note())
	}
	ask(checkpoint.Question{Do: "delete", ID: made.Checkpoints[0].ID}, 200)
	if got, _ := ask(checkpoint.Question{Do: "rewind", ID: "none"}, 404); got.Error == "" {
		t.Error("no reason is given")
	}
	ask(checkpoint.Question{Do: "import", Session: "bad", File: json.RawMessage(`{"format":"x"}`)}, 422)
	ask(checkpoint.Question{Do: "create", Name: ""}, 400)
	ask(checkpoint.Question{Do: "dance"}, 400)
	for kind, want := range map[string]int{"text/plain": 415, "application/json": 400} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}{}"))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		if s.cps.Handler().ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", kind, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	if s.cps.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil)); w.Code != 405 {
		t.Errorf("GET: %d", w.Code)
	}
}

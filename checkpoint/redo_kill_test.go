// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var kills = flag.Int("redokills", 1, "how often a process is killed at each step of a redo")

// redoChildEnv makes the test binary run TestRedoChild: the folder and the step, with a space between them.
const redoChildEnv = "CONTEXTGRAPH_REDO_CHILD"

// redoSteps are the steps at which a process is killed: what has happened of the effect, and whether the session went back.
var redoSteps = []struct {
	name    string
	effects int
	back    bool
}{
	{"recorded", 0, false}, // the rewind is recorded, and the message is not stored
	{"stored", 0, true},    // the message is stored
	{"thinking", 0, true},  // the model is asked
	{"reading", 0, true},   // a tool has read
	{"asked", 0, true},     // the new request is stored
	{"checking", 0, true},  // after the new yes, while the world is checked
	{"before", 0, true},    // the tool runs, and has done nothing
	{"after", 1, true},     // the tool has acted, and nobody was told
}

// filed is a session service in memory that keeps its events in a file.
type filed struct {
	session.Service
	path string
	at   func(step string)
}

func openFiled(t *testing.T, path string, at func(string)) *filed {
	t.Helper()
	f := &filed{session.InMemoryService(), path, at}
	made, err := f.Create(t.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		ev := new(session.Event)
		if err := json.Unmarshal(lines.Bytes(), ev); err != nil {
			break // the process was killed while it wrote
		}
		if err := f.Service.AppendEvent(t.Context(), made.Session, ev); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *filed) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	back := plugin.Marker(ev) != ""
	if back {
		f.at("recorded")
	}
	err := f.Service.AppendEvent(ctx, to, ev)
	if err == nil && !ev.Partial {
		err = appendTo(f.path, ev)
	}
	switch {
	case back:
		f.at("stored")
	case len(adktest.Confirmations([]*session.Event{ev})) > 0:
		f.at("asked")
	}
	return err
}

// appendTo adds a line of JSON to a file.
func appendTo(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Close())
}

// openRedone opens the shop of a folder. at is called at each step.
func openRedone(t *testing.T, dir string, at func(string)) *shop {
	t.Helper()
	s := newShop(t, cgtest.OnFile, cgtest.NotChecked, func(o *cgtest.Options) {
		o.Config.Journal.Path, o.CountChecks = filepath.Join(dir, "j.db"), true
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			defer at("reading")
			return search(ctx, a)
		}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			at("thinking")
			return cgtest.Shopper(req)
		}
	})
	s.OnCheck = func(int64) { at("checking") }
	s.Effect = func(agent.Context) error {
		at("before")
		err := appendTo(filepath.Join(dir, "effects"), "bought")
		at("after")
		return err
	}
	s.bare = openFiled(t, filepath.Join(dir, "events"), at)
	s.serve(t, s.cps.Sessions(s.bare))
	return s
}

// TestRedoChild is not a test: it is the process that TestKilledRedo kills.
func TestRedoChild(t *testing.T) {
	dir, step, ok := strings.Cut(os.Getenv(redoChildEnv), " ")
	if !ok {
		t.Skip("for TestKilledRedo")
	}
	armed := false
	s := openRedone(t, dir, func(at string) {
		if armed && at == step {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				_ = p.Kill()
			}
			select {}
		}
	})
	a := s.drifted("$52,000")
	plan := s.plan(a)
	armed = true
	_, events, err := s.redo(plan)
	if err != nil {
		t.Fatal(err)
	}
	s.Answer(cgtest.SessionID, adktest.Confirmations(events)[0].ID, true)
	t.Fatal("still alive")
}

// Wherever the process is killed, the session is as before the redo or as after it. The first yes counts for nothing, a
// yes to the new request meets a world that changed again, and what was done is not done again.
func TestKilledRedo(t *testing.T) {
	for _, step := range redoSteps {
		for n := range *kills {
			t.Run(step.name, func(t *testing.T) {
				dir := t.TempDir()
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(exe, "-test.run=^TestRedoChild$")
				cmd.Env = append(os.Environ(), redoChildEnv+"="+dir+" "+step.name)
				if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte("FAIL")) {
					t.Fatalf("round %d: the child ended by itself: %v\n%s", n, err, out)
				}
				s := openRedone(t, dir, func(string) {})
				s.Shop.Set("$52,000", true)
				effects := func() int {
					data, _ := os.ReadFile(filepath.Join(dir, "effects"))
					return bytes.Count(data, []byte("bought"))
				}
				all := s.Approvals(cgtest.SessionID)
				first := s.Session(cgtest.User, cgtest.SessionID).Events().At(0)
				if back := plugin.Marker(first) != ""; back != step.back || effects() != step.effects || all[0].State != safety.StateBlocked {
					t.Fatalf("went back: %t, want %t; %d effects, want %d; the first request is %s", back, step.back, effects(), step.effects, all[0].State)
				}
				_, _ = adktest.TryRun(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(all[0].ConfirmationID, true))
				if effects() != step.effects {
					t.Fatalf("the first yes counted: %d effects", effects())
				}
				if !step.back {
					_, events, err := s.redo(s.plan(all[0]))
					if err != nil {
						t.Fatal(err)
					}
					s.ran(adktest.Confirmations(events)[0].ID)
					if effects() != 1 {
						t.Errorf("%d effects after the second try, want 1", effects())
					}
					return
				}
				if _, err := s.cps.Plan(t.Context(), all[0].ID); !errors.Is(err, checkpoint.ErrNoPlan) && !errors.Is(err, checkpoint.ErrRunning) {
					t.Errorf("the first request has a plan: %v", err) // it is ErrRunning while the second one is in doubt
				}
				s.Shop.Set("$60,000", true)
				for _, a := range all[1:] {
					if a.Replaces != all[0].ID {
						t.Errorf("a request replaces %q, want the first one", a.Replaces)
					}
					if got := s.Answer(cgtest.SessionID, a.ConfirmationID, true); got["status"] == "bought" || effects() != step.effects {
						t.Errorf("in a world that changed again the yes came to %v; %d effects, want %d", got, effects(), step.effects)
					}
				}
				// The person asks for it once more, and it is done once.
				s.ran(s.ask(cgtest.SessionID, "buy a route"))
				if effects() != step.effects+1 {
					t.Errorf("%d effects at the end, want %d", effects(), step.effects+1)
				}
			})
		}
	}
}

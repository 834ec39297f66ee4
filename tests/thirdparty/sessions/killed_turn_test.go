// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package sessions tests contextgraph over a session service of ADK that outlives a process: its
// database service, with SQLite.
package sessions

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// shop is a harness whose journal and whose sessions are in a folder, so that another process goes on with them.
type shop struct {
	*cgtest.Harness
	// next is what the model answers. When nothing is left it says that it is done.
	next []*model.LLMResponse
	// step is called at every step of a turn.
	step func()
}

func open(t *testing.T, dir string, opts ...cgtest.Option) *shop {
	t.Helper()
	s := &shop{step: func() {}}
	service, err := database.NewSessionService(sqlite.Open(filepath.Join(dir, "sessions.db")), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := database.AutoMigrate(service); err != nil {
		t.Fatal(err)
	}
	s.Harness = cgtest.New(t, append([]cgtest.Option{cgtest.OnFile, func(o *cgtest.Options) {
		o.Config.Journal.Path = filepath.Join(dir, "journal.db")
		o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = stepping{service, s} }
		o.Plugins = []*plugin.Plugin{s.steps(t)}
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			s.step()
			defer s.step()
			return search(ctx, a)
		}
		o.Answer = func(*model.LLMRequest) (*model.LLMResponse, error) {
			s.step()
			if len(s.next) == 0 {
				return adktest.Text("Done."), nil
			}
			answer := s.next[0]
			s.next = s.next[1:]
			return answer, nil
		}
	}}, opts...)...)
	s.Sessions = service
	return s
}

// steps returns a plugin whose callbacks are steps.
func (s *shop) steps(t *testing.T) *plugin.Plugin {
	return cgtest.NewPlugin(t, plugin.Config{
		Name:                  "steps",
		OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) { s.step(); return nil, nil },
		BeforeRunCallback:     func(agent.InvocationContext) (*genai.Content, error) { s.step(); return nil, nil },
		AfterRunCallback:      func(agent.InvocationContext) { s.step() },
		BeforeAgentCallback:   func(agent.Context) (*genai.Content, error) { s.step(); return nil, nil },
		AfterAgentCallback:    func(agent.Context) (*genai.Content, error) { s.step(); return nil, nil },
		BeforeModelCallback: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			s.step()
			return nil, nil
		},
		AfterModelCallback: func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
			s.step()
			return nil, nil
		},
		BeforeToolCallback: func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			s.step()
			return nil, nil
		},
		AfterToolCallback: func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			s.step()
			return nil, nil
		},
	})
}

// stepping is a session service for which it is a step before and after an event is on disk.
type stepping struct {
	session.Service
	s *shop
}

func (p stepping) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	p.s.step()
	defer p.s.step()
	return p.Service.AppendEvent(ctx, to, ev)
}

func looking(queries ...string) *model.LLMResponse {
	var calls []*genai.FunctionCall
	for _, q := range queries {
		calls = append(calls, &genai.FunctionCall{Name: "search", Args: map[string]any{"query": q}})
	}
	return adktest.Calls(calls...)
}

func buying() *model.LLMResponse {
	return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1})
}

// turns are the turns in which the process is killed. Each returns the last part of its session, in which it is.
var turns = []struct {
	name string
	take func(s *shop, count func())
}{
	{"looks", func(s *shop, count func()) {
		count()
		s.next = []*model.LLMResponse{looking("routes", "more routes"), looking("routes")}
		s.Say("what is there?")
	}},
	{"looks again", func(s *shop, count func()) {
		s.next = []*model.LLMResponse{looking("routes")}
		s.Say("what is there?")
		count()
		s.next = []*model.LLMResponse{looking("routes"), looking("more routes")}
		s.Say("and now?")
	}},
	{"asks", func(s *shop, count func()) {
		count()
		s.next = []*model.LLMResponse{looking("routes"), buying()}
		s.Say("buy it")
	}},
	{"runs", func(s *shop, count func()) {
		s.next = []*model.LLMResponse{looking("routes"), buying()}
		calls := adktest.Confirmations(s.Say("buy it"))
		count()
		s.Answer(cgtest.SessionID, calls[0].ID, true)
	}},
}

// killEnv makes the test binary run TestKilledChild: the folder, the number of the turn, that of the step, and how
// many microseconds later it is killed.
const killEnv = "CONTEXTGRAPH_KILL_TURN"

// TestKilledChild is not a test: it is the process that TestKilledTurn kills.
func TestKilledChild(t *testing.T) {
	var dir string
	var turn, step, later int
	if n, _ := fmt.Sscan(os.Getenv(killEnv), &dir, &turn, &step, &later); n != 4 {
		t.Skip("for TestKilledTurn")
	}
	s := open(t, dir)
	turns[turn].take(s, func() {
		s.step = func() {
			if step--; step == 0 {
				time.Sleep(time.Duration(later) * time.Microsecond)
				p, err := os.FindProcess(os.Getpid())
				if err == nil {
					_ = p.Kill()
				}
				select {}
			}
		}
	})
	t.Fatal("still alive")
}

// Wherever a turn is killed, an honest purchase in its session runs, after at most one look-up. If the world has
// changed since, it does not run before that.
func TestKilledTurn(t *testing.T) {
	steps := make([]int, len(turns))
	for i, turn := range turns {
		s := open(t, t.TempDir())
		turn.take(s, func() { s.step = func() { steps[i]++ } })
	}
	became := make(map[string]int)
	for seed := range testsize.Seeds(t, 3, 200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		i := rng.IntN(len(turns))
		step, later := 1+rng.IntN(steps[i]), rng.IntN(3000)
		atOnce, changed := rng.IntN(2) == 0, rng.IntN(3) == 0
		name := fmt.Sprintf("seed %d: killed in the turn that %s, at step %d of %d, asks at once: %t, price changed: %t", seed, turns[i].name, step, steps[i], atOnce, changed)

		dir := t.TempDir()
		kill(t, fmt.Sprint(dir, " ", i, " ", step, " ", later))
		s := open(t, dir)
		if changed {
			s.Shop.Set("$52,000", true)
		}
		if atOnce {
			why := s.buy(buying())
			if s.Bought.Load() == 1 {
				became["ran at once"]++
				if changed {
					t.Errorf("%s: it ran at a price that nobody was shown", name)
				}
				continue
			}
			became[why]++
		}
		if why := s.buy(looking("routes"), buying()); s.Bought.Load() != 1 {
			t.Errorf("%s: looked up, and did not run: %s", name, why)
		}
		became["ran after a look-up"]++
	}
	t.Logf("%v", became)
}

// kill runs this test binary in a role until it is killed.
func kill(t *testing.T, role string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killEnv+"="+role)
	out, err := cmd.CombinedOutput()
	if err == nil || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("the child %s ended by itself: %v\n%s", role, err, out)
	}
}

// buy has the model answer so, approves what it asks for, and returns the reasons if it does not run.
func (s *shop) buy(answers ...*model.LLMResponse) string {
	s.next = answers
	events := s.Say("buy it")
	calls := adktest.Confirmations(events)
	if len(calls) == 0 {
		return fmt.Sprint("nobody is asked: ", adktest.Responses(events, "buy"))
	}
	got := s.Answer(cgtest.SessionID, calls[len(calls)-1].ID, true)
	why := []string{fmt.Sprint(got["reason"], got["alerts"])}
	failures, _ := got["failures"].([]any)
	for _, f := range failures {
		why = append(why, fmt.Sprint(f.(map[string]any)["reason"], ": ", f.(map[string]any)["detail"]))
	}
	return strings.Join(why, "; ")
}

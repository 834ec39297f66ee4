// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

// BenchmarkPromptAssembly has a model called in sessions of n turns. It reports what ADK takes to make
// the request of the session, from the callback before the agent to that before the model, and beside
// it what the recorder takes: at the start of the run, before the model, and after it. The percentages
// are of ADK's time.
func BenchmarkPromptAssembly(b *testing.B) {
	for _, kind := range []struct {
		name  string
		turns func(int) eventList
	}{{"texts", turnsOfText}, {"tools", turnsWithTools}} {
		for _, history := range []config.PromptHistory{config.PromptFull, config.PromptDelta} {
			for _, n := range []int{10, 100, 1000, 5000} {
				b.Run(fmt.Sprintf("%s/%s/turns=%d", kind.name, history, n), func(b *testing.B) {
					rec, err := New(Config{Sink: &discard{}, Record: config.Record{PromptHistory: history}})
					if err != nil {
						b.Fatal(err)
					}
					c := newClockedRun(b, rec, kind.turns(n))
					for b.Loop() {
						c.run(b)
					}
					c.report(b)
				})
			}
		}
	}
}

// clockedRun is one run after the other of an agent, each in the same session: nothing that they add
// stays.
type clockedRun struct {
	runner  *runner.Runner
	service *frozen
	// forget makes the recorder forget what it learned in the last run.
	forget func()
	// at are the times when a run passed: the start and end of the recorder's callback before the
	// run, the callback before the agent, and the start and end of those before and after the model.
	at    [7]time.Time
	spent [4][]time.Duration // by ADK, and by the recorder in its three callbacks
}

func newClockedRun(b *testing.B, rec *Recorder, events eventList) *clockedRun {
	b.Helper()
	c := &clockedRun{service: &frozen{Service: session.InMemoryService(), events: events}}
	now := func(i int) { c.at[i] = time.Now() }
	clock := func(name string, run, agents, before, after int) *plugin.Plugin {
		cfg := plugin.Config{
			Name:              name,
			BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) { now(run); return nil, nil },
			BeforeModelCallback: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
				now(before)
				return nil, nil
			},
			AfterModelCallback: func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
				now(after)
				return nil, nil
			},
		}
		if agents > 0 {
			cfg.BeforeAgentCallback = func(agent.Context) (*genai.Content, error) { now(agents); return nil, nil }
		}
		p, err := plugin.New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	around := Plugins(rec)
	around.Plugins = append([]*plugin.Plugin{clock("before", 0, 0, 3, 5)}, around.Plugins...)
	around.Plugins = append(around.Plugins, clock("behind", 1, 2, 4, 6))
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: adktest.Forgetful{Script: adktest.Says("ok")}, Instruction: "Plan."})
	if err != nil {
		b.Fatal(err)
	}
	if c.runner, err = runner.New(runner.Config{
		AppName: "a", Agent: root, SessionService: c.service, AutoCreateSession: true, PluginConfig: around,
	}); err != nil {
		b.Fatal(err)
	}
	// Some turns that stay, until the recorder has listed all that the model has read.
	c.run(b)
	key := rec.conversations.Keys()[0]
	known, _ := rec.conversations.Get(key)
	for listed := 0; len(known.shown) > listed+2; known, _ = rec.conversations.Get(key) {
		listed = len(known.shown)
		c.run(b)
	}
	c.service.stays = true
	written := promptKey{key.session, key.agent, key.branch}
	last, delta := rec.prompts.last.Get(written)
	c.forget = func() {
		rec.conversations.Add(key, known)
		if delta {
			rec.prompts.last.Add(written, last)
		}
	}
	c.spent = [4][]time.Duration{}
	return c
}

func (c *clockedRun) run(b *testing.B) {
	if _, err := adktest.TryRun(b.Context(), c.runner, "u", "s", adktest.UserText("and now?")); err != nil {
		b.Fatal(err)
	}
	for i, from := range [...]int{2, 0, 3, 5} {
		c.spent[i] = append(c.spent[i], c.at[from+1].Sub(c.at[from]))
	}
	if c.forget != nil {
		c.forget()
	}
}

func (c *clockedRun) report(b *testing.B) {
	var adk float64
	for i, name := range [...]string{"adk", "start", "before", "after"} {
		slices.Sort(c.spent[i])
		us := float64(c.spent[i][len(c.spent[i])/2].Nanoseconds()) / 1000
		b.ReportMetric(us, name+"-us")
		if i == 0 {
			adk = us
		} else {
			b.ReportMetric(100*us/adk, name+"-%")
		}
	}
}

// frozen is a session service with one session. The events of a run join those that it has until it
// stays as it is.
type frozen struct {
	session.Service
	events eventList
	stays  bool
}

type frozenSession struct {
	session.Session
	events *eventList
}

func (s frozenSession) Events() session.Events { return *s.events }

func (f *frozen) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	got, err := f.Service.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	events := f.events[:len(f.events):len(f.events)]
	return &session.GetResponse{Session: frozenSession{got.Session, &events}}, nil
}

func (f *frozen) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	made, err := f.Service.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	events := f.events[:len(f.events):len(f.events)]
	return &session.CreateResponse{Session: frozenSession{made.Session, &events}}, nil
}

func (f *frozen) AppendEvent(_ context.Context, s session.Session, ev *session.Event) error {
	own := s.(frozenSession)
	*own.events = append(*own.events, ev)
	if !f.stays {
		f.events = append(f.events, ev)
	}
	return nil
}

type eventList []*session.Event

func (l eventList) Len() int                { return len(l) }
func (l eventList) At(i int) *session.Event { return l[i] }
func (l eventList) All() iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		for _, ev := range l {
			if !yield(ev) {
				return
			}
		}
	}
}

func (l *eventList) add(author string, role genai.Role, part *genai.Part) {
	ev := &session.Event{ID: fmt.Sprint("event-", len(*l)), Author: author}
	ev.LLMResponse = model.LLMResponse{Content: &genai.Content{Role: string(role), Parts: []*genai.Part{part}}}
	*l = append(*l, ev)
}

// turnsOfText are events of turns with a question and an answer of about 230 bytes each.
func turnsOfText(turns int) (events eventList) {
	for i, c := range request(2 * turns).Contents {
		author := "user"
		if i%2 == 1 {
			author = "root"
		}
		events.add(author, genai.Role(c.Role), c.Parts[0])
	}
	return events
}

// turnsWithTools are events of turns with one tool call of 0.8 KB each.
func turnsWithTools(turns int) (events eventList) {
	for i := range turns {
		id := fmt.Sprint("call-", i)
		result := inventory()
		result["turn"] = i
		events.add("user", genai.RoleUser, &genai.Part{Text: fmt.Sprint("what about ", i)})
		events.add("root", genai.RoleModel, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "query_ad_inventory", Args: map[string]any{"turn": i}}})
		events.add("root", genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "query_ad_inventory", Response: result}})
		events.add("root", genai.RoleModel, &genai.Part{Text: fmt.Sprint("it costs ", i)})
	}
	return events
}

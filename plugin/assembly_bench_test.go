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

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkPromptLists has a model called in sessions of n turns. adk-us is what ADK takes to make the
// request of the session, from the callback before the agent to that before the model. Beside it
// stands what the recorder takes to tell the contents of the request: start-us to take the list of
// events at the start of the run, delta-us to find the messages that are new (only with
// record.prompt_history: delta), shown-us to list what the model was shown. all-% is these three
// together, of ADK's time. first-us is shown-us where no request before it is known, and all of it is
// listed. Each is the least of all runs, which other work on the machine disturbs the least. The
// rows themselves are not counted: BenchmarkToolCompleted and BenchmarkLLMRequest have them.
func BenchmarkPromptLists(b *testing.B) {
	for _, kind := range []struct {
		name  string
		turns func(int) eventList
	}{{"texts", turnsOfText}, {"tools", turnsWithTools}} {
		for _, n := range []int{10, 100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/turns=%d", kind.name, n), func(b *testing.B) {
				c := newClockedRun(b, kind.turns(n))
				for b.Loop() {
					c.turn(b)
				}
				c.report(b)
			})
		}
	}
}

// clockedRun is one run after the other of an agent, each in the same session: nothing that they add
// stays.
type clockedRun struct {
	rec     *Recorder
	runner  *runner.Runner
	service *frozen
	run     *Run
	llm     *llmSpan
	agent   time.Time
	spent   [4][]time.Duration // by ADK, and by the recorder at its three places
	// fast counts the runs of which only what was new in the request was listed. first is the time of
	// one that was listed as a whole.
	fast, runs int
	first      time.Duration
	key        promptKey
	stays      *conversation
	prompt     prompt
}

func (c *clockedRun) took(i int, since time.Time) { c.spent[i] = append(c.spent[i], time.Since(since)) }

func newClockedRun(b *testing.B, events eventList) *clockedRun {
	b.Helper()
	rec, err := New(Config{Sink: &discard{}})
	if err != nil {
		b.Fatal(err)
	}
	c := &clockedRun{rec: rec, service: &frozen{Service: session.InMemoryService(), events: events}}
	clocks, err := plugin.New(plugin.Config{
		Name: "clocks",
		BeforeRunCallback: func(ctx agent.InvocationContext) (*genai.Content, error) {
			s := ctx.Session()
			c.run = &Run{Session: record.Session{App: s.AppName(), User: s.UserID(), ID: s.ID()}, parts: partsOf(nil)}
			began := time.Now()
			c.run.past = rec.newPast(c.run, s.Events())
			c.took(1, began)
			return nil, nil
		},
		BeforeAgentCallback: func(agent.Context) (*genai.Content, error) { c.agent = time.Now(); return nil, nil },
		BeforeModelCallback: func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			c.took(0, c.agent)
			began := time.Now()
			c.llm = &llmSpan{request: req, who: readerOf(ctx), agent: &agentSpan{}}
			c.key = promptKey{c.run.Session, c.llm.who.agent, c.llm.who.branch}
			_, _, c.prompt.messages = rec.prompts.base(c.key, messages(req.Contents), 0)
			rec.prompts.last.Add(c.key, c.prompt)
			c.took(2, began)
			return nil, nil
		},
		AfterModelCallback: func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
			began := time.Now()
			list := rec.shown(c.run, c.llm)
			if list.base != "" {
				c.fast++
			}
			rec.wrote(c.run, c.llm, list, newID())
			c.took(3, began)
			return nil, nil
		},
		OnEventCallback: func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) {
			c.run.past.add(ev)
			return nil, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: adktest.Forgetful{Script: adktest.Says("ok")}, Instruction: "Plan."})
	if err != nil {
		b.Fatal(err)
	}
	if c.runner, err = runner.New(runner.Config{
		AppName: "a", Agent: root, SessionService: c.service, AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{clocks}},
	}); err != nil {
		b.Fatal(err)
	}
	// Some turns that stay, until the recorder has listed all that the model has read.
	for c.stays == nil || c.stays.request.contents == 0 {
		c.turn(b)
		c.stays, _ = rec.conversations.Get(c.conversation())
	}
	c.service.stays, c.first = true, slices.Min(c.spent[3])
	c.spent = [4][]time.Duration{}
	c.fast, c.runs = 0, 0
	return c
}

func (c *clockedRun) conversation() conversationKey {
	return conversationKey{c.run.Session, c.llm.who.agent, c.llm.who.branch, c.llm.who.scope, 0}
}

func (c *clockedRun) turn(b *testing.B) {
	if _, err := adktest.TryRun(b.Context(), c.runner, "u", "s", adktest.UserText("and now?")); err != nil {
		b.Fatal(err)
	}
	c.runs++
	if c.service.stays {
		c.rec.conversations.Add(c.conversation(), c.stays)
	}
}

func (c *clockedRun) report(b *testing.B) {
	if c.fast < c.runs {
		b.Fatalf("%d of %d runs listed a whole request", c.runs-c.fast, c.runs)
	}
	var adk, all float64
	for i, name := range [...]string{"adk", "start", "delta", "shown"} {
		us := float64(slices.Min(c.spent[i]).Nanoseconds()) / 1000
		b.ReportMetric(us, name+"-us")
		if i == 0 {
			adk = us
			continue
		}
		all += us
	}
	b.ReportMetric(100*all/adk, "all-%")
	b.ReportMetric(float64(c.first.Nanoseconds())/1000, "first-us")
	b.ReportMetric(0, "ns/op") // ADK's other work is no subject
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
	return &session.GetResponse{Session: f.copy(got.Session)}, nil
}

func (f *frozen) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	made, err := f.Service.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return &session.CreateResponse{Session: f.copy(made.Session)}, nil
}

func (f *frozen) copy(s session.Session) session.Session {
	events := slices.Clip(f.events)
	return frozenSession{s, &events}
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

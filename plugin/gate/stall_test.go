// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// fullSink is a sink without room for rows of one session until it is released.
type fullSink struct {
	memory
	session string
	waits   chan struct{} // gets a value when a row waits
	release chan struct{}
}

func (f *fullSink) Append(e schema.Event) bool {
	if e.SessionID == f.session {
		select {
		case f.waits <- struct{}{}:
		default:
		}
		<-f.release
	}
	return f.memory.Append(e)
}

// A row that waits for room holds up its own run alone.
func TestFullSinkHoldsUpNoOtherRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &fullSink{session: "slow", waits: make(chan struct{}, 1), release: make(chan struct{})}
		r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: says("hi")})
		var wg sync.WaitGroup
		wg.Go(func() { adktest.Run(t, r, "u", "slow", adktest.UserText("hi")) })
		<-sink.waits
		adktest.Run(t, r, "u", "quick", adktest.UserText("hi"))
		if got := sink.types(); got[len(got)-1] != schema.InvocationCompleted {
			t.Errorf("the other run wrote %v", got)
		}
		close(sink.release)
		wg.Wait()
	})
}

// gate is a value of a session's state whose encoding waits for another run.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	once    *sync.Once
}

func (g gate) MarshalJSON() ([]byte, error) {
	g.once.Do(func() { close(g.entered); <-g.open })
	return []byte(`"gate"`), nil
}

// The host's code may run while state is encoded, so no lock may be held that another
// run needs.
func TestEncodingOfStateHoldsUpNoOtherRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := session.InMemoryService()
		g := gate{make(chan struct{}), make(chan struct{}), new(sync.Once)}
		if _, err := svc.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "slow", State: map[string]any{"k": g}}); err != nil {
			t.Fatal(err)
		}
		r := newRunnerOn(t, svc, recorder.Config{Sink: &memory{}}, llmagent.Config{Model: says("hi")})
		var wg sync.WaitGroup
		wg.Go(func() { adktest.Run(t, r, "u", "slow", adktest.UserText("hi")) })
		<-g.entered
		adktest.Run(t, r, "u", "quick", adktest.UserText("hi"))
		close(g.open)
		wg.Wait()
	})
}

// panicky is a log handler that fails.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool  { return true }
func (panicky) Handle(context.Context, slog.Record) error { panic("broken log") }
func (p panicky) WithAttrs([]slog.Attr) slog.Handler      { return p }
func (p panicky) WithGroup(string) slog.Handler           { return p }
func (p panicky) run(t *testing.T, sink recorder.Sink, tl tool.Tool) {
	rec, err := recorder.New(recorder.Config{Sink: sink, Logger: slog.New(p)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: rec.PluginConfig(),
		Agent: llm(t, llmagent.Config{Name: "root", Model: calls(&genai.FunctionCall{ID: "c1", Name: tl.Name()}), Tools: []tool.Tool{rec.Protect(tl)}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := adktest.Run(t, r, "u", "s", adktest.UserText("go")); len(got) == 0 {
		t.Error("the run gave nothing")
	}
}

// A log that panics costs no run: neither where a panic is reported, nor in a tool
// callback, where it would end the process.
func TestPanicOfTheLogCostsNoRun(t *testing.T) {
	tl := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(agent.Context, struct{}) (map[string]any, error) { return nil, nil })
	panicky{}.run(t, &memory{}, tl)
	panicky{}.run(t, brokenSink{}, tl)
}

// forgetful is a scripted model that does not remember what it was asked.
type forgetful struct{ script *adktest.Model }

func (forgetful) Name() string { return "forgetful" }

func (m forgetful) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) { yield(m.script.Answer(req)) }
}

// Nothing of a run may stay behind it. The sessions and the rows go, and what the recorder
// remembers of sessions is bounded.
func TestNothingGrowsWithTheNumberOfRuns(t *testing.T) {
	var clock atomic.Int64
	now := func() time.Time { return time.Unix(0, clock.Add(int64(10*time.Millisecond))) }
	note := functionTool(t, functiontool.Config{Name: "note", Description: "notes"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		ctx.Actions().StateDelta["k"] = "v"
		return map[string]any{"ok": true}, nil
	})
	sub := llm(t, llmagent.Config{Name: "sub", Description: "answers", Model: forgetful{says("answer")}, Mode: llmagent.ModeSingleTurn})
	root := llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{note}, SubAgents: []agent.Agent{sub},
		Model: forgetful{calls(&genai.FunctionCall{ID: "c1", Name: "note"}, &genai.FunctionCall{ID: "c2", Name: "sub", Args: map[string]any{"request": "go"}})},
	})
	refuse, err := plugin.New(plugin.Config{Name: "refuse", OnUserMessageCallback: func(_ agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
		if msg.Parts[0].Text == "no" {
			return nil, fmt.Errorf("no")
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recorder.New(recorder.Config{Sink: dropped{}, Now: now, Options: recorder.Options{PromptDelta: true}})
	if err != nil {
		t.Fatal(err)
	}
	batch := func(runs int) (heap uint64) {
		// ADK leaves contexts uncancelled, which a context that can be would remember,
		// and its service in memory keeps something of each session that it deletes.
		ctx := context.Background()
		r, err := runner.New(runner.Config{
			AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: rec.PluginConfig(refuse),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			id := fmt.Sprint("s", i%200)
			text := "go"
			if i%5 == 0 {
				text = "no" // a run that never begins, and whose end nobody tells
			}
			for _, err := range r.Run(ctx, "u", id, adktest.UserText(text), agent.RunConfig{}) {
				if err != nil {
					break
				}
			}
		}
		clock.Add(int64(time.Hour)) // the next run closes those that never began
		for range r.Run(ctx, "u", "last", adktest.UserText("no"), agent.RunConfig{}) {
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runs, bound := 1000, uint64(256<<10)
	batch(runs)
	before := batch(runs)
	if after := batch(runs); after > before+bound {
		t.Errorf("%d runs left %d KiB behind, want at most %d", runs, (after-before)>>10, bound>>10)
	}
	if n := rec.LiveRuns(schema.Session{App: "app", User: "u", ID: "s1"}); len(n) != 0 {
		t.Errorf("%d runs count as under way", len(n))
	}
}

// dropped is a sink that keeps nothing.
type dropped struct{}

func (dropped) Append(schema.Event) bool { return true }

// The rows that end what was open come before the end of the run, by their times too.
func TestEndsAreInOrder(t *testing.T) {
	var clock atomic.Int64
	sink := &memory{}
	r := newRunner(t, recorder.Config{Sink: sink, Now: func() time.Time { return time.UnixMilli(clock.Add(1)) }}, llmagent.Config{Model: says("hi")})
	for range r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{}) {
		break
	}
	if !slices.IsSortedFunc(sink.rows, func(a, b schema.Event) int { return int(a.Timestamp - b.Timestamp) }) {
		for _, e := range sink.rows {
			t.Errorf("%s at %d", e.EventType, e.Timestamp)
		}
	}
}

// A thousand sessions at once on one recorder, some of which stop early, beside
// whoever asks for the state of things.
func TestManySessionsAtOnce(t *testing.T) {
	sink := &memory{}
	work := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		ctx.Actions().StateDelta["k"] = ctx.FunctionCallID()
		return map[string]any{"ok": true}, nil
	})
	rec, r := recorderAndRunner(t, recorder.Config{Sink: sink}, llmagent.Config{
		Tools: []tool.Tool{work},
		Model: calls(&genai.FunctionCall{ID: "c1", Name: "work"}, &genai.FunctionCall{ID: "c2", Name: "work"}, &genai.FunctionCall{ID: "c3", Name: "work"}),
	})
	const sessions = 1000
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			id := fmt.Sprint("s", i)
			for range rec.Run(t.Context(), r, "u", id, adktest.UserText("go"), agent.RunConfig{}) {
				if i%3 == 0 {
					break
				}
			}
			rec.LiveRuns(schema.Session{App: "app", User: "u", ID: id})
			rec.Stats()
			if i == sessions/2 {
				rec.Close()
			}
		})
	}
	wg.Wait()
	seq, starts, ends := make(map[string]int64), make(map[string]int), make(map[string]int)
	for _, e := range sink.rows {
		if seq[e.RunID]++; e.RunSeq != seq[e.RunID] {
			t.Fatalf("%s of run %s has number %d, want %d", e.EventType, e.RunID, e.RunSeq, seq[e.RunID])
		}
		switch key := e.RunID + e.SpanID; e.EventType {
		case schema.InvocationStarting, schema.AgentStarting, schema.LLMRequest, schema.ToolStarting:
			starts[key]++
		case schema.InvocationCompleted, schema.AgentCompleted, schema.LLMResponse, schema.LLMError, schema.ToolCompleted, schema.ToolError:
			ends[key]++
		case schema.InvocationError, schema.AgentError:
			t.Errorf("%s: %s", e.EventType, e.ErrorMessage)
		}
	}
	if len(seq) != sessions {
		t.Errorf("%d runs, want %d", len(seq), sessions)
	}
	for key, n := range starts {
		if n != 1 || ends[key] != 1 {
			t.Errorf("span %s: %d starts, %d ends", key, n, ends[key])
		}
	}
}

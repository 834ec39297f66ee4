// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// fullSink is a sink without room for rows of one session until it is released.
type fullSink struct {
	rowtest.Sink
	session string
	waits   chan struct{} // gets a value when a row waits
	release chan struct{}
}

func (f *fullSink) Append(e record.Event) bool {
	if e.SessionID == f.session {
		select {
		case f.waits <- struct{}{}:
		default:
		}
		<-f.release
	}
	return f.Sink.Append(e)
}

// A row that waits for room holds up its own run alone.
func TestFullSinkHoldsUpNoOtherRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &fullSink{session: "slow", waits: make(chan struct{}, 1), release: make(chan struct{})}
		r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: adktest.Says("hi")})
		var wg sync.WaitGroup
		wg.Go(func() { adktest.Run(t, r, "u", "slow", adktest.UserText("hi")) })
		<-sink.waits
		adktest.Run(t, r, "u", "quick", adktest.UserText("hi"))
		if got := sink.Types(); got[len(got)-1] != record.InvocationCompleted {
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
		r := newRunnerOn(t, svc, recorder.Config{Sink: &rowtest.Sink{}}, llmagent.Config{Model: adktest.Says("hi")})
		var wg sync.WaitGroup
		wg.Go(func() { adktest.Run(t, r, "u", "slow", adktest.UserText("hi")) })
		<-g.entered
		adktest.Run(t, r, "u", "quick", adktest.UserText("hi"))
		close(g.open)
		wg.Wait()
	})
}

// Many sessions at once on one recorder, some of which stop early, beside
// whoever asks for the state of things.
func TestManySessionsAtOnce(t *testing.T) {
	sink := &rowtest.Sink{}
	work := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		ctx.Actions().StateDelta["k"] = ctx.FunctionCallID()
		return map[string]any{"ok": true}, nil
	})
	rec, r := recorderAndRunner(t, recorder.Config{Sink: sink}, llmagent.Config{
		Tools: []tool.Tool{work},
		Model: adktest.CallsOnce(&genai.FunctionCall{ID: "c1", Name: "work"}, &genai.FunctionCall{ID: "c2", Name: "work"}, &genai.FunctionCall{ID: "c3", Name: "work"}),
	})
	sessions := testsize.Rounds(t, 100, 1000)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			id := fmt.Sprint("s", i)
			for range rec.Run(t.Context(), r, "u", id, adktest.UserText("go"), agent.RunConfig{}) {
				if i%3 == 0 {
					break
				}
			}
			rec.Stats()
		})
	}
	wg.Wait()
	seq, starts, ends := make(map[string]int64), make(map[string]int), make(map[string]int)
	for _, e := range sink.Rows() {
		if seq[e.RunID]++; e.RunSeq != seq[e.RunID] {
			t.Fatalf("%s of run %s has number %d, want %d", e.EventType, e.RunID, e.RunSeq, seq[e.RunID])
		}
		switch key := e.RunID + e.SpanID; e.EventType {
		case record.InvocationStarting, record.AgentStarting, record.LLMRequest, record.ToolStarting:
			starts[key]++
		case record.InvocationCompleted, record.AgentCompleted, record.LLMResponse, record.LLMError, record.ToolCompleted, record.ToolError:
			ends[key]++
		case record.InvocationError, record.AgentError:
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

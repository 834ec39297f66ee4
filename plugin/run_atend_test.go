// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// told is an end as AtEnd tells of it.
type told struct {
	Err        string
	Unfinished bool
}

// endWatch has each run tell of its end twice, as two packages may ask for it. It stands in
// the first plugin, in the place of the recorder's callback for the user message.
type endWatch struct {
	t    *testing.T
	rec  *recorder.Recorder
	sink rowtest.Sink
	// turnAway is what the message of a run is refused with, nil for none.
	turnAway error

	first *recorder.Run
	ends  []told // of the first run
}

func newEndWatch(t *testing.T, now func() time.Time) *endWatch {
	w := &endWatch{t: t}
	w.rec = must(recorder.New(recorder.Config{Sink: &w.sink, Now: now, Logger: slog.New(slog.DiscardHandler)}))
	return w
}

func (w *endWatch) runner(mdl model.LLM, others ...*plugin.Plugin) *runner.Runner {
	return must(runner.New(runner.Config{
		AppName: "app", Agent: modelAgent("root", mdl), SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: recorder.PluginsWith(w.rec, func(c *plugin.Config) { c.OnUserMessageCallback = w.onUserMessage }, others...),
	}))
}

func (w *endWatch) onUserMessage(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	r, err := w.rec.UserMessage(ctx, msg)
	if err != nil {
		w.t.Error(err)
	}
	if w.first == nil {
		w.first = r
		r.AtEnd(w.atEnd)
		r.AtEnd(w.atEnd)
	}
	if w.turnAway != nil {
		w.rec.TurnAway(ctx, r, w.turnAway)
		return nil, w.turnAway
	}
	w.rec.Rest(r)
	return nil, nil
}

func (w *endWatch) atEnd(ctx context.Context, err error, unfinished bool) {
	x := told{Unfinished: unfinished}
	if err != nil {
		x.Err = err.Error()
	}
	w.ends = append(w.ends, x)
	if ctx == nil {
		w.t.Error("it is told without a context")
	}
	if w.lastRows() != 0 {
		w.t.Error("it is told behind the last row")
	}
}

// lastRows counts the rows that end the first run.
func (w *endWatch) lastRows() (n int) {
	for _, typ := range []string{record.InvocationCompleted, record.InvocationError} {
		for _, e := range w.sink.Of(typ) {
			if e.RunID == w.first.ID {
				n++
			}
		}
	}
	return n
}

// check checks that the end was told once to each who asked, and that whoever asks now is
// told at once.
func (w *endWatch) check(want told) {
	w.t.Helper()
	diff(w.t, "ends", []told{want, want}, w.ends)
	if n := w.lastRows(); n != 1 {
		w.t.Errorf("%d rows end the run, want one", n)
	}
	late := 0
	w.first.AtEnd(func(_ context.Context, err error, unfinished bool) {
		if late++; err == nil || !unfinished {
			w.t.Errorf("after the end: %v, unfinished %v", err, unfinished)
		}
	})
	if late != 1 || len(w.ends) != 2 {
		w.t.Errorf("after the end it is told %d times, and %d times to the others", late, len(w.ends)-2)
	}
}

const refusedBefore = "the run was refused before it began: another plugin's BeforeRun callback stopped it"

func TestAtEnd(t *testing.T) {
	answers := must(plugin.New(plugin.Config{Name: "answers", BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
		return genai.NewContentFromText("not today", genai.RoleModel), nil
	}}))
	fails := must(plugin.New(plugin.Config{Name: "fails", BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
		return nil, errors.New("not today")
	}}))
	for name, tt := range map[string]struct {
		model       model.LLM
		others      []*plugin.Plugin
		read        consumer
		plain, told told // without and with Recorder.Run
	}{
		"finished": {model: adktest.Says("hi"), read: readAll},
		"failed":   {model: broken(), read: readAll, plain: told{Err: "model offline"}, told: told{Err: "model offline"}},
		"stopped":  {model: adktest.Stalled{}, read: stopAtEvent, plain: told{Unfinished: true}, told: told{Unfinished: true}},
		"answered before it began": {
			model: adktest.Says("hi"), others: []*plugin.Plugin{answers}, read: readAll,
			plain: told{Err: refusedBefore}, told: told{Err: refusedBefore},
		},
		"refused before it began": {
			model: adktest.Says("hi"), others: []*plugin.Plugin{fails}, read: readAll,
			plain: told{Err: refusedBefore}, told: told{Err: "not today"},
		},
	} {
		for _, wrapped := range []bool{false, true} {
			how, want := ", plain", tt.plain
			if wrapped {
				how, want = ", by Run", tt.told
			}
			t.Run(name+how, func(t *testing.T) {
				w := newEndWatch(t, nil)
				r := w.runner(tt.model, tt.others...)
				seq := r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{})
				if wrapped {
					seq = w.rec.Run(t.Context(), r, "u", "s", adktest.UserText("hi"), agent.RunConfig{})
				}
				tt.read(seq)
				w.check(want)
			})
		}
	}
}

func TestAtEndOfARunThatIsTurnedAway(t *testing.T) {
	w := newEndWatch(t, nil)
	w.turnAway = errors.New("not like this")
	r := w.runner(adktest.Says("hi"))
	if _, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("hi")); !errors.Is(err, w.turnAway) {
		t.Errorf("the run ended with %v", err)
	}
	w.check(told{Err: "not like this"})
	w.rec.TurnAway(t.Context(), w.first, errors.New("again"))
	w.check(told{Err: "not like this"})
}

// A run that never begins ends when another one begins long after.
func TestAtEndOfAnAbandonedRun(t *testing.T) {
	now := time.Now()
	w := newEndWatch(t, func() time.Time { return now })
	refuse := true
	r := w.runner(adktest.Says("hi"), refusing(t, plugin.Config{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
		if refuse {
			return nil, errors.New("no")
		}
		return nil, nil
	}}))
	if _, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("hi")); err == nil {
		t.Fatal("the run did not fail")
	}
	diff(t, "ends so far", []told(nil), w.ends)
	refuse = false
	now = now.Add(11 * time.Minute)
	adktest.Run(t, r, "u", "other", adktest.UserText("hi"))
	w.check(told{Err: "the run ended before it began: its user message was refused, or it could not be live"})
}

// The end of a run is told although its record breaks down.
func TestAtEndWhereTheSinkPanics(t *testing.T) {
	sink := &rowtest.Broken{On: record.AgentCompleted}
	rec := must(recorder.New(recorder.Config{Sink: sink, Logger: slog.New(slog.DiscardHandler)}))
	var ends []bool
	r := must(runner.New(runner.Config{
		AppName: "app", Agent: modelAgent("root", adktest.Stalled{}), SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: recorder.PluginsWith(rec, func(c *plugin.Config) {
			c.OnUserMessageCallback = func(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
				r, err := rec.UserMessage(ctx, msg)
				r.AtEnd(func(_ context.Context, _ error, unfinished bool) { ends = append(ends, unfinished) })
				return nil, err
			}
		}),
	}))
	stopAtEvent(r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{}))
	diff(t, "ends", []bool{true}, ends)
}

// A run that was given up does not stay under way, also where its last row cannot be written,
// and costs the run that finds it nothing.
func TestAbandonedRunWhereTheSinkPanics(t *testing.T) {
	now := time.Now()
	sink := &rowtest.Broken{On: record.InvocationError}
	rec := must(recorder.New(recorder.Config{
		Sink: sink, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	}))
	refuse := true
	r := must(runner.New(runner.Config{
		AppName: "app", Agent: modelAgent("root", adktest.Says("hi")), SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: recorder.Plugins(rec, refusing(t, plugin.Config{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			if refuse {
				return nil, errors.New("no")
			}
			return nil, nil
		}})),
	}))
	for _, id := range []string{"a", "b"} {
		if _, err := adktest.TryRun(t.Context(), r, "u", id, adktest.UserText("hi")); err == nil {
			t.Fatal("the run did not fail")
		}
	}
	refuse = false
	now = now.Add(11 * time.Minute)
	adktest.Run(t, r, "u", "other", adktest.UserText("hi"))
	now = now.Add(time.Minute)
	for _, id := range []string{"a", "b", "other"} {
		if runs := rec.Running(record.Session{App: "app", User: "u", ID: id}); len(runs) > 0 {
			t.Errorf("session %s: %d runs are under way", id, len(runs))
		}
	}
	if n := len(sink.Of(record.InvocationCompleted)); n != 1 {
		t.Errorf("%d runs were completed, want that of the other session", n)
	}
	for i, e := range slices.DeleteFunc(slices.Clone(sink.Rows()), func(e record.Event) bool { return e.SessionID != "other" }) {
		if e.RunSeq != int64(i)+1 {
			t.Errorf("row %d of the other session, a %s, has number %d", i+1, e.EventType, e.RunSeq)
		}
	}
}

// A run whose place another one took, as where the consumer reads one iterator of ADK's
// twice, does not stay under way: its record lacks its end.
func TestReplacedRunIsNotUnderWay(t *testing.T) {
	now := time.Now()
	rec := must(recorder.New(recorder.Config{
		Sink: &rowtest.Sink{}, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	}))
	refuse := true
	r := must(runner.New(runner.Config{
		AppName: "app", Agent: sequential("root"), SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: recorder.Plugins(rec, refusing(t, plugin.Config{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			if refuse {
				return nil, errors.New("no")
			}
			return nil, nil
		}})),
	}))
	seq := r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{})
	if _, errs := readAll(seq); len(errs) != 1 {
		t.Fatalf("the run ended with %v", errs)
	}
	refuse = false
	if _, errs := readAll(seq); len(errs) != 0 {
		t.Fatalf("the second run ended with %v", errs)
	}
	now = now.Add(time.Minute)
	if runs := rec.Running(record.Session{App: "app", User: "u", ID: "s"}); len(runs) > 0 {
		t.Errorf("%d runs are under way", len(runs))
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ratelog_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

// clock is a time that moves when a test says so.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logger returns a limited logger that writes one line per record, without a time.
func logger(out *bytes.Buffer, every time.Duration, now func() time.Time) *slog.Logger {
	next := slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(ratelog.NewHandler(next, every, now))
}

func TestOneRecordPerKindAndInterval(t *testing.T) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1_700_000_000, 0)}
	log := logger(&out, 0, c.Now)
	log.Warn("full", "n", 1)
	log.Warn("full", "n", 2)
	log.Error("full", "n", 3) // another level is another kind
	log.Warn("closed", "n", 4)
	c.advance(ratelog.DefaultInterval - 1)
	log.Warn("full", "n", 5)
	c.advance(1)
	log.Warn("full", "n", 6)
	log.Warn("full", "n", 7)
	c.advance(ratelog.DefaultInterval)
	log.Warn("closed", "n", 8)
	c.advance(time.Hour)
	log.Warn("full", "n", 9)
	c.advance(time.Hour)
	log.Warn("full", "n", 10)
	want := strings.Join([]string{
		"level=WARN msg=full n=1",
		"level=ERROR msg=full n=3",
		"level=WARN msg=closed n=4",
		"level=WARN msg=full n=6 suppressed=2",
		"level=WARN msg=closed n=8",
		"level=WARN msg=full n=9 suppressed=1",
		"level=WARN msg=full n=10",
		"",
	}, "\n")
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("log differs (-want +got):\n%s", d)
	}
}

func TestDerivedLoggersShareIntervals(t *testing.T) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1_700_000_000, 0)}
	log := logger(&out, time.Second, c.Now)
	a, b := log.With("file", "a"), log.WithGroup("g")
	a.Warn("full")
	b.Warn("full")
	c.advance(time.Second)
	a.Warn("full")
	want := "level=WARN msg=full file=a\nlevel=WARN msg=full file=a suppressed=1\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("log differs (-want +got):\n%s", d)
	}
}

func TestLevelsOfTheNextHandler(t *testing.T) {
	var out bytes.Buffer
	log := logger(&out, 0, nil)
	log.Debug("quiet")
	if log.Enabled(t.Context(), slog.LevelDebug) || out.Len() > 0 {
		t.Errorf("the next handler takes no debug records, got %q", out.String())
	}
}

// A clock that is set back silences nothing for longer than an interval.
func TestClockSetBack(t *testing.T) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1_700_000_000, 0)}
	log := logger(&out, time.Minute, c.Now)
	log.Warn("full", "n", 1)
	c.advance(-time.Hour)
	log.Warn("full", "n", 2)
	log.Warn("full", "n", 3)
	c.advance(time.Minute)
	log.Warn("full", "n", 4)
	want := "level=WARN msg=full n=1\nlevel=WARN msg=full n=2\nlevel=WARN msg=full n=4 suppressed=1\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("log differs (-want +got):\n%s", d)
	}
}

// panicking is the handler of a program that has a bug in it.
type panicking struct{ slog.Handler }

func (p panicking) WithAttrs([]slog.Attr) slog.Handler      { return p }
func (p panicking) WithGroup(string) slog.Handler           { return p }
func (panicking) Enabled(context.Context, slog.Level) bool  { panic("boom") }
func (panicking) Handle(context.Context, slog.Record) error { panic("boom") }

func TestPanicOfTheNextHandler(t *testing.T) {
	next := panicking{slog.DiscardHandler}
	for name, h := range map[string]slog.Handler{
		"limited":            ratelog.NewHandler(next, 0, nil),
		"limited, derived":   ratelog.NewHandler(next, 0, nil).WithAttrs([]slog.Attr{slog.Int("n", 1)}).WithGroup("g"),
		"contained":          ratelog.Contain(next),
		"contained, derived": ratelog.Contain(next).WithAttrs([]slog.Attr{slog.Int("n", 1)}).WithGroup("g"),
	} {
		err := h.Handle(t.Context(), slog.NewRecord(time.Time{}, slog.LevelError, "full", 0))
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: Handle() = %v, want the panic", name, err)
		}
		if h.Enabled(t.Context(), slog.LevelError) {
			t.Errorf("%s: Enabled() = true of a handler that panics", name)
		}
	}
}

// Messages that are not constant must not make the handler grow without end.
func TestKindsAreBounded(t *testing.T) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1_700_000_000, 0)}
	log := logger(&out, 0, c.Now)
	for n := range 10_000 {
		log.Warn(fmt.Sprint("message ", n))
	}
	if lines := strings.Count(out.String(), "\n"); lines != 257 {
		t.Errorf("%d lines, want 256 kinds and one for all others", lines)
	}
	c.advance(time.Hour)
	out.Reset()
	log.Warn("one more")
	if want := "suppressed=9743"; !strings.Contains(out.String(), want) {
		t.Errorf("%q does not have %s", out.String(), want)
	}
}

func TestHandlerConcurrentSafe(t *testing.T) {
	var out bytes.Buffer
	log := logger(&out, 0, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				log.Warn("full")
			}
		})
	}
	wg.Wait()
	if lines := strings.Count(out.String(), "\n"); lines != 1 {
		t.Errorf("%d lines, want 1", lines)
	}
}

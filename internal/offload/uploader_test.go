// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestPutStores(t *testing.T) {
	m := new(memory)
	u := start(t, offload.Config{Store: m})
	data := []byte("first")
	uri, ok := u.Put("2026-07-31/t/1", "image/png", data)
	if !ok || uri != "mem:2026-07-31/t/1" {
		t.Fatalf("Put = %q, %t", uri, ok)
	}
	flush(t, u)
	if got := m.get("2026-07-31/t/1"); got != "first" || m.types["2026-07-31/t/1"] != "image/png" {
		t.Errorf("stored %q of type %q", got, m.types["2026-07-31/t/1"])
	}
	want := offload.Stats{Accepted: 1, Stored: 1, StoredBytes: 5, Refused: map[offload.Reason]uint64{}, Lost: map[offload.Reason]uint64{}}
	if diff := cmp.Diff(want, u.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestPutCopies(t *testing.T) {
	release := make(chan struct{})
	m := &memory{create: func(context.Context, string) error { <-release; return nil }}
	u := start(t, offload.Config{Store: m})
	data := []byte("as it was")
	if _, ok := u.Put("a", "", data); !ok {
		t.Fatal("refused")
	}
	copy(data, "changed!!")
	close(release)
	flush(t, u)
	if got := m.get("a"); got != "as it was" {
		t.Errorf("stored %q", got)
	}
}

func TestPutRefuses(t *testing.T) {
	// The store takes the first part and keeps it.
	taken, release := make(chan struct{}), make(chan struct{})
	m := &memory{
		create: func(context.Context, string) error { taken <- struct{}{}; <-release; return nil },
		uri: func(name string) string {
			if name == "bad" {
				panic("no URI")
			}
			return name
		},
	}
	u := start(t, offload.Config{Store: m, QueueBytes: 1000, MaxBytes: 1000})
	put(t, u, "a", strings.Repeat("x", 1000)) // alone, the largest part fits
	<-taken
	for _, tt := range []struct {
		name string
		size int
		want offload.Reason
	}{
		{"b", 1, offload.ReasonQueueFull},
		{"b", 1001, offload.ReasonTooLarge},
		{"../b", 1, offload.ReasonInvalidName},
		{"bad", 1, offload.ReasonPanic},
	} {
		before := u.Stats()
		if uri, ok := u.Put(tt.name, "", make([]byte, tt.size)); ok || uri != "" {
			t.Errorf("%s of %d bytes: Put = %q, %t", tt.name, tt.size, uri, ok)
		}
		after := u.Stats()
		if after.Refused[tt.want] != before.Refused[tt.want]+1 || after.Accepted != 1 {
			t.Errorf("%s: refused %v, want one more for %s", tt.name, after.Refused, tt.want)
		}
		checkStats(t, u)
	}
	close(release)
	flush(t, u)
	if err := u.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, ok := u.Put("c", "", nil); ok || u.Stats().Refused[offload.ReasonClosed] != 1 {
		t.Errorf("Put after Close: %t, %v", ok, u.Stats().Refused)
	}
}

// TestQueueBound fills the queue with empty parts, which use memory too.
func TestQueueBound(t *testing.T) {
	hang := func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	u := start(t, offload.Config{Store: &memory{create: hang}, QueueBytes: 100_000})
	n := 0
	for ; n < 100_000; n++ {
		if _, ok := u.Put(fmt.Sprint(n), "", nil); !ok {
			break
		}
	}
	if n < 100 || n > 1000 {
		t.Errorf("%d empty parts in 100,000 bytes", n)
	}
	if s := u.Stats(); s.Queued != n || s.QueuedBytes < 90_000 || s.QueuedBytes > 101_000 {
		t.Errorf("queued %d, %d bytes; %d were accepted", s.Queued, s.QueuedBytes, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Close(ctx); !errors.Is(err, offload.ErrUnwritten) {
		t.Error(err)
	}
}

// A part whose name has its digest may be put again, by another process too. A name with another digest
// is taken.
func TestPutAgain(t *testing.T) {
	m := new(memory)
	name := fmt.Sprintf("e_%x_row.json", sha256.Sum256([]byte("x")))
	for range 2 {
		u := start(t, offload.Config{Store: m})
		put(t, u, name, "x")
		put(t, u, name, "x")
		flush(t, u)
		if s := u.Stats(); s.Stored != 2 || len(s.Lost) > 0 {
			t.Errorf("stats %+v", s)
		}
		put(t, u, name, "y")
		if err := u.Flush(t.Context()); err == nil || u.Stats().Lost[offload.ReasonExists] != 1 {
			t.Errorf("another part under the name: %v, stats %+v", err, u.Stats())
		}
	}
	if len(m.parts) != 1 || m.parts[name] != "x" {
		t.Errorf("stored %v", m.parts)
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	attempts := 0
	for _, tt := range []struct {
		name   string
		create func(ctx context.Context, name string) error
		want   offload.Reason // empty when stored
		after  time.Duration  // how long it takes, at least
		tries  int            // 0: do not count
	}{
		{name: "transient", tries: 4, after: 700 * time.Millisecond, create: func(context.Context, string) error {
			if attempts < 4 {
				return broken
			}
			return nil
		}},
		{name: "permanent", tries: 1, want: offload.ReasonFailed, create: func(context.Context, string) error {
			return fmt.Errorf("wrapped: %w", offload.Permanent(broken))
		}},
		{name: "never", want: offload.ReasonFailed, after: 30 * time.Second, create: func(context.Context, string) error {
			return broken
		}},
		{name: "panic", tries: 1, want: offload.ReasonPanic, create: func(context.Context, string) error {
			panic("bug")
		}},
		{name: "exists", tries: 1, want: offload.ReasonExists, create: func(context.Context, string) error {
			return fmt.Errorf("wrapped: %w", offload.ErrExists)
		}},
		{name: "answer lost", tries: 2, after: 100 * time.Millisecond, create: func(context.Context, string) error {
			if attempts == 1 {
				return broken
			}
			return offload.ErrExists
		}},
		{name: "exists, but is not this part", tries: 2, want: offload.ReasonExists, after: 100 * time.Millisecond, create: func(context.Context, string) error {
			if attempts == 1 {
				return broken
			}
			return fmt.Errorf("wrapped: %w", offload.Permanent(offload.ErrExists))
		}},
		{name: "hangs", tries: 1, want: offload.ReasonTimeout, after: 30 * time.Second, create: func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts = 0
				m := &memory{create: func(ctx context.Context, name string) error {
					if name != "part" {
						return nil
					}
					attempts++
					return tt.create(ctx, name)
				}}
				u := start(t, offload.Config{Store: m})
				began := time.Now()
				put(t, u, "part", "x")
				err := u.Flush(t.Context())
				if took := time.Since(began); took < tt.after || took > tt.after+time.Second {
					t.Errorf("took %v, want %v", took, tt.after)
				}
				if tt.tries > 0 && attempts != tt.tries {
					t.Errorf("%d attempts, want %d", attempts, tt.tries)
				}
				s := u.Stats()
				if tt.want == "" {
					if err != nil || s.Stored != 1 || len(s.Lost) > 0 {
						t.Errorf("Flush: %v, stats %+v", err, s)
					}
				} else if err == nil || !strings.Contains(err.Error(), "1 parts were lost") || s.Lost[tt.want] != 1 {
					t.Errorf("Flush: %v, lost %v, want one for %s", err, s.Lost, tt.want)
				}
				// The worker goes on.
				put(t, u, "next", "y")
				flush(t, u)
				if m.get("next") != "y" {
					t.Error("the next part is not stored")
				}
			})
		})
	}
}

func TestFlushTellsEachLossOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &memory{create: func(_ context.Context, name string) error {
			if name == "slow" {
				<-release
				return nil
			}
			return offload.Permanent(errors.New("broken"))
		}}
		u := start(t, offload.Config{Store: m})
		put(t, u, "a", "")
		synctest.Wait() // a is lost before Flush begins
		put(t, u, "slow", "")
		put(t, u, "b", "")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := u.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "2 parts still wait") {
			t.Errorf("Flush of a hanging store: %v", err)
		}
		close(release)
		if err := u.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "2 parts were lost") {
			t.Errorf("Flush: %v", err)
		}
		flush(t, u)
	})
}

// TestFlushWaitsForEarlierPartsOnly: of two later parts one is stored, and one hangs.
func TestFlushWaitsForEarlierPartsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := map[string]chan struct{}{"first": make(chan struct{}), "hangs": make(chan struct{})}
		m := &memory{create: func(_ context.Context, name string) error {
			if gate, ok := gates[name]; ok {
				<-gate
			}
			return nil
		}}
		u := start(t, offload.Config{Store: m})
		defer close(gates["hangs"])
		put(t, u, "first", "")
		flushed := make(chan error, 1)
		go func() { flushed <- u.Flush(t.Context()) }()
		synctest.Wait()
		put(t, u, "quick", "")
		put(t, u, "hangs", "")
		synctest.Wait()
		select {
		case <-flushed:
			t.Error("Flush returned while its part is not stored")
		default:
		}
		close(gates["first"])
		synctest.Wait()
		if s := u.Stats(); s.Stored != 2 || s.Queued != 1 {
			t.Errorf("stats %+v", s)
		}
		select {
		case err := <-flushed:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Flush waits for a later part")
		}
	})
}

// TestFlushesTogether: each of several calls waits for its own parts, and each whose parts include a
// lost one says so.
func TestFlushesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{create: func(_ context.Context, name string) error {
			time.Sleep(time.Second)
			if name == "2" {
				return offload.Permanent(errors.New("broken"))
			}
			return nil
		}}
		u := start(t, offload.Config{Store: m})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 5 {
			put(t, u, fmt.Sprint(i), "")
			for range 2 {
				wg.Go(func() {
					if err := u.Flush(t.Context()); (err != nil) != (i >= 2) {
						t.Errorf("Flush of %d parts: %v", i+1, err)
					}
					if took, want := time.Since(began), time.Duration(i+1)*time.Second; took != want {
						t.Errorf("Flush of %d parts took %v, want %v", i+1, took, want)
					}
				})
			}
			synctest.Wait()
		}
		wg.Wait()
		flush(t, u) // it was said
	})
}

func TestConcurrentPuts(t *testing.T) {
	const puts = 1000
	m := new(memory)
	u := start(t, offload.Config{Store: m})
	var wg sync.WaitGroup
	for i := range puts {
		wg.Go(func() {
			name := fmt.Sprintf("2026-07-31/t%d/%d", i%7, i)
			if uri, ok := u.Put(name, "", []byte(name)); !ok || uri != "mem:"+name {
				t.Errorf("Put(%s) = %q, %t", name, uri, ok)
			}
			if i%100 == 0 {
				if err := u.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				checkStats(t, u)
			}
		})
	}
	wg.Wait()
	flush(t, u)
	if s := u.Stats(); s.Stored != puts || len(m.parts) != puts {
		t.Errorf("stored %d, %d in the store", s.Stored, len(m.parts))
	}
	for name, data := range m.parts {
		if name != data {
			t.Errorf("part %s holds %s", name, data)
		}
	}
}

// TestOrder: one worker stores parts in the order of Put, however many wait.
func TestOrder(t *testing.T) {
	step := make(chan struct{})
	var names []string
	m := &memory{create: func(_ context.Context, name string) error { <-step; names = append(names, name); return nil }}
	u := start(t, offload.Config{Store: m})
	var want []string
	for _, n := range []int{100, 70, 90, 1, 1, 100} {
		for range n {
			want = append(want, fmt.Sprint(len(want)))
			put(t, u, want[len(want)-1], "")
		}
		for range n * 4 / 5 {
			step <- struct{}{}
		}
	}
	close(step)
	flush(t, u)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &memory{create: func(context.Context, string) error { return offload.Permanent(errors.New("broken")) }}
		u := start(t, offload.Config{Store: m, MaxBytes: 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for i := range 100 {
			put(t, u, fmt.Sprint(i), "")
			u.Put("big", "", make([]byte, 11))
			synctest.Wait()
		}
		// Only the refusals that came first are in the log yet.
		if n := strings.Count(log.String(), "a part is lost"); n != 1 {
			t.Errorf("%d lines about losses:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "parts were refused"); n != 1 {
			t.Errorf("%d lines about refusals:\n%s", n, &log)
		}
		if !strings.Contains(log.String(), "error=broken") || !strings.Contains(log.String(), "too_large:1") {
			t.Errorf("log:\n%s", &log)
		}
		time.Sleep(time.Minute)
		put(t, u, "later", "")
		synctest.Wait()
		if !strings.Contains(log.String(), "suppressed=99") {
			t.Errorf("log after a minute:\n%s", &log)
		}
	})
}

func TestDefaultOfMaxBytes(t *testing.T) {
	u := start(t, offload.Config{Store: new(memory), QueueBytes: 10})
	put(t, u, "fits", strings.Repeat("x", 10))
	if _, ok := u.Put("larger", "", make([]byte, 11)); ok || u.Stats().Refused[offload.ReasonTooLarge] != 1 {
		t.Errorf("a part larger than the queue: %t, %v", ok, u.Stats().Refused)
	}
}

func TestStatsCheck(t *testing.T) {
	s := offload.Stats{Accepted: 6, Stored: 2, Queued: 1, Lost: map[offload.Reason]uint64{offload.ReasonFailed: 2, offload.ReasonExists: 1}}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	s.Stored++
	if err := s.Check(); err == nil {
		t.Error("no error for a part that was counted twice")
	}
}

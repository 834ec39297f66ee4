// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestCloseStoresWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{create: func(context.Context, string) error { time.Sleep(time.Second); return nil }}
		u := start(t, offload.Config{Store: m})
		for i := range 20 {
			put(t, u, fmt.Sprint(i), "x")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := u.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s := u.Stats(); s.Stored != 20 || len(m.parts) != 20 || m.closed != 1 {
			t.Errorf("stored %d, %d in the store, which was closed %d times", s.Stored, len(m.parts), m.closed)
		}
		flush(t, u) // nothing waits, also now
	})
}

// TestCloseInterrupts: the store answers when its context ends.
func TestCloseInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{create: func(ctx context.Context, name string) error {
			if name == "good" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		u := start(t, offload.Config{Store: m})
		put(t, u, "good", "x")
		flush(t, u)
		for i := range 10 {
			put(t, u, fmt.Sprint(i), "x")
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the program ends"))
		defer cancel()
		began := time.Now()
		err := u.Close(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("Close took %v", took)
		}
		if !errors.Is(err, offload.ErrUnwritten) || !strings.Contains(err.Error(), "10 parts") || !strings.Contains(err.Error(), "the program ends") {
			t.Errorf("Close: %v", err)
		}
		if s := u.Stats(); s.Stored != 1 || s.Lost[offload.ReasonUnwritten] != 10 {
			t.Errorf("stats %+v", s)
		}
		if again := u.Close(t.Context()); again != err {
			t.Errorf("Close again: %v", again)
		}
		if err := u.Flush(t.Context()); !errors.Is(err, offload.ErrUnwritten) && !errors.Is(err, context.Canceled) {
			t.Errorf("Flush after Close: %v", err)
		}
		if m.closed != 1 {
			t.Errorf("the store was closed %d times", m.closed)
		}
	})
}

// TestCloseOfHangingStore: the store does not even look at its context.
func TestCloseOfHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &memory{create: func(context.Context, string) error { <-release; return nil }}
		u := start(t, offload.Config{Store: m})
		for i := range 10 {
			put(t, u, fmt.Sprint(i), "x")
		}
		flushed := make(chan error, 1)
		go func() { flushed <- u.Flush(t.Context()) }()
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := u.Close(ctx)
		if took := time.Since(began); took != time.Second+offload.CloseGrace {
			t.Errorf("Close took %v", took)
		}
		if !errors.Is(err, offload.ErrUnwritten) || !strings.Contains(err.Error(), "10 parts") || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("Close: %v", err)
		}
		if err := <-flushed; !errors.Is(err, offload.ErrUnwritten) || !strings.Contains(err.Error(), "10 parts") {
			t.Errorf("Flush: %v", err)
		}
		s := u.Stats()
		if s.Lost[offload.ReasonUnwritten] != 10 || s.Queued != 0 || s.QueuedBytes != 0 {
			t.Errorf("stats %+v", s)
		}
		checkStats(t, u)

		// What hung ends, and is not counted twice.
		close(release)
		if err := u.Close(t.Context()); !errors.Is(err, offload.ErrUnwritten) {
			t.Errorf("Close again: %v", err)
		}
		if s := u.Stats(); s.Stored != 0 || s.Lost[offload.ReasonUnwritten] != 10 {
			t.Errorf("stats %+v", s)
		}
		if m.closed != 1 {
			t.Errorf("the store was closed %d times", m.closed)
		}
	})
}

func TestCloseDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		u := start(t, offload.Config{Store: &memory{create: func(context.Context, string) error { return broken }}})
		put(t, u, "a", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := u.Close(ctx); !errors.Is(err, offload.ErrUnwritten) {
			t.Errorf("Close: %v", err)
		}
		if s := u.Stats(); s.Lost[offload.ReasonUnwritten] != 1 {
			t.Errorf("lost %v", s.Lost)
		}
		if err := u.Flush(t.Context()); !errors.Is(err, broken) {
			t.Errorf("Flush: %v", err)
		}
	})
}

func TestCloseOfStore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		close func() error
		want  string
	}{
		{"fails", func() error { return errors.New("broken") }, "broken"},
		{"panics", func() error { panic("bug") }, "the store panicked: bug"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := offload.New(offload.Config{Store: &memory{close: tt.close}, QueueBytes: 1})
			if err := u.Close(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Close: %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			u := offload.New(offload.Config{Store: &memory{close: func() error { <-release; return nil }}, QueueBytes: 1})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := u.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, offload.ErrUnwritten) {
				t.Errorf("Close: %v", err)
			}
			close(release)
			if err := u.Close(t.Context()); err != nil {
				t.Errorf("Close again: %v", err)
			}
		})
	})
}

// TestPutDuringClose: each part is either stored or refused.
func TestPutDuringClose(t *testing.T) {
	m := new(memory)
	u := start(t, offload.Config{Store: m})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for n := range 20 {
				u.Put(fmt.Sprintf("%d/%d", i, n), "", []byte("x"))
				if i == 25 && n == 10 {
					if err := u.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	s := u.Stats()
	if s.Accepted+s.Refused[offload.ReasonClosed] != 1000 || s.Stored != s.Accepted || int(s.Stored) != len(m.parts) {
		t.Errorf("stats %+v, %d in the store", s, len(m.parts))
	}
}

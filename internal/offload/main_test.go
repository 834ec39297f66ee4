// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashChildEnv); path != "" {
		crashChild(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// memory is a store that does what a test says.
type memory struct {
	// create is called by Create when it is not nil; a nil error stores the part.
	create func(ctx context.Context, name string) error
	uri    func(name string) string
	close  func() error

	mu     sync.Mutex
	parts  map[string]string
	types  map[string]string
	closed int
}

func (m *memory) Create(ctx context.Context, name, contentType string, data []byte) error {
	if m.create != nil {
		if err := m.create(ctx, name); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed > 0 {
		return errors.New("closed")
	}
	if _, ok := m.parts[name]; ok {
		return offload.ErrExists
	}
	if m.parts == nil {
		m.parts, m.types = make(map[string]string), make(map[string]string)
	}
	m.parts[name], m.types[name] = string(data), contentType
	return nil
}

func (m *memory) URI(name string) string {
	if m.uri != nil {
		return m.uri(name)
	}
	return "mem:" + name
}

func (m *memory) Close() error {
	m.mu.Lock()
	m.closed++
	m.mu.Unlock()
	if m.close != nil {
		return m.close()
	}
	return nil
}

func (m *memory) get(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parts[name]
}

// start starts an Uploader, with much room unless cfg says otherwise, and, at the end of the test, closes it and checks that
// its counters add up.
func start(tb testing.TB, cfg offload.Config) *offload.Uploader {
	tb.Helper()
	cfg.QueueBytes = cmp.Or(cfg.QueueBytes, 256<<20)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	u := offload.New(cfg)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 5*time.Minute)
		defer cancel()
		if err := u.Close(ctx); err != nil && !errors.Is(err, offload.ErrUnwritten) {
			tb.Error(err)
		}
		checkStats(tb, u)
		if s := u.Stats(); s.Queued != 0 || s.QueuedBytes != 0 {
			tb.Errorf("%d parts and %d bytes are queued after Close", s.Queued, s.QueuedBytes)
		}
	})
	return u
}

func checkStats(tb testing.TB, u *offload.Uploader) {
	tb.Helper()
	if err := u.Stats().Check(); err != nil {
		tb.Error(err)
	}
}

func put(tb testing.TB, u *offload.Uploader, name, data string) {
	tb.Helper()
	if _, ok := u.Put(name, "text/plain", []byte(data)); !ok {
		tb.Fatalf("part %s was refused: %v", name, u.Stats().Refused)
	}
}

func flush(tb testing.TB, u *offload.Uploader) {
	tb.Helper()
	if err := u.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

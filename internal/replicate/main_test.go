// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row returns row n, from 1, of the session with a name of one letter.
func row(session string, n, size int) record.Event {
	return record.Event{
		Timestamp: time.Now().UnixMicro(), EventID: fmt.Sprintf("%s-%06d", session, n), EventType: "TOOL_COMPLETED",
		AppName: "shop", UserID: "ann", SessionID: session, RunID: "r", RunSeq: int64(n), Status: record.StatusOK,
		Content: append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, size)...), '"'),
	}
}

// rows returns n rows of session a.
func rows(n, size int) []record.Event {
	out := make([]record.Event, n)
	for i := range out {
		out[i] = row("a", i+1, size)
	}
	return out
}

// start starts a replicator from m to t that is closed at the end of the test.
func start(tb testing.TB, m store.Outbox, t replicate.Target, mod func(*replicate.Config)) *replicate.Replicator {
	tb.Helper()
	cfg := replicate.Config{Source: m, Target: t, Logger: slog.New(slog.DiscardHandler)}
	if mod != nil {
		mod(&cfg)
	}
	r := replicate.New(cfg)
	r.Start()
	return r
}

// finish closes r, which has nothing left to send.
func finish(tb testing.TB, r *replicate.Replicator) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		tb.Error(err)
	}
}

// flush waits until everything is acknowledged or dead.
func flush(tb testing.TB, r *replicate.Replicator) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Hour)
	defer cancel()
	if err := r.Flush(ctx); err != nil {
		tb.Fatal(err)
	}
}

// wantRows checks that n different rows landed, and all of them this often in all.
func wantRows(tb testing.TB, t *table, n, all int) {
	tb.Helper()
	if gotN, gotAll := t.counts(); gotN != n || gotAll != all {
		tb.Errorf("%d different rows landed, %d in all, want %d and %d", gotN, gotAll, n, all)
	}
}

// failure returns an error of a class.
func failure(c replicate.Class, text string) error {
	return &replicate.Error{Class: c, Err: errors.New(text)}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKeepSummaries holds when serve makes the summaries that a journal lacks, and that it stops.
func TestKeepSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, log := time.Now(), new(bytes.Buffer)
		var at []time.Duration
		stop := keepSummaries(t.Context(), func(ctx context.Context) error {
			at = append(at, time.Since(begin))
			if len(at) == 2 {
				time.Sleep(5 * time.Second) // a long work, after which it rests for 50 s
			}
			return errors.New("a full disk")
		}, slog.New(slog.NewTextHandler(log, nil)))
		time.Sleep(70 * time.Second)
		stop()
		want := []time.Duration{0, 10 * time.Second, 65 * time.Second}
		if d := cmp.Diff(want, at); d != "" {
			t.Errorf("the times of the updates differ (-want +got):\n%s", d)
		}
		if n := strings.Count(log.String(), "a full disk"); n != 1 {
			t.Errorf("the log names the error %d times: %s", n, log)
		}
	})
}

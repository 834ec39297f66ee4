// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"context"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

const benchName = "2026-07-31/4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7_p0.png"

// TestPutAllocations: a Put allocates the copy and the URI.
func TestPutAllocations(t *testing.T) {
	hang := make(chan struct{})
	m := &memory{create: func(context.Context, string) error { <-hang; return nil }}
	u := start(t, offload.Config{Store: m})
	t.Cleanup(func() { close(hang) }) // before the Uploader is closed
	for range 1100 {                  // the queue has room for the rest, and the worker hangs
		put(t, u, benchName, "")
	}
	data := make([]byte, 1000)
	got := testing.AllocsPerRun(100, func() {
		if _, ok := u.Put(benchName, "image/png", data); !ok {
			t.Fatal("refused")
		}
	})
	if got > 2 {
		t.Errorf("%.1f allocations per Put, want 2", got)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

// drop is a store that keeps nothing.
type drop struct{}

func (drop) Create(context.Context, string, string, []byte) error { return nil }
func (drop) URI(name string) string                               { return "drop:" + name }
func (drop) Close() error                                         { return nil }

const benchName = "2026-07-31/4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7_p0.png"

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			u := start(b, offload.Config{Store: drop{}})
			data := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := u.Put(benchName, "image/png", data); !ok {
					b.StopTimer()
					flush(b, u)
					b.StartTimer()
				}
			}
		})
	}
}

func BenchmarkDirCreate(b *testing.B) {
	d := openDir(b, b.TempDir(), false)
	data := make([]byte, 64<<10)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := d.Create(b.Context(), fmt.Sprintf("2026-07-31/t%d/%d.png", n%100, n), "image/png", data); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

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

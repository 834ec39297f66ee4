// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB", 1 << 40: "1.0 TiB", 1 << 52: "4096.0 TiB",
	} {
		if got := text.Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

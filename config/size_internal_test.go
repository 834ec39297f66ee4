// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"1": 1, "1048576": 1 << 20, "007": 7, "10KB": 10_000, "10MB": 10_000_000, "2GB": 2_000_000_000,
		"512KiB": 512 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30, "9223372036854775807": math.MaxInt64, "8589934591GiB": 8589934591 << 30,
	} {
		if got, problem, _ := parseSize(text); got != want || problem != "" {
			t.Errorf("%q: %d, %q", text, got, problem)
		}
	}
	for text, want := range map[string]string{
		"": "is not a size", "MiB": "is not a size", "-1": "is not a size", "+1": "is not a size", "1.5MiB": "is not a size", "1e6": "is not a size",
		"1_000": "is not a size", "1 000": "is not a size", "1TB": "is not a size", "1B": "is not a size", "1mib": "is not a size", " 1": "is not a size",
		"٣": "is not a size", "0": "is not a positive size", "0MiB": "is not a positive size",
		"9223372036854775808": "is too large", "8589934592GiB": "is too large", "99999999999999999999KB": "is too large",
	} {
		got, problem, remedy := parseSize(text)
		if got != 0 || !strings.HasSuffix(problem, want) || remedy == "" {
			t.Errorf("%q: %d, %q, %q", text, got, problem, remedy)
		}
	}
	for text, want := range map[string]string{"64mb": "64MB", "64 MiB": "64MiB", "64m": "64MB", "64Mi": "64MiB", "3g": "3GB", "1k": "1KB", "1kib": "1KiB"} {
		if _, _, remedy := parseSize(text); !strings.HasPrefix(remedy, "did you mean "+strconv.Quote(want)+"?") {
			t.Errorf("%q: %q", text, remedy)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"", "0", "64MiB", "10 MB", "1.5GB", "99999999999999999999KiB", "-1", "0x10", "1\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, problem, remedy := parseSize(text)
		if problem != "" {
			if v != 0 || remedy == "" || strings.ContainsAny(problem+remedy, "\r\n") {
				t.Errorf("%d, %q, %q", v, problem, remedy)
			}
			return
		}
		if v <= 0 {
			t.Errorf("%q is %d", text, v)
		}
		// What is shown of a size is that size again.
		if again, problem, _ := parseSize(strings.TrimRight(v.String(), " bytes")); again != v {
			t.Errorf("%q is %d, shown as %s, which is %d, %q", text, v, v.String(), again, problem)
		}
	})
}

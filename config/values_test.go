// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"math"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"7d", 7 * day}, {"1d12h", 36 * time.Hour}, {"1.5d", 36 * time.Hour}, {"0d", 0}, {"-1d", -day}, {"-1d1h", -25 * time.Hour},
		{"+2d", 2 * day}, {"1d1h1m1s", day + time.Hour + time.Minute + time.Second}, {"20ms", 20 * time.Millisecond}, {"168h", 7 * day},
		{"0", 0}, {"106751d", 106751 * day},
	} {
		if got, err := config.ParseDuration(tt.text); err != nil || got != tt.want {
			t.Errorf("%s is %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"", "d", "7", "7D", "7 d", "7dd", "d7", "1d-1h", "1d+1h", "1d 1h", "1h1d", "1e3d", "infd", "NaNd", "0x1d", "1_0d", "106752d", "9999999999999999d", "106751d24h", "1dx"} {
		if got, err := config.ParseDuration(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 20 * time.Millisecond: "20ms", 90 * time.Second: "1m30s", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h",
		168 * time.Hour: "7d", 25 * time.Hour: "25h", -24 * time.Hour: "-1d", 10 * time.Minute: "10m", math.MaxInt64: "2562047h47m16.854775807s",
	} {
		if got := config.FormatDuration(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, d := range []int64{0, 1, -1, int64(time.Hour), int64(48 * time.Hour), math.MaxInt64, math.MinInt64} {
		f.Add(d, "1d1h")
	}
	f.Fuzz(func(t *testing.T, d int64, text string) {
		s := config.FormatDuration(time.Duration(d))
		if got, err := config.ParseDuration(s); err != nil || got != time.Duration(d) {
			t.Errorf("%d is written %s and read %d, %v", d, s, got, err)
		}
		got, err := config.ParseDuration(text)
		if std, stdErr := time.ParseDuration(text); stdErr == nil && (err != nil || got != std) {
			t.Errorf("%q is %v, %v; the standard library reads %v", text, got, err, std)
		}
	})
}

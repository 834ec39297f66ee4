// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]string{
		"7d": "7d", "36h": "36h", "48h": "2d", "90m": "1h30m", "1d12h": "36h", "0.5d": "12h", "30s": "30s", "20ms": "20ms",
	} {
		var d duration
		if err := d.Set(text); err != nil || d.String() != want {
			t.Errorf("%s = %s, %v, want %s", text, d.String(), err, want)
		}
	}
	for text, want := range map[string]string{
		"": "such as 30s", "d": "such as 30s", "7": "such as 30s", "x": "such as 30s", "1e9d": "such as 30s", "1000000d": "such as 30s",
		"0d": "must be positive", "-1d": "must be positive", "0s": "must be positive", "-5m": "must be positive",
	} {
		var d duration
		if err := d.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q = %s, %v, want %q", text, d.String(), err, want)
		}
	}
}

// Each flag with a time takes days, and none takes what is no positive time.
func TestEveryDurationFlag(t *testing.T) {
	flags := map[string]string{
		"init --timeout": "10m", "doctor --timeout": "30s", "sync --since": "7d", "extract --since": "1d",
		"sessions --since": "", "stats --since": "", "export --since": "", "sessions --within": "30d",
	}
	for flag, def := range flags {
		t.Run(flag, func(t *testing.T) {
			command, name, _ := strings.Cut(flag, " --")
			c, _, err := (&app{}).root().Find([]string{command})
			if err != nil {
				t.Fatal(err)
			}
			f := c.Flags().Lookup(name)
			if f.DefValue != def || f.Value.Type() != "duration" {
				t.Errorf("a %s, %q by default, want a duration, %q", f.Value.Type(), f.DefValue, def)
			}
			if err := f.Value.Set("1d12h"); err != nil || f.Value.String() != "36h" {
				t.Errorf("1d12h = %s, %v", f.Value, err)
			}
			if code, _, stderr := runCommand(t, command, "--"+name, "0d"); code != exitUsage || !strings.Contains(stderr, "--"+name) || !strings.Contains(stderr, "must be positive") {
				t.Errorf("0d ends with %d: %s", code, stderr)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
)

func TestStorageDefaults(t *testing.T) {
	type storage struct {
		Journal config.Journal
		Record  config.Record
	}
	base := storage{
		config.Journal{
			Path: "contextgraph.db", Durability: config.DurabilityJournal, CommitInterval: 20 * time.Millisecond,
			QueueBytes: 384 << 20, OnFull: config.DropOldest,
		},
		config.Record{
			PromptHistory: config.PromptFull, SessionState: new(true), MaxString: 512_000, MaxRow: 1_000_000,
			Artifacts: config.Artifacts{Store: "contextgraph.db.artifacts", MaxBytes: 64 << 20},
		},
	}
	for _, test := range []struct {
		name string
		set  func(*config.Config)
		want func(*storage)
	}{
		{"none", func(*config.Config) {}, func(*storage) {}},
		{
			"memory",
			func(c *config.Config) { c.Journal.Durability = config.DurabilityMemory },
			func(s *storage) {
				s.Journal.Durability, s.Journal.CommitInterval = config.DurabilityMemory, time.Second
			},
		},
		{
			"path",
			func(c *config.Config) { c.Journal.Path = "data/j.db" },
			func(s *storage) {
				s.Journal.Path, s.Record.Artifacts.Store = "data/j.db", "data/j.db.artifacts"
			},
		},
		{
			"a small row",
			func(c *config.Config) { c.Record.MaxRow = 10_000 },
			func(s *storage) { s.Record.MaxRow, s.Record.MaxString = 10_000, 10_000 },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var cfg config.Config
			test.set(&cfg)
			want := base
			test.want(&want)
			filled := cfg.WithDefaults()
			if diff := cmp.Diff(want, storage{filled.Journal, filled.Record}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := errors.Join(cfg.Check(), filled.Check()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMatchesEmpty(t *testing.T) {
	for pattern, want := range map[string]bool{
		"a": false, "a+": false, "[a-z]{2,}": false, "(a)|b": false, `\bkey\b`: false, "(?i)secret.*": false, "a?b": false, ".": false, "x{0}y": false, `[^\x00-\x{10FFFF}]`: false,
		"a*": true, "a?": true, "": true, "^": true, "$": true, `\A`: true, `\z`: true, "(?m)^": true, `\b`: true, `\B`: true, "a|b*": true,
		"(a*)": true, "(a*)+": true, "a{0,3}": true, "x{0}": true, "a*b?": true, "(?:)": true, "(^|a)": true, "(a*){2}": true,
	} {
		cfg := config.Config{Record: config.Record{Redact: config.Redact{Patterns: []string{pattern}}}}
		if got := cfg.Check() != nil; got != want {
			t.Errorf("%q: refused %v, want %v", pattern, got, want)
		}
		// What is refused does match the empty text somewhere.
		if want {
			found := false
			for _, text := range []string{"", "a", "ab", " "} {
				at := regexp.MustCompile(pattern).FindStringIndex(text)
				found = found || at != nil && at[0] == at[1]
			}
			if !found {
				t.Errorf("%q never matches the empty text", pattern)
			}
		}
	}
}

func TestLongNamesOfBucketsHaveDots(t *testing.T) {
	long := strings.Repeat("a", 62)
	for bucket, want := range map[string]bool{long + "b": true, long + "bc": false, long + ".c": true} {
		cfg := config.Config{Record: config.Record{Artifacts: config.Artifacts{Store: "gs://" + bucket}}}
		if err := cfg.Check(); (err == nil) != want {
			t.Errorf("%q: %v", bucket, err)
		}
	}
}

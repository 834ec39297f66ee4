// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
)

func TestEnvironmentWins(t *testing.T) {
	const file = `
enabled: true
journal: {path: file.db, durability: sync, commit_interval: 1ms, on_full: drop_oldest, retention: {max_age: 1s, max_size: 1GiB}}
record: {prompt_history: full, artifacts: {store: folder}}
guard:
  mode: observe
  request_lifetime: 1h
  check_age: 1s
  check_timeout: 1s
  check_deadline: 1s
  min_confidence: 0.1
`
	environ := []string{
		"CONTEXTGRAPH_ENABLED=false",
		"CONTEXTGRAPH_JOURNAL_PATH=env.db",
		"CONTEXTGRAPH_JOURNAL_DURABILITY=memory",
		"CONTEXTGRAPH_JOURNAL_COMMIT_INTERVAL=2ms",
		"CONTEXTGRAPH_JOURNAL_ON_FULL=block",
		"CONTEXTGRAPH_JOURNAL_RETENTION_MAX_AGE=2h",
		"CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE=2GiB",
		"CONTEXTGRAPH_RECORD_PROMPT_HISTORY=delta",
		"CONTEXTGRAPH_RECORD_ARTIFACTS_STORE=off",
		"CONTEXTGRAPH_GUARD_MODE=enforce",
		"CONTEXTGRAPH_GUARD_TOOLS=a, b",
		"CONTEXTGRAPH_GUARD_REQUEST_LIFETIME=2h",
		"CONTEXTGRAPH_GUARD_CHECK_AGE=2s",
		"CONTEXTGRAPH_GUARD_CHECK_TIMEOUT=2s",
		"CONTEXTGRAPH_GUARD_CHECK_DEADLINE=3s",
		"CONTEXTGRAPH_GUARD_MIN_CONFIDENCE=0.2",
		"CONTEXTGRAPH_BIGQUERY_PROJECT=my-project",
		"CONTEXTGRAPH_BIGQUERY_DATASET=agents",
		"CONTEXTGRAPH_BIGQUERY_LOCATION=EU",
		"CONTEXTGRAPH_BIGQUERY_TABLE=events",
		"CONTEXTGRAPH_ENABLED=true", // a second entry does not count
		"PATH=/bin", "=C:=C:\\", "malformed",
	}
	want := config.Config{
		Enabled: new(false),
		Journal: config.Journal{
			Path: "env.db", Durability: config.DurabilityMemory, CommitInterval: 2 * time.Millisecond, OnFull: config.Block,
			Retention: config.Retention{MaxAge: 2 * time.Hour, MaxSize: 2 << 30},
		},
		Record: config.Record{
			PromptHistory: config.PromptDelta, Artifacts: config.Artifacts{Store: config.StoreOff},
		},
		Guard: config.Guard{
			Mode: config.ModeEnforce, Tools: config.Tools("a", "b"),
			RequestLifetime: 2 * time.Hour, CheckAge: 2 * time.Second,
			CheckTimeout: 2 * time.Second, CheckDeadline: 3 * time.Second,
			MinConfidence: new(0.2),
		},
		BigQuery: config.BigQuery{Project: "my-project", Dataset: "agents", Location: "EU", Table: "events"},
	}
	for _, text := range []string{file, ""} {
		got, err := parse("c.yaml", []byte(text), environ)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("file %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	const spelled = "a variable is CONTEXTGRAPH_ and the path of its key in capitals, as CONTEXTGRAPH_GUARD_MODE for guard.mode"
	for _, test := range []struct {
		name, file string
		environ    []string
		want       string // the error; empty: none
	}{
		{
			name:    "unknown variables, sorted",
			environ: []string{"CONTEXTGRAPH_TOKEN=s3cr3t", "CONTEXTGRAPH_AGENT=http://localhost", "CONTEXTGRAPH_SECRET=s3cr3t", "CONTEXTGRAPH_GUARD_MDOE=observe"},
			want: `CONTEXTGRAPH_GUARD_MDOE: unknown variable; did you mean CONTEXTGRAPH_GUARD_MODE? Else ` + spelled + `
CONTEXTGRAPH_SECRET: unknown variable; ` + spelled,
		},
		{
			name:    "an unknown variable with an odd name",
			environ: []string{"CONTEXTGRAPH_\n=1"},
			want:    `"CONTEXTGRAPH_\n": unknown variable; ` + spelled,
		},
		{
			name:    "a variable that a header names is known",
			file:    `checkers: [{type: A, http: {url: "http://a/{value}", headers: {X-Key: "${CONTEXTGRAPH_TOKEN}"}, attributes: {price: {path: $.price}}}}]`,
			environ: []string{"CONTEXTGRAPH_TOKEN=s3cr3t"},
		},
		{
			name: "values of another type",
			environ: []string{
				"CONTEXTGRAPH_ENABLED=yes", "CONTEXTGRAPH_GUARD_CHECK_AGE=30", "CONTEXTGRAPH_GUARD_MIN_CONFIDENCE=high",
				"CONTEXTGRAPH_GUARD_CHECK_TIMEOUT=-1s", "CONTEXTGRAPH_JOURNAL_PATH= ", "CONTEXTGRAPH_GUARD_TOOLS=",
			},
			want: `CONTEXTGRAPH_ENABLED: enabled: found the text "yes"; write true or false, without quotes
CONTEXTGRAPH_GUARD_CHECK_AGE: guard.check_age: "30" is not a duration; write for example 30s or 7d (units: ms, s, m, h, d)
CONTEXTGRAPH_GUARD_CHECK_TIMEOUT: guard.check_timeout: "-1s" is not a positive duration; write for example 30s or 7d (units: ms, s, m, h, d), or leave it out for the default
CONTEXTGRAPH_GUARD_MIN_CONFIDENCE: guard.min_confidence: found the text "high"; write a number, without quotes or a unit
CONTEXTGRAPH_GUARD_TOOLS: guard.tools: is set but empty; unset it, or give it a value
CONTEXTGRAPH_JOURNAL_PATH: journal.path: is set but empty; unset it, or give it a value`,
		},
		{
			name:    "values that are not possible",
			environ: []string{"CONTEXTGRAPH_GUARD_MODE=off", "CONTEXTGRAPH_GUARD_MIN_CONFIDENCE=NaN", "CONTEXTGRAPH_GUARD_TOOLS=a,,b", "CONTEXTGRAPH_JOURNAL_COMMIT_INTERVAL=2s"},
			want: `CONTEXTGRAPH_GUARD_MIN_CONFIDENCE: guard.min_confidence: found the text "NaN"; write a number, without quotes or a unit
CONTEXTGRAPH_GUARD_MODE: guard.mode: "off" is not a mode; write one of: enforce, observe
CONTEXTGRAPH_GUARD_TOOLS: guard.tools[""]: missing; write the name of a tool, or a pattern such as provision_*
CONTEXTGRAPH_JOURNAL_COMMIT_INTERVAL: journal.commit_interval: 2s is too long; write at most 1s`,
		},
		{
			name: "values of the journal and the record",
			environ: []string{
				"CONTEXTGRAPH_JOURNAL_DURABILITY=Sync", "CONTEXTGRAPH_JOURNAL_ON_FULL=drop", "CONTEXTGRAPH_JOURNAL_RETENTION_MAX_AGE=0",
				"CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE=20mb", "CONTEXTGRAPH_RECORD_PROMPT_HISTORY=none", "CONTEXTGRAPH_RECORD_ARTIFACTS_STORE=s3://bucket",
			},
			want: `CONTEXTGRAPH_JOURNAL_DURABILITY: journal.durability: "Sync" is not a level of durability; did you mean "sync"? Write one of: memory, journal, sync
CONTEXTGRAPH_JOURNAL_ON_FULL: journal.on_full: "drop" does not say what a full queue does; write one of: drop_oldest, block
CONTEXTGRAPH_JOURNAL_RETENTION_MAX_AGE: journal.retention.max_age: "0" is not a positive duration; write for example 30s or 7d (units: ms, s, m, h, d), or leave it out for the default
CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE: journal.retention.max_size: "20mb" is not a size; did you mean "20MB"? Units: KB, MB, GB, KiB, MiB, GiB; bytes without one
CONTEXTGRAPH_RECORD_ARTIFACTS_STORE: record.artifacts.store: "s3://bucket" is neither a folder nor a bucket; write a folder, a bucket such as gs://bucket/prefix, or off
CONTEXTGRAPH_RECORD_PROMPT_HISTORY: record.prompt_history: "none" does not say how much of a prompt is written; write one of: full, delta`,
		},
		{
			name:    "a size of a variable that is not possible",
			environ: []string{"CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE=1MiB", "CONTEXTGRAPH_JOURNAL_RETENTION_MAX_AGE=59m"},
			want: `CONTEXTGRAPH_JOURNAL_RETENTION_MAX_AGE: journal.retention.max_age: 59m is too short; write at least 1h, or leave it out for the default
CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE: journal.retention.max_size: 1MiB is too small; write at least 10MiB`,
		},
		{
			name:    "a variable against the file",
			file:    "guard:\n  request_lifetime: 10s\n  tools: {a: {approvers: 2}}\n",
			environ: []string{"CONTEXTGRAPH_GUARD_CHECK_AGE=11s", "CONTEXTGRAPH_GUARD_MODE=observe"},
			want: `CONTEXTGRAPH_GUARD_CHECK_AGE: guard.check_age: 11s is longer than request_lifetime (10s); a check cannot be valid longer than the request: write a shorter duration
CONTEXTGRAPH_GUARD_MODE: guard.mode: observe cannot be combined with guard.tools ("a"): a configuration cannot remove a gate that it lists; write enforce, or remove the tools from guard.tools; a gate set in code with Protect stays in either mode`,
		},
		{
			name:    "a list is no mapping",
			file:    "guard: {tools: [a, b]}",
			environ: []string{"CONTEXTGRAPH_GUARD_TOOLS=b,c"},
			want:    `c.yaml:1:9: guard.tools: found a list; write a mapping: one "key: value" per line, indented under this key`,
		},
		{
			name:    "a variable takes the place of a wrong value, and is checked",
			file:    "guard:\n  mode: maybe\n  check_age: soon\n  check_timeout: soon\n",
			environ: []string{"CONTEXTGRAPH_GUARD_MODE=enforce", "CONTEXTGRAPH_GUARD_CHECK_AGE=200h"},
			want: `c.yaml:4:18: guard.check_timeout: "soon" is not a duration; write for example 30s or 7d (units: ms, s, m, h, d)
CONTEXTGRAPH_GUARD_CHECK_AGE: guard.check_age: 200h is longer than request_lifetime (7d); a check cannot be valid longer than the request: write a shorter duration`,
		},
		{
			name:    "a variable below what is no mapping",
			file:    "guard: 5\nrecord:\n",
			environ: []string{"CONTEXTGRAPH_GUARD_MODE=observe", "CONTEXTGRAPH_RECORD_MAX_ROW=1MB"},
			want:    `c.yaml:1:8: guard: found the number 5; write a mapping: one "key: value" per line, indented under this key`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse("c.yaml", []byte(test.file), test.environ)
			got := ""
			if err != nil {
				got = err.Error()
				checkErrors(t, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A number of the environment is a number: what YAML takes for none of its values is no 0.
func TestNumberOfTheEnvironment(t *testing.T) {
	for _, text := range []string{"null", "~", "NULL", "!!null 0", "[0.5]", "{a: 0.5}", "#", "0.5 0.5", "NaN", "high"} {
		_, err := config.Parse("c.yaml", nil, []string{"CONTEXTGRAPH_GUARD_MIN_CONFIDENCE=" + text})
		if err == nil || !strings.Contains(err.Error(), "guard.min_confidence: found the text "+strconv.Quote(text)+"; write a number") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"0.5", "5e-1", "0", "1"} {
		if _, err := config.Parse("c.yaml", nil, []string{"CONTEXTGRAPH_GUARD_MIN_CONFIDENCE=" + text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAddedNames adds names to mappings by variables, which take nothing away.
func TestAddedNames(t *testing.T) {
	got, err := parse("c.yaml", []byte("guard: {tools: {a: {approvers: 2}}, inputs: }"), []string{"CONTEXTGRAPH_GUARD_TOOLS=b,a,b", "CONTEXTGRAPH_GUARD_INPUTS=review"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Guard{Tools: map[string]config.ToolSettings{"a": {Approvers: 2}, "b": {}}, Inputs: map[string]config.InputSettings{"review": {}}}
	if diff := cmp.Diff(want, got.Guard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

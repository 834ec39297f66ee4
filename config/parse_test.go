// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// secrets are the values of the variables that bad files name. None may show.
var badEnviron = []string{"EMPTY=", "TOKEN=s3cr3t", "MULTILINE=s3cr3t\r\nX-Injected: 1", "ADS_TOKEN=s3cr3t", "HOME=/"}

func TestParseErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := parse("contextgraph.yaml", data, badEnviron)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(config.Config{}, cfg); diff != "" {
				t.Errorf("a Config beside the error (-want +got):\n%s", diff)
			}
			checkErrors(t, err)
			for _, secret := range []string{"s3cr3t", "hunter2", "12345"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret:\n%v", err)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// parse reads a configuration with the checks of all that use one.
func parse(name string, data []byte, environ []string) (config.Config, error) {
	return config.Parse(name, data, environ, setup.Checks()...)
}

func load(path string) (config.Config, error) { return config.Load(path, setup.Checks()...) }

// checkErrors tests what holds for every error of config.Parse: it joins
// Errors that say where and what, in the order of the file.
func checkErrors(t *testing.T, err error) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T does not join errors", err)
	}
	last := 0
	for _, err := range joined.Unwrap() {
		e, ok := err.(*config.Error)
		if !ok {
			t.Errorf("%T is no Error: %v", err, err)
			continue
		}
		if e.Line == 0 && e.Variable == "" || e.Problem == "" || e.Remedy == "" || e.Line > 0 && e.File == "" {
			t.Errorf("incomplete error: %#v", e)
		}
		if strings.ContainsAny(e.Error(), "\n\r") {
			t.Errorf("more than one line: %q", e.Error())
		}
		if e.Line > 0 && (e.Line < last || last < 0) {
			t.Errorf("line %d after line %d", e.Line, last)
		}
		last = e.Line
		if e.Line == 0 {
			last = -1
		}
	}
}

func TestParseTooLarge(t *testing.T) {
	data := bytes.Repeat([]byte("#"), 1<<20)
	if cfg, err := parse("c.yaml", data, nil); err != nil || !cmp.Equal(cfg, config.Config{}) {
		t.Errorf("1 MiB: %v", err)
	}
	_, err := parse("c.yaml", append(data, '#'), nil)
	if want := "c.yaml:1: the file is larger than 1 MiB; name a configuration file"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{
		"", "\n", "# nothing\n", "---\n", "guard:\n", "extract:\ncheckers: []\nguard: {drift: {}, tools: {}}\n",
		"journal: {retention: }\nrecord: {allow: [], deny: , content: {}, tags: , chunks: false, redact: {}, artifacts: }\n",
	} {
		cfg, err := parse("c.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(config.Config{}, cfg); diff != "" {
			t.Errorf("%q is not the zero Config (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseFull(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse("full.yaml", data, []string{"ADS_TOKEN=abc"})
	if err != nil {
		t.Fatal(err)
	}
	money := func(path string) config.Attribute {
		return config.Attribute{Path: path, Type: entity.KindMoney, Currency: "USD"}
	}
	want := config.Config{
		Enabled: new(false),
		Journal: config.Journal{
			Path: "data/journal.db", Durability: config.DurabilityMemory, CommitInterval: 10 * time.Second,
			QueueBytes: 1 << 20, OnFull: config.Block,
			Retention: config.Retention{MaxAge: time.Hour, MaxSize: 10 << 20},
		},
		Record: config.Record{
			Allow: []string{
				"STATE_DELTA", "LLM_REQUEST", "LLM_RESPONSE", "LLM_ERROR", "AGENT_STARTING", "AGENT_COMPLETED", "AGENT_ERROR",
				"USER_MESSAGE_RECEIVED", "TOOL_STARTING", "TOOL_COMPLETED", "TOOL_ERROR", "ENTITIES_DECLARED", "ENTITIES_FOUND", "WORLD_CHANGE_CHECK",
			},
			Deny: []string{"STATE_DELTA", "NODE_OUTPUT"},
			Content: map[string]config.ContentPolicy{
				"LLM_REQUEST": config.ContentDigest, "AGENT_RESPONSE": config.ContentNone, "TOOL_STARTING": config.ContentFull,
			},
			PromptHistory: config.PromptDelta, Chunks: true, SessionState: new(false),
			Tags:     map[string]string{"team": "ads", "cost center": "42"},
			Metadata: []string{"trace_id", "a2a:*"}, FinalResponseTools: []string{"submit_answer"},
			MaxString: 100, MaxRow: 10_000,
			Redact: config.Redact{
				Keys:     []string{"id", "account_number"},
				Patterns: []string{`sk-[A-Za-z0-9]{20,}`, `\bAKIA[0-9A-Z]{16}\b`},
			},
			Artifacts: config.Artifacts{
				Store: "gs://bucket-1/agents/a", Connection: "us.my-connection", MaxBytes: 1 << 20,
			},
		},
		Guard: config.Guard{
			Mode: config.ModeEnforce,
			Tools: map[string]config.ToolSettings{
				"provision_campaign": {Approvers: 2, Override: []string{"eva", "tom"}, State: config.State{Free: []string{"user:oauth_*"}, Show: []string{"cluster"}}},
				"pause_*":            {},
			},
			Unguarded:       config.UnguardedError,
			Inputs:          map[string]config.InputSettings{"review": {Approvers: 2}, "sign_*": {}},
			SelfApproval:    true,
			RequestLifetime: 72 * time.Hour,
			CheckAge:        10 * time.Second,
			CheckTimeout:    2 * time.Second,
			CheckDeadline:   4 * time.Second, EffectTimeout: 6 * time.Minute,
			MinConfidence: new(0.0),
			Drift: map[string]config.Drift{
				"price":  {Type: "price_changed", Severity: new(0.8), Tolerance: config.Tolerance{Percent: 5, Absolute: 0.25}},
				"reach":  {Tolerance: config.Tolerance{Percent: 10}},
				"pages":  {Type: "pages_moved", Severity: new(1.0)},
				"*":      {Severity: new(0.4)},
				"status": {Direction: config.Fall, Effect: config.EffectWarn, Optional: true},
			},
			Types: map[string]config.TypePolicy{
				"Product": {Optional: true, MaxAge: time.Minute, MinConfidence: new(0.0), Drift: map[string]config.Drift{
					"price": {Direction: config.Rise}, "*": {Type: "moved"},
				}},
				"Budget": {Unseen: config.UnseenAllow},
				"Cluster": {Drift: map[string]config.Drift{
					"free":  {AtLeast: "$.cpus", Effect: config.EffectWarn, Optional: true, Type: "full", Severity: new(0.7)},
					"price": {AtMost: "$50"},
					"state": {OneOf: []any{"ready", json.Number("2.50"), true}},
					"zones": {OneOf: "$['zones']"},
					"open":  {Equals: true},
				}},
			},
			Require: config.RequireListed,
			Listed:  []string{"Product", "Budget"},
			Budgets: []config.Budget{
				{
					Tool: "provision_*", Severity: new(0.0),
					Cost:  config.Cost{Type: "Budget", Attribute: "price", Quantity: "pages"},
					Limit: config.Limit{Type: "Budget", Attribute: "amount"},
				},
				{
					Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget"},
					Everything: true,
				},
				{
					Tool: "provision_*", Cost: config.Cost{Type: "Budget", Attribute: "pages"}, Limit: config.Limit{Type: "Budget", Attribute: "amount"},
					Across: config.AcrossSession, Enough: true,
				},
			},
		},
		Extract: []config.Extract{
			{
				Name: "placements", Tool: "query_ad_inventory", In: config.InResult, Each: "$.placements[*]",
				Type: "Product", Value: "$.name",
				Attributes: map[string]config.Attribute{
					"price":        money("$.price"),
					"availability": {Path: "$.available", Type: entity.KindBool},
					"status":       {Path: "$.status", LookedUp: true},
				},
				ArtifactURI: "$.config_uri", Confidence: 0.97, Alternatives: config.AlternativesTrue, Place: "full.yaml:64",
			},
			{
				Name: "account", Tool: "get_account", Type: "Account", ValueArgs: "$.id",
				Attributes: map[string]config.Attribute{"exists": {Path: "$.open", Type: entity.KindBool}},
				Place:      "full.yaml:77",
			},
			{Name: "plan", Tool: "provision_campaign", In: config.InAction, Type: "Budget", Value: "$.budget", ValueType: entity.KindMoney, Currency: "EUR", Place: "full.yaml:78"},
			{Name: "brief", Event: "USER_MESSAGE_RECEIVED", In: config.InContent, Type: "Brief", Value: "$.text_summary", Place: "full.yaml:79"},
		},
		Checkers: []config.Checker{
			{Type: "Product", HTTP: &config.HTTP{
				URL:     "http://127.0.0.1:8080/v1/placements/{value}?kind={type}&reach={attributes.reach}",
				Headers: map[string]config.Secret{"Authorization": "Bearer abc", "X-Literal": "${ADS_TOKEN} costs $5"},
				AsOf:    "$.as_of", Version: "etag",
				Attributes: map[string]config.Answer{
					"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
					"availability": {Path: "$.available", Type: entity.KindBool},
				},
			}},
			{Type: "Campaign", HTTP: &config.HTTP{
				URL: "https://ads.example.com/v1/campaigns/{value}", AsOf: "date_header", Version: "$.revision",
				Attributes: map[string]config.Answer{"status": {Path: "$.status"}},
			}},
			{Type: "Budget", SQL: &config.SQL{
				Database: "finance", Query: "SELECT remaining, read_at, revision FROM budgets WHERE name = $1 AND type = $2",
				Args: []string{"{value}", "{type}/{attributes.year}"}, AsOf: "read_at", Version: "revision",
				Attributes: map[string]config.Column{
					"amount": {Column: "remaining", Type: entity.KindMoney, Currency: "USD"}, "owner": {Column: "owner"},
				},
			}},
			{Type: "Brief", Replay: &config.Replay{Tool: "read_brief", MaxCalls: 1000}},
		},
		BigQuery: config.BigQuery{
			Project: "my-project-123", BillingProject: "example.com:billing-1", Dataset: "agents_1", Location: "europe-west3",
			Table: "events", ViewPrefix: "cg", CreateViews: new(false), ClusteringFields: []string{"session_id", "event_type"},
			PayloadColumnDenylist: []config.PayloadColumn{config.PayloadContent, config.PayloadContentParts}, Init: new(false), Labels: map[string]string{"team": "ads"}, MaxBytesBilled: 10 << 20,
			Stream: config.Stream{
				FlushOnRunEnd: true, FlushTimeout: 5 * time.Minute,
			},
			Graph: config.Graph{Sync: new(false), Name: "why", GQL: new(false)},
			Extract: config.Extraction{
				Model: "gemini-2.5-flash", Location: "global", Connection: "eu.vertex", EntityTypes: []string{"Product", "Budget"}, PlainText: true, MaxRows: 10,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("guard:\n  mode: observe\n  tools: {file: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(file); err == nil || !strings.HasPrefix(err.Error(), file+":2:9: guard.mode: ") {
		t.Errorf("got %v", err)
	}
	t.Setenv("CONTEXTGRAPH_GUARD_MODE", "enforce")
	cfg, err := load(file)
	if err != nil || cfg.Guard.Mode != config.ModeEnforce {
		t.Errorf("mode %q: %v", cfg.Guard.Mode, err)
	}
	if _, err := load(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := load(t.TempDir()); err == nil {
		t.Error("a directory: no error")
	}
}

func TestSecret(t *testing.T) {
	cfg := config.HTTP{Headers: map[string]config.Secret{"Authorization": "hunter2"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if s := fmt.Sprintf(format, cfg); strings.Contains(s, "hunter2") || strings.Contains(s, "68756e74") {
			t.Errorf("%s shows a secret: %s", format, s)
		}
	}
	for secret, want := range map[config.Secret]string{"hunter2": "[redacted]", "": ""} {
		if text, err := secret.MarshalText(); err != nil || string(text) != want {
			t.Errorf("MarshalText: %q, %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/full.yaml", "../contextgraph.example.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "CONTEXTGRAPH_GUARD_MODE", "observe")
	}
	f.Add([]byte("guard: {tools: {a: {}}}"), "CONTEXTGRAPH_GUARD_TOOLS", "b")
	f.Add([]byte("extract: [{name: a, value.args: $.x, value: {args: $.y}}, , ~, {value: {b: *c}}]\nenabled: no\nenabled: 1.5"), "CONTEXTGRAPH_GUARD_DRIFT", "")
	f.Add([]byte("extract: [{name: a, tool: t, type: T, value.args: $.x, value: {args: $.y}}, {value.b: 1, value: {c: 2}}]"), "CONTEXTGRAPH_RECORD_MAX_ROW", "~")
	f.Add([]byte("guard: {inputs: {a: b}, types: {A: , B: ~, C: {drift: {p: {one_of: [1, [2], ~]}}}}}\njournal: {queue_bytes: {a: 1}, path: ~}"), "CONTEXTGRAPH_GUARD_INPUTS", "a,,b")
	f.Add([]byte("? {a: b}\n: [c]\n"), "CONTEXTGRAPH_ENABLED", "no")
	f.Add([]byte("\xef\xbb\xbfa: \"\\0\"\r\n"), "CONTEXTGRAPH_GUARD_CHECK_AGE", "1ns")
	f.Add([]byte("record: {redact: {patterns: ['(', 'a*']}, max_row: 9MB, tags: {a: b}}"), "CONTEXTGRAPH_JOURNAL_RETENTION_MAX_SIZE", "1GiB")
	f.Add([]byte("record: {content: {TOOL_ERROR: none}, deny: [TOOL_STARTING]}\nguard: {tools: {a: {}}}"), "CONTEXTGRAPH_JOURNAL_DURABILITY", "memory")
	f.Add([]byte("journal: {queue_bytes: 99999999999GB, on_full: block}"), "CONTEXTGRAPH_RECORD_ARTIFACTS_STORE", "gs://b/p")
	f.Fuzz(func(t *testing.T, data []byte, name, value string) {
		cfg, err := parse("c.yaml", data, []string{name + "=" + value, "ADS_TOKEN=s3cr3t-value"})
		if err == nil {
			return
		}
		checkErrors(t, err)
		if !cmp.Equal(cfg, config.Config{}) {
			t.Error("a Config beside the error")
		}
		if strings.Contains(err.Error(), "s3cr3t-value") && !bytes.Contains(data, []byte("s3cr3t-value")) && !strings.Contains(name+value, "s3cr3t-value") {
			t.Errorf("the error shows a secret: %v", err)
		}
	})
}

// A word that is none is one error: what depends on the place that was meant is not reported.
func TestOneErrorForAnUnknownPlace(t *testing.T) {
	_, err := config.Parse("c.yaml", []byte(`extract: [{name: a, tool: t, in: output, type: T, value: $.x, alternatives: true, attributes: {p: {path: $.p, looked_up: true}}}]`), nil)
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), `extract[0].in: "output"`) {
		t.Errorf("%v", err)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestValidateStorage checks the names of Go, and what only a Config written in Go
// can hold.
func TestValidateStorage(t *testing.T) {
	cfg := Config{
		Journal: JournalConfig{
			Durability: "x", QueueBytes: -1, QueueRows: -1, BlockTimeout: -1, OnFull: "y",
			Retention: RetentionConfig{MaxAge: math.MaxInt64, MaxSize: -1 << 20},
		},
		Record: RecordConfig{
			Allow: []string{""}, Deny: []string{"A"}, Content: map[string]cgplugin.ContentPolicy{"LLM_ERROR": "", "LLM_REQUEST": "x"},
			PromptHistory: "x", Tags: map[string]string{"": "", "a": ""}, Metadata: []string{""}, FinalResponseTools: []string{""},
			MaxString: -1, MaxRow: 9_000_001, Redact: RedactConfig{Keys: []string{""}, Patterns: []string{""}},
			Artifacts: ArtifactsConfig{Store: "a\n", Connection: "us.a", MaxBytes: -1, QueueBytes: 1},
		},
	}
	known := strings.Join(record.EventTypes(), ", ")
	want := strings.Split(`contextgraph: configuration:
Config.Record.MaxRow: 9000001 bytes is too large; write at most 9MB
Config.Record.MaxString: -1 byte is negative; write at least 100 bytes, or leave it out for the default
Config.Journal.Durability: "x" is not a level of durability; write one of: memory, journal, sync
Config.Journal.QueueBytes: -1 byte is negative; write at least 1MiB, or leave it out for the default
Config.Journal.QueueRows: -1 is negative; write at least 1000, or leave it out for the default
Config.Journal.OnFull: "y" does not say what a full queue does; write one of: drop_oldest, block
Config.Journal.BlockTimeout: -1ns is negative; write a positive duration, or leave it out for the default
Config.Journal.Retention.MaxAge: 2562047h47m16.854775807s is too long; write at most 876000h0m0s
Config.Journal.Retention.MaxSize: -1MiB is negative; write at least 10MiB, or leave it out for the default
Config.Record.Allow[0]: "" is not an event type; known types: `+known+`
Config.Record.Deny[0]: "A" is not an event type; known types: `+known+`
Config.Record.Content["LLM_REQUEST"]: "x" is not a content policy; write one of: full, digest, none
Config.Record.PromptHistory: "x" does not say how much of a prompt is written; write one of: full, delta
Config.Record.Tags[""]: the name of the tag is empty; write a short name, for example team
Config.Record.Metadata[0]: missing; write a key of an event's CustomMetadata, or a prefix ending in *
Config.Record.FinalResponseTools[0]: missing; write the name of a tool
Config.Record.Redact.Keys[0]: missing; write the name of a key, for example account_number
Config.Record.Redact.Patterns[0]: missing; write a regular expression, for example 'sk-[A-Za-z0-9]{20,}'
Config.Record.Artifacts.Store: "a\n" holds a control character; write a folder, a bucket such as gs://bucket/prefix, or off
Config.Record.Artifacts.MaxBytes: -1 byte is negative; write at least 1 byte, or leave it out for the default
Config.Record.Artifacts.QueueBytes: 1 byte is too small; write at least 1MiB`, "\n")
	err := cfg.validate()
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStores checks stores and connections that are possible; testdata/config/bad has
// those that are not.
func TestStores(t *testing.T) {
	for _, a := range []ArtifactsConfig{
		{},
		{Store: StoreOff},
		{Store: "./off"},
		{Store: "parts"},
		{Store: "/var/lib/agent/parts/"},
		{Store: `C:\parts`},
		{Store: "C:/parts"},
		{Store: "gs://bucket"},
		{Store: "gs://bucket/"},
		{Store: "gs://my_bucket.example.com/a b/c/"},
		{Store: "gs://bucket", Connection: "us.my-connection"},
		{Store: "gs://bucket", Connection: "europe-west1.my_connection"},
		{Store: "gs://bucket", Connection: "project-1.us.my-connection"},
		{Store: "gs://bucket", Connection: "example.com:project.us.my-connection"},
	} {
		if err := (Config{Record: RecordConfig{Artifacts: a}}).validate(); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
	// Not a boolean to this parser.
	cfg, err := ParseConfig("c.yaml", []byte("record: {artifacts: {store: off}}"), nil)
	if err != nil || cfg.Record.Artifacts.Store != StoreOff {
		t.Errorf("store %q: %v", cfg.Record.Artifacts.Store, err)
	}
	for _, store := range []string{"gs://", "gs:///a", "gs://a", "gs://bucket-", "GS://bucket", "gs:/bucket", "file:///tmp", "https://a/b", "OFF", "False", "gs://bucket/a?b", "gs://bucket/a#b"} {
		if err := (Config{Record: RecordConfig{Artifacts: ArtifactsConfig{Store: store}}}).validate(); err == nil {
			t.Errorf("store %q: no error", store)
		}
	}
}

// TestGate checks when, and for which types, the gate of the configuration restricts
// what the record may leave out.
func TestGate(t *testing.T) {
	var (
		byTool = Config{Guard: GuardConfig{Tools: []string{"provision"}}}
		byRule = Config{Extract: []ExtractConfig{
			{Name: "a", Tool: "query", Type: "Product", Value: "$.name"},
			{Name: "b", Tool: "provision", In: graphsync.InAction, Type: "Budget", Value: "$.budget"},
		}}
		observed = Config{Guard: GuardConfig{Mode: ModeObserve}, Extract: byRule.Extract}
		reads    = Config{Extract: byRule.Extract[:1]}
		evidence = []string{
			"USER_MESSAGE_RECEIVED", "AGENT_STARTING", "AGENT_COMPLETED", "AGENT_ERROR", "LLM_REQUEST", "LLM_RESPONSE", "LLM_ERROR",
			"TOOL_STARTING", "TOOL_COMPLETED", "TOOL_ERROR",
		}
		contents = []string{"USER_MESSAGE_RECEIVED", "TOOL_STARTING", "TOOL_COMPLETED", "TOOL_ERROR"}
		always   = []string{
			"INVOCATION_STARTING", "INVOCATION_COMPLETED", "INVOCATION_ERROR",
			"HITL_CONFIRMATION_REQUEST", "HITL_CONFIRMATION_REQUEST_COMPLETED", "WORLD_CHANGE_CHECK", "TOOL_RESULT_REWRITTEN",
		}
	)
	for _, test := range []struct {
		name     string
		cfg      Config
		enforced string // the key that the error names; empty: nothing is enforced
	}{
		{"tools", byTool, "guard.tools"},
		{"a rule", byRule, "extract[1].in"},
		{"observed", observed, ""},
		{"a rule without an action", reads, ""},
		{"nothing", Config{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			check := func(r RecordConfig, key string, refused, byGate bool) {
				t.Helper()
				cfg := test.cfg
				cfg.Record = r
				err := cfg.validate()
				if !refused {
					if err != nil {
						t.Errorf("%+v: %v", r, err)
					}
					return
				}
				var first *ConfigError
				if !errors.As(err, &first) || first.Key != key || len(strings.Split(err.Error(), "\n")) != 2 {
					t.Errorf("%s: %v", key, err)
				} else if byGate && (!strings.Contains(first.Problem, test.enforced) || !strings.Contains(first.Remedy, test.enforced)) {
					t.Errorf("%s: the error does not name %s: %v", key, test.enforced, err)
				}
			}
			gated := test.enforced != ""
			for _, event := range record.EventTypes() {
				fixed := slices.Contains(always, event)
				rests := gated && slices.Contains(evidence, event)
				check(RecordConfig{Deny: []string{event}}, "Config.Record.Deny[0]", fixed || rests, rests)

				key := `Config.Record.Content["` + event + `"]`
				rests = gated && slices.Contains(contents, event)
				for _, policy := range []cgplugin.ContentPolicy{cgplugin.ContentDigest, cgplugin.ContentNone} {
					check(RecordConfig{Content: map[string]cgplugin.ContentPolicy{event: policy}}, key, fixed || rests, rests)
				}
				check(RecordConfig{Content: map[string]cgplugin.ContentPolicy{event: cgplugin.ContentFull}}, key, fixed, false)

				check(RecordConfig{Allow: []string{event}}, "Config.Record.Allow", gated, gated)
				if all := slices.Clone(evidence); slices.Contains(all, event) {
					i := slices.Index(all, event)
					check(RecordConfig{Allow: slices.Delete(all, i, i+1)}, "Config.Record.Allow", gated, gated)
				}
			}
			check(RecordConfig{Allow: evidence}, "", false, false)
		})
	}
}

// TestUnreadWarnings checks that a rule is told when what it reads is not recorded.
func TestUnreadWarnings(t *testing.T) {
	result := ExtractConfig{Name: "a", Tool: "query", Type: "T", Value: "$"}
	args := ExtractConfig{Name: "b", Tool: "query", In: graphsync.InArgs, Type: "T", Value: "$"}
	content := ExtractConfig{Name: "c", Event: "WORLD_CHANGE_CHECK", Type: "T", Value: "$"}
	unknown := ExtractConfig{Name: "d", Event: "STATE_DELTAS", Type: "T", Value: "$"}
	foreign := ExtractConfig{Name: "e", Event: "X", Type: "T", Value: "$"}
	for _, test := range []struct {
		name   string
		record RecordConfig
		rules  []ExtractConfig
		want   []string
	}{
		{"all recorded", RecordConfig{}, []ExtractConfig{result, args, content}, nil},
		{"denied", RecordConfig{Deny: []string{"TOOL_COMPLETED"}}, []ExtractConfig{result, args, content},
			[]string{`rule "a" reads the content of TOOL_COMPLETED, which record.deny leaves out: it finds nothing`}},
		{"not allowed", RecordConfig{Allow: []string{"TOOL_COMPLETED"}}, []ExtractConfig{result, args, content},
			[]string{`rule "b" reads the content of TOOL_STARTING, which record.allow leaves out: it finds nothing`}},
		{"reduced", RecordConfig{Content: map[string]cgplugin.ContentPolicy{"TOOL_STARTING": "digest", "TOOL_COMPLETED": "full"}}, []ExtractConfig{result, args},
			[]string{`rule "b" reads the content of TOOL_STARTING, which record.content leaves out: it finds nothing`}},
		{"unknown", RecordConfig{}, []ExtractConfig{unknown, foreign}, []string{
			`rule "d" reads events of type "STATE_DELTAS", which are never recorded: it finds nothing; did you mean "STATE_DELTA"?`,
			`rule "e" reads events of type "X", which are never recorded: it finds nothing`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			guard := GuardConfig{Types: map[string]TypeConfig{"T": {Optional: true}}}
			cfg := Config{Record: test.record, Guard: guard, Extract: test.rules}
			if diff := cmp.Diff(test.want, cfg.warnings()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStorageConversion checks that every value reaches the package that uses it.
func TestStorageConversion(t *testing.T) {
	cfg := Config{
		Journal: JournalConfig{
			Path: "j.db", Durability: journal.DurabilitySync, CommitInterval: time.Millisecond, QueueBytes: 4 << 20, QueueRows: 2000,
			OnFull: journal.Block, BlockTimeout: time.Second, Retention: RetentionConfig{MaxAge: time.Hour, MaxSize: 10 << 20},
		},
		Record: RecordConfig{
			Allow: []string{"LLM_REQUEST", "LLM_ERROR"}, Deny: []string{"LLM_ERROR"},
			Content:       map[string]cgplugin.ContentPolicy{"LLM_REQUEST": cgplugin.ContentDigest},
			PromptHistory: PromptDelta, Chunks: true, NoSessionState: true,
			Tags: map[string]string{"team": "ads"}, Metadata: []string{"a2a:*"}, FinalResponseTools: []string{"submit"},
			MaxString: 1000, MaxRow: 20_000, Redact: RedactConfig{Keys: []string{"account"}, Patterns: []string{"sk-[a-z]+"}},
			Artifacts: ArtifactsConfig{Store: "gs://bucket/a", Connection: "us.c"},
		},
		Format:   func(string, []byte) ([]byte, error) { return nil, nil },
		Classify: func(tool.Tool, map[string]any, map[string]any) error { return nil },
	}
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	wantJournal := journal.Config{
		Path: "j.db", Durability: journal.DurabilitySync, CommitInterval: time.Millisecond, QueueBytes: 4 << 20, QueueRows: 2000,
		OnFull: journal.Block, BlockTimeout: time.Second, Retention: journal.Retention{MaxAge: time.Hour, MaxBytes: 10 << 20},
	}
	if diff := cmp.Diff(wantJournal, cfg.Journal.withDefaults().config()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}

	got, err := cfg.options()
	if err != nil {
		t.Fatal(err)
	}
	if got.Format == nil || got.Classify == nil || len(got.Redaction.Patterns) != 1 || !got.Redaction.Patterns[0].MatchString("sk-a") {
		t.Errorf("got %+v", got)
	}
	got.Format, got.Classify, got.Redaction.Patterns = nil, nil, nil
	want := cgplugin.Options{
		Allow: cfg.Record.Allow, Deny: cfg.Record.Deny, Content: cfg.Record.Content,
		PromptDelta: true, Chunks: true, NoSessionState: true, Tags: cfg.Record.Tags,
		Metadata: []string{"a2a:*"}, FinalTools: []string{"submit"}, ObjectAuthorizer: "us.c",
	}
	want.Redaction.Keys = []string{"account"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cgplugin.Limits{String: 1000, Total: 20_000}, cfg.limits()); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}

	if got, err := (Config{}).options(); err != nil || !cmp.Equal(got, cgplugin.Options{}) {
		t.Errorf("the zero Config: %+v, %v", got, err)
	}
	if _, err := (Config{Record: RecordConfig{Redact: RedactConfig{Patterns: []string{"("}}}}).options(); err == nil {
		t.Error("a pattern that does not compile: no error")
	}
}

func TestRecordOptions(t *testing.T) {
	meters := noop.NewMeterProvider()
	failed := errors.New("failed")
	var cfg Config
	for _, o := range []Option{
		WithFormatter(func(string, []byte) ([]byte, error) { return nil, failed }),
		WithClassifier(func(tool.Tool, map[string]any, map[string]any) error { return failed }),
		WithMeterProvider(meters),
	} {
		o(&cfg)
	}
	if _, err := cfg.Format("", nil); err != failed {
		t.Errorf("formatter: %v", err)
	}
	if err := cfg.Classify(nil, nil, nil); err != failed {
		t.Errorf("classifier: %v", err)
	}
	if cfg.MeterProvider != meters {
		t.Errorf("meter provider %v", cfg.MeterProvider)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestValidateStorage checks the names of Go, and what only a Config written in Go
// can hold.
func TestValidateStorage(t *testing.T) {
	cfg := config.Config{
		Journal: config.Journal{
			Durability: "x", QueueBytes: -1, OnFull: "y",
			Retention: config.Retention{MaxAge: math.MaxInt64, MaxSize: -1 << 20},
		},
		Record: config.Record{
			Allow: []string{""}, Deny: []string{"A"}, Content: map[string]config.ContentPolicy{"LLM_ERROR": "", "LLM_REQUEST": "x"},
			PromptHistory: "x", Tags: map[string]string{"": "", "a": ""}, Metadata: []string{""}, FinalResponseTools: []string{""},
			MaxString: -1, MaxRow: 9_000_001, Redact: config.Redact{Keys: []string{""}, Patterns: []string{""}},
			Artifacts: config.Artifacts{Store: "a\n", Connection: "us.a", MaxBytes: -1},
		},
	}
	known := strings.Join(record.EventTypes(), ", ")
	want := strings.Split(`contextgraph: configuration:
Config.Record.MaxRow: 9000001 bytes is too large; write at most 9MB
Config.Record.MaxString: -1 byte is negative; write at least 100 bytes, or leave it out for the default
Config.Journal.Durability: "x" is not a level of durability; write one of: memory, journal, sync
Config.Journal.QueueBytes: -1 byte is negative; write at least 1MiB, or leave it out for the default
Config.Journal.OnFull: "y" does not say what a full queue does; write one of: drop_oldest, block
Config.Journal.Retention.MaxAge: 2562047h47m16.854775807s is too long; write at most 36500d
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
Config.Record.Artifacts.MaxBytes: -1 byte is negative; write at least 1 byte, or leave it out for the default`, "\n")
	err := cfg.Check(Checks()...)
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStores checks stores and connections that are possible; testdata/bad has
// those that are not.
func TestStores(t *testing.T) {
	for _, a := range []config.Artifacts{
		{},
		{Store: config.StoreOff},
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
		if err := (config.Config{Record: config.Record{Artifacts: a}}).Check(Checks()...); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
	// Not a boolean to this parser.
	cfg, err := config.Parse("c.yaml", []byte("record: {artifacts: {store: off}}"), nil, Checks()...)
	if err != nil || cfg.Record.Artifacts.Store != config.StoreOff {
		t.Errorf("store %q: %v", cfg.Record.Artifacts.Store, err)
	}
	for _, store := range []string{"gs://", "gs:///a", "gs://a", "gs://bucket-", "GS://bucket", "gs:/bucket", "file:///tmp", "https://a/b", "OFF", "False", "gs://bucket/a?b", "gs://bucket/a#b"} {
		if err := (config.Config{Record: config.Record{Artifacts: config.Artifacts{Store: store}}}).Check(Checks()...); err == nil {
			t.Errorf("store %q: no error", store)
		}
	}
}

// TestGate checks when, and for which types, the gate of the configuration restricts
// what the record may leave out.
func TestGate(t *testing.T) {
	var (
		byTool = config.Config{Guard: config.Guard{Tools: config.Tools("provision")}}
		byRule = config.Config{Extract: []config.Extract{
			{Name: "a", Tool: "query", Type: "Product", Value: "$.name"},
			{Name: "b", Tool: "provision", In: config.InAction, Type: "Budget", Value: "$.budget"},
		}}
		observed = config.Config{Guard: config.Guard{Mode: config.ModeObserve}, Extract: byRule.Extract}
		reads    = config.Config{Extract: byRule.Extract[:1]}
		evidence = []string{
			"USER_MESSAGE_RECEIVED", "AGENT_STARTING", "AGENT_COMPLETED", "AGENT_ERROR", "LLM_REQUEST", "LLM_RESPONSE", "LLM_ERROR",
			"TOOL_STARTING", "TOOL_COMPLETED", "TOOL_ERROR", "ENTITIES_DECLARED", "ENTITIES_FOUND",
		}
		contents = []string{"USER_MESSAGE_RECEIVED", "TOOL_STARTING", "TOOL_COMPLETED", "TOOL_ERROR", "ENTITIES_DECLARED", "ENTITIES_FOUND"}
		always   = []string{
			"INVOCATION_STARTING", "INVOCATION_COMPLETED", "INVOCATION_ERROR",
			"HITL_CONFIRMATION_REQUEST", "HITL_CONFIRMATION_REQUEST_COMPLETED", "WORLD_CHANGE_CHECK", "TOOL_RESULT_REWRITTEN",
		}
	)
	for _, test := range []struct {
		name     string
		cfg      config.Config
		enforced string // the key that the error names; empty: nothing is enforced
	}{
		{"tools", byTool, "guard.tools"},
		{"a rule", byRule, "extract[1].in"},
		{"observed", observed, ""},
		{"a rule without an action", reads, ""},
		{"nothing", config.Config{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			check := func(r config.Record, key string, refused, byGate bool) {
				t.Helper()
				cfg := test.cfg
				cfg.Record = r
				err := cfg.Check(Checks()...)
				if !refused {
					if err != nil {
						t.Errorf("%+v: %v", r, err)
					}
					return
				}
				var first *config.Error
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
				check(config.Record{Deny: []string{event}}, "Config.Record.Deny[0]", fixed || rests, rests)

				key := `Config.Record.Content["` + event + `"]`
				rests = gated && slices.Contains(contents, event)
				for _, policy := range []config.ContentPolicy{config.ContentDigest, config.ContentNone} {
					check(config.Record{Content: map[string]config.ContentPolicy{event: policy}}, key, fixed || rests, rests)
				}
				check(config.Record{Content: map[string]config.ContentPolicy{event: config.ContentFull}}, key, fixed, false)

				check(config.Record{Allow: []string{event}}, "Config.Record.Allow", gated, gated)
				if all := slices.Clone(evidence); slices.Contains(all, event) {
					i := slices.Index(all, event)
					check(config.Record{Allow: slices.Delete(all, i, i+1)}, "Config.Record.Allow", gated, gated)
				}
			}
			check(config.Record{Allow: evidence}, "", false, false)
		})
	}
}

// TestUnreadWarnings checks that a rule is told when what it reads is not recorded.
func TestUnreadWarnings(t *testing.T) {
	result := config.Extract{Name: "a", Tool: "query", Type: "T", Value: "$"}
	args := config.Extract{Name: "b", Tool: "query", In: config.InArgs, Type: "T", Value: "$"}
	content := config.Extract{Name: "c", Event: "WORLD_CHANGE_CHECK", Type: "T", Value: "$"}
	unknown := config.Extract{Name: "d", Event: "STATE_DELTAS", Type: "T", Value: "$"}
	foreign := config.Extract{Name: "e", Event: "X", Type: "T", Value: "$"}
	for _, test := range []struct {
		name   string
		record config.Record
		rules  []config.Extract
		want   string
	}{
		{"all recorded", config.Record{}, []config.Extract{result, args, content}, ""},
		{"denied", config.Record{Deny: []string{"TOOL_COMPLETED"}}, []config.Extract{result, args, content},
			`extract[0]: rule "a" reads the content of TOOL_COMPLETED, which record.deny leaves out: it finds nothing; record it, or remove the rule`},
		{"not allowed", config.Record{Allow: []string{"TOOL_COMPLETED"}}, []config.Extract{result, args, content},
			`extract[1]: rule "b" reads the content of TOOL_STARTING, which record.allow leaves out: it finds nothing; record it, or remove the rule`},
		{"reduced", config.Record{Content: map[string]config.ContentPolicy{"TOOL_STARTING": "digest", "TOOL_COMPLETED": "full"}}, []config.Extract{result, args},
			`extract[1]: rule "b" reads the content of TOOL_STARTING, which record.content leaves out: it finds nothing; record it, or remove the rule`},
		{"unknown", config.Record{}, []config.Extract{unknown, foreign}, `extract[0].event: rule "d" reads events of type "STATE_DELTAS", which are never recorded: it finds nothing; did you mean "STATE_DELTA"? Else write the type of an event that is recorded
extract[1].event: rule "e" reads events of type "X", which are never recorded: it finds nothing; write the type of an event that is recorded`},
	} {
		t.Run(test.name, func(t *testing.T) {
			guard := config.Guard{Types: map[string]config.TypePolicy{"T": {Optional: true}}}
			cfg := config.Config{Record: test.record, Guard: guard, Extract: test.rules}
			if diff := cmp.Diff(test.want, advised(cfg)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// An entity is what a check asks the world about: one that the limits of a row would
// change must not pass for what the tool declared.
func TestRecordEntityWithinTheLimits(t *testing.T) {
	many := make(map[string]entity.Value)
	for _, name := range "abcdefghijklmnop" {
		many[string(name)] = entity.Text(strings.Repeat("x", 1000))
	}
	for _, tt := range []struct {
		name   string
		limits config.Record
		e      entity.Entity
		fits   bool
	}{
		{"small", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: "banner"}, true},
		{"long value", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: strings.Repeat("v", 200)}, false},
		{"long attribute", config.Record{MaxString: 100}, entity.Entity{Type: "Product", Value: "banner", Attributes: map[string]entity.Value{"note": entity.Text(strings.Repeat("n", 200))}}, false},
		{"many attributes", config.Record{MaxRow: 10_000}, entity.Entity{Type: "Product", Value: "banner", Attributes: many}, false},
		{"many attributes in a large row", config.Record{}, entity.Entity{Type: "Product", Value: "banner", Attributes: many}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, row, declared := declare(t, recorder.Config{Record: tt.limits}, tt.e)
			if tt.fits != (declared == nil) {
				t.Fatalf("RecordEntity: %v, want it to succeed: %v", declared, tt.fits)
			}
			if declared != nil && !strings.Contains(declared.Error(), "record.max_string") {
				t.Errorf("error %q names no remedy", declared)
			}
			if got := rowtest.Attribute(t, row, "entities"); tt.fits != (got != nil) {
				t.Errorf("entities %.100v on record, want them: %v", got, tt.fits)
			}
		})
	}
}

// declare runs a tool that declares e, and returns what RecordEntity said and the row
// that ends the call.
func declare(t *testing.T, cfg recorder.Config, e entity.Entity) (*recorder.Recorder, record.Event, error) {
	t.Helper()
	sink := &rowtest.Sink{}
	cfg.Sink = sink
	var rec *recorder.Recorder
	declared := errors.New("the tool did not run")
	tl := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		declared = rec.RecordEntity(ctx, e)
		return map[string]any{"ok": true}, nil
	})
	rec, r := recorderAndRunner(t, cfg, llmagent.Config{
		Model: adktest.CallsOnce(&genai.FunctionCall{ID: "c1", Name: "work"}), Tools: []tool.Tool{tl},
	})
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	done := sink.Of(record.ToolCompleted)
	if len(done) != 1 {
		t.Fatalf("%d rows of TOOL_COMPLETED, want 1", len(done))
	}
	return rec, done[0], declared
}

// A secret must not get on record because an entity has it.
func TestSecretsInEntities(t *testing.T) {
	const token = "AKIAIOSFODNN7EXAMPLE"
	for _, tt := range []struct {
		name     string
		redact   config.Redact
		e        entity.Entity
		redacted uint64
		err      string
	}{
		{"attribute by its name", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"api_key": entity.Text(token)}}, 0, `"api_key"`},
		{"attribute by a configured name", config.Redact{Keys: []string{"badge"}}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"badge": entity.Text(token)}}, 0, `"badge"`},
		{"value by its form", config.Redact{}, entity.Entity{Type: "Account", Value: token}, 1, ""},
		{"value by a configured form", config.Redact{Patterns: []string{`acct-\d+`}}, entity.Entity{Type: "Account", Value: "acct-123"}, 1, ""},
		{"attribute by its form", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"note": entity.Text(token)}}, 1, ""},
		{"none", config.Redact{}, entity.Entity{Type: "Account", Value: "a", Attributes: map[string]entity.Value{"price": entity.Text("5")}}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, row, err := declare(t, recorder.Config{Record: config.Record{Redact: tt.redact}}, tt.e)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("RecordEntity: %v, want an error with %q", err, tt.err)
			}
			if strings.Contains(string(row.Attributes), token) {
				t.Errorf("attributes %s hold the secret", row.Attributes)
			}
			if got := rec.Stats().Redacted; got != tt.redacted {
				t.Errorf("%d redactions counted, want %d", got, tt.redacted)
			}
		})
	}
}

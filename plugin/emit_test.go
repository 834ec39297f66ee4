// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What another package writes about a row stands there, also if the content uses up the number
// of values that a row may have.
func TestEmit(t *testing.T) {
	for name, test := range map[string]struct {
		content any
		want    any
		cut     bool
	}{
		"none":            {nil, nil, false},
		"a value":         {m{"b": 1, "a": 2}, `{"a":2,"b":1}`, false},
		"an object":       {recorder.Object{{Key: "tool", Value: "buy"}, {Key: "result", Value: m{"ok": true, "password": "x"}}}, `{"tool":"buy","result":{"ok":true,"password":"[REDACTED]"}}`, false},
		"an empty one":    {recorder.Object{}, "{}", false},
		"too many values": {slices.Repeat([]any{1}, 200_000), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &rowtest.Sink{}
			rec, err := recorder.New(recorder.Config{Sink: sink})
			if err != nil {
				t.Fatal(err)
			}
			rec.Emit(t.Context(), rec.NoRun(record.Session{App: "app", User: "u", ID: "s"}), recorder.Row{
				Type: record.WorldChangeCheck, Content: test.content,
				ADK: recorder.Object{{Key: "verdict", Value: "safe"}, {Key: "accepted", Value: true}, {Key: "waited_ms", Value: int64(7)}},
			})
			row := sink.Rows()[0]
			want := map[string]any{"schema_version": "1", "app_name": "app", "verdict": "safe", "accepted": true, "waited_ms": 7.0}
			if diff := cmp.Diff(any(want), rowtest.Attribute(t, row, "adk")); diff != "" {
				t.Errorf("attributes.adk (-want +got):\n%s", diff)
			}
			if test.cut != row.IsTruncated {
				t.Errorf("truncated %v", row.IsTruncated)
			}
			if text, ok := test.want.(string); ok && string(row.Content) != text || test.content == nil && row.Content != nil {
				t.Errorf("content %s, want %s", row.Content, text)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type hinted struct {
	Total int `json:"total"`
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

// The summary for the human joins an object; a payload of another kind is the
// tool's business and stays as it is.
func TestWithSummary(t *testing.T) {
	shown := map[string]any{"approval_id": "a"}
	original := map[string]any{"total": 1}
	for _, tt := range []struct {
		name     string
		in, want any
	}{
		{"none", nil, map[string]any{"contextgraph": shown}},
		{"map", original, map[string]any{"total": 1, "contextgraph": shown}},
		{"struct", hinted{1 << 60}, map[string]any{"total": json.Number("1152921504606846976"), "contextgraph": shown}},
		{"method that panics", panicking{}, panicking{}},
		{"text", "please", "please"},
		{"list", []any{1}, []any{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, withSummary(tt.in, shown)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
	if len(original) != 1 {
		t.Errorf("the tool's own map was changed: %v", original)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// A model thinks as little as it can, unless the configuration says otherwise, and is sent
// no setting that it does not know.
func TestExtractThinking(t *testing.T) {
	none, low := `{"thinking_budget": 0}`, `{"thinking_level": "LOW"}`
	for _, c := range []struct {
		model  string
		budget int
		want   string
	}{
		{"gemini-2.5-flash", 0, none},
		{"gemini-2.5-flash-lite", 0, none},
		{"gemini-2.5-flash", 1024, `{"thinking_budget": 1024}`},
		{"gemini-2.5-pro", 0, `{"thinking_budget": 128}`},
		{"gemini-2.0-flash-001", 0, ""},
		{"gemini-1.5-pro", 0, ""},
		{"gemini-3-flash", 0, low},
		{"gemini-3.5-flash-lite", 0, low},
		{"gemini-10.1-flash", 0, low},
		{"https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash", 0, none},
		{"https://europe-west9-aiplatform.googleapis.com/v1/projects/p/locations/europe-west9/endpoints/12", 0, ""},
		{"https://europe-west9-aiplatform.googleapis.com/v1/projects/p/locations/europe-west9/endpoints/12", 64, `{"thinking_budget": 64}`},
	} {
		got := warehouse.ExtractThinking(config.Extraction{Model: c.model, ThinkingBudget: c.budget})
		if got != c.want {
			t.Errorf("%s with %d: %s, want %s", c.model, c.budget, got, c.want)
		}
	}
}

// The parameters of the model are JSON of the documented form.
func TestExtractAskParameters(t *testing.T) {
	names, err := warehouse.NamesOf(config.BigQuery{Project: "p1-test", Dataset: "d"})
	if err != nil {
		t.Fatal(err)
	}
	params := regexp.MustCompile(`model_params => JSON '(.*)'`)
	for thinking, want := range map[string]any{"": nil, `{"thinking_budget": 0}`: map[string]any{"thinking_budget": 0.0}} {
		text, err := names.Statement("extract_ask", warehouse.ExtractStatement{Pending: "a", Answers: "b", Endpoint: "m", Thinking: thinking})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Config map[string]any `json:"generation_config"`
		}
		if err := json.Unmarshal([]byte(params.FindStringSubmatch(text)[1]), &got); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		budget := got.Config["thinking_config"]
		if gotJSON, wantJSON := compact(t, budget), compact(t, want); gotJSON != wantJSON || got.Config["temperature"] != 0.0 {
			t.Errorf("with %q: %s", thinking, compact(t, got.Config))
		}
	}
}

func compact(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

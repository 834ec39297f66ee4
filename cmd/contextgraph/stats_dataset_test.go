// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"google.golang.org/api/option"
)

// counting is a BigQuery that answers the questions of stats with one row each.
func counting(t *testing.T) *httptest.Server {
	t.Helper()
	type column struct{ name, kind, value string }
	answers := map[string][]column{ // by what only that statement has
		"safe": {
			{"day", "TIMESTAMP", "1772668800000000"}, {"tool", "STRING", "buy"}, {"stage", "STRING", "answer"}, {"checks", "INTEGER", "3"}, {"safe", "INTEGER", "1"},
			{"drift", "INTEGER", "2"}, {"failed", "INTEGER", "0"}, {"entities", "INTEGER", "9"}, {"stale", "INTEGER", "4"},
		},
		"alerts": {
			{"entity_type", "STRING", "Product"}, {"value", "STRING", "Strava"}, {"drift_type", "STRING", "price_changed"}, {"alerts", "INTEGER", "2"},
			{"sessions", "INTEGER", "1"}, {"severity", "FLOAT", "0.7"}, {"last", "TIMESTAMP", "1772668800000000"},
		},
		"waited": {
			{"kind", "STRING", "CONFIRMATION"}, {"agent", "STRING", "buyer"}, {"tool", "STRING", "buy"}, {"requests", "INTEGER", "5"}, {"answered", "INTEGER", "4"},
			{"confirmed", "INTEGER", "3"}, {"rejected", "INTEGER", "1"}, {"accepted", "INTEGER", "1"}, {"waited", "INTEGER", "4"},
			{"avg_ms", "FLOAT", "60000"}, {"p50_ms", "FLOAT", "61000"}, {"p95_ms", "FLOAT", "120000"}, {"max_ms", "FLOAT", "180000"},
		},
	}
	of := make(map[string]string) // the kind of question by job
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			var request struct {
				JobReference  struct{ JobID string }
				Configuration struct{ Query struct{ Query string } }
			}
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			kind, text := "waited", request.Configuration.Query.Query
			switch {
			case strings.Contains(text, "p95_ms"):
			case strings.Contains(text, "severity"):
				kind = "alerts"
			case strings.Contains(text, "stale"):
				kind = "safe"
			default:
				t.Errorf("an unknown question: %s", text)
			}
			of[request.JobReference.JobID] = kind
			_ = json.NewEncoder(w).Encode(map[string]any{
				"jobReference": map[string]any{"projectId": "my-project", "jobId": request.JobReference.JobID}, "status": map[string]any{"state": "DONE"},
				"configuration": map[string]any{"query": map[string]any{}}, "statistics": map[string]any{"query": map[string]any{"statementType": "SELECT"}},
			})
			return
		}
		id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		var fields, row []any
		for _, c := range answers[of[id]] {
			fields = append(fields, map[string]any{"name": c.name, "type": c.kind})
			row = append(row, map[string]any{"v": c.value})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"jobReference": map[string]any{"projectId": "my-project", "jobId": id}, "jobComplete": true, "totalRows": "1",
			"status": map[string]any{"state": "DONE"}, "configuration": map[string]any{"query": map[string]any{}},
			"schema": map[string]any{"fields": fields}, "rows": []any{map[string]any{"f": row}},
		})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestDatasetStats(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if code, _, stderr := runCommand(t, "stats", "--from", "dataset"); code != exitUsage || !strings.Contains(stderr, "no dataset is named") {
		t.Errorf("%d: %s", code, stderr)
	}
	server := counting(t)
	for _, output := range []string{outputTable, outputJSON} {
		a := &app{client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())}}
		code, stdout, stderr := askWith(t, a, "stats", "--from", "dataset", "--project", "my-project", "--dataset", "agents", "--output", output)
		if code != exitOK {
			t.Fatalf("%d: %s%s", code, stdout, stderr)
		}
		golden(t, dir, "stats-dataset."+output, stdout)
	}
}

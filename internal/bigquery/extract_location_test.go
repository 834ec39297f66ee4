// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

// The model is asked beside the dataset that is there, whatever the configuration says of
// a new one, and nowhere when it is not known where that is.
func TestExtractAsksTheModelBesideTheDataset(t *testing.T) {
	const model, url = "gemini-2.5-flash", "https://europe-west9-aiplatform.googleapis.com/v1/projects/p/locations/europe-west9/endpoints/12"
	for _, c := range []struct {
		name   string
		cfg    config.BigQuery
		is     string // where the dataset is; empty when that is not said
		status int    // of the answer that says so, 0 for OK
		want   string // part of the endpoint
		err    string
	}{
		{name: "EU, not configured", is: "EU", want: "https://europe-west4-aiplatform"},
		{name: "US, not configured", is: "US", want: "https://us-central1-aiplatform"},
		{name: "a region", is: "europe-west3", want: "https://europe-west3-aiplatform"},
		{name: "configured for a new one", cfg: config.BigQuery{Location: "US"}, is: "EU", want: "https://europe-west4-aiplatform"},
		{name: "configured for the model", cfg: config.BigQuery{Extract: config.Extraction{Location: "asia-northeast1"}}, is: "EU", want: "https://asia-northeast1-aiplatform"},
		{name: "URL", cfg: config.BigQuery{Extract: config.Extraction{Model: url}}, is: "EU", want: url},
		{name: "no dataset", status: http.StatusNotFound, err: "contextgraph init"},
		{name: "not allowed", cfg: config.BigQuery{Location: "EU"}, status: http.StatusForbidden, err: "set extract.location"},
		{name: "not said", err: "extract.location"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				answer := map[string]any{
					"jobReference": map[string]any{"jobId": "job", "projectId": "my-project"}, "status": map[string]any{"state": "DONE"},
					"configuration": map[string]any{"query": map[string]any{}},
				}
				if r.Method == http.MethodGet {
					if !strings.HasSuffix(r.URL.Path, "/projects/my-project/datasets/agents") {
						t.Errorf("GET %s", r.URL.Path)
					}
					answer = map[string]any{"location": c.is}
					if c.status != 0 {
						w.WriteHeader(c.status)
						answer = map[string]any{"error": map[string]any{"code": c.status, "message": "No."}}
					}
				}
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(server.Close)
			c.cfg.Project, c.cfg.Dataset = "my-project", "agents"
			if c.cfg.Extract.Model == "" {
				c.cfg.Extract.Model = model
			}
			d, err := bigquery.NewDataset(t.Context(), c.cfg, bigquery.DatasetOptions{
				Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			report, err := d.Extract(t.Context(), bigquery.ExtractRequest{DryRun: true})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || len(report.Statements) > 0 {
					t.Errorf("error = %v, want %q; statements %v", err, c.err, report.Statements)
				}
				return
			}
			if err != nil || !strings.HasPrefix(report.Endpoint, c.want) || !strings.Contains(report.Statements[1], "endpoint => '"+report.Endpoint+"'") {
				t.Errorf("endpoint = %q, %v, want %q", report.Endpoint, err, c.want)
			}
		})
	}
}

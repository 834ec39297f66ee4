// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// TestReference holds what the client does, and what it does with errors, against what
// the tests of the Python implementation say of it, by the numbers of
// docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	// datasetOf returns a Dataset of an API.
	datasetOf := func(t *testing.T, h http.Handler, cfg config.BigQuery) *bigquery.Dataset {
		t.Helper()
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		cfg.Project, cfg.Dataset = "my-project", "agents"
		d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
			Client: []option.ClientOption{option.WithEndpoint(server.URL + "/bigquery/v2/"), option.WithHTTPClient(server.Client())},
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	refusing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusForbidden, "accessDenied", "Access Denied: no permission")
	})
	scope := ask.Scope{Session: named("s1")}
	// The reference returns an empty answer. Here all three are asked of the graph of the session.
	failed := func(t *testing.T) {
		if _, err := datasetOf(t, refusing, config.BigQuery{}).Graph(t.Context(), scope); err == nil {
			t.Error("no error")
		}
	}
	t.Run("31_an_explanation_that_failed_is_an_error", failed)
	t.Run("32_a_causal_chain_that_failed_is_an_error", failed)
	t.Run("37_a_trace_that_failed_is_an_error", failed)
	t.Run("42_the_id_of_a_link_is_that_of_the_entity", func(t *testing.T) {
		// Links are a view of the entities.
		views, err := datasetOf(t, refusing, config.BigQuery{}).Names().Views()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			for name, want := range map[string]string{
				warehouse.CrossLinks: "biz_node_id AS link_id", warehouse.BizNodes: "seen.node_type, ':', seen.node_value) AS biz_node_id",
			} {
				if v.Name == name && !strings.Contains(v.Query, want) {
					t.Errorf("%s lacks %q:\n%s", name, want, v.Query)
				}
			}
		}
	})
	t.Run("46_deleting_what_is_not_there_is_no_error", func(t *testing.T) {
		deleted := 0
		d := datasetOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete:
				deleted++
				fail(w, http.StatusNotFound, "notFound", "Table not found")
			case strings.Contains(r.URL.Path, "/jobs"):
				reply(w, map[string]any{
					"jobReference": map[string]any{"projectId": "my-project", "jobId": "j"}, "status": map[string]any{"state": "DONE"},
					"configuration": map[string]any{"query": map[string]any{}}, "statistics": map[string]any{"query": map[string]any{}},
				})
			default: // a table that is made, and then has no rows
				reply(w, map[string]any{"location": "EU"})
			}
		}), config.BigQuery{Extract: config.Extraction{Model: "gemini-2.5-flash", Location: "EU"}})
		if _, err := d.Extract(t.Context(), bigquery.ExtractRequest{}); err != nil || deleted != 2 {
			t.Errorf("%d tables of the extraction were deleted, %v", deleted, err)
		}
	})
	t.Run("93_a_dataset_is_bound_to_its_project", func(t *testing.T) {
		if n := datasetOf(t, refusing, config.BigQuery{}).Names(); n.Project() != "my-project" || n.Dataset() != "agents" {
			t.Errorf("%s.%s", n.Project(), n.Dataset())
		}
	})
	t.Run("94_a_dataset_keeps_its_configuration", func(t *testing.T) {
		d := datasetOf(t, refusing, config.BigQuery{Table: "rows", Graph: config.Graph{Name: "my_graph"}})
		if n := d.Names(); n.Events() != "rows" || n.Graph() != "my_graph" {
			t.Errorf("table %s, graph %s", n.Events(), n.Graph())
		}
	})
}

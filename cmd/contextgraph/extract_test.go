// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"google.golang.org/api/option"
)

func TestExtractCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("model.yaml", []byte("bigquery:\n  project: my-project\n  dataset: agents\n  extract:\n    model: gemini-2.5-flash\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("remote.yaml", []byte("bigquery:\n  project: my-project\n  dataset: agents\n  extract:\n    model: my-project.models.gemini\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := taking(t)
	for _, test := range []struct {
		args string
		code int
		want []string
	}{
		{"extract --help", exitOK, []string{"contextgraph extract --since 24h --dry-run", "never changed or removed"}},
		{"extract --project my-project --dataset agents", exitError, []string{"no model is configured", "extract.model"}},
		{"extract --config remote.yaml", exitError, []string{"remote model of BigQuery ML"}},
		{"extract --config model.yaml --app shop", exitUsage, []string{"give --session too"}},
		{"extract --config model.yaml --since soon", exitUsage, []string{"7d"}},
		{"extract --config model.yaml --answers agent_events", exitError, []string{"extract_..._answers"}},
		{"extract --config model.yaml --dry-run", exitOK, []string{"AI.GENERATE", "@instructions", "locations/europe-west4/publishers/google/models/gemini-2.5-flash", "choosing the rows would read"}},
	} {
		t.Run(test.args, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{stdout: &out, stderr: &out, client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithoutAuthentication()}}
			if code := run(t.Context(), strings.Fields(test.args), a); code != test.code {
				t.Errorf("ended with %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}

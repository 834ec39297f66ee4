// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/verify"
)

// What verify refuses before it sends anything.
func TestVerifyUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	refusing := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) }))
	t.Cleanup(refusing.Close)
	for _, test := range []struct{ args, want string }{
		{"verify now", "takes no argument"},
		{"verify --project My_Project --yes", "project: \"My_Project\" cannot be used"},
		{"verify --project my-project --yes --report no/such/folder.json", "--report no/such/folder.json"},
		{"verify --project my-project --yes --timeout 0s", "it must be positive"},
		{"verify --project my-project --output json", "prints text only"},
	} {
		code, stdout, stderr := in(t, refusing, strings.Fields(test.args)...)
		if code != exitUsage || !strings.Contains(stderr, test.want) || stdout != "" {
			t.Errorf("contextgraph %s = %d\n%s%s", test.args, code, stdout, stderr)
		}
	}
}

// Somebody who is asked and says no has paid nothing.
func TestVerifyAsks(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := askWith(t, &app{stdin: strings.NewReader("n\n"), terminal: func(io.Writer) bool { return true }}, "verify", "--project", "my-project")
	if code != exitError || !strings.Contains(stderr, "USD on demand") || !strings.Contains(stderr, "Go on? [y/N]") || !strings.Contains(stderr, "nothing was done") || stdout != "" {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

// What failed is printed with its remedy, and stands in the report.
func TestVerifyReports(t *testing.T) {
	t.Chdir(t.TempDir())
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"code":403,"message":"Access Denied: project my-project","errors":[{"reason":"accessDenied"}]}}`))
	}))
	t.Cleanup(refusing.Close)
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, client: []option.ClientOption{option.WithEndpoint(refusing.URL), option.WithHTTPClient(refusing.Client())}}
	code := run(t.Context(), []string{"verify", "--project", "my-project", "--yes", "--report", "verify.json"}, a)
	if code != exitError || !strings.Contains(errs.String(), "1 of ") || !strings.Contains(out.String(), "failed   dataset    create the dataset") || !strings.Contains(out.String(), "do: give the account roles/bigquery.user on my-project") {
		t.Errorf("%d\n%s%s", code, out.String(), errs.String())
	}
	text, err := os.ReadFile("verify.json")
	if err != nil {
		t.Fatal(err)
	}
	var report verify.Report
	if err := json.Unmarshal(text, &report); err != nil || report.Passed || len(report.Checks) < 25 || report.Location != "US" {
		t.Errorf("%v: %s", err, text)
	}
	if strings.Contains(string(text), "my-project") {
		t.Errorf("the report names the project: %s", text)
	}
}

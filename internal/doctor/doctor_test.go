// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/doctor"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

// examine examines a configuration that no file holds, and the dataset of a server.
func examine(t *testing.T, cfg config.Config, server *httptest.Server) []doctor.Finding {
	t.Helper()
	return examineWhole(t, cfg, server, false)
}

func examineWhole(t *testing.T, cfg config.Config, server *httptest.Server, whole bool) []doctor.Finding {
	t.Helper()
	return doctor.Examine(t.Context(), doctor.Options{
		Path: "none.yaml", Whole: whole, Load: func() (config.Config, error) { return cfg, nil }, Now: time.Now,
		Dataset: func(ctx context.Context, b config.BigQuery) (*bigquery.Dataset, error) {
			return bigquery.NewDataset(ctx, b, bigquery.DatasetOptions{
				Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
			})
		},
	})
}

// has reports whether there is a finding of the level whose text has all words.
func has(found []doctor.Finding, area string, l doctor.Level, words ...string) bool {
	return slices.ContainsFunc(found, func(f doctor.Finding) bool {
		lacks := func(w string) bool { return !strings.Contains(f.Text, w) }
		return f.Area == area && f.Level == l && !slices.ContainsFunc(words, lacks)
	})
}

func checkersOf(urls ...string) []config.Checker {
	var out []config.Checker
	for _, u := range urls {
		out = append(out, config.Checker{Type: "Product", HTTP: &config.HTTP{URL: u}})
	}
	return out
}

// A server is connected to once, whatever number of checkers ask it, and asked for nothing
// but its root, without the headers of the configuration.
func TestExamineServers(t *testing.T) {
	t.Chdir(t.TempDir())
	var mu sync.Mutex
	var asked []string
	date := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer server.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()

	checkers := checkersOf(server.URL+"/a/{value}", server.URL+"/b/{attributes.x}", "http://127.0.0.1:1/{value}", secure.URL+"/{value}")
	checkers[0].HTTP.Headers = map[string]config.Secret{"Authorization": "Bearer secret"}
	look := func() []doctor.Finding { return examine(t, config.Config{Checkers: checkers}, nil) }
	found := look()
	if len(asked) != 1 || asked[0] != "HEAD / " {
		t.Errorf("the server was asked %q", asked)
	}
	name := strings.TrimPrefix(server.URL, "http://")
	if !has(found, "checkers", doctor.OK, name, "is there") || !has(found, "clock", doctor.OK, name) {
		t.Errorf("%+v", found)
	}
	if !has(found, "checkers", doctor.Error, "127.0.0.1:1 ", "cannot be reached") {
		t.Errorf("a closed port: %+v", found)
	}
	if !has(found, "checkers", doctor.Error, strings.TrimPrefix(secure.URL, "https://"), "certificate") {
		t.Errorf("a certificate that nobody knows: %+v", found)
	}
	date = time.Now().Add(-time.Hour)
	if found := look(); !has(found, "clock", doctor.Warning, name, "1h0m") {
		t.Errorf("a clock that is an hour behind: %+v", found)
	}
}

// No driver of a database is there, so the finding says who tries the query.
func TestExamineDatabase(t *testing.T) {
	t.Chdir(t.TempDir())
	found := examine(t, config.Config{Checkers: []config.Checker{{Type: "Drug", SQL: &config.SQL{Database: "shop"}}}}, nil)
	if i := slices.IndexFunc(found, func(f doctor.Finding) bool { return strings.Contains(f.Text, `the database "shop"`) }); i < 0 || !strings.Contains(found[i].Remedy, "tries the query when it starts") {
		t.Errorf("%+v", found)
	}
}

// What the dataset lacks is a warning, and what is not allowed an error that names the role.
func TestExamineDataset(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents"}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 403, "message": "Access Denied"}})
	}))
	defer refusing.Close()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 404, "message": "Not found"}})
	}))
	defer empty.Close()
	for name, test := range map[string]struct {
		cfg    config.BigQuery
		server *httptest.Server
		level  doctor.Level
		text   string
	}{
		"nothing is there":   {cfg, empty, doctor.Warning, "lacks"},
		"nothing is allowed": {cfg, refusing, doctor.Error, "roles/bigquery.dataEditor"},
		"nothing is set up":  {server: empty},
	} {
		found := examine(t, config.Config{BigQuery: test.cfg}, test.server)
		if test.level == "" {
			if slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Area == "bigquery" }) {
				t.Errorf("%s: %+v", name, found)
			}
		} else if !has(found, "bigquery", test.level, test.text) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A journal that others can read is told of.
func TestExamineJournal(t *testing.T) {
	path := journaltest.Path(t)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	found := examine(t, config.Config{Journal: config.Journal{Path: path}}, nil)
	if runtime.GOOS != "windows" && !has(found, "journal", doctor.Warning, "others can read it") {
		t.Errorf("%+v", found)
	}
}

// A journal that takes long to read is searched for damage if somebody asks for it.
func TestExamineLargeJournal(t *testing.T) {
	t.Chdir(t.TempDir())
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: "a.db"}})
	if err == nil {
		err = j.Close(t.Context())
	}
	if err == nil {
		err = os.Truncate("a.db", journal.CheckedBytes+1) // the size of SQLite stands in the file
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Config{Journal: config.Journal{Path: "a.db"}}
	if found := examine(t, cfg, nil); !has(found, "journal", doctor.Note, "not searched for damage") || has(found, "journal", doctor.OK, "sound") {
		t.Errorf("%+v", found)
	}
	if found := examineWhole(t, cfg, nil, true); !has(found, "journal", doctor.OK, "a.db is sound") {
		t.Errorf("whole: %+v", found)
	}
}

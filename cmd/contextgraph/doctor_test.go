// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// has reports whether there is a finding of the level whose text has all words.
func (f findings) has(area string, l level, words ...string) bool {
	for _, one := range f {
		all := one.Area == area && one.Level == l
		for _, w := range words {
			all = all && strings.Contains(one.Text, w)
		}
		if all {
			return true
		}
	}
	return false
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
	a := &app{now: time.Now}
	look := func() findings {
		var found findings
		servers := examineServers(t.Context(), checkers)
		a.examineClock(time.Time{}, servers, &found)
		for _, s := range servers {
			s.report(time.Now(), &found)
		}
		return found
	}
	found := look()
	if len(asked) != 1 || asked[0] != "HEAD / " {
		t.Errorf("the server was asked %q", asked)
	}
	name := strings.TrimPrefix(server.URL, "http://")
	if !found.has("checkers", levelOK, name, "is there") || !found.has("clock", levelOK, name) {
		t.Errorf("%+v", found)
	}
	if !found.has("checkers", levelError, "127.0.0.1:1 ", "cannot be reached") {
		t.Errorf("a closed port: %+v", found)
	}
	if !found.has("checkers", levelError, strings.TrimPrefix(secure.URL, "https://"), "certificate") {
		t.Errorf("a certificate that nobody knows: %+v", found)
	}
	date = time.Now().Add(-time.Hour)
	if found := look(); !found.has("clock", levelWarning, name, "1h0m") {
		t.Errorf("a clock that is an hour behind: %+v", found)
	}
}

func TestServerCertificateEnds(t *testing.T) {
	var found findings
	s := &server{scheme: "https", host: "ads.example.com", types: []string{"Product"}, ends: demoNow.Add(48 * time.Hour)}
	if s.report(demoNow, &found); !found.has("checkers", levelWarning, "its certificate ends at 2026-04-03") {
		t.Errorf("%+v", found)
	}
}

func TestExamineClockOfRows(t *testing.T) {
	a := &app{now: func() time.Time { return demoNow }}
	for name, test := range map[string]struct {
		last time.Time
		want level
	}{
		"past":   {demoNow.Add(-time.Hour), levelOK},
		"future": {demoNow.Add(time.Hour), levelWarning},
	} {
		var found findings
		if a.examineClock(test.last, nil, &found); len(found) != 1 || found[0].Level != test.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestExamineDestination(t *testing.T) {
	a := &app{now: func() time.Time { return demoNow }}
	for name, test := range map[string]struct {
		d    journal.Destination
		want []level
		text string
	}{
		"all sent": {journal.Destination{Name: "d"}, []level{levelOK}, "every row"},
		"a while":  {journal.Destination{Name: "d", Backlog: journal.Backlog{Rows: 3, Oldest: demoNow.Add(-time.Minute)}}, []level{levelNote}, "nobody sends"},
		"long": {journal.Destination{Name: "d", LeasedUntil: demoNow.Add(time.Minute), Backlog: journal.Backlog{Rows: 3, Oldest: demoNow.Add(-time.Hour), DeadLetters: 2}},
			[]level{levelWarning, levelWarning}, "somebody sends"},
	} {
		var found findings
		a.examineDestination(test.d, &found)
		if len(found) != len(test.want) || !strings.Contains(found[0].Text, test.text) {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		for i, l := range test.want {
			if found[i].Level != l {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}

// What the dataset lacks is a warning, and what is not allowed an error that names the role.
func TestExamineDataset(t *testing.T) {
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents"}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 403, "message": "Access Denied"}})
	}))
	defer refusing.Close()
	for name, test := range map[string]struct {
		server *httptest.Server
		level  level
		text   string
	}{
		"nothing is there":   {nothing(t), levelWarning, "lacks"},
		"nothing is allowed": {refusing, levelError, "roles/bigquery.dataEditor"},
		"nothing is set up":  {nil, levelOK, ""},
	} {
		a := &app{now: time.Now}
		var found findings
		if test.server == nil {
			if a.examineDataset(t.Context(), config.BigQuery{}, &found); len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		a.client = []option.ClientOption{option.WithEndpoint(test.server.URL), option.WithHTTPClient(test.server.Client())}
		if a.examineDataset(t.Context(), cfg, &found); !found.has("bigquery", test.level, test.text) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A journal that others can read, or of another version, is told of.
func TestExamineJournal(t *testing.T) {
	old, err := os.ReadFile("../../internal/journal/testdata/v1.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("old.db", old, 0o644); err != nil {
		t.Fatal(err)
	}
	a := &app{now: time.Now}
	var found findings
	a.examineJournal(t.Context(), config.Config{Journal: config.Journal{Path: "old.db"}}, &found)
	if !found.has("journal", levelNote, "its version is 1") ||
		runtime.GOOS != "windows" && !found.has("journal", levelWarning, "others can read it") {
		t.Errorf("%+v", found)
	}
}

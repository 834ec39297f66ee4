// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

// placedJobs runs jobs and remembers where the requests say that they run.
type placedJobs struct {
	mu sync.Mutex
	// status and location are the answer about the dataset.
	status   int
	location string
	// asked counts the questions about the dataset.
	asked int
	// places are the locations of requests, by kind.
	places map[string][]string
}

var (
	jobLocation = regexp.MustCompile(`"location":"([^"]*)"`)
	jobID       = regexp.MustCompile(`"jobId":"([^"]*)"`)
)

func (p *placedJobs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	at := func(kind, location string) { p.places[kind] = append(p.places[kind], location) }
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/datasets/agents"):
		p.asked++
		if p.status != 0 {
			fail(w, p.status, "no", "No.")
			return
		}
		fmt.Fprintf(w, `{"location":%q}`, p.location)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/jobs"):
		kind, state, location := "query", "RUNNING", ""
		if bytes.Contains(body, []byte(`"dryRun":true`)) {
			kind, state = "dry run", "DONE"
		}
		if m := jobLocation.FindSubmatch(body); m != nil {
			location = string(m[1])
		}
		at(kind, location)
		fmt.Fprintf(w, `{"jobReference":{"projectId":"my-project","jobId":%q,"location":%q},"status":{"state":%q},"configuration":{"query":{}}}`,
			jobID.FindSubmatch(body)[1], location, state)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(path, "/jobs/"):
		at("jobs.get", r.URL.Query().Get("location"))
		fmt.Fprint(w, `{"jobReference":{"projectId":"my-project","jobId":"j"},"status":{"state":"DONE"},"statistics":{"query":{}}}`)
	case strings.Contains(path, "/queries/"):
		at("getQueryResults", r.URL.Query().Get("location"))
		fmt.Fprint(w, `{"jobComplete":true,"totalRows":"0","schema":{"fields":[{"name":"n","type":"INTEGER"}]}}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}

// A job says where the dataset is, and so does each request about the job. The dataset is
// asked for that once.
func TestJobsRunWhereTheDatasetIs(t *testing.T) {
	for _, c := range []struct {
		name             string
		status           int
		location, config string
		want             string
		once             bool
	}{
		{name: "EU", location: "EU", want: "EU", once: true},
		{name: "the dataset knows better", location: "europe-west3", config: "US", want: "europe-west3", once: true},
		{name: "no dataset yet", status: http.StatusNotFound, config: "EU", want: "EU"},
		{name: "not allowed", status: http.StatusForbidden, config: "EU", want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &placedJobs{status: c.status, location: c.location, places: make(map[string][]string)}
			server := httptest.NewServer(p)
			t.Cleanup(server.Close)
			cfg := config.BigQuery{Project: "my-project", Dataset: "agents", Location: c.config}
			cfg.Extract.Model, cfg.Extract.Location = "gemini-2.5-flash", "EU"
			d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
				Client: []option.ClientOption{option.WithEndpoint(server.URL + "/bigquery/v2/"), option.WithHTTPClient(server.Client())},
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			if _, err := d.FindSessions(t.Context(), named("s1"), time.Unix(0, 0), time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Extract(t.Context(), bigquery.ExtractRequest{DryRun: true}); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"query", "dry run", "jobs.get", "getQueryResults"} {
				if len(p.places[kind]) == 0 {
					t.Errorf("there was no request of the kind %q", kind)
				}
				for _, at := range p.places[kind] {
					if at != c.want {
						t.Errorf("%s in %q, want %q", kind, at, c.want)
					}
				}
			}
			if c.once && p.asked != 1 {
				t.Errorf("the dataset was asked %d times", p.asked)
			}
		})
	}
}

// Init reads the dataset or makes it, so its jobs need no further question.
func TestInitSharesTheLocation(t *testing.T) {
	for _, c := range []struct{ name, there string }{{"made", ""}, {"found", "EU"}} {
		t.Run(c.name, func(t *testing.T) {
			s, server := newService(t)
			s.location = c.there
			d := connect(t, server, func(cfg *config.BigQuery) { cfg.Location = "EU" })
			if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err != nil {
				t.Fatal(err)
			}
			var asked int
			for _, r := range s.requests {
				if strings.HasPrefix(r, "GET datasets") {
					asked++
				}
			}
			if asked != 1 || s.graph == "" || s.jobLocation != "EU" {
				t.Errorf("asked for the dataset %d times, the graph %q was made in %q", asked, s.graph, s.jobLocation)
			}
		})
	}
}

// A call whose context ends does not wait for the call that asks where the dataset is.
func TestLocationIsNotWaitedForWithoutTime(t *testing.T) {
	asking, release := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asking <- struct{}{}
		<-release
	}))
	defer server.Close()
	d := connect(t, server, nil)
	find := func(ctx context.Context) error {
		_, err := d.FindSessions(ctx, named("s1"), time.Now().Add(-time.Hour), time.Now())
		return err
	}
	life, end := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- find(life) }()
	<-asking
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := find(ended); err == nil {
		t.Error("a call without time found sessions")
	}
	end()
	if err := <-first; err == nil {
		t.Error("a call that ended found sessions")
	}
	close(release)
}

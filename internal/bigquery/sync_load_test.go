// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// lockedText is a log that may be read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A thousand sessions ask at once: some go through, some fail for good, some have no rows,
// and those that do not fit are left out. Each of them ends as one of these, and the
// rows are waited for once.
func TestGraphSyncerUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked, room = 1000, 900
		var log lockedText
		var flushes atomic.Int64
		refused := &googleapi.Error{Code: http.StatusForbidden, Message: "Access Denied"}
		q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxPending: room,
			Flush: func(ctx context.Context) error {
				flushes.Add(1)
				<-ctx.Done() // a stream that stands still
				return ctx.Err()
			},
			Sync: func(_ context.Context, s record.Session) error {
				switch s.ID[len(s.ID)-1] {
				case '0':
					return fmt.Errorf("sync: %w", warehouse.ErrNoRows)
				case '1', '2', '3':
					return fmt.Errorf("sync: %w", refused)
				}
				return nil
			},
		})
		q.Add(named("first-9"))
		synctest.Wait() // its rows are waited for; nothing is taken from the queue
		for i := range asked {
			q.Add(named(fmt.Sprintf("s%03d", i)))
		}
		addsUp := func(when string) warehouse.Status {
			t.Helper()
			s := graphStatus(q)
			if n := s.GraphSyncs + s.GraphGivenUp + uint64(s.GraphPending); n != asked+1 {
				t.Errorf("%s: %d sessions in %+v", when, n, s)
			}
			return s
		}
		addsUp("at once")
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := addsUp("after a minute"); s.GraphSyncs != 541 || s.GraphPending != 270 || s.GraphGivenUp != 190 {
			t.Errorf("after a minute: %+v", s)
		}
		if n := flushes.Load(); n != 2 {
			t.Errorf("the rows were waited for %d times, want 2: for the first, and for all others", n)
		}
		if n := strings.Count(log.String(), "could not be brought to BigQuery yet"); n == 0 || n > 3 {
			t.Errorf("%d lines about attempts that failed", n)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		s := addsUp("at the end")
		if s.GraphPending != 0 || s.GraphErrors != 270*10+190 || s.GraphError == nil {
			t.Errorf("at the end: %+v", s)
		}
		for i := range asked {
			id := fmt.Sprintf("session=s%03d ", i)
			if ok := i%10 > 3 && i < room; !ok && !strings.Contains(log.String(), id) {
				t.Errorf("nobody is told to sync %s", id)
			}
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Close ends soon after its context also when BigQuery answers nothing, not even the
// requests that take back what was begun.
func TestGraphSyncerCloseWhileRequestsHang(t *testing.T) {
	hanging := make(chan struct{}, 100)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hanging <- struct{}{}
		<-release
	}))
	defer server.Close()
	defer close(release)
	d, err := bigquery.NewDataset(t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	g := oneGraph(t)
	q := bigquery.NewGraphSyncer(bigquery.GraphSyncerConfig{
		Logger: slog.New(slog.DiscardHandler),
		Sync:   func(ctx context.Context, _ record.Session) error { _, err := d.SyncSession(ctx, g); return err },
	})
	q.Add(named("s1"))
	<-hanging
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// No request is answered before the end of the test: that Close returns is enough.
	if err := q.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 session") {
		t.Errorf("Close = %v", err)
	}
	if s := graphStatus(q); s.GraphPending != 1 {
		t.Errorf("status %+v", s)
	}
}

// What BigQuery says may quote the values of rows, and a proxy answers with a page: an
// error repeats a bounded part of it, and names what is needed where access is denied.
func TestErrorsAreBounded(t *testing.T) {
	secret := strings.Repeat("alice@example.com ", 500)
	t.Run("job", func(t *testing.T) {
		f := newFakeAPI(t)
		f.failQuery = func(int) map[string]any { return reason("invalidQuery", "Bad value: "+secret) }
		_, err := f.dataset().SyncSession(t.Context(), oneGraph(t))
		if err == nil || len(err.Error()) > 700 || !strings.Contains(err.Error(), "Bad value") || strings.Contains(err.Error(), "MERGE") {
			t.Errorf("error of %d bytes: %.700v", len(err.Error()), err)
		}
	})
	t.Run("load", func(t *testing.T) {
		f := newFakeAPI(t)
		f.failLoad = func(int) map[string]any { return reason("invalid", "Could not convert value: "+secret) }
		_, err := f.dataset().SyncSession(t.Context(), oneGraph(t))
		if err == nil || len(err.Error()) > 700 || !strings.Contains(err.Error(), "Could not convert") {
			t.Errorf("error of %d bytes: %.700v", len(err.Error()), err)
		}
	})
	for name, body := range map[string]string{
		"page":   "<html>" + secret,
		"denied": `{"error":{"code":403,"message":"Access Denied: ` + secret + `","errors":[{"reason":"accessDenied","message":"x"}],"details":[{"x":"` + secret + `"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, body)
			}))
			defer server.Close()
			d, err := bigquery.NewDataset(t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
				Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			_, err = d.SyncSession(t.Context(), oneGraph(t))
			_, asked := d.FindSessions(t.Context(), named("s1"), time.Now().Add(-time.Hour), time.Now())
			for _, err := range []error{err, asked} {
				if err == nil || len(err.Error()) > 900 || !strings.Contains(err.Error(), "roles/bigquery.dataEditor on my-project.agents") {
					t.Errorf("error of %d bytes: %.900v", len(err.Error()), err)
				}
				if api := new(googleapi.Error); !errors.As(err, &api) || api.Code != http.StatusForbidden {
					t.Errorf("the error hides what it is: %T", err)
				}
			}
			if log.Len() > 0 {
				t.Errorf("tables that were never made are dropped: %.500s", log.String())
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// wantAway checks whether an error says that the source is away: people may override that only.
func wantAway(t *testing.T, name string, err error, want bool) {
	t.Helper()
	answer, is := errors.AsType[*safety.AnswerError](err)
	if err == nil || (is && answer.Reason == safety.ReasonSourceDown) != want {
		t.Errorf("%s: %v, want that the source is away: %t", name, err, want)
	}
}

func TestHTTPAway(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"refused":     {&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, true},
		"reset":       {&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset")}, true},
		"not written": {&net.OpError{Op: "write", Net: "tcp", Err: errors.New("broken pipe")}, true},
		"no host":     {&net.DNSError{Err: "no such host", Name: "ads.example"}, true},
		"hung up":     {io.EOF, true},
		"cut":         {io.ErrUnexpectedEOF, true},
		"a TLS alert": {&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, false},
		"another":     {errors.New("malformed response"), false},
	} {
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, tt.err })}
		_, err := httpChecker(t, placement("http://ads.example"), client).Check(t.Context(), strava)
		wantAway(t, name, err, tt.want)
		body := replying(http.StatusOK, nil, io.MultiReader(strings.NewReader(`{"price":`), broken{tt.err}))
		if tt.err == io.EOF {
			continue // the end of an answer
		}
		_, err = httpChecker(t, placement("http://ads.example"), body).Check(t.Context(), strava)
		wantAway(t, name+", in the answer", err, tt.want)
	}
	for status, want := range map[int]bool{500: true, 502: true, 503: true, 504: true, 501: false, 429: false, 404: false, 403: false, 302: false, 204: false} {
		_, err := httpChecker(t, placement("http://ads.example"), replying(status, nil, strings.NewReader("{}"))).Check(t.Context(), strava)
		wantAway(t, http.StatusText(status), err, want)
	}
}

// broken is a body that ends in an error.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// A certificate that is not trusted is no source that is down: whoever stands in the way could show one.
func TestHTTPCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = nil
	defer server.Close()
	_, err := httpChecker(t, placement(server.URL), new(http.Client)).Check(t.Context(), strava)
	wantAway(t, "a certificate", err, false)
	plain := strings.Replace(server.URL, "https:", "http:", 1)
	_, err = httpChecker(t, placement(plain), new(http.Client)).Check(t.Context(), strava)
	wantAway(t, "plain HTTP", err, false)
}

// sqlState is an error of a database with its SQLSTATE.
type sqlState string

func (s sqlState) Error() string    { return "SQLSTATE " + string(s) }
func (s sqlState) SQLState() string { return string(s) }

func TestSQLAway(t *testing.T) {
	gone := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for name, tt := range map[string]struct {
		db   *fakeDB
		want bool
	}{
		"no connection":                  {&fakeDB{queryErr: gone}, true},
		"a bad connection":               {&fakeDB{queryErr: driver.ErrBadConn}, true},
		"it breaks":                      {&fakeDB{columns: []string{"price"}, rowErr: gone}, true},
		"behind a row":                   {&fakeDB{columns: []string{"price"}, rows: [][]driver.Value{{"1"}}, rowErr: gone}, true},
		"a wrong statement":              {&fakeDB{queryErr: errors.New("syntax error")}, false},
		"it does not accept connections": {&fakeDB{queryErr: sqlState("55000")}, true},
		"it starts up":                   {&fakeDB{queryErr: sqlState("57P03")}, true},
		"too many connections":           {&fakeDB{queryErr: fmt.Errorf("failed to connect: %w", sqlState("53300"))}, true},
		"a lost connection, by a row":    {&fakeDB{columns: []string{"price"}, rowErr: sqlState("08006")}, true},
		"a table that is not there":      {&fakeDB{queryErr: sqlState("42P01")}, false},
		"a lock":                         {&fakeDB{queryErr: sqlState("55P03")}, false},
		"no state":                       {&fakeDB{queryErr: sqlState("")}, false},
	} {
		_, err := sqlChecker(t, placementQuery(), querierOf{tt.db.open(t)}).Check(t.Context(), strava)
		wantAway(t, name, err, tt.want)
	}
}

// querierOf hides the transactions of a database.
type querierOf struct{ db *sql.DB }

func (q querierOf) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.db.QueryContext(ctx, query, args...)
}

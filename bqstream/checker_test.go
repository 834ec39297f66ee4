// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bqstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/bqstream"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// answering is the API of queries with one answer, the JSON of a response. It keeps the
// last request.
type answering struct {
	answer  string
	status  int
	request api.QueryRequest
	hang    chan struct{}
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // where the first answer brings no row
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, a.answer)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&a.request); err != nil || !strings.HasSuffix(r.URL.Path, "/projects/billing/queries") {
		http.Error(w, r.URL.Path, http.StatusBadRequest)
		return
	}
	if a.hang != nil {
		<-a.hang
	}
	if a.status != 0 {
		fail(w, a.status, "bytesBilledLimitExceeded", "Query exceeded limit for bytes billed")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, a.answer)
}

const placementFields = `"jobComplete":true,"jobReference":{"projectId":"billing","jobId":"j"},"schema":{"fields":[
	{"name":"price","type":"NUMERIC"},{"name":"available","type":"BOOLEAN"},{"name":"at","type":"TIMESTAMP"},{"name":"day","type":"DATE"},{"name":"rev","type":"INTEGER"}]}`

const placementRow = `{"f":[{"v":"90071992547409931.01"},{"v":"true"},{"v":"1772719200000000"},{"v":"2026-03-05"},{"v":"7"}]}`

func placementChecker(t *testing.T, a *answering, change func(*bqstream.CheckerConfig)) *bqstream.Checker {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	cfg := bqstream.CheckerConfig{
		Project: "billing", Location: "EU", Query: "SELECT * FROM ads.placements WHERE name = ? AND price <= CAST(? AS NUMERIC)",
		Args: []string{"{value}", "{attributes.price}"},
		Attributes: map[string]config.Column{
			"price":        {Column: "price", Type: entity.KindMoney, Currency: "USD"},
			"availability": {Column: "available", Type: entity.KindBool},
			"day":          {Column: "day", Type: entity.KindText},
		},
		AsOf: "at", Version: "rev", Labels: map[string]string{"team": "ads"},
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := bqstream.NewChecker(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func dollars(t *testing.T, s string) entity.Value {
	t.Helper()
	v, err := entity.ParseMoney(s, "USD")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func placement(t *testing.T) entity.Canonical {
	return entity.Canonical{Key: "k", Type: "Product", Value: "x' OR TRUE --", Attributes: map[string]entity.Value{"price": dollars(t, "$40,000.50")}}
}

func TestChecker(t *testing.T) {
	a := &answering{answer: `{` + placementFields + `,"totalRows":"1","rows":[` + placementRow + `]}`}
	got, err := placementChecker(t, a, func(c *bqstream.CheckerConfig) { c.Now = func() time.Time { return time.Unix(1, 0) } }).Check(t.Context(), placement(t))
	if err != nil {
		t.Fatal(err)
	}
	want := safety.State{
		Attributes: map[string]entity.Value{
			"price": dollars(t, "$90071992547409931.01"), "availability": entity.Bool(true), "day": entity.Text("2026-03-05"),
		},
		AsOf: time.Date(2026, 3, 5, 14, 0, 0, 0, time.UTC), Version: "7",
		Origins: []safety.Origin{{Kind: safety.OriginBigQuery, Name: "billing"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r := a.request
	if r.UseQueryCache == nil || *r.UseQueryCache || r.MaximumBytesBilled != int64(config.Default().BigQuery.MaxBytesBilled) || r.Location != "EU" ||
		r.Labels["sdk_feature"] != "checker" || r.Labels["team"] != "ads" || strings.Contains(r.Query, "OR TRUE") {
		t.Errorf("request %+v", r)
	}
	var args []string
	for _, p := range r.QueryParameters {
		args = append(args, p.Name+":"+p.ParameterType.Type+":"+p.ParameterValue.Value)
	}
	if diff := cmp.Diff([]string{":STRING:x' OR TRUE --", ":STRING:40000.5"}, args); diff != "" {
		t.Error(diff)
	}
}

// Whatever is more than one row, or not understood, fails.
func TestCheckerRefusesAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer answering
		want   string
	}{
		"two rows":       {answering{answer: `{` + placementFields + `,"totalRows":"2","rows":[` + placementRow + `,` + placementRow + `]}`}, "more than one row"},
		"three rows":     {answering{answer: `{` + placementFields + `,"totalRows":"3","rows":[` + placementRow + `,` + placementRow + `,` + placementRow + `]}`}, "more than one row"},
		"NULL for time":  {answering{answer: `{` + placementFields + `,"totalRows":"1","rows":[{"f":[{"v":"1"},{"v":"true"},{"v":null},{"v":null},{"v":"7"}]}]}`}, "as-of in column at: it is NULL"},
		"not what it is": {answering{answer: `{` + placementFields + `,"totalRows":"1","rows":[{"f":[{"v":"1"},{"v":"maybe"},{"v":null},{"v":null},{"v":"7"}]}]}`}, "maybe"},
		"too expensive":  {answering{status: 400}, "billing: googleapi: Error 400: Query exceeded limit for bytes billed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := placementChecker(t, &test.answer, nil).Check(t.Context(), placement(t))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// A thing without a row does not exist.
func TestCheckerWithoutARow(t *testing.T) {
	a := answering{answer: `{` + placementFields + `,"totalRows":"0"}`}
	s, err := placementChecker(t, &a, nil).Check(t.Context(), placement(t))
	if err != nil || s.Attributes[safety.Exists] != entity.Bool(false) {
		t.Errorf("%+v, error %v", s, err)
	}
}

func TestCheckerEndsInTime(t *testing.T) {
	a := &answering{hang: make(chan struct{})}
	c := placementChecker(t, a, func(c *bqstream.CheckerConfig) { c.Timeout = 10 * time.Millisecond })
	defer close(a.hang)
	if _, err := c.Check(t.Context(), placement(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestCheckerConfiguration(t *testing.T) {
	_, err := bqstream.NewChecker(t.Context(), bqstream.CheckerConfig{MaxBytesBilled: -1, Timeout: -1, Labels: map[string]string{"team": "ads", "sdk_feature": "x"}})
	for _, want := range []string{`label "sdk_feature"`, "Project is missing", "MaxBytesBilled is -1", "Timeout is -1", "SQL.Query: missing", "SQL.Attributes: no attribute is given"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func fail(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "errors": []map[string]string{{"reason": reason, "message": message}},
	}})
}

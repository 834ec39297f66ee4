// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// service is the emulator, with what it lacks made up for:
//
//   - It runs a statement that has to be estimated. A dry run is answered in its place.
//   - It cannot read lists of records that came by the Storage Write API. Rows are taken in its
//     place, and come to it by a statement.
//   - It knows no labels of datasets.
type service struct {
	t     *testing.T
	rest  *bq.Client
	write *writefake.Server
	at    string // its address

	mu      sync.Mutex
	dataset string // that was created
	removed bool
}

func newService(t *testing.T) *service {
	t.Helper()
	server := emulator.StartEmpty(t)
	client, err := bq.NewClient(t.Context(), emulator.Project, server.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	s := &service{t: t, rest: client, at: server.REST}
	if s.write, err = writefake.Start(writefake.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.write.Close)
	s.write.Refuse(s.insert)
	return s
}

func (s *service) clients() []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint("http://" + s.at), option.WithHTTPClient(&http.Client{Transport: s})}
}

var datasetID = regexp.MustCompile(`"datasetId":"(contextgraph_verify_[a-z0-9]+)"`)

// RoundTrip is what the REST API answers.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	s.mu.Lock()
	if made := datasetID.FindSubmatch(body); r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/datasets") && made != nil {
		s.dataset = string(made[1])
	}
	ofDataset := s.dataset != "" && strings.HasSuffix(r.URL.Path, "/datasets/"+s.dataset)
	s.removed = s.removed || ofDataset && r.Method == http.MethodDelete
	s.mu.Unlock()
	switch {
	case bytes.Contains(body, []byte(`"dryRun":true`)):
		return answer(r, `{"status":{"state":"DONE"},"jobReference":{"jobId":"dry"},"configuration":{"query":{}},"statistics":{"totalBytesProcessed":"1000","query":{}}}`), nil
	case ofDataset && r.Method == http.MethodGet:
		return answer(r, `{"location":"US","labels":{"contextgraph":"verify"}}`), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func answer(r *http.Request, text string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r,
	}
}

// insert puts a row that was streamed into its table.
func (s *service) insert(row writefake.Row) string {
	s.mu.Lock()
	dataset := s.dataset
	s.mu.Unlock()
	names, err := warehouse.NamesOf(config.BigQuery{Project: emulator.Project, Dataset: dataset})
	if err != nil {
		return err.Error()
	}
	fields := row.Fields()
	table := names.EventsTable()
	if _, ok := fields["nodes"]; ok {
		table = warehouse.SessionGraphsTable()
	}
	text, err := json.Marshal(texts(fields))
	if err != nil {
		return err.Error()
	}
	var columns []string
	for _, c := range table.Columns {
		columns = append(columns, c.Name)
	}
	q := s.rest.Query(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", names.Quote(table.Name), strings.Join(columns, ", "), values(table.Columns, "@row", false)))
	q.Parameters = []bq.QueryParameter{{Name: "row", Value: string(text)}}
	job, err := q.Run(s.t.Context())
	if err == nil {
		_, err = job.Wait(s.t.Context())
	}
	if err != nil {
		text := err.Error()
		s.t.Errorf("%s: %s", table.Name, text[max(0, len(text)-300):])
		return text
	}
	return ""
}

// texts makes texts of numbers, of which the emulator keeps fifteen digits.
func texts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			v[k] = texts(member)
		}
	case []any:
		for i, member := range v {
			v[i] = texts(member)
		}
	case int32, int64, float64, bool:
		return fmt.Sprint(v)
	}
	return v
}

// values are the columns of an object, which is a JSON text.
func values(columns []warehouse.Column, from string, named bool) string {
	var out []string
	for _, c := range columns {
		text := value(c, fmt.Sprintf("JSON_VALUE(%s, '$.%s')", from, c.Name))
		if c.Mode == "REPEATED" {
			list := fmt.Sprintf("UNNEST(JSON_QUERY_ARRAY(%s, '$.%s'))", from, c.Name)
			element := "x_" + c.Name
			if len(c.Fields) > 0 {
				text = fmt.Sprintf("ARRAY(SELECT AS STRUCT %s FROM %s AS %s)", values(c.Fields, element, true), list, element)
			} else {
				text = fmt.Sprintf("ARRAY(SELECT %s FROM %s AS %s)", value(c, "JSON_VALUE("+element+")"), list, element)
			}
		} else if len(c.Fields) > 0 {
			text = fmt.Sprintf("(SELECT AS STRUCT %s)", values(c.Fields, fmt.Sprintf("JSON_QUERY(%s, '$.%s')", from, c.Name), true))
		}
		if named {
			text += " AS " + c.Name
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func value(c warehouse.Column, text string) string {
	switch c.Type {
	case "TIMESTAMP":
		return "TIMESTAMP_MICROS(CAST(" + text + " AS INT64))"
	case "DATE":
		return "DATE_FROM_UNIX_DATE(CAST(" + text + " AS INT64))"
	case "JSON":
		return "PARSE_JSON(" + text + ")"
	case "STRING":
		return text
	}
	return "CAST(" + text + " AS " + c.Type + ")"
}

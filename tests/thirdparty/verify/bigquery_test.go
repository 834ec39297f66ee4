// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// service is the emulator, with what it lacks made up for:
//
//   - It runs a statement that has to be estimated. A dry run is answered in its place.
//   - It knows no labels of datasets.
//   - It takes only so many statements, and removes nothing after the last one. Where there are many,
//     the removal is answered in its place.
//   - It would take an hour for 84,000 rows: there are a few copies of each.
type service struct {
	*emulator.Server
	exhausted bool // by the end

	mu      sync.Mutex
	dataset string // that was created
	removed bool
}

func newService(t *testing.T) *service {
	t.Helper()
	return &service{Server: emulator.StartEmpty(t)}
}

func (s *service) clients() []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint("http://" + s.REST), option.WithHTTPClient(&http.Client{Transport: s})}
}

var datasetID = regexp.MustCompile(`"datasetId":"(contextgraph_verify_[a-z0-9]+)"`)

// many is how many copies of a row are made.
var many = regexp.MustCompile(`"value":"(1000|200)"`)

// RoundTrip is what the REST API answers.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		if bytes.Contains(body, []byte(`"name":"copies"`)) {
			body = many.ReplaceAll(body, []byte(`"value":"3"`))
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
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
	case ofDataset && r.Method == http.MethodDelete && s.exhausted:
		return answer(r, `{}`), nil
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

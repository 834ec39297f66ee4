// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay answers HTTP requests to a model from a recording in the
// httprr format, the one ADK keeps its model traffic in. A request is answered
// only when it is byte for byte one of the recorded requests; headers that name
// a key or a version are left out of the comparison, as they were when the
// traffic was recorded.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
)

// header is the first line of a recording.
const header = "httprr trace v1"

// Exchange is one recorded request with its answer, both in wire format.
type Exchange struct {
	Request  string
	Response string
}

// Transport is an [http.RoundTripper] that answers from a recording and never
// opens a connection. It is safe for concurrent use.
type Transport struct {
	exchanges []Exchange

	mu     sync.Mutex
	played []int // indexes into exchanges, in the order of the requests
	missed []error
}

// Open reads the recording in the named file.
func Open(name string) (*Transport, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	exchanges, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", name, err)
	}
	return &Transport{exchanges: exchanges}, nil
}

// Parse decodes a recording: a header line, then for each exchange a line with
// the lengths in bytes of the request and of the response, followed by both.
func Parse(data []byte) ([]Exchange, error) {
	line, rest, ok := strings.Cut(string(data), "\n")
	if !ok || line != header {
		return nil, fmt.Errorf("the first line is not %q", header)
	}
	var exchanges []Exchange
	for rest != "" {
		line, rest, ok = strings.Cut(rest, "\n")
		reqText, respText, _ := strings.Cut(line, " ")
		reqLen, reqErr := strconv.ParseUint(reqText, 10, 31)
		respLen, respErr := strconv.ParseUint(respText, 10, 31)
		if err := errors.Join(reqErr, respErr); !ok || err != nil {
			return nil, fmt.Errorf("exchange %d: bad length line %q", len(exchanges), line)
		}
		if reqLen+respLen > uint64(len(rest)) {
			return nil, fmt.Errorf("exchange %d: %d+%d bytes announced, %d left", len(exchanges), reqLen, respLen, len(rest))
		}
		exchanges = append(exchanges, Exchange{
			Request:  rest[:reqLen],
			Response: rest[reqLen : reqLen+respLen],
		})
		rest = rest[reqLen+respLen:]
	}
	return exchanges, nil
}

// Played returns the exchanges that were replayed, in the order of the requests.
func (t *Transport) Played() []Exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Exchange
	for _, i := range t.played {
		out = append(out, t.exchanges[i])
	}
	return out
}

// Err reports what differed between the requests made and the requests recorded:
// a request that is not in the recording, and a recorded request that was never
// made. It returns nil when the two are the same set.
func (t *Transport) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	errs := slices.Clone(t.missed)
	seen := make(map[int]bool)
	for _, i := range t.played {
		seen[i] = true
	}
	for i := range t.exchanges {
		if !seen[i] {
			errs = append(errs, fmt.Errorf("recorded request %d of %d was never made", i+1, len(t.exchanges)))
		}
	}
	return errors.Join(errs...)
}

// RoundTrip answers req from the recording. A request that is not in it is an
// error that shows the difference from the recorded request expected next.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, err := wire(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, ex := range t.exchanges {
		if ex.Request == key {
			t.played = append(t.played, i)
			return http.ReadResponse(bufio.NewReader(strings.NewReader(ex.Response)), req)
		}
	}
	err = fmt.Errorf("request %d is not in the recording (-recorded +made):\n%s",
		len(t.played)+1, diff(t.next(), key))
	t.missed = append(t.missed, err)
	return nil, err
}

// next returns the first recorded request that was not made yet, or "".
func (t *Transport) next() string {
	seen := make(map[int]bool)
	for _, i := range t.played {
		seen[i] = true
	}
	for i, ex := range t.exchanges {
		if !seen[i] {
			return ex.Request
		}
	}
	return ""
}

// wire returns the recording's form of a request: without the headers that name
// a key or a version, its JSON body compact, in the form sent to a proxy.
func wire(req *http.Request) (string, error) {
	clone := req.Clone(context.WithoutCancel(req.Context()))
	for name := range clone.Header {
		switch strings.ToLower(name) {
		case "x-goog-api-key", "x-goog-api-client", "user-agent":
			delete(clone.Header, name)
		}
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err := errors.Join(err, req.Body.Close()); err != nil {
			return "", err
		}
		if mediaType, _, _ := strings.Cut(clone.Header.Get("Content-Type"), ";"); mediaType == "application/json" {
			var compact bytes.Buffer
			if json.Compact(&compact, body) == nil {
				body = compact.Bytes()
			}
		}
		clone.Body = io.NopCloser(bytes.NewReader(body))
		clone.ContentLength = int64(len(body))
	}
	var b strings.Builder
	if err := clone.WriteProxy(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// diff compares two requests: their heads as text, their bodies as JSON values.
func diff(recorded, made string) string {
	if recorded == "" {
		return "every recorded request was made already; this one is extra:\n" + made
	}
	type request struct {
		Head string
		Body any
	}
	split := func(s string) request {
		head, body, _ := strings.Cut(s, "\r\n\r\n")
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			v = body
		}
		return request{head, v}
	}
	if d := cmp.Diff(split(recorded), split(made)); d != "" {
		return d
	}
	return cmp.Diff(recorded, made)
}

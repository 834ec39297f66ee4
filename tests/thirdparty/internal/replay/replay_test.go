// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/replay"
)

// request is the wire form of a POST of body to the host used in these tests.
func request(body string) string {
	return fmt.Sprintf("POST https://model.test/v1/generate HTTP/1.1\r\nHost: model.test\r\n"+
		"User-Agent: Go-http-client/1.1\r\nContent-Length: %d\r\nContent-Type: application/json\r\n\r\n%s", len(body), body)
}

func response(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n" + body
}

func recording(exchanges ...replay.Exchange) string {
	var b strings.Builder
	b.WriteString("httprr trace v1\n")
	for _, ex := range exchanges {
		fmt.Fprintf(&b, "%d %d\n%s%s", len(ex.Request), len(ex.Response), ex.Request, ex.Response)
	}
	return b.String()
}

func open(t *testing.T, text string) *replay.Transport {
	t.Helper()
	name := filepath.Join(t.TempDir(), "recording.httprr")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	transport, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func post(t *testing.T, transport http.RoundTripper, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://model.test/v1/generate", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header["x-goog-api-key"] = []string{"a key that was not recorded"}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), nil
}

func TestRoundTrip(t *testing.T) {
	transport := open(t, recording(
		replay.Exchange{Request: request(`{"n":1}`), Response: response("one")},
		replay.Exchange{Request: request(`{"n":2}`), Response: response("two")},
	))
	if err := transport.Err(); err == nil || !strings.Contains(err.Error(), "recorded request 2 of 2 was never made") {
		t.Errorf("Err before any request = %v, want both requests missing", err)
	}
	for _, tc := range []struct{ body, want string }{
		{`{"n": 2}`, "two"}, // white space between JSON tokens is not significant
		{`{"n":1}`, "one"},
	} {
		got, err := post(t, transport, tc.body)
		if err != nil || got != tc.want {
			t.Errorf("RoundTrip(%s) = %q, %v, want %q", tc.body, got, err, tc.want)
		}
	}
	if err := transport.Err(); err != nil {
		t.Errorf("Err after all requests = %v", err)
	}
	want := []replay.Exchange{
		{Request: request(`{"n":2}`), Response: response("two")},
		{Request: request(`{"n":1}`), Response: response("one")},
	}
	if d := cmp.Diff(want, transport.Played()); d != "" {
		t.Errorf("Played (-want +got):\n%s", d)
	}
}

func TestRoundTripUnknownRequest(t *testing.T) {
	transport := open(t, recording(replay.Exchange{Request: request(`{"n":1,"same":true}`), Response: response("one")}))
	_, err := post(t, transport, `{"n":3,"same":true}`)
	if err == nil {
		t.Fatal("a request that was never recorded was answered")
	}
	for _, want := range []string{"request 1 is not in the recording", `float64(1)`, `float64(3)`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not show %q:\n%v", want, err)
		}
	}
	if err := transport.Err(); err == nil || !strings.Contains(err.Error(), "request 1 is not in the recording") {
		t.Errorf("Err = %v, want the unknown request", err)
	}
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"other header":     "httprr trace v2\n",
		"no length line":   "httprr trace v1\nPOST",
		"negative length":  "httprr trace v1\n-1 0\n",
		"length too large": "httprr trace v1\n4 4\nPOST",
		"one length":       "httprr trace v1\n4\nPOST",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := replay.Parse([]byte(text)); err == nil {
				t.Errorf("Parse(%q) = %v, want an error", text, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(recording(replay.Exchange{Request: request("{}"), Response: response("ok")})))
	f.Add([]byte("httprr trace v1\n1 18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		exchanges, err := replay.Parse(data)
		if err != nil {
			return
		}
		again, err := replay.Parse([]byte(recording(exchanges...)))
		if err != nil {
			t.Fatalf("Parse of what Parse read: %v", err)
		}
		if d := cmp.Diff(exchanges, again); d != "" {
			t.Errorf("round trip (-first +second):\n%s", d)
		}
	})
}

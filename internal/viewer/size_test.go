// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
)

// long is a session of so many spans, in which an agent thinks and looks things up again and again. Its
// ids are random, and its texts are new all the time, with words as often as English has them.
func long(tb testing.TB, spans int) inspect.Record {
	tb.Helper()
	src := rand.New(rand.NewPCG(1, 2))
	id := func(bytes int) string {
		b := make([]byte, bytes)
		for i := range b {
			b[i] = byte(src.Uint32())
		}
		return hex.EncodeToString(b)
	}
	said := prose(tb)
	words := func(n int) string {
		out := slices.Clone(said.starts[src.IntN(len(said.starts))])
		for len(out) < n {
			next := said.after[[2]string(out[len(out)-2:])]
			if len(next) == 0 {
				next = said.starts[src.IntN(len(said.starts))]
			}
			out = append(out, next[src.IntN(len(next))])
		}
		return strings.Join(out[:n], " ")
	}
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	type m = map[string]any
	s := record.Session{App: "shop", User: "ann", ID: "long"}
	r := inspect.Record{Session: s}
	at := noon
	run, invocation, trace := "", "", ""
	row := func(kind, span, parent string, content, attributes m) {
		at = at.Add(time.Duration(src.IntN(2_000_000)) * time.Microsecond)
		r.Rows = append(r.Rows, record.Event{
			Seq: int64(len(r.Rows) + 1), RunSeq: int64(len(r.Rows) + 1), RunID: run, Timestamp: at.UnixMicro(), EventID: id(16), EventType: kind,
			Agent: "clerk", AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: invocation, TraceID: trace, SpanID: span, ParentSpanID: parent,
			Content: text(content), Attributes: text(attributes), LatencyMS: text(m{"total_ms": src.IntN(9000)}), Status: record.StatusOK,
		})
	}
	const steps = 24 // of a turn
	for n := 0; n < spans; {
		run, invocation, trace = id(16), "e-"+id(16), id(16)
		root, agent := id(8), id(8)
		row(record.UserMessageReceived, root, "", m{"text_summary": words(30)}, nil)
		row(record.InvocationStarting, root, "", nil, nil)
		row(record.AgentStarting, agent, root, nil, nil)
		n += 2
		news := m{"role": "user", "content": words(30)}
		for range steps {
			llm, tool, call := id(8), id(8), "adk-"+id(16)
			name := fmt.Sprint("look_up_", src.IntN(12))
			row(record.LLMRequest, llm, agent, m{"prompt": []m{news}}, m{"model": "a-model", "tools": []string{"look_up_0", "look_up_1"}, "adk": m{"since": src.IntN(100)}})
			args, result := m{"what": words(6)}, m{"found": words(120), "thing": fmt.Sprint("Thing ", src.IntN(200)), "price": fmt.Sprintf("$%d.%02d", src.IntN(900), src.IntN(100))}
			news = m{"role": "user", "content": m{"function_response": m{"name": name, "id": call, "response": result}}}
			row(record.LLMResponse, llm, agent, m{"response": "text: " + words(40) + " call: " + name, "usage": m{"prompt": src.IntN(9000), "completion": src.IntN(900), "total": 9900}},
				m{"function_calls": []m{{"id": call, "name": name, "args": args}}, "model_version": "a-model-001"})
			row(record.ToolStarting, tool, agent, m{"tool": name, "args": args}, m{"adk": m{"call_id": call}})
			row(record.ToolCompleted, tool, agent, m{"tool": name, "result": result}, m{"adk": m{"call_id": call}})
			if n += 2; n >= spans {
				break
			}
		}
		row(record.AgentCompleted, agent, root, nil, nil)
		row(record.InvocationCompleted, root, "", nil, nil)
	}
	var rules []config.Extract
	for i := range 12 {
		name := fmt.Sprint("look_up_", i)
		rules = append(rules, config.Extract{Name: name, Tool: name, Type: "Product", Value: "$.thing", Confidence: 0.9})
	}
	x, err := graphsync.Compile(rules)
	if err != nil {
		tb.Fatal(err)
	}
	r.Fold = graphsync.Fold(x, r.Rows)
	return r
}

// chain has the words of texts, and which follow two of them.
type chain struct {
	starts [][]string
	after  map[[2]string][]string
}

// prose reads the documents of the project: what is made of it is as hard to compress as English.
func prose(tb testing.TB) chain {
	tb.Helper()
	c := chain{after: make(map[[2]string][]string)}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		tb.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		w := strings.Fields(string(data))
		for i := 2; i < len(w); i++ {
			pair := [2]string{w[i-2], w[i-1]}
			c.after[pair] = append(c.after[pair], w[i])
			if i%9 == 0 {
				c.starts = append(c.starts, w[i-2:i])
			}
		}
	}
	return c
}

// maxLong is how large the page of 10,000 spans may be, in bytes, with all its payloads. maxServed is the same for
// what a served page reads of them at first.
const (
	maxLong   = 6_300_000
	maxServed = 2_200_000
)

// page is the page of a session.
func page(tb testing.TB, session inspect.Record) []byte {
	tb.Helper()
	seen, err := inspect.New(session, noon.Add(24*time.Hour))
	if err != nil {
		tb.Fatal(err)
	}
	queries, err := viewer.Queries(config.BigQuery{})
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := viewer.Write(&b, viewer.Document{Source: "a test", Generated: noon, Complete: true, Sessions: []*inspect.Session{seen}, Queries: queries}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestSessionOf10000SpansIsSmall(t *testing.T) {
	session := long(t, 10_000)
	t.Run("page", func(t *testing.T) {
		if n := len(page(t, session)); n > maxLong {
			t.Errorf("the page has %d bytes, more than %d", n, maxLong)
		}
	})
	t.Run("served", func(t *testing.T) {
		h, err := viewer.NewHandler(viewer.Options{Source: &source{rows: session.Rows}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(servedSession(t, h)); n > maxServed {
			t.Errorf("the session comes with %d bytes, more than %d", n, maxServed)
		}
	})
}

// The same sessions give the same file.
func TestPageIsTheSameEachTime(t *testing.T) {
	session := long(t, 100)
	if !bytes.Equal(page(t, session), page(t, session)) {
		t.Error("two pages of the same session differ")
	}
}

// servedSession is what a served page reads of a session before anybody opens a step.
func servedSession(tb testing.TB, h http.Handler) []byte {
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "http://localhost/api/session?"+ofShop, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		tb.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// sizes are the spans of the sessions that benchmarks make.
func sizes() []int {
	if testing.Short() {
		return []int{1_000}
	}
	return []int{1_000, 10_000}
}

// BenchmarkServedSession reports how many bytes that are.
func BenchmarkServedSession(b *testing.B) {
	for _, spans := range sizes() {
		b.Run(fmt.Sprint(spans, " spans"), func(b *testing.B) {
			r := long(b, spans)
			h, err := viewer.NewHandler(viewer.Options{Source: &source{rows: r.Rows}})
			if err != nil {
				b.Fatal(err)
			}
			size := 0
			for b.Loop() {
				size = len(servedSession(b, h))
			}
			b.ReportMetric(float64(size), "answer-bytes")
		})
	}
}

func BenchmarkPage(b *testing.B) {
	for _, spans := range sizes() {
		b.Run(fmt.Sprint(spans, " spans"), func(b *testing.B) {
			seen, err := inspect.New(long(b, spans), noon.Add(24*time.Hour))
			if err != nil {
				b.Fatal(err)
			}
			var w bytes.Buffer
			for b.Loop() {
				w.Reset()
				if err := viewer.Write(&w, viewer.Document{Sessions: []*inspect.Session{seen}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(w.Len()), "page-bytes")
		})
	}
}

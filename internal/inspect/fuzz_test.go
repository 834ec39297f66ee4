// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// odd makes rows of all kinds, one for each few bytes.
func odd(data []byte) (rows []record.Event) {
	types := append(record.EventTypes(), "", "NEW_KIND")
	spans := []string{"", "a", "b", "c", "d", "e"}
	payloads := []string{
		"", "null", "{", `"text"`, `[1,2]`, "{\"a\":\"\xff\"}", `{"tool":"buy","args":{"n":1}}`, `{"tool":7,"args":"x"}`,
		`{"response":"text: 'a' | call: buy | other"}`, `{"response":"text: '"}`, `{"text_summary":"hello\nworld"}`,
		`{"tool":"t","args":{"originalFunctionCall":{"id":"c1","name":"buy","args":{"n":1}},"toolConfirmation":{"payload":{"contextgraph":{"approval_id":"a","expires_at":"9999-12-31T23:59:59Z","entities":[{"type":"P","value":"v","attributes":null}]}}}}}`,
		`{"verdict":"drift","entities":[{"type":"P","value":"v","now":{"price":{"kind":"money","value":"1","currency":"USD"}},"seen":null}],"alerts":null,"failures":[{"reason":"x"}]}`,
		`{"usage":{"prompt":-1,"completion":1e300,"total":"many"}}`, `{"total_ms":-5}`, `{"total_ms":1e308}`, `{"result":{"response":"{\"confirmed\":true}"}}`,
	}
	attrs := []string{
		"", "{", "[]", `{"adk":7}`, `{"adk":{"call_id":"c1","branch":"x.y"}}`, `{"adk":{"call_id":"c1","confirmation_id":"q","approval_id":"a","enforced":"yes"}}`,
		`{"adk":{"approval_id":"a","confirmed":true,"accepted":true}}`, `{"adk":{"confirmation_id":"q","confirmed":false,"reason":"rejected"}}`,
		`{"adk":{"approval_id":"a","stage":"execution","verdict":"safe"}}`, `{"function_calls":[{"id":"c1","name":"buy","args":{"n":1}},{"id":"c2"}],"model":"m"}`,
		`{"adk":{"enforced":false,"approval_id":"a","confirmation_id":"q","call_id":"c1"}}`, `{"adk":{"branch":"x"}}`,
		`{"adk":{"of":"e1"},"entities":[{"type":"P","value":"v","attributes":{"availability":{"kind":"boolean","value":"true"}},"confidence":0.5}]}`,
		`{"adk":{"of":"e2","started":"e1"},"entities":[{"type":"P","value":"v"},{"type":"P","value":"w","confidence":1e300}]}`,
		`{"adk":{"node":{"path":"g@1/a@1"},"interrupt_id":"q"},"custom_metadata":{"flow":{"run":"r","n":1,"to":"b","graph":{"name":"g","nodes":["a",""],"edges":[{"from":"START","to":"a","taken":-5},{"from":"a"}]}}}}`,
		`{"adk":{"node":{"path":"g@1/b@1/c"},"route":["x",1]},"custom_metadata":{"flow":{"run":"r2","done":true,"end":[],"graph":{"edges":[{"from":"b","to":"b","name":"default"},{"from":"c","to":"b"}]}}}}`,
	}
	times := []int64{0, 1, 1_700_000_000_000_000, 1_700_000_000_500_000, -1, math.MinInt64, math.MaxInt64}
	ids := []string{"", "e1", "e2", "e3"}
	pick := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
	for len(data) > 0 && len(rows) < 64 {
		e := record.Event{
			EventType: types[pick(len(types))], SpanID: spans[pick(len(spans))], ParentSpanID: spans[pick(len(spans))],
			Content: []byte(payloads[pick(len(payloads))]), Attributes: []byte(attrs[pick(len(attrs))]), Timestamp: times[pick(len(times))],
			EventID: ids[pick(len(ids))], Agent: spans[pick(len(spans))], Status: []string{"OK", "ERROR", ""}[pick(3)],
			LatencyMS: []byte(payloads[pick(len(payloads))]), AppName: "shop", UserID: "ann", SessionID: "s-1",
		}
		flags := pick(8)
		if flags&1 != 0 {
			e.RunID, e.RunSeq = spans[flags%4], int64(flags)
		}
		if flags&2 != 0 {
			e.TraceID, e.InvocationID = "t", "i"
		}
		if flags&4 != 0 {
			e.EventID += string(rune('A' + len(rows)%26))
		}
		rows = append(rows, e)
	}
	return rows
}

func FuzzNew(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a"))
	seed := make([]byte, 900)
	for i := range seed {
		seed[i] = byte(i * 7919 >> 3)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := odd(data)
		if len(rows) == 0 {
			return
		}
		now := time.UnixMicro(1_700_000_001_000_000)
		ledgers := [][]safety.Approval{nil, {{ID: "a", Session: session, ConfirmationID: "q", State: safety.StateExecuting, Report: []byte("{")}}}
		for _, ledger := range ledgers {
			s, err := inspect.New(inspect.Record{Session: session, Rows: rows, Approvals: ledger}, now)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(s); err != nil {
				t.Fatalf("not JSON: %v", err)
			}
			sound(t, s)
		}
		src := inspect.NewRows("rows", rows)
		page, err := src.Sessions(t.Context(), inspect.Query{})
		if err != nil || len(page.Sessions) != 1 {
			t.Fatalf("%d sessions, %v", len(page.Sessions), err)
		}
	})
}

// sound checks what holds for every session, whatever its rows.
func sound(t *testing.T, s *inspect.Session) {
	t.Helper()
	spans := make(map[string]int)
	for i, sp := range s.Spans {
		if sp.Parent != "" {
			p, ok := spans[sp.Parent]
			if !ok || s.Spans[p].Depth+1 != sp.Depth {
				t.Errorf("span %d lies in %q at depth %d, which is not before it", i, sp.Parent, sp.Depth)
			}
		} else if sp.Depth != 0 {
			t.Errorf("root %d has depth %d", i, sp.Depth)
		}
		if _, twice := spans[sp.Key]; twice {
			t.Errorf("span %q twice", sp.Key)
		}
		spans[sp.Key] = i
		if sp.DurationMS < 0 || len(sp.Rows) == 0 {
			t.Errorf("span %d takes %v ms and has %d rows", i, sp.DurationMS, len(sp.Rows))
		}
		for _, r := range sp.Rows {
			if s.Rows[r].Span != sp.Key {
				t.Errorf("row %d is of span %q, not %q", r, s.Rows[r].Span, sp.Key)
			}
		}
	}
	known := func(what, key string) {
		if _, ok := spans[key]; !ok {
			t.Errorf("%s names span %q, which is not there", what, key)
		}
	}
	for _, e := range s.Edges {
		known("edge", e.From)
		known("edge", e.To)
	}
	for _, key := range s.CriticalPath {
		known("critical path", key)
	}
	for _, a := range s.Approvals {
		if a.Status == "" || a.Explanation == "" {
			t.Errorf("approval %q: status %q, explanation %q", a.ID, a.Status, a.Explanation)
		}
		for _, w := range a.Why {
			for _, step := range w.Path {
				known("why", step.Span)
			}
		}
	}
	nodes := make(map[string]bool)
	for _, n := range s.Thoughts.Nodes {
		if nodes[n.ID] || n.Label == "" || n.Row >= len(s.Rows) {
			t.Errorf("bad thought %+v", n)
		}
		nodes[n.ID] = true
	}
	for _, e := range s.Thoughts.Edges {
		if !nodes[e.From] || !nodes[e.To] {
			t.Errorf("edge %+v names no thought", e)
		}
	}
	for _, p := range s.Problems {
		if p.Detail == "" || p.Count <= 0 || len(p.Rows) > 20 {
			t.Errorf("bad problem %+v", p)
		}
	}
}

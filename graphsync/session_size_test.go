// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// steps are the rows of a session that makes the same kind of step again and again. It makes them when
// they are asked for, so that a test can measure what a fold of them keeps.
type steps struct {
	row func(n int64) record.Event
	of  int64
}

const chunkOfSteps = 500

func (s steps) RowsAfter(_ context.Context, _ record.Session, seq int64) (rows []record.Event, err error) {
	for n := seq + 1; n <= s.of && len(rows) < chunkOfSteps; n++ {
		rows = append(rows, s.at(n))
	}
	return rows, nil
}

func (s steps) Children(context.Context, record.Session) ([]record.Child, error) { return nil, nil }

func (s steps) at(n int64) record.Event {
	e := s.row(n)
	e.Seq, e.Timestamp, e.EventID, e.Status = n, n, fmt.Sprintf("%032x", n), record.StatusOK
	e.AppName, e.UserID, e.SessionID, e.InvocationID, e.TraceID, e.RunSeq = "shop", "alice", "s", "turn", "trace", n
	e.RunID = cmp.Or(e.RunID, "run")
	return e
}

func (s steps) Row(_ context.Context, id string) (record.Event, bool, error) {
	var n int64
	_, err := fmt.Sscanf(id, "%x", &n)
	return s.at(n), true, err
}

func (s steps) Stored(context.Context, ...string) (bool, error) { return true, nil }

func (s steps) Waiting(record.Session) ([]record.Event, bool) { return nil, true }

func (s steps) Flush(context.Context) error { return nil }

// shape makes the rows of one kind of session: event type, span, content and attributes of each.
type shape func(n int64) record.Event

// made returns a row.
func made(eventType string, step int64, content, attributes string) record.Event {
	return record.Event{EventType: eventType, SpanID: fmt.Sprintf("%016x", step), Content: []byte(content), Attributes: []byte(attributes)}
}

// callAndAnswer are a call, its result, and the answer of a model that had read what it had read
// back steps before, and this result.
func callAndAnswer(tool string, back int64, result func(step int64) string) shape {
	return callWith("", tool, back, result)
}

// callWith is callAndAnswer with a text among the arguments of each call.
func callWith(text, tool string, back int64, result func(step int64) string) shape {
	return func(n int64) record.Event {
		step := (n - 1) / 3
		id := func(n int64) string { return fmt.Sprintf("%032x", n) }
		switch (n - 1) % 3 {
		case 0:
			return made(record.ToolStarting, step, `{"tool":"`+tool+`","args":{"text":"`+text+`"}}`, fmt.Sprintf(`{"adk":{"call_id":"call_%d"}}`, step))
		case 1:
			return made(record.ToolCompleted, step, `{"tool":"`+tool+`","result":`+result(step)+`}`,
				fmt.Sprintf(`{"adk":{"call_id":"call_%d","started":%q,"result":%q}}`, step, id(n-1), id(step)))
		}
		base := ""
		if step >= back {
			base = id(n - 3*back)
		}
		e := made(record.LLMResponse, step, `{"response":"..."}`, fmt.Sprintf(
			`{"adk":{"shown":{"base":%q,"results":[{"tool":"find","call":"call_%d","result":%q}]}},"function_calls":[{"id":"call_%d","name":"find"}]}`, base, step, id(step), step+1))
		e.SpanID = "a" + e.SpanID[1:]
		return e
	}
}

// listOf returns the result of find with a number of things, of so many in all.
func listOf(length, of int64) func(step int64) string {
	return func(step int64) string {
		var list []string
		for i := range length {
			n := step*length + i
			list = append(list, fmt.Sprintf(`{"name":"Product %d","price":%d,"night":"may %d"}`, n%of, n, n%7))
		}
		return `{"items":[` + strings.Join(list, ",") + `]}`
	}
}

func shapes() map[string]shape {
	const many = 1 << 40
	long := strings.Repeat("x", 1000)
	return map[string]shape{
		"things of their own":    callAndAnswer("find", 1, listOf(1, many)),
		"the same things":        callAndAnswer("find", 1, listOf(1, 20)),
		"long lists":             callAndAnswer("find", 1, listOf(20, 500)),
		"things to choose from":  callAndAnswer("list", 1, listOf(1, many)),
		"two branches":           callAndAnswer("find", 2, listOf(1, many)),
		"long names":             callAndAnswer("find", 1, func(step int64) string { return fmt.Sprintf(`{"items":[{"name":"%d%s","price":1}]}`, step, long[:900]) }),
		"results without things": callAndAnswer("find", 1, listOf(0, 1)),
		"long arguments":         callWith(long, "find", 1, listOf(0, 1)),
		"rows that show nothing": func(n int64) record.Event { return made(record.StateDelta, n/50, `{}`, `{"adk":{}}`) },
		"a run each": func(n int64) record.Event {
			e := made(record.InvocationStarting, n, `{}`, `{"adk":{}}`)
			e.RunID = fmt.Sprint("run", n)
			return e
		},
		"calls under way": func(n int64) record.Event {
			return made(record.ToolStarting, n, `{"tool":"find","args":{"text":"`+long+`"}}`, `{"adk":{}}`)
		},
		"declarations under way": func(n int64) record.Event {
			return made(record.EntitiesDeclared, n, `{"tool":"find"}`, `{"entities":[{"type":"A","value":"`+long+`"}]}`)
		},
		"what models found": func(n int64) record.Event {
			if n == 1 {
				return made(record.AgentResponse, 1, `{}`, `{"adk":{}}`)
			}
			return made(record.EntitiesFound, n, `{}`, fmt.Sprintf(`{"adk":{"of":"%032x"},"entities":[{"type":"Product","value":"p%d","attributes":{"price":{"kind":"number","value":"7"}}}]}`, 1, n))
		},
	}
}

// inHeap returns what is in the heap.
func inHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one found is freed
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// takes folds a session and returns how much memory it takes.
func takes(t *testing.T, rows int64, of shape) (heap int64, s *Session) {
	t.Helper()
	price := map[string]config.Attribute{
		"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}, "night": {Path: "$.night", Optional: true},
	}
	rule := config.Extract{Name: "found", Tool: "find", Each: "$.items[*]", Type: "Product", Value: "$.name", Attributes: price}
	choice := rule
	choice.Name, choice.Tool, choice.Alternatives, choice.Type = "chosen", "list", config.AlternativesTrue, "Choice"
	x, err := Compile([]config.Extract{rule, choice})
	if err != nil {
		t.Fatal(err)
	}
	ss := NewSessions(steps{of, rows}, x)
	before := inHeap()
	s = newSession(x)
	if err := ss.read(t.Context(), record.Session{}, s, 0); err != nil {
		t.Fatal(err)
	}
	heap = inHeap() - before
	if c := s.Counts(); c.Failed > 0 || int64(c.RowsRead) != rows {
		t.Errorf("%d rows, %d failed: %s", c.RowsRead, c.Failed, c.Error)
	}
	return heap, s
}

// The size that a session says it has is about what it takes: the cache is bounded by it.
func TestSizeOfSession(t *testing.T) {
	if testsize.Race {
		t.Skip("the race detector takes memory of its own")
	}
	for name, of := range shapes() {
		rows := int64(testsize.Rounds(t, 5_000, 20_000))
		if name == "long lists" {
			rows /= 5
		}
		heap, s := takes(t, rows, of)
		t.Logf("%s: %d bytes, %d a row, and %d by its own account, %.2f times as many", name, heap, heap/rows, s.bytes, float64(s.bytes)/float64(heap))
		if s.bytes < heap/2 || s.bytes > 3*heap {
			t.Errorf("%s: it takes %d bytes, and %d by its own account", name, heap, s.bytes)
		}
	}
}

// A session of 100,000 rows can be kept. The quick size is a third of it.
func TestLongSessionIsKept(t *testing.T) {
	if testsize.Race {
		t.Skip("the race detector takes memory of its own")
	}
	rows := int64(testsize.Rounds(t, 33_000, 100_000))
	heap, s := takes(t, rows, callAndAnswer("find", 1, listOf(1, 1<<40)))
	t.Logf("%d rows: %d bytes, %d a row, and %d by its own account", rows, heap, heap/rows, s.bytes)
	if limit := keptBytes * rows / 100_000; heap > limit || s.bytes > limit {
		t.Errorf("%d rows take %d bytes, and %d by their own account; at most %d are wanted", rows, heap, s.bytes, limit)
	}
}

// counted counts how often rows are read from the first one on.
type counted struct {
	steps
	fromStart int
}

func (c *counted) RowsAfter(ctx context.Context, s record.Session, seq int64) ([]record.Event, error) {
	if seq == 0 {
		c.fromStart++
	}
	return c.steps.RowsAfter(ctx, s, seq)
}

// Folds that were not used for longest are forgotten, so that all together take 64 MB.
func TestKeptSessionsAreBounded(t *testing.T) {
	const sessions, size = 20, 6 << 20
	rows := &counted{steps: steps{of: 2, row: func(n int64) record.Event { // under way, so that the content is kept
		return made(record.ToolStarting, n, strings.Repeat("x", size/2), `{"adk":{}}`)
	}}}
	ss := NewSessions(rows, nil)
	folded := func(n int) bool { // anew
		t.Helper()
		rows.fromStart = 0
		sel, err := ss.Select(t.Context(), record.Session{ID: fmt.Sprint("s", n)}, record.Decision{})
		if err != nil || sel.Counts.RowsRead != 2 {
			t.Fatalf("session %d: %d rows, %v", n, sel.Counts.RowsRead, err)
		}
		return rows.fromStart > 0
	}
	before := inHeap()
	for n := range sessions {
		if !folded(n) {
			t.Errorf("session %d was known", n)
		}
		if folded(0) {
			t.Errorf("session 0 was forgotten after %d others, although it is used most", n)
		}
	}
	if took := inHeap() - before; took > keptBytes+size {
		t.Errorf("%d bytes are kept", took)
	}
	kept := 1
	for n := sessions - 1; n > 0 && !folded(n); n-- {
		kept++
	}
	if want := keptBytes / size; kept != want {
		t.Errorf("%d sessions were kept, want %d", kept, want)
	}
	runtime.KeepAlive(ss)
}

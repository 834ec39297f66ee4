// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A selection looks at rows that wait in the queue without waiting for the disk. It selects what a
// fold of all rows selects after they were stored.
func TestSelectionWithRowsThatWait(t *testing.T) {
	j, x := openJournal(t, time.Second), offerRules(t)
	waited, compared := 0, 0
	for seed := range testsize.Seeds(t, 15, 600) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		of := fmt.Sprint("w", seed, "-")
		rows := scribble(t, rnd, of, 40)
		s := record.Session{App: cgtest.App, User: cgtest.User, ID: of + "s0"}
		kept := graphsync.NewSessions(j, x)
		for i := range rows {
			e := rows[i]
			// Most rows change nothing that a decision rests on.
			switch rnd.IntN(8) {
			case 0:
			case 1:
				e.EventType, e.Content = record.ToolStarting, []byte(`{"tool":"take","args":{"offers":[{"name":"O1"}]}}`)
			case 2:
				e.EventType, e.Content, e.Attributes = record.InvocationCompleted, nil, nil
			default:
				e.EventType = []string{record.UserMessageReceived, record.EventCompaction, record.StateDelta, record.LLMError, record.AgentCompleted, record.InvocationError, record.InvocationStarting, record.AgentStarting, record.LLMRequest, record.HITLConfirmationRequest, record.WorldChangeCheck}[rnd.IntN(11)]
				e.IsTruncated = rnd.IntN(10) == 0
			}
			if e.RunSeq = int64(i); rnd.IntN(6) == 0 {
				e.RunSeq = int64(rnd.IntN(i + 1))
			}
			if rnd.IntN(3) > 0 {
				e.SessionID, e.RunID = s.ID, fmt.Sprint("s0r", rnd.IntN(2))
			}
			if !j.Append(e) {
				t.Fatal("the row was refused")
			}
			rows[i] = e
			if rnd.IntN(4) > 0 {
				continue
			}
			d := record.Decision{}
			row := rows[rnd.IntN(i+1)]
			switch rnd.IntN(3) {
			case 0:
				d.Answer = row.EventID
			case 1:
				d.Run, d.After = row.RunID, row.EventID
			}
			if rnd.IntN(3) > 0 {
				d.Tool, d.Args = "take", encoded(map[string]any{"offers": offers(rnd)})
			}
			before := j.Stats()
			got, err := kept.Select(t.Context(), s, d, "i1", "i2")
			if after := j.Stats(); after.Commits == before.Commits && before.QueuedRows > 0 {
				waited++
			}
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			want, err2 := graphsync.NewSessions(j, x).Select(t.Context(), s, d, "i1", "i2")
			if (err == nil) != (err2 == nil) {
				t.Fatalf("seed %d: anew %v, with rows that wait %v", seed, err2, err)
			}
			compared++
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(graphsync.Counts{}, "Watermark", "RowsRead", "Rules", "Tools"), cmpopts.IgnoreFields(graphsync.Run{}, "First"),
				cmpopts.SortSlices(func(a, b graphsync.Run) bool { return a.ID < b.ID }), cmpopts.SortSlices(func(a, b string) bool { return a < b }),
				cmp.AllowUnexported(entity.Value{})); diff != "" {
				t.Fatalf("seed %d, row %d, %+v: (-anew +rows that wait):\n%s", seed, i, d, diff)
			}
		}
	}
	t.Logf("%d of %d selections looked at rows that waited", waited, compared)
	if waited < compared/10 {
		t.Errorf("%d of %d selections looked at rows that waited: the test shows little of them", waited, compared)
	}
}

// openJournal opens a new journal that commits rows after an interval, until the test ends.
func openJournal(t *testing.T, interval time.Duration) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t), CommitInterval: interval}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return j
}

// offerRules find things in the rows that scribble writes: products, and offers to choose from.
func offerRules(t *testing.T) *graphsync.Extractor {
	t.Helper()
	price := map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: true}}
	x, err := graphsync.Compile([]config.Extract{
		{Name: "found", Tool: "find", Type: "Product", Value: "$.name", Attributes: price},
		{Name: "wanted", Tool: "find", In: config.InArgs, Type: "Product", Value: "$.name"},
		{Name: "offers", Tool: "list", Each: "$.offers[*]", Type: "Offer", Value: "$.name", Attributes: price, Alternatives: config.AlternativesTrue},
		{Name: "taken", Tool: "take", In: config.InAction, Each: "$.offers[*]", Type: "Offer", Value: "$.name"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// scribble writes rows as no recorder does: any row may name any other, ids come again, and
// what belongs together is missing. The ids of rows and of sessions begin with of.
func scribble(t *testing.T, rnd *rand.Rand, of string, n int) (rows []record.Event) {
	pick := func(from string) string { return fmt.Sprint(from, rnd.IntN(4)) }
	anyRow := func() string {
		if len(rows) == 0 {
			return "none"
		}
		return rows[rnd.IntN(len(rows))].EventID
	}
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	calls := make(map[string][]string) // the rows that began calls, by session
	begun := func(session string) string {
		last := calls[session]
		if len(last) == 0 || rnd.IntN(3) == 0 {
			return anyRow()
		}
		last = last[max(0, len(last)-2):]
		return last[rnd.IntN(len(last))]
	}
	for i := range n {
		session := fmt.Sprint("s", rnd.IntN(2))
		adk := map[string]any{"app_name": cgtest.App, []string{"call_id", "function_call_id"}[rnd.IntN(2)]: pick("c")}
		attributes := map[string]any{"adk": adk}
		product := map[string]any{"name": pick("P")}
		if rnd.IntN(4) > 0 {
			product["price"] = 10 * rnd.IntN(4)
		}
		e := record.Event{
			EventID: fmt.Sprint(of, "e", i), Timestamp: int64(i) * 1000, Status: record.StatusOK, AppName: cgtest.App, UserID: cgtest.User, SessionID: of + session,
			RunID: session + pick("r"), RunSeq: int64(rnd.IntN(5)), TraceID: "t", SpanID: pick("span"), InvocationID: pick("i"),
		}
		switch rnd.IntN(10) {
		case 0, 1:
			e.EventType, e.Content = record.ToolStarting, text(map[string]any{"tool": "find", "args": product})
			calls[session] = append(calls[session], e.EventID)
		case 2, 3, 4:
			name := "find"
			if rnd.IntN(2) == 0 {
				name = "list"
			}
			if rnd.IntN(3) > 0 {
				product["offers"] = offers(rnd)
				product["others"] = offers(rnd)
			}
			e.EventType, e.Content = record.ToolCompleted, text(map[string]any{"tool": name, "result": product})
			adk["started"], adk["result"] = begun(session), pick("d")
			if rnd.IntN(10) == 0 {
				adk["child_session"] = map[string]any{"app_name": cgtest.App, "user_id": cgtest.User, "session_id": of + "child"}
			}
		case 5:
			e.EventType = record.LLMResponse
			adk["read"] = map[string]any{
				"results": map[string]any{pick("c"): pick("d"), pick("c"): pick("d")},
				"answers": []any{"r:" + anyRow(), "c:" + pick("c"), fmt.Sprint("e:x", rnd.IntN(n))},
			}
			attributes["function_calls"] = []any{map[string]any{"id": pick("c")}}
		case 6:
			e.EventType = record.ToolResultRewritten
			adk["of"], adk["result"] = anyRow(), pick("d")
		case 8, 9:
			e.EventType = record.EntitiesDeclared
			adk["of"] = begun(session)
			attributes["entities"] = []any{map[string]any{"type": "Product", "value": pick("P"), "confidence": 1}}
		case 7:
			e.EventType = record.AgentResponse
			adk["answer_of"], adk["source_event_id"] = anyRow(), fmt.Sprint("x", i)
		}
		// An agent that runs as a tool has ended before the call does.
		if i < 8 && e.EventType != record.ToolStarting {
			e.SessionID, e.RunID = of+"child", "child"
			if i == 7 && rnd.IntN(2) == 0 {
				e.EventType = record.InvocationCompleted
			}
			delete(adk, "child_session")
		}
		e.Attributes = text(attributes)
		rows = append(rows, e)
	}
	return rows
}

// offers lists a few things, each once.
func offers(rnd *rand.Rand) []any {
	list := []any{}
	for _, n := range rnd.Perm(4)[:rnd.IntN(4)] {
		list = append(list, map[string]any{"name": fmt.Sprint("O", n), "price": rnd.IntN(2)})
	}
	return list
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxProblemRows is how many rows a problem names.
const maxProblemRows = 20

// found collects the rows of each problem.
type found struct {
	Problem
	say func(n int) string
}

// problems returns the faults of the record.
func (x *builder) problems(s *Session) []Problem {
	kinds := []*found{
		{Problem{Kind: "missing_parent"}, func(n int) string {
			return fmt.Sprintf("%s inside of spans that are not on record: their spans are shown as roots.", plural(n, "row is", "rows are"))
		}},
		{Problem{Kind: "no_span"}, func(n int) string {
			return fmt.Sprintf("%s no span: each is shown as a span of its own.", plural(n, "row has", "rows have"))
		}},
		{Problem{Kind: "no_trace"}, func(n int) string {
			return fmt.Sprintf("%s no trace: spans with the same id may be taken for one.", plural(n, "row has", "rows have"))
		}},
		{Problem{Kind: "bad_content"}, func(n int) string {
			return fmt.Sprintf("%s content that is not JSON: it is shown as text, and nothing is read from it.", plural(n, "row has", "rows have"))
		}},
		{Problem{Kind: "bad_attributes"}, func(n int) string {
			return fmt.Sprintf("%s attributes that are no JSON object: what they say of calls, models and approvals is unknown.", plural(n, "row has", "rows have"))
		}},
		{Problem{Kind: "unanswered_call"}, func(n int) string {
			return fmt.Sprintf("%s no end although the run is over: it is not known what became of it.", plural(n, "call has", "calls have"))
		}},
		{Problem{Kind: "unknown_request"}, func(n int) string {
			return fmt.Sprintf("%s no request of this session, so the gate refused.", plural(n, "answer is to", "answers are to"))
		}},
		{Problem{Kind: "truncated"}, func(n int) string {
			return fmt.Sprintf("%s content to a limit when recorded.", plural(n, "row lost", "rows lost"))
		}},
	}
	var list []Problem
	for _, gap := range x.Gaps {
		list = append(list, Problem{Kind: "missing_rows", Detail: gap, Count: 1})
	}
	calls := x.unanswered(s)
	for i := range x.rows {
		r := &x.rows[i]
		_, parent := x.spans[parentKey(r)]
		for k, n := range []int{
			one(r.ParentSpanID != "" && !parent), one(r.SpanID == ""), one(r.TraceID == ""),
			one(badJSON(r.Content) || badJSON(r.ContentParts) || badJSON(r.LatencyMS)), one(!isObject(r.Event.Attributes)),
			calls[i], one(r.ADK.Reason == safety.CodeUnknownRequest), one(r.IsTruncated),
		} {
			kinds[k].add(i, n)
		}
	}
	for _, f := range kinds {
		if f.Count > 0 {
			f.Detail = f.say(f.Count)
			list = append(list, f.Problem)
		}
	}
	if n := len(x.Rows) - len(x.rows); n > 0 {
		list = append(list, Problem{Kind: "duplicate_event", Detail: fmt.Sprintf("%s left out because an earlier one has the same event id.", plural(n, "row was", "rows were")), Count: n})
	}
	return present(list)
}

// one counts what is wrong with a row once.
func one(wrong bool) int {
	if wrong {
		return 1
	}
	return 0
}

func (f *found) add(row, n int) {
	if n == 0 {
		return
	}
	f.Count += n
	if len(f.Rows) < maxProblemRows {
		f.Rows = append(f.Rows, row)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func badJSON(data []byte) bool { return len(data) > 0 && !json.Valid(data) }

func isObject(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	var m map[string]json.RawMessage
	return json.Unmarshal(data, &m) == nil
}

// unanswered counts, by row, the calls of models and tools that have no end in a run that
// is over. A call that asks a human is a request and not one of these.
func (x *builder) unanswered(s *Session) map[int]int {
	out := make(map[int]int)
	answered := make(map[string]bool)
	for i := range x.rows {
		r := &x.rows[i]
		for _, id := range []string{r.ADK.CallID(), r.ADK.InterruptID.Text, r.ADK.ConfirmationID.Text, r.ADK.Scope.ID} {
			answered[id] = true
		}
	}
	for i := range s.Spans {
		sp := &s.Spans[i]
		n := sp.Rows[0]
		if x.over[x.rows[n].run] && sp.Open && (sp.Class == "model" || sp.Class == "tool") {
			out[n]++
		}
	}
	for i := range x.rows {
		r := &x.rows[i]
		if r.EventType != record.LLMResponse || !x.over[r.run] {
			continue
		}
		for _, c := range r.FunctionCalls {
			if c.ID != "" && !answered[c.ID] {
				out[i]++
			}
		}
	}
	return out
}

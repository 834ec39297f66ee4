// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"iter"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/record"
)

type eventList []*session.Event

func (l eventList) Len() int                { return len(l) }
func (l eventList) At(i int) *session.Event { return l[i] }
func (l eventList) All() iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		for _, ev := range l {
			if !yield(ev) {
				return
			}
		}
	}
}

// turnsWithTools are events of turns with one tool call of 0.8 KB each, and the request that
// is made of them.
func turnsWithTools(turns int) (events eventList, contents []*genai.Content) {
	add := func(author string, role genai.Role, part *genai.Part) {
		ev := &session.Event{ID: fmt.Sprint("event-", len(events)), Author: author}
		ev.LLMResponse = model.LLMResponse{Content: &genai.Content{Role: string(role), Parts: []*genai.Part{part}}}
		events, contents = append(events, ev), append(contents, ev.Content)
	}
	for i := range turns {
		id := fmt.Sprint("call-", i)
		result := inventory()
		result["turn"] = i
		add("user", genai.RoleUser, &genai.Part{Text: fmt.Sprint("what about ", i)})
		add("root", genai.RoleModel, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "query_ad_inventory", Args: map[string]any{"turn": i}}})
		add("root", genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "query_ad_inventory", Response: result}})
		add("root", genai.RoleModel, &genai.Part{Text: fmt.Sprint("it costs ", i)})
	}
	return events, contents
}

// BenchmarkHistory is what a run costs at its start, and each model call at its end, by the
// turns that the session has.
func BenchmarkHistory(b *testing.B) {
	rec := newTestRecorder(b, &discard{})
	for _, turns := range []int{10, 100, 1000} {
		events, contents := turnsWithTools(turns)
		s := record.Session{App: "a", User: "u", ID: "s"}
		b.Run(fmt.Sprintf("index/turns=%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newHistory(&rec.encoder, rec.answerRows.of(s), events)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(turns), "us/turn")
		})
		b.Run(fmt.Sprintf("match/turns=%d", turns), func(b *testing.B) {
			h := newHistory(&rec.encoder, rec.answerRows.of(s), events)
			b.ReportAllocs()
			for b.Loop() {
				if got := h.match(contents, reader{agent: "root"}); len(got.responses) != turns || len(got.answers) != 2*turns || got.unmatched != 0 {
					b.Fatalf("matched %d results and %d answers", len(got.responses), len(got.answers))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(turns), "us/turn")
		})
	}
}

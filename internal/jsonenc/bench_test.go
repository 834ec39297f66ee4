// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// toolResult is what a tool gives back: nested, about 0.8 KB as JSON.
func toolResult() map[string]any {
	offers := make([]any, 4)
	for i := range offers {
		offers[i] = map[string]any{
			"id": fmt.Sprintf("offer-%d", i), "airline": "Lufthansa", "price": 129.5 + float64(i),
			"seats": i * 3, "refundable": i%2 == 0, "stops": []any{"FRA", "MUC"},
			"note": "Departs from gate B, bring a passport",
		}
	}
	return map[string]any{"status": "ok", "query": map[string]any{"from": "BER", "to": "LIS", "adults": 2}, "offers": offers}
}

// prompt is the list of messages of a model request.
func prompt(n int) []any {
	messages := make([]any, n)
	for i := range messages {
		messages[i] = map[string]any{"role": "user", "content": "text: 'Please look at order 4711 again and tell me, in two sentences, whether the customer may have the refund that was asked for. " +
			"If the amount is above the limit then say so and stop, do not call any tool before that.'"}
	}
	return messages
}

type contentLike struct {
	Parts []*partLike `json:"parts,omitempty"`
	Role  string      `json:"role,omitempty"`
}

type partLike struct {
	Text         string    `json:"text,omitempty"`
	Thought      bool      `json:"thought,omitempty"`
	FunctionCall *callLike `json:"functionCall,omitempty"`
}

type callLike struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

func content() *contentLike {
	return &contentLike{Role: "model", Parts: []*partLike{
		{Text: "I will look for flights from Berlin to Lisbon."},
		{Text: "The user wants to travel with two adults.", Thought: true},
		{FunctionCall: &callLike{ID: "call-1", Name: "search_flights", Args: map[string]any{"from": "BER", "to": "LIS", "adults": 2}}},
	}}
}

var values = []struct {
	name string
	v    any
}{
	{"ToolResult", toolResult()},
	{"Prompt20", map[string]any{"prompt": prompt(20)}},
	{"Content", content()},
	{"String1MB", strings.Repeat("The quick brown fox jumps over the lazy dog, again and again. ", 1<<14)},
	{"Colons", strings.Repeat("Step: at 10:30 go to gate: B4, note=none. ", 250)},
	{"StringMap", map[string]string{"city": "Berlin", "country": "Germany", "language": "de", "zone": "Europe/Berlin"}},
	{"JSONInString", map[string]any{"text": func() string { b, _ := json.Marshal(toolResult()); return string(b) }()}},
}

func BenchmarkEncode(b *testing.B) {
	for _, v := range values {
		b.Run(v.name, func(b *testing.B) {
			w := jsonenc.NewWriter(jsonenc.Limits{String: 4 << 20, Total: 8 << 20}, nil)
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				w.Doc(100).Value(v.v)
			}
			b.SetBytes(int64(w.Len()))
		})
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	for _, v := range values {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				data, err := json.Marshal(v.v)
				if err != nil {
					b.Fatal(err)
				}
				n = len(data)
			}
			b.SetBytes(int64(n))
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/race"
)

// heldIn returns a past of n turns with a tool call each, a request that was made of it, and the model
// call before, whose rows list all of it.
func heldIn(t testing.TB, n int) (p *past, contents []*genai.Content, who reader, before *conversation) {
	t.Helper()
	rec := newTestRecorder(t, &discard{})
	events, row := turnsWithTools(n), rowID{1}
	p = newPast(&rec.encoder, []answerRow{{hashOf("event", events[len(events)-1].ID), row}}, events)
	for _, ev := range events {
		c := *ev.Content
		c.Parts = []*genai.Part{new(*c.Parts[0])}
		contents = append(contents, &c)
	}
	who = reader{agent: "root"}
	return p, contents, who, &conversation{row: row, shown: p.held(contents, who, nil).ids}
}

// What a request holds is found without a look into what rows list already, and without memory for
// each turn.
func TestHeldPartsOfALongSession(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; counted without it")
		return
	}
	for _, n := range []int{10, 100, 1000} {
		p, contents, who, before := heldIn(t, n)
		got := testing.AllocsPerRun(20, func() {
			if h := p.held(contents, who, before); len(h.parts) != 3*n || h.unmatched != 0 || h.base != int32(4*n-1) || !h.parts[0].known {
				t.Fatalf("%d parts, %d unmatched, base %d", len(h.parts), h.unmatched, h.base)
			}
		})
		if got > 12 {
			t.Errorf("%d turns: %v allocations, want at most 12", n, got)
		}
		if p.index != nil {
			t.Errorf("%d turns: the session was indexed", n)
		}
	}
}

// BenchmarkHeld is what it takes to find what a request holds, by the turns that the session has:
// where rows list all of it, where they list nothing, and where only values tell.
func BenchmarkHeld(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		p, contents, who, before := heldIn(b, n)
		changed := append([]*genai.Content{genai.NewContentFromText("a summary", genai.RoleUser)}, contents[4:]...)
		for _, kind := range []struct {
			name     string
			contents []*genai.Content
			before   *conversation
		}{{"listed", contents, before}, {"new", contents, nil}, {"changed", changed, before}} {
			b.Run(fmt.Sprintf("%s/turns=%d", kind.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.held(kind.contents, who, kind.before)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/1000, "us/turn")
			})
		}
	}
}

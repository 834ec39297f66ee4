// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/record"
)

func TestEmptyColumnsAreNull(t *testing.T) {
	full := event(testSession, "r", 1, "X")
	full.Content, full.ContentParts, full.Attributes, full.LatencyMS = []byte(`{}`), []byte(`[]`), []byte(`{}`), []byte(`{}`)
	bare := record.Event{EventID: "e2", EventType: "X", Status: record.StatusOK}
	j := openJournal(t, nil)
	appendAll(t, j, full, bare)
	flush(t, j)
	conn := connect(t, j.Path())
	nulls := selectInt(t, conn, `SELECT count(*) FROM agent_events WHERE event_id = 'e2'
		AND agent IS NULL AND invocation_id IS NULL AND trace_id IS NULL AND span_id IS NULL AND parent_span_id IS NULL
		AND content IS NULL AND content_parts IS NULL AND attributes IS NULL AND latency_ms IS NULL AND error_message IS NULL`)
	if nulls != 1 {
		t.Error("empty columns are not NULL")
	}
	if n := selectInt(t, conn, `SELECT count(*) FROM agent_events WHERE typeof(content) = 'text'`); n != 1 {
		t.Error("JSON is not stored as text")
	}
}

// RowsAfter is called until it has no more.
func TestRowsAfter(t *testing.T) {
	const mb = 1_000_000
	sizes := func(n int, size int) []int { return slices.Repeat([]int{size}, n) }
	for name, tt := range map[string]struct {
		sizes []int // of the contents of the rows
		want  []int // how many rows there are at a time
	}{
		"no row":        {nil, nil},
		"some":          {sizes(3, 10), []int{3}},
		"many":          {sizes(1200, 10), []int{500, 500, 200}},
		"large":         {sizes(5, 3*mb/2), []int{2, 2, 1}},
		"one too large": {[]int{5 * mb, 10, 5 * mb}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			for i, size := range tt.sizes {
				appendAll(t, j, sized(int64(i+1), "X", size), event(named("another"), "r", int64(i+1), "X"))
			}
			flush(t, j)
			want, err := j.Events(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			var all []record.Event
			var at []int
			for seq := int64(0); ; seq = all[len(all)-1].Seq {
				rows, err := j.RowsAfter(t.Context(), testSession, seq)
				if err != nil {
					t.Fatal(err)
				}
				if len(rows) == 0 {
					break
				}
				all, at = append(all, rows...), append(at, len(rows))
			}
			if !cmp.Equal(at, tt.want) {
				t.Errorf("%d rows at a time, want %d", at, tt.want)
			}
			if d := cmp.Diff(want, all, cmp.Comparer(bytes.Equal)); d != "" {
				t.Errorf("rows differ from those of the session (-want +got):\n%s", d)
			}
		})
	}
}

// A row in the queue is not stored.
func TestStoredWhileOneWaits(t *testing.T) {
	j := openJournal(t, nil)
	stored, waiting := event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X")
	appendAll(t, j, stored)
	flush(t, j)
	holdWriter(t, j, func() {
		appendAll(t, j, waiting)
		if all, err := j.Stored(t.Context(), stored.EventID, waiting.EventID); err != nil || all {
			t.Errorf("%t, %v, want false", all, err)
		}
	})
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// counting is a store that counts the sightings which a selection reads.
type counting struct {
	graphsync.EvidenceStore
	read *int
}

func (c counting) View(ctx context.Context, s schema.Session, f func(graphsync.EvidenceReader) error) error {
	return c.EvidenceStore.View(ctx, s, func(r graphsync.EvidenceReader) error { return f(countingReader{r, c.read}) })
}

type countingReader struct {
	graphsync.EvidenceReader
	read *int
}

func (c countingReader) Sightings(key, attribute string, readings bool, upTo int64, skip, limit int) ([]graphsync.Sighting, error) {
	list, err := c.EvidenceReader.Sightings(key, attribute, readings, upTo, skip, limit)
	*c.read += len(list)
	return list, err
}

// A thing that every step of a session shows costs as much after 3,000 steps as after ten,
// and an approval keeps the reading that counts, not every one.
func TestSelectionDoesNotGrow(t *testing.T) {
	cost := func(steps int) (read, kept int) {
		r := &recorder{t: t, run: "1"}
		base := ""
		var answer string
		for i := range steps {
			call, digest := fmt.Sprint("c", i), fmt.Sprint("d", i)
			r.find(call, digest, item("a", 40+i%2))
			read := m{"results": m{call: digest}}
			if base != "" {
				read["base"] = base
			}
			answer = r.add(schema.LLMResponse, "", fmt.Sprint("L", i), "A", m{"response": "..."}, m{"adk.read": read}).EventID
			base = "r:" + answer
		}
		store := graphsync.NewRecorded(rowsOf{rows: map[schema.Session][]schema.Event{testSession: r.rows}})
		ev := graphsync.NewEvidence(counting{store, &read}, compile(t, priceRules()))
		sel, err := ev.Select(t.Context(), testSession, graphsync.Decision{Answer: answer}, nil, nil)
		if err != nil || len(sel.Entities) != 1 {
			t.Fatalf("%v, %v", sel.Entities, err)
		}
		return read, len(sel.Entities[0].Seen)
	}
	fewRead, fewKept := cost(10)
	manyRead, manyKept := cost(3_000)
	if manyRead > 2*fewRead || manyKept != fewKept {
		t.Errorf("with 10 steps %d sightings are read and %d kept, with 3,000 %d and %d", fewRead, fewKept, manyRead, manyKept)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// counting is a store that counts the sightings and the choices which a selection reads.
type counting struct {
	graphsync.EvidenceStore
	read, choices *int
}

func (c counting) View(ctx context.Context, s record.Session, f func(graphsync.EvidenceReader) error) error {
	return c.EvidenceStore.View(ctx, s, func(r graphsync.EvidenceReader) error { return f(countingReader{r, c}) })
}

type countingReader struct {
	graphsync.EvidenceReader
	counting
}

func (c countingReader) Sightings(key, attribute string, readings bool, upTo int64, skip, limit int) ([]graphsync.Sighting, error) {
	list, err := c.EvidenceReader.Sightings(key, attribute, readings, upTo, skip, limit)
	*c.read += len(list)
	return list, err
}

func (c countingReader) Choices(key string, upTo int64, skip, limit int) ([]graphsync.Choice, error) {
	list, err := c.EvidenceReader.Choices(key, upTo, skip, limit)
	*c.choices += len(list)
	return list, err
}

// A thing that every step of a session shows costs as much after many steps as after ten,
// and an approval keeps the reading that counts, not every one. Of what is there to choose
// from, only the rows are looked at, as numbers.
func TestSelectionDoesNotGrow(t *testing.T) {
	steps := testsize.Rounds(t, 1_000, 3_000)
	plain := priceRules()
	choosing := priceRules()
	choosing[0].Alternatives = true
	cost := func(steps int, rules []config.Extract, d graphsync.Decision) (read, choices, kept int) {
		r := &recorder{t: t, run: "1"}
		base := ""
		var answer string
		for i := range steps {
			call, digest := fmt.Sprint("c", i), fmt.Sprint("d", i)
			r.find(call, digest, item("a", 40+i%2), item("b", i%2))
			read := m{"results": m{call: digest}}
			if base != "" {
				read["base"] = base
			}
			answer = r.add(record.LLMResponse, "", fmt.Sprint("L", i), "A", m{"response": "..."}, m{"adk.read": read}).EventID
			base = "r:" + answer
		}
		store := graphsync.NewRecorded(rowsOf{rows: map[record.Session][]record.Event{testSession: r.rows}})
		ev := graphsync.NewEvidence(counting{store, &read, &choices}, compile(t, rules))
		d.Answer = answer
		sel, err := ev.Select(t.Context(), testSession, d, nil, nil)
		if err != nil || len(sel.Entities)+sel.NotChosen.Total != 2 {
			t.Fatalf("%v, %v", sel.Entities, err)
		}
		return read, choices, len(sel.Entities[0].Seen)
	}
	for name, test := range map[string]struct {
		rules []config.Extract
		d     graphsync.Decision
		most  int // of the choices that many steps read
	}{
		"nothing to choose from": {plain, buying("a"), 0},
		"the other of each list": {choosing, buying("a"), 2 * steps},
		"nothing is chosen":      {choosing, buying(), 2 * 64},
	} {
		t.Run(name, func(t *testing.T) {
			fewRead, _, fewKept := cost(10, test.rules, test.d)
			manyRead, choices, manyKept := cost(steps, test.rules, test.d)
			if manyRead > 2*fewRead || manyKept != fewKept || choices > test.most {
				t.Errorf("with 10 steps %d sightings are read and %d kept, with %d steps %d and %d, and %d choices", fewRead, fewKept, steps, manyRead, manyKept, choices)
			}
		})
	}
}

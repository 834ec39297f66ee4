// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"math"
	"slices"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Order sorts rows of one session, which come by time, by the order of recording, and numbers them
// (Seq). It changes nothing unless every row has its place in its run. A row is as late as the
// latest row before it in its run, so that the rows of a run keep their order if a clock went back.
// The finds of models come last: they were recorded after the rows that they are about, but have their times.
func Order(events []record.Event) {
	for i := range events {
		e := &events[i]
		// A check that a program asks for is outside of any run, and so is what models found.
		if (e.RunID == "" || e.RunSeq == 0) && e.EventType != record.WorldChangeCheck && e.EventType != record.EntitiesFound {
			return // the order of time, which the query gives
		}
	}
	slices.SortStableFunc(events, func(a, b record.Event) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.RunSeq, b.RunSeq), cmp.Compare(a.Timestamp, b.Timestamp))
	})
	type placed struct {
		record.Event
		at int64
	}
	list := make([]placed, len(events))
	for i, e := range events {
		list[i] = placed{e, e.Timestamp}
		switch {
		case e.EventType == record.EntitiesFound:
			list[i].at = math.MaxInt64
		case i > 0 && e.RunID != "" && events[i-1].RunID == e.RunID:
			list[i].at = max(e.Timestamp, list[i-1].at)
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for i := range list {
		events[i] = list[i].Event
		events[i].Seq = int64(i + 1)
	}
}

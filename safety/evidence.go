// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Receipt says from what a set of entities was extracted.
type Receipt struct {
	// Watermark is the number of the last row that was read, RowsRead how many
	// rows of the session were read. Zero means that nothing was.
	Watermark int64 `json:"watermark"`
	RowsRead  int   `json:"rows_read"`
	// Failed counts rows no entities could be extracted from for an error,
	// Truncated rows whose content was cut before it was recorded.
	Failed    int `json:"failed"`
	Truncated int `json:"truncated"`
	// Error is the first reason why a row failed, for people; "" if none did.
	Error string `json:"error,omitempty"`
	// Version is the digest of the extraction rules.
	Version string `json:"version"`
}

// Snapshot is what the record of a session says a decision rests on.
type Snapshot struct {
	// Entities are the entities evaluated before the decision, one each.
	Entities []entity.Canonical
	// Receipt says from what they were extracted.
	Receipt Receipt
	// Gaps names, for people, what is missing from the record: rows that were
	// lost, turns without an end. A complete record has none.
	Gaps []string
}

// count gives a number of things with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// problems lists what makes the snapshot unfit to approve anything.
func problems(r Receipt, gaps []string) []Failure {
	var out []Failure
	if r.RowsRead <= 0 || r.Watermark <= 0 {
		out = append(out, fail(ReasonIncompleteRecord, "no row of the session was read"))
	}
	if r.Failed != 0 {
		out = append(out, fail(ReasonExtractionFailed, "no entities could be extracted from %s: %s", count(r.Failed, "row"), cmp.Or(r.Error, "reason unknown")))
	}
	if r.Truncated != 0 {
		out = append(out, fail(ReasonIncompleteRecord, "%s lost content before being recorded, to a limit of its size", count(r.Truncated, "row")))
	}
	for _, g := range gaps {
		out = append(out, fail(ReasonIncompleteRecord, "%s", g))
	}
	return out
}

// Evidence reads the record of a session. Collect must return only when every row
// recorded before the call is durable and has been extracted from. decision is the
// key of the node that asks ("" for the whole session): entities evaluated after it
// are not part of what it rests on.
//
// Collect is called concurrently. An error, or a panic, denies.
type Evidence interface {
	Collect(ctx context.Context, s Session, decision string) (Snapshot, error)
}

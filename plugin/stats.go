// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

// Stats counts what a Recorder did since it was made.
type Stats struct {
	// Rows counts the rows that the sink took, Refused those that it did not take, which
	// it counts by reason. Skipped counts the rows that the options leave out.
	Rows, Refused, Skipped uint64
	// Truncated counts rows that lost content to a limit, Redacted the values that
	// were replaced because they are secret, Repaired those that JSON cannot hold.
	Truncated, Redacted, Repaired uint64
	// FormatterFailed and ClassifierFailed count failures of the host's functions.
	FormatterFailed, ClassifierFailed uint64
	// NotOffloaded counts parts that no store took; their bytes are not kept.
	NotOffloaded uint64
	// Panics counts the panics that [Recorder.Rescue] and the recorder itself recovered.
	// Rows may be missing for each.
	Panics uint64
}

// Stats returns the counters. It may be called at any time.
func (rec *Recorder) Stats() Stats {
	c := &rec.counters
	return Stats{
		Rows: c.rows.Load(), Refused: c.refused.Load(), Skipped: c.skipped.Load(),
		Truncated: c.truncated.Load(), Redacted: c.redacted.Load(), Repaired: c.repaired.Load(),
		FormatterFailed: c.formatterFailed.Load(), ClassifierFailed: c.classifierFailed.Load(),
		NotOffloaded: c.notOffloaded.Load(), Panics: c.panics.Load(),
	}
}

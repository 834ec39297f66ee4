// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Receipt describes the rows from which a set of entities was extracted.
type Receipt struct {
	// Watermark is the number of the last row that was read, RowsRead how many
	// rows of the session were read. Zero means that nothing was.
	Watermark int64 `json:"watermark"`
	RowsRead  int   `json:"rows_read"`
	// Failed counts the rows whose extraction failed, Truncated the rows whose content was cut
	// before it was recorded.
	Failed    int `json:"failed"`
	Truncated int `json:"truncated"`
	// Error is the first reason why a row failed, for people; "" if none did.
	Error string `json:"error,omitempty"`
	// Version is the digest of the extraction rules.
	Version string `json:"version"`
	// Notes are remarks about the extraction for whoever approves, as a rule that read results and
	// found nothing. They decide nothing.
	Notes []string `json:"notes,omitempty"`
}

// Decision names the step that asks, so that the record can tell which results it had read. The
// zero Decision is none.
type Decision struct {
	// Node is the key of the asking node in the graph.
	Node string `json:"node,omitempty"`
	// Answer is the event id of the row that ended the model call which asked, or another
	// name of the call: "c:" and the id of a call that it asked for, "e:" and the id of its
	// event. It is "" if no model asked.
	Answer string `json:"answer,omitempty"`
	// Run is the run that asked. After is the event id of its last row before the asking
	// step began, where no model asked; "" is the start of the run.
	Run   string `json:"run,omitempty"`
	After string `json:"after,omitempty"`
	// UpTo is the number of the last row that counts; 0 counts all. [Guard.Ask] sets it to
	// the watermark of the first snapshot.
	UpTo int64 `json:"up_to,omitempty"`
	// Tool is the called tool. Args are its arguments, as the JSON text with the approved digest.
	// The entities that the action names are read from it.
	Tool string `json:"tool,omitempty"`
	Args string `json:"args,omitempty"`
}

// Expected names the rule that shows an attribute of a type, and the tool in whose results. An
// empty Attribute stands for a rule without attributes. Place is the file and the line of the rule
// ("contextgraph.yaml:12"); "" for a rule written in Go.
type Expected struct {
	Type, Attribute, Rule, Tool, Place string
}

// Snapshot is the evidence of a decision, as the record of a session has it.
type Snapshot struct {
	// Entities are the entities recorded before the decision, one for each
	// [entity.Entity.Identity], which is their Key.
	//
	// Seen holds the readings that count. Each has the attributes that count and no others; its
	// Read says whether the deciding step had read it. Seen also holds the sightings in the
	// arguments of the action ([entity.SourceAction], with the node of the decision).
	//
	// Attributes has each attribute of any sighting before the decision. Its value is that of the
	// latest reading that counts, or of the latest sighting if no reading of it counts. An entity
	// that was seen or named without attributes has the attribute [Exists], true, unless a reading
	// of another attribute counts. A sighting without attributes has it in Seen too.
	Entities []entity.Canonical
	// NotChosen was recorded before the decision and does not count: rules with alternatives
	// showed it, and the action names other entries. Counted has, by Key, the entities of the
	// same types that count although the action does not name them, and says why.
	NotChosen NotChosen
	Counted   map[string]Counted
	// Places has the places at which the arguments of the action name entities: by Key, the
	// normalized paths (RFC 9535) of the nodes in which rules found them. Paths of conditions start
	// there.
	Places map[string][]string
	// Asked says that a model asked. The model must then have read the entities that it names.
	Asked bool
	// Expected are the rules that show attributes, for the failure that nothing was seen.
	Expected []Expected
	// Rewritten are the tools whose results a callback changed before a model read them. The record
	// does not have the result that the model read.
	Rewritten []string
	// Receipt describes the rows of the extraction.
	Receipt Receipt
	// Gaps names, for people, the missing parts of the record: rows that were lost, turns without
	// an end. A complete record has none.
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

// Exists is the attribute of an entity that was seen, or named, without any attribute.
const Exists = entity.Exists

// Evidence reads the record of a session. Collect must return only after every row recorded before
// the call is durable and extracted. Entities recorded after the decision do not count. Without a
// decision, all entities count.
//
// Collect is called concurrently. An error, or a panic, denies.
type Evidence interface {
	Collect(ctx context.Context, s Session, d Decision) (Snapshot, error)
}

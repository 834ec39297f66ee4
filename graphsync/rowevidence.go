// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// attributesOf reads attributes. What cannot be read is empty: then nothing was read and
// nothing supersedes. It is extraction that must not overlook a bad row, and it does not.
func attributesOf(e *record.Event) *schema.Attributes {
	a := new(schema.Attributes)
	_ = a.Read(e.Attributes)
	return a
}

// accepted reports whether the row of an answer says that it was taken.
func accepted(attrs *schema.Attributes) bool {
	taken := attrs.ADK.Accepted.Bool()
	return taken != nil && *taken
}

// endsReading reports whether a row brings a result that a step can read.
func endsReading(e *record.Event, attrs *schema.Attributes) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolError, record.NodeOutput:
		return true
	case record.HITLInputRequestCompleted:
		return accepted(attrs)
	}
	return false
}

// failed reports whether the row with an event id ended a call that failed or was refused. The
// present values in a refusal are true, whatever models read. But if a model got the refusal in
// other words, nobody has read it.
func (b *batch) failed(eventID string) (bool, error) {
	if i := slices.IndexFunc(b.rows, func(e record.Event) bool { return e.EventID == eventID }); i >= 0 {
		return b.rows[i].EventType == record.ToolError, nil
	}
	row, ok, err := b.reader.Row(eventID)
	return ok && row.EventType == record.ToolError, err
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RewindKey is the key in the custom metadata of a marker: the event with which a session went back to an earlier
// position. Its value is the event id of the row that says what was left.
const RewindKey = "contextgraph.rewind"

// Marker returns the id of the row that a marker names, "" for any other event. A marker without content stands alone;
// that of a turn that is done again is its message.
func Marker(ev *session.Event) string {
	if ev == nil || len(ev.CustomMetadata) == 0 || ev.Author != genai.RoleUser {
		return ""
	}
	id, _ := ev.CustomMetadata[RewindKey].(string)
	return id
}

// Rewound is a session that hides what was left, as those of package checkpoint do.
type Rewound interface {
	// Rewinds returns the ids of the rows that say what is hidden. Redoes is the id of the approval whose turn is done
	// again since the last of them, "" if none is.
	Rewinds() (ids []string, redoes string)
}

// goesBy notes the rewinds that the history of a session goes by, or that the history has markers and shows what was
// left: its service has no decorator.
func (r *Run) goesBy(s session.Session) {
	if back, ok := s.(Rewound); ok {
		r.Rewinds, r.Redoes = back.Rewinds()
		return
	}
	if s.Events() == nil {
		return
	}
	for ev := range s.Events().All() {
		r.ShowsLeft = r.ShowsLeft || Marker(ev) != ""
	}
}

// rewound writes the rewinds that the run goes by: what they left bears no evidence for it.
func (r *Run) rewound(d jsonenc.Doc) {
	r.link(d)
	if len(r.Rewinds) > 0 {
		d.Any("rewinds", r.Rewinds)
	}
}

// Copy hands on a row that was recorded before, as that of another session.
func (rec *Recorder) Copy(e record.Event) bool {
	if !rec.sink.Append(e) {
		rec.counters.refused.Add(1)
		return false
	}
	rec.counters.rows.Add(1)
	return true
}

// Store adds a row as [Recorder.Emit] does, and waits until it is stored. It returns the event id of the row.
func (rec *Recorder) Store(ctx context.Context, r *Run, x Row) (eventID string, err error) {
	if rec.sink == nil {
		return "", fmt.Errorf("%s cannot be recorded: recording is off", x.Type)
	}
	out := rec.emitted(ctx, r, x)
	if out.event == "" {
		return "", fmt.Errorf("%s cannot be recorded: record.allow or record.deny leaves it out, or the journal did not take it", x.Type)
	}
	return out.event, rec.sink.Commit(ctx, out.event)
}

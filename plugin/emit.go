// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// Row is a row that another package adds to the record of a run.
type Row struct {
	Type, Agent string
	// Span is that of the step. The empty string makes a new one, below Parent.
	Span, Parent string
	// At is when the step ended, by default now; Took is how long it lasted, and nil is not
	// known.
	At   time.Time
	Took *time.Duration
	// Failed makes the status ERROR. Message may stand beside OK too.
	Failed  bool
	Message string
	// Content writes the column. ADK writes further members of attributes.adk. Nil writes
	// nothing.
	Content, ADK func(jsonenc.Doc)
}

// Emit adds a row to the record of a run, as one of its steps.
func (rec *Recorder) Emit(ctx context.Context, r *Run, x Row) {
	out := row{
		typ: x.Type, agent: x.Agent, span: x.Span, parent: x.Parent, at: x.At, failed: x.Failed, message: x.Message,
	}
	if x.Took != nil {
		out.timed, out.total = true, *x.Took
	}
	rec.emit(ctx, r, out, body{content: x.Content, adk: x.ADK})
}

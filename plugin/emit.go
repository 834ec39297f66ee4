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
	// ID is the event id, 32 hexadecimal digits. The empty string makes a new one.
	ID string
	// Span is that of the step. The empty string makes a new one, below Parent.
	Span, Parent string
	// At is when the step ended, by default now; Took is how long it lasted, and nil is not
	// known.
	At   time.Time
	Took *time.Duration
	// Failed makes the status ERROR. Message may stand beside OK too.
	Failed  bool
	Message string
	// Content is the value of the column. Nil leaves it empty.
	Content any
	// ADK holds further members of attributes.adk.
	ADK Object
}

// Object is a JSON object with its members in order.
type Object []Member

// Member is a member of an [Object]. The key is trusted: it says nothing of the value, which
// is bounded and redacted as everything else.
type Member struct {
	Key   string
	Value any
}

// members writes the members. A limit on the number of values in a row leaves out no text, boolean
// or number: the verdict of a check must not be lost to a large report.
func (o Object) members(d jsonenc.Doc) {
	for _, m := range o {
		switch v := m.Value.(type) {
		case string:
			d.Str(m.Key, v)
		case bool:
			d.Bool(m.Key, v)
		case int64:
			d.Int(m.Key, v)
		default:
			d.Any(m.Key, v)
		}
	}
}

// write writes the object.
func (o Object) write(d jsonenc.Doc) {
	d.Open('{')
	o.members(d)
	d.Close('}')
}

// Emit adds a row to the record of a run, as one of its steps.
func (rec *Recorder) Emit(ctx context.Context, r *Run, x Row) { rec.emitted(ctx, r, x) }

func (rec *Recorder) emitted(ctx context.Context, r *Run, x Row) written {
	out := row{
		typ: x.Type, agent: x.Agent, span: x.Span, parent: x.Parent, at: x.At, failed: x.Failed, message: x.Message, id: x.ID,
	}
	if x.Took != nil {
		out.timed, out.total = true, *x.Took
	}
	b := body{adk: x.ADK.members}
	switch content := x.Content.(type) {
	case nil:
	case Object:
		b.content = content.write
	default:
		b.content = func(d jsonenc.Doc) { d.Value(content) }
	}
	return rec.emit(ctx, r, out, b)
}

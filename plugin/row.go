// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// rows encodes rows and hands them to the sink.
type rows struct {
	encoder
	sink Sink
	now  func() time.Time
}

// row describes one row.
type row struct {
	typ           string
	agent, branch string
	// span is minted when it is empty.
	span, parent string
	at           time.Time
	// model is ADK's span of the model call, for attributes.otel; nil when unknown.
	model *modelSpan

	// total is latency_ms.total_ms when timed is set.
	timed      bool
	total      time.Duration
	firstToken time.Duration

	// failed makes status ERROR; message may stand beside OK too.
	failed  bool
	message string

	id string // minted when it is empty
}

// body writes the content of one row. The functions write into documents of the row's buffer; a nil
// one writes nothing. It is not part of row, whose strings live on in the event, so that the
// functions need no allocation.
type body struct {
	content func(jsonenc.Doc) // the whole column; nil is NULL
	parts   func(jsonenc.Doc) // the elements of content_parts
	adk     func(jsonenc.Doc) // further members of attributes.adk
	attrs   func(jsonenc.Doc) // further members of attributes
}

// bounds of a document in a buffer.
type bounds struct{ from, to int }

func (b bounds) of(buf []byte) []byte {
	if b.from == b.to {
		return nil
	}
	return buf[b.from:b.to:b.to]
}

// written is the result of writing a row.
type written struct {
	// span is the row's span.
	span string
	// event is the row's id, empty when the row is left out or was not taken.
	event string
}

// emit encodes the row on the caller's goroutine, because ADK's maps may change
// once the callback returned, and hands it to the sink.
func (rw *rows) emit(ctx context.Context, r *Run, x row, b body) written {
	if x.branch != "" && !r.branched.Load() {
		r.branched.Store(true)
	}
	p := rw.policies[x.typ]
	if rw.sink == nil || p.skip {
		rw.counters.skipped.Add(1)
		if x.span == "" {
			x.span = newSpanID()
		}
		return written{span: x.span}
	}
	w := rw.writer()
	defer rw.writers.Put(w)

	if x.at.IsZero() {
		x.at = rw.now()
	}
	if x.parent == "" && x.span == r.RootSpan {
		x.parent = r.rootParent
	}
	var content, parts, attrs, latency bounds
	truncated := false
	if b.content != nil && p.content != config.ContentNone {
		d := w.Doc(contentShare)
		b.content(d)
		if rw.options.Format != nil || p.content == config.ContentDigest {
			truncated = rw.rewrite(w, x.typ, p.content)
		}
		content.from, content.to = 0, w.Len()
	}
	if b.parts != nil && p.content == "" { // else nothing is stored either
		d := w.Doc(partsShare)
		d.Open('[')
		b.parts(d)
		d.Close(']')
		if from, to := d.Range(); to > from+len("[]") {
			parts.from, parts.to = from, to
		}
	}
	d := w.Doc(attributesShare)
	first := rw.attributes(ctx, d, r, x.branch, x.model, b)
	attrs.from, attrs.to = d.Range()
	if x.timed {
		d := w.Doc(latencyShare)
		d.Open('{')
		// Whole milliseconds: the views of the contract cast to INT64, and one
		// fractional number would fail the whole view.
		d.Int("total_ms", max(x.total, 0).Milliseconds())
		if x.firstToken > 0 {
			d.Int("time_to_first_token_ms", x.firstToken.Milliseconds())
		}
		d.Close('}')
		latency.from, latency.to = d.Range()
	}

	// One allocation holds the columns and the ids. The strings share its memory,
	// which nobody writes to any more: an Event must not be changed either.
	n := w.Len()
	buf := append(make([]byte, 0, n+eventIDLen+spanIDLen), w.Bytes()...)
	buf = appendEventID(buf, x.at)
	eventID := cmp.Or(x.id, unsafe.String(&buf[n], eventIDLen))
	if x.span == "" {
		buf = appendSpanID(buf)
		x.span = unsafe.String(&buf[n+eventIDLen], spanIDLen)
	}
	e := record.Event{
		Timestamp:    x.at.UnixMicro(),
		EventID:      eventID,
		EventType:    x.typ,
		Agent:        x.agent,
		SessionID:    r.Session.ID,
		InvocationID: r.Invocation,
		UserID:       r.Session.User,
		TraceID:      r.TraceID,
		SpanID:       x.span,
		ParentSpanID: x.parent,
		Content:      content.of(buf),
		ContentParts: parts.of(buf),
		Attributes:   attrs.of(buf),
		LatencyMS:    latency.of(buf),
		Status:       record.StatusOK,
		AppName:      r.Session.App,
		RunID:        r.ID,
	}
	if x.message != "" {
		e.ErrorMessage = w.Clean(x.message, maxErrorMessage)
	}
	e.IsTruncated = w.Truncated() || truncated
	if x.failed {
		e.Status = record.StatusError
	}
	if e.IsTruncated {
		rw.counters.truncated.Add(1)
	}
	rw.tally(w)
	if !rw.append(r, e) {
		rw.counters.refused.Add(1)
		r.first.CompareAndSwap(nil, first) // the next row carries it
		return written{span: x.span}
	}
	rw.counters.rows.Add(1)
	return written{span: x.span, event: eventID}
}

// append takes the row's number and hands it on under one lock, so that rows
// stand in the journal in the order of their numbers.
func (rw *rows) append(r *Run, e record.Event) bool {
	r.order.Lock()
	defer r.order.Unlock()
	if r.ID != "" {
		r.seq++
		e.RunSeq = r.seq
		if r.seq == 1 {
			r.firstRow.set(e.EventID)
		}
	}
	return rw.sink.Append(e)
}

// maxErrorMessage bounds error_message, in bytes.
const maxErrorMessage = 16 << 10

// attributes writes the column and returns what of it only the first row of the run
// carries, nil for any other row.
func (rw *rows) attributes(ctx context.Context, d jsonenc.Doc, r *Run, branch string, model *modelSpan, b body) (first *[]byte) {
	d.Open('{')
	d.Key("adk")
	d.Open('{')
	d.Str("schema_version", "1")
	d.Str("app_name", r.Session.App)
	d.OptStr("branch", branch)
	if b.adk != nil {
		b.adk(d)
	}
	d.Close('}')
	if first = r.first.Swap(nil); first != nil {
		d.Raw(*first)
	} else {
		d.Raw(r.common)
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		var ids [48]byte
		tid, sid := sc.TraceID(), sc.SpanID()
		d.Key("otel")
		d.Open('{')
		d.Str("trace_id", string(hexTo(ids[:32], tid[:])))
		d.Str("span_id", string(hexTo(ids[32:], sid[:])))
		if model != nil {
			d.Str(modelSpanID, model.id)
		}
		d.Close('}')
	}
	if b.attrs != nil {
		b.attrs(d)
	}
	d.Close('}')
	return first
}

func hexTo(dst, src []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range src {
		dst[2*i], dst[2*i+1] = digits[b>>4], digits[b&0xf]
	}
	return dst
}

// commonAttributes encodes once what every row of a run carries in its attributes. state
// writes further members of session_metadata; nil is none.
func (rw *rows) commonAttributes(r *Run, state func(jsonenc.Doc)) []byte {
	w := rw.writer()
	defer rw.writers.Put(w)
	d := w.Doc(attributesShare / 3)
	d.Str("root_agent_name", r.RootAgent)
	d.Key("session_metadata")
	d.Open('{')
	d.Str("session_id", r.Session.ID)
	d.Str("app_name", r.Session.App)
	d.Str("user_id", r.Session.User)
	if state != nil {
		state(d)
	}
	d.Close('}')
	if len(rw.record.Tags) > 0 {
		d.Any("custom_tags", rw.record.Tags)
	}
	return append([]byte(nil), w.Bytes()...)
}

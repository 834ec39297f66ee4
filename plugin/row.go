// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// row says what one row holds. The functions write into documents of the row's
// buffer; a nil one writes nothing.
type row struct {
	typ           string
	agent, branch string
	span, parent  string
	at            time.Time

	content func(jsonenc.Doc) // the whole column; nil is NULL
	parts   func(jsonenc.Doc) // the elements of content_parts
	adk     func(jsonenc.Doc) // further members of attributes.adk
	attrs   func(jsonenc.Doc) // further members of attributes

	// total is latency_ms.total_ms when timed is set.
	timed      bool
	total      time.Duration
	firstToken time.Duration

	// failed makes status ERROR; message may stand beside OK too.
	failed  bool
	message string
}

// span bounds of a document in a buffer.
type bounds struct{ from, to int }

func (b bounds) of(buf []byte) []byte {
	if b.from == b.to {
		return nil
	}
	return buf[b.from:b.to:b.to]
}

// emit encodes the row on the caller's goroutine, because ADK's maps may change
// once the callback returned, and hands it to the sink.
func (rec *Recorder) emit(ctx context.Context, r *run, x row) {
	if rec.sink == nil {
		return
	}
	w := rec.writers.Get().(*jsonenc.Writer)
	defer rec.writers.Put(w)
	w.Reset()

	if x.at.IsZero() {
		x.at = rec.now()
	}
	var content, parts, attrs, latency bounds
	if x.content != nil {
		d := w.Doc(contentShare)
		x.content(d)
		content.from, content.to = d.Range()
	}
	if x.parts != nil {
		d := w.Doc(partsShare)
		d.Open('[')
		x.parts(d)
		d.Close(']')
		parts.from, parts.to = d.Range()
	}
	d := w.Doc(attributesShare)
	rec.attributes(ctx, d, r, &x)
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

	buf := append([]byte(nil), w.Bytes()...)
	e := schema.Event{
		Timestamp:    x.at.UnixMicro(),
		EventID:      newID(),
		EventType:    x.typ,
		Agent:        x.agent,
		SessionID:    r.session.ID,
		InvocationID: r.invocation,
		UserID:       r.session.User,
		TraceID:      r.traceID,
		SpanID:       x.span,
		ParentSpanID: x.parent,
		Content:      content.of(buf),
		ContentParts: parts.of(buf),
		Attributes:   attrs.of(buf),
		LatencyMS:    latency.of(buf),
		Status:       schema.StatusOK,
		ErrorMessage: x.message,
		IsTruncated:  w.Truncated(),
		AppName:      r.session.App,
		RunID:        r.id,
	}
	if len(e.ErrorMessage) > maxErrorMessage {
		e.ErrorMessage = jsonenc.Preview(e.ErrorMessage, maxErrorMessage)
		e.IsTruncated = true
	}
	if x.failed {
		e.Status = schema.StatusError
	}
	if !rec.append(r, e) {
		rec.log.Debug("contextgraph: row dropped", "event_type", x.typ, "session", r.session.ID)
	}
}

// append takes the row's number and hands it on under one lock, so that rows
// stand in the journal in the order of their numbers.
func (rec *Recorder) append(r *run, e schema.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.id != "" {
		r.seq++
		e.RunSeq = r.seq
	}
	return rec.sink.Append(e)
}

// Shares of a row's size, in percent, that its columns may take.
const (
	contentShare    = 55
	partsShare      = 10
	attributesShare = 33
	latencyShare    = 2
)

// maxErrorMessage bounds error_message, in bytes.
const maxErrorMessage = 16 << 10

func (rec *Recorder) attributes(ctx context.Context, d jsonenc.Doc, r *run, x *row) {
	d.Open('{')
	d.Key("adk")
	d.Open('{')
	d.Str("schema_version", "1")
	d.Str("app_name", r.session.App)
	d.OptStr("branch", x.branch)
	if x.adk != nil {
		x.adk(d)
	}
	d.Close('}')
	d.Raw(r.common)
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		var ids [48]byte
		tid, sid := sc.TraceID(), sc.SpanID()
		d.Key("otel")
		d.Open('{')
		d.Str("trace_id", string(hexTo(ids[:32], tid[:])))
		d.Str("span_id", string(hexTo(ids[32:], sid[:])))
		d.Close('}')
	}
	if x.attrs != nil {
		x.attrs(d)
	}
	d.Close('}')
}

func hexTo(dst, src []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range src {
		dst[2*i], dst[2*i+1] = digits[b>>4], digits[b&0xf]
	}
	return dst
}

// common encodes once what every row of a run carries in its attributes.
func (rec *Recorder) commonAttributes(r *run) []byte {
	w := jsonenc.NewWriter(rec.limits)
	d := w.Doc(attributesShare / 3)
	d.Str("root_agent_name", r.rootAgent)
	d.Key("session_metadata")
	d.Open('{')
	d.Str("session_id", r.session.ID)
	d.Str("app_name", r.session.App)
	d.Str("user_id", r.session.User)
	d.Close('}')
	return append([]byte(nil), w.Bytes()...)
}

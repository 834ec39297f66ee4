// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/record"
)

// FuzzAppend holds that every event makes a message that can be read by the descriptor,
// with the values of the event after the documented repairs.
func FuzzAppend(f *testing.F) {
	d := descriptor(f)
	add := func(e record.Event) {
		f.Add(e.Timestamp, e.EventID, e.EventType, e.Agent, e.SessionID, e.InvocationID, e.UserID, e.TraceID, e.SpanID, e.ParentSpanID,
			e.Content, e.ContentParts, e.Attributes, e.LatencyMS, e.Status, e.ErrorMessage, e.IsTruncated, e.RunID, e.RunSeq)
	}
	add(record.Event{})
	add(full())
	broken := full()
	broken.Timestamp, broken.Agent, broken.Content, broken.ContentParts = -1, "\xff", []byte("{\xc3"), []byte("[{\"text\":\"\xe2\x82\"}]")
	add(broken)
	f.Fuzz(func(t *testing.T, timestamp int64, eventID, eventType, agent, session, invocation, user, trace, span, parent string,
		content, parts, attributes, latency []byte, status, message string, truncated bool, run string, seq int64) {
		e := record.Event{
			Timestamp: timestamp, EventID: eventID, EventType: eventType, Agent: agent, SessionID: session, InvocationID: invocation,
			UserID: user, TraceID: trace, SpanID: span, ParentSpanID: parent,
			Content: content, ContentParts: parts, Attributes: attributes, LatencyMS: latency,
			Status: status, ErrorMessage: message, IsTruncated: truncated, RunID: run, RunSeq: seq,
		}
		data := wire.RowOf(&e).Append(nil)
		wanted, _ := want(t, &e)
		if diff := cmp.Diff(wanted, decode(t, d, data)); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		if size := wire.RowOf(&e).Size(); size != len(data) {
			t.Errorf("Size = %d, Append appended %d bytes", size, len(data))
		}
	})
}

// FuzzParts holds that content_parts is read as encoding/json reads it.
func FuzzParts(f *testing.F) {
	for _, s := range []string{
		``, `[]`, `null`, string(full().ContentParts), `[{"te\u0078t":"\ud83d\ude00\ud800","text":null}]`,
		`[{"part_index":-0},{"part_index":1e2},{"object_ref":{"details":[1,true,null,{"a":""}]},"object_ref":{}}]`,
		"[{\"text\":\"\xff\xe2\x82\"}]", `[{"a":{"b":[[],{},0.5E-1,"\b\f\r\t"]}}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(checkParts)
}

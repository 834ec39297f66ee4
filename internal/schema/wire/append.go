// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The numbers of the fields: the places of the columns in [schema.Columns]. They stand in
// messages that other versions wrote and read, and never change.
const (
	fieldTimestamp protowire.Number = iota + 1
	fieldEventID
	fieldEventType
	fieldAgent
	fieldSessionID
	fieldInvocationID
	fieldUserID
	fieldTraceID
	fieldSpanID
	fieldParentSpanID
	fieldContent
	fieldContentParts
	fieldAttributes
	fieldLatencyMS
	fieldStatus
	fieldErrorMessage
	fieldIsTruncated
)

// Row is a row that becomes a message. What is empty is left out and so NULL in the table, except
// for the timestamp, the status and is_truncated, which every row has. BigQuery refuses a row with
// a text that is not UTF-8: each byte that is not a part of a character becomes U+FFFD, as in a
// conversion of the text to runes.
//
// content_parts, a JSON text in an event, becomes the repeated record, as [schema.ReadParts] reads
// it. RunID and RunSeq, which the table has no columns for, are put at the beginning of
// attributes.adk as run_id and run_seq, where attributes are as the recorder writes them.
//
// The texts of the columns of type JSON are not looked at: BigQuery refuses a row where one is not
// valid.
type Row struct {
	*record.Event
	// Parts are those of ContentParts. A text that is not a list of JSON objects has none, so
	// that the message always is one that can be read; then PartsLost is set, and whoever sends
	// the row counts that as a loss.
	Parts     []*schema.Part
	PartsLost bool
}

// RowOf returns the row of e, which must not change while the row is in use.
func RowOf(e *record.Event) Row {
	parts, err := schema.ReadParts(e.ContentParts)
	return Row{e, parts, err != nil}
}

// Append appends the message of the row to dst and returns it. It allocates nothing when dst has
// room for [Row.Size] bytes.
func (r Row) Append(dst []byte) []byte {
	dst = protowire.AppendTag(dst, fieldTimestamp, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(r.Timestamp))
	dst = appendOptional(dst, fieldEventID, r.EventID)
	dst = appendOptional(dst, fieldEventType, r.EventType)
	dst = appendOptional(dst, fieldAgent, r.Agent)
	dst = appendOptional(dst, fieldSessionID, r.SessionID)
	dst = appendOptional(dst, fieldInvocationID, r.InvocationID)
	dst = appendOptional(dst, fieldUserID, r.UserID)
	dst = appendOptional(dst, fieldTraceID, r.TraceID)
	dst = appendOptional(dst, fieldSpanID, r.SpanID)
	dst = appendOptional(dst, fieldParentSpanID, r.ParentSpanID)
	dst = appendOptional(dst, fieldContent, view(r.Content))
	for _, p := range r.Parts {
		dst = protowire.AppendTag(dst, fieldContentParts, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(sizePart(p)))
		dst = appendPart(dst, p)
	}
	dst = appendAttributes(dst, r.Event)
	dst = appendOptional(dst, fieldLatencyMS, view(r.LatencyMS))
	dst = appendText(dst, fieldStatus, r.Status)
	dst = appendOptional(dst, fieldErrorMessage, r.ErrorMessage)
	dst = protowire.AppendTag(dst, fieldIsTruncated, protowire.VarintType)
	return protowire.AppendVarint(dst, protowire.EncodeBool(r.IsTruncated))
}

// Size returns the number of bytes that [Row.Append] appends. It reads the texts once, to
// see what of them is repaired, and allocates nothing.
func (r Row) Size() int {
	n := protowire.SizeTag(fieldTimestamp) + protowire.SizeVarint(uint64(r.Timestamp))
	n += sizeOptional(fieldEventID, r.EventID)
	n += sizeOptional(fieldEventType, r.EventType)
	n += sizeOptional(fieldAgent, r.Agent)
	n += sizeOptional(fieldSessionID, r.SessionID)
	n += sizeOptional(fieldInvocationID, r.InvocationID)
	n += sizeOptional(fieldUserID, r.UserID)
	n += sizeOptional(fieldTraceID, r.TraceID)
	n += sizeOptional(fieldSpanID, r.SpanID)
	n += sizeOptional(fieldParentSpanID, r.ParentSpanID)
	n += sizeOptional(fieldContent, view(r.Content))
	for _, p := range r.Parts {
		n += protowire.SizeTag(fieldContentParts) + protowire.SizeBytes(sizePart(p))
	}
	n += sizeAttributes(r.Event)
	n += sizeOptional(fieldLatencyMS, view(r.LatencyMS))
	n += sizeText(fieldStatus, r.Status)
	n += sizeOptional(fieldErrorMessage, r.ErrorMessage)
	return n + protowire.SizeTag(fieldIsTruncated) + 1
}

// view returns b as a string without a copy. It is used no longer than the call, while
// b does not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func appendOptional(dst []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(dst, n, s)
}

func sizeOptional(n protowire.Number, s string) int {
	if s == "" {
		return 0
	}
	return sizeText(n, s)
}

func appendText(dst []byte, n protowire.Number, s string) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	if utf8.ValidString(s) {
		return protowire.AppendString(dst, s)
	}
	dst = protowire.AppendVarint(dst, uint64(repairedSize(s)))
	return appendRepaired(dst, s)
}

func sizeText(n protowire.Number, s string) int {
	size := len(s)
	if !utf8.ValidString(s) {
		size = repairedSize(s)
	}
	return protowire.SizeTag(n) + protowire.SizeBytes(size)
}

// appendRepaired appends s with U+FFFD, which a range loop gives, for each byte that
// is not a part of a character.
func appendRepaired(dst []byte, s string) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func repairedSize(s string) int {
	n := 0
	for _, r := range s {
		n += utf8.RuneLen(r)
	}
	return n
}

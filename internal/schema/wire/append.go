// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

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

// Append appends the message of one row to dst and returns it. It allocates nothing
// when dst has room for [Size] bytes. e is only read, and must not change meanwhile.
//
// What is empty is left out and so NULL in the table, except for the timestamp, the
// status and is_truncated, which every row has. BigQuery refuses a row with a text that
// is not UTF-8: each byte that is not a part of a character becomes U+FFFD, as in a
// conversion of the text to runes.
//
// content_parts, a JSON text in an event, becomes the repeated record. Members it does
// not know, and values that are not of the type of their column, are left out; of a
// member that stands twice the last one counts, and the members of two object_ref are
// taken together. A text that is not a list of JSON objects makes an empty list, so
// that the message always is one that can be read: [ValidParts] tells.
//
// RunID and RunSeq, which the table has no columns for, are put at the beginning of
// attributes.adk as run_id and run_seq, where attributes are as the recorder writes them.
//
// The texts of the columns of type JSON are not looked at: BigQuery refuses a row where
// one is not valid.
func Append(dst []byte, e *record.Event) []byte {
	dst = protowire.AppendTag(dst, fieldTimestamp, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(e.Timestamp))
	dst = appendOptional(dst, fieldEventID, e.EventID)
	dst = appendOptional(dst, fieldEventType, e.EventType)
	dst = appendOptional(dst, fieldAgent, e.Agent)
	dst = appendOptional(dst, fieldSessionID, e.SessionID)
	dst = appendOptional(dst, fieldInvocationID, e.InvocationID)
	dst = appendOptional(dst, fieldUserID, e.UserID)
	dst = appendOptional(dst, fieldTraceID, e.TraceID)
	dst = appendOptional(dst, fieldSpanID, e.SpanID)
	dst = appendOptional(dst, fieldParentSpanID, e.ParentSpanID)
	dst = appendOptional(dst, fieldContent, view(e.Content))
	dst = appendParts(dst, view(e.ContentParts))
	dst = appendAttributes(dst, e)
	dst = appendOptional(dst, fieldLatencyMS, view(e.LatencyMS))
	dst = appendText(dst, fieldStatus, e.Status)
	dst = appendOptional(dst, fieldErrorMessage, e.ErrorMessage)
	dst = protowire.AppendTag(dst, fieldIsTruncated, protowire.VarintType)
	return protowire.AppendVarint(dst, protowire.EncodeBool(e.IsTruncated))
}

// Size returns the number of bytes that [Append] appends. It reads the texts once, to
// see what of them is repaired, and allocates nothing.
func Size(e *record.Event) int {
	n := protowire.SizeTag(fieldTimestamp) + protowire.SizeVarint(uint64(e.Timestamp))
	n += sizeOptional(fieldEventID, e.EventID)
	n += sizeOptional(fieldEventType, e.EventType)
	n += sizeOptional(fieldAgent, e.Agent)
	n += sizeOptional(fieldSessionID, e.SessionID)
	n += sizeOptional(fieldInvocationID, e.InvocationID)
	n += sizeOptional(fieldUserID, e.UserID)
	n += sizeOptional(fieldTraceID, e.TraceID)
	n += sizeOptional(fieldSpanID, e.SpanID)
	n += sizeOptional(fieldParentSpanID, e.ParentSpanID)
	n += sizeOptional(fieldContent, view(e.Content))
	n += sizeParts(view(e.ContentParts))
	n += sizeAttributes(e)
	n += sizeOptional(fieldLatencyMS, view(e.LatencyMS))
	n += sizeText(fieldStatus, e.Status)
	n += sizeOptional(fieldErrorMessage, e.ErrorMessage)
	return n + protowire.SizeTag(fieldIsTruncated) + 1
}

// ValidParts reports whether text, the content_parts of an event, is what [Append]
// makes a list from: a JSON list of objects, null, or nothing. Append writes the empty
// list for any other text, and whoever sends the row counts that as a loss.
func ValidParts(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	r, p := newReader(view(text)), part{}
	for r.next(&p) {
	}
	return !r.bad
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

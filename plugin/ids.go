// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// Lengths of ids in hexadecimal digits.
const (
	eventIDLen = 32
	spanIDLen  = 16
)

// rowID is the event id of a row, kept without the row. The zero rowID is none.
type rowID [eventIDLen / 2]byte

func (id *rowID) set(event string) {
	if *id = (rowID{}); len(event) == eventIDLen {
		var digits [eventIDLen]byte
		copy(digits[:], event)
		_, _ = hex.Decode(id[:], digits[:])
	}
}

// digits returns the id as it stands in the row.
func (id *rowID) digits() (d [eventIDLen]byte) {
	hex.Encode(d[:], id[:])
	return d
}

// String returns the id as it stands in the row, "" for none.
func (id *rowID) String() string {
	if *id == (rowID{}) {
		return ""
	}
	d := id.digits()
	return string(d[:])
}

func newSpanID() string {
	var b [8]byte
	fill(b[:])
	return hex.EncodeToString(b[:])
}

// newID returns 32 hexadecimal digits: a trace id or a run id. They need to be
// unique, not secret; a nonce that must be secret is made in safety.
func newID() string {
	var b [16]byte
	fill(b[:])
	return hex.EncodeToString(b[:])
}

func fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		// Never the all-zero id, which OpenTelemetry calls invalid.
		binary.NativeEndian.PutUint64(b[i:], rand.Uint64()|1)
	}
}

// appendSpanID appends a new span id.
func appendSpanID(dst []byte) []byte {
	var b [8]byte
	fill(b[:])
	return hex.AppendEncode(dst, b[:])
}

// appendEventID appends a new event id, a version 7 UUID (RFC 9562) without the
// hyphens: it begins with the time, so that rows written one after the other stand
// close together in an index of event ids.
func appendEventID(dst []byte, now time.Time) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMilli())<<16|0x7000|rand.Uint64()&0xfff)
	binary.BigEndian.PutUint64(b[8:], 2<<62|rand.Uint64()>>2)
	return hex.AppendEncode(dst, b[:])
}

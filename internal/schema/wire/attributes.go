// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/adk-contextgraph/contextgraph/record"
)

// How the recorder begins the attributes of every row, and what [Row.Append] puts there: a
// journal has columns of its own for the run and the place of a row in it, the table has
// attributes.adk.
const (
	attributesStart = `{"adk":{`
	runIDMember     = `"run_id":"`
	runSeqMember    = `","run_seq":`
)

// numbered reports whether the attributes of e get the run and the row's number in it.
// A run id of anything but letters, digits, hyphens and underscores would need escapes;
// the recorder mints none.
func numbered(e *record.Event) bool {
	if e.RunID == "" || e.RunSeq <= 0 || !strings.HasPrefix(view(e.Attributes), attributesStart) ||
		len(e.Attributes) == len(attributesStart) {
		return false
	}
	for i := range len(e.RunID) {
		switch c := e.RunID[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// numberSize is the number of bytes that the run and the number add.
func numberSize(e *record.Event) int {
	n := len(runIDMember) + len(e.RunID) + len(runSeqMember) + digits(e.RunSeq)
	if e.Attributes[len(attributesStart)] != '}' {
		n++ // a comma
	}
	return n
}

func digits(v int64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

func appendAttributes(dst []byte, e *record.Event) []byte {
	s := view(e.Attributes)
	if !numbered(e) {
		return appendOptional(dst, fieldAttributes, s)
	}
	rest := s[len(attributesStart):]
	valid := utf8.ValidString(rest)
	size := len(s) + numberSize(e)
	if !valid {
		size += repairedSize(rest) - len(rest)
	}
	dst = protowire.AppendTag(dst, fieldAttributes, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	dst = append(dst, attributesStart...)
	dst = append(dst, runIDMember...)
	dst = append(dst, e.RunID...)
	dst = append(dst, runSeqMember...)
	dst = strconv.AppendInt(dst, e.RunSeq, 10)
	if rest[0] != '}' {
		dst = append(dst, ',')
	}
	if valid {
		return append(dst, rest...)
	}
	return appendRepaired(dst, rest)
}

func sizeAttributes(e *record.Event) int {
	if !numbered(e) {
		return sizeOptional(fieldAttributes, view(e.Attributes))
	}
	size := len(e.Attributes)
	if s := view(e.Attributes); !utf8.ValidString(s) {
		size = repairedSize(s)
	}
	return protowire.SizeTag(fieldAttributes) + protowire.SizeBytes(size+numberSize(e))
}

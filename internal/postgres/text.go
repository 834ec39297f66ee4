// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/record"
)

// mark stands in front of the two digits of a byte that PostgreSQL's text cannot hold, and of a mark itself.
const mark = '\x1a'

// toText returns a text that PostgreSQL can hold. A NUL and half a surrogate pair are replaced and marked.
func toText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\x1a") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0 || r == mark {
			fmt.Fprintf(&b, "\x1a%02x", s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// fromText is the reverse of toText.
func fromText(s string) string {
	before, rest, found := strings.Cut(s, "\x1a")
	if !found {
		return s
	}
	b := []byte(before)
	for found {
		part := rest
		part, rest, found = strings.Cut(rest, "\x1a")
		if bad, err := hex.DecodeString(part[:min(2, len(part))]); err == nil && len(bad) == 1 {
			b, part = append(b, bad[0]), part[2:]
		}
		b = append(b, part...)
	}
	return string(b)
}

// digest is what an index has for texts of any length.
func digest(texts ...string) []byte {
	h := sha256.New()
	for _, s := range texts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(s)))
		h.Write([]byte(s))
	}
	return h.Sum(nil)
}

func keyOf(s record.Session) []byte { return digest(s.App, s.User, s.ID) }

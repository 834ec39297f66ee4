// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package text reads, bounds and compares texts that others wrote: servers, models, files of configuration.
package text

import (
	"strings"
	"unicode/utf8"
)

// mark stands at the end of what was cut.
const mark = "…"

// Clip returns s as valid UTF-8 of at most limit bytes, which are no fewer than 3. What
// is longer is cut behind a character and ends with "…"; bytes that are not a part of a
// character become U+FFFD.
func Clip(s string, limit int) string {
	// First, because it may make the text longer.
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= limit {
		return s
	}
	end := limit - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

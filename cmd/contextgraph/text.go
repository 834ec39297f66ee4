// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// clock writes a time for people.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}

// waited writes how long was waited, "-" for not at all.
func waited(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return human(time.Duration(ms) * time.Millisecond)
}

// human writes a duration with two units at most.
func human(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + human(-d)
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// roughly writes a duration with one unit.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return human(d)
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// count writes a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// cut returns s in at most n columns of a terminal.
func cut(s string, n int) string {
	switch {
	case width(s) <= n:
		return s
	case n <= 0:
		return ""
	}
	return fitting(s, n-1) + "…"
}

// fitting returns the beginning of s that takes at most n columns.
func fitting(s string, n int) string {
	for i, r := range s {
		if n -= width(string(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}

// maxID is how much of the id of a session is in a table.
const maxID = 24

// sessionID returns the id of a session for a table. The middle of a long one is left out; it names
// the session all the same.
func sessionID(id string) string {
	id = printable(id)
	if width(id) <= maxID {
		return id
	}
	r := []rune(id)
	return cut(id, maxID-7) + string(r[len(r)-7:])
}

// printable returns s in one line, without what a terminal would obey: rows hold what
// users, tools and servers wrote.
func printable(s string) string {
	return strings.Join(strings.Fields(shown(s, unicode.IsPrint)), " ")
}

// printableLines is printable with the lines and the indents of s.
func printableLines(s string) string {
	return shown(s, func(r rune) bool { return unicode.IsPrint(r) || r == '\n' })
}

// shown returns s without the sequences that set colours and places in terminals, and with a space
// for every other character that keep rejects. The text in longer sequences, such as a title of the
// window, stays: nothing that was recorded is hidden.
func shown(s string, keep func(rune) bool) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == 0x1b && strings.HasPrefix(s[n:], "[") || r == 0x9b {
			s = strings.TrimPrefix(s[n:], "[")
			s = strings.TrimLeft(s, "0123456789:;<=>?!\"#$%&'()*+,-./ ")
			if s != "" && s[0] >= '@' && s[0] <= '~' {
				s = s[1:]
			}
			continue
		}
		if s = s[n:]; !keep(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

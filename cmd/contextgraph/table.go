// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// style is a colour of a terminal. It never says anything that the text does not. Red is an error or
// something that was blocked, yellow waits or warns, green is good. What only tells kinds apart has
// another colour.
type style string

const (
	plain   style = ""
	bold    style = "1"
	dim     style = "2"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	blue    style = "34"
	magenta style = "35"
	cyan    style = "36"
)

// cell is a text in a style.
type cell struct {
	text  string
	style style
}

// Bounds of texts, in columns of a terminal.
const (
	// lineWidth is the width of a row.
	lineWidth = 100
	// maxCell bounds a column that is not the last one, maxText a text that stands alone.
	maxCell = 48
	maxText = 1 << 10
	// minColumn is how narrow a column may become to let others be wide, narrowest how narrow any
	// may become.
	minColumn = 12
	narrowest = 8
)

// table collects what is printed for people: aligned rows, and lines between them. All
// texts pass printable.
type table struct {
	color bool
	// wrap breaks lines at lineWidth: it is for people. Programs get each line whole.
	wrap bool
	// now is the time that times are relative to; utc prints them as they are.
	now time.Time
	utc bool
	// width bounds rows, lineWidth if it is 0.
	width int

	out  strings.Builder
	rows [][]cell // not written yet
	give []int    // the columns that become narrower first
}

// columns begins a block of rows, with a heading. Where a row would be too wide, the columns of give
// become narrower, the first of them first, and then the widest.
func (t *table) columns(names []string, give ...int) {
	t.flush()
	t.give = give
	head := make([]any, len(names))
	for i, name := range names {
		head[i] = cell{name, dim}
	}
	t.row(head...)
}

// row adds a row: a string, a number or a cell each.
func (t *table) row(values ...any) {
	cells := make([]cell, len(values))
	for i, v := range values {
		c, ok := v.(cell)
		if !ok {
			c = cell{text: fmt.Sprint(v)}
		}
		most := maxCell
		if i == len(values)-1 {
			most = maxText
		}
		cells[i] = cell{cut(printable(c.text), most), c.style}
	}
	t.rows = append(t.rows, cells)
}

// line writes a line that stands alone, of several pieces: strings are kept as they are
// and cells are made printable.
func (t *table) line(pieces ...any) {
	line := texts(pieces)
	indent := 2
	if len(line) > 0 {
		indent += len(line[0].text) - len(strings.TrimLeft(line[0].text, " "))
	}
	t.write(line, indent)
}

// clipped is line without what is behind lineWidth; something is left of each line.
func (t *table) clipped(pieces ...any) {
	const least = 40
	line := texts(pieces)
	left := lineWidth
	for i := range line {
		if i == 0 {
			left = max(left, width(line[0].text)+least)
		}
		line[i].text = cut(line[i].text, left)
		if left -= width(line[i].text); left == 0 {
			line = line[:i+1]
			break
		}
	}
	t.write(line, 0)
}

// texts returns the pieces of a line: strings as they are, and cells printable.
func texts(pieces []any) []cell {
	var line []cell
	for _, p := range pieces {
		c, ok := p.(cell)
		if ok {
			c.text = cut(printable(c.text), maxText)
		} else {
			c.text = fmt.Sprint(p)
		}
		line = append(line, c)
	}
	return line
}

// fact writes the name of a value and the value below those of the facts before it.
func (t *table) fact(name, value string) {
	const names = 14
	if value != "" {
		t.write([]cell{{fmt.Sprintf("%-*s", names, name), dim}, {text: cut(printable(value), maxText)}}, names)
	}
}

// write writes a line. One that is too wide goes on in the next lines, behind an indent.
func (t *table) write(line []cell, indent int) {
	t.flush()
	at := 0
	for _, c := range line {
		if !t.wrap {
			t.out.WriteString(t.paint(c.text, c.style))
			continue
		}
		var part strings.Builder
		for _, word := range strings.SplitAfter(c.text, " ") {
			for word != "" {
				w := width(strings.TrimRight(word, " "))
				if at+w <= lineWidth {
					part.WriteString(word)
					at += width(word)
					break
				}
				head := ""
				if w > lineWidth-indent { // it fits into no line
					head = fitting(word, lineWidth-at)
				}
				t.out.WriteString(t.paint(strings.TrimRight(part.String()+head, " "), c.style) + "\n" + strings.Repeat(" ", indent))
				part.Reset()
				word, at = word[len(head):], indent
			}
		}
		t.out.WriteString(t.paint(part.String(), c.style))
	}
	t.out.WriteByte('\n')
}

// flush writes the rows that wait, in columns.
func (t *table) flush() {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(c.text))
		}
	}
	narrow(widths, t.give, cmp.Or(t.width, lineWidth))
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			text := cut(c.text, widths[i])
			line.WriteString(t.paint(text, c.style))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-width(text)+2))
			}
		}
		t.out.WriteString(strings.TrimRight(line.String(), " "))
		t.out.WriteByte('\n')
	}
	t.rows, t.give = nil, nil
}

// narrow makes the columns of a row with the widths fit into limit.
func narrow(widths, give []int, limit int) {
	over := 2*(len(widths)-1) - limit
	for _, w := range widths {
		over += w
	}
	for _, i := range give {
		if less := min(over, widths[i]-minColumn); less > 0 {
			widths[i] -= less
			over -= less
		}
	}
	for ; over > 0; over-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

// String returns all of it.
func (t *table) String() string {
	t.flush()
	return t.out.String()
}

func (t *table) paint(text string, s style) string {
	if !t.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// when writes a time for people: how far it is from now, or the time itself in UTC.
func (t *table) when(at time.Time) string {
	switch d := at.Sub(t.now); {
	case at.IsZero():
		return "-"
	case t.utc:
		return clock(at)
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return roughly(-d) + " ago"
	default:
		return "in " + roughly(d)
	}
}

// at is when, with the zone where there is one.
func (t *table) at(at time.Time) string {
	if t.utc && !at.IsZero() {
		return t.when(at) + " UTC"
	}
	return t.when(at)
}

// zoned is the heading of a column of times, or the word before one.
func (t *table) zoned(name string) string {
	if t.utc {
		return name + " (UTC)"
	}
	return name
}

// width returns how many columns of a terminal a printable text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xFF01 && r <= 0xFF60 || r >= 0x1F300 && r <= 0x1FAFF:
			n += 2
		default:
			n++
		}
	}
	return n
}

// chip is a status as people read it: a shape and a word, the colour beside them.
func chip(s inspect.Status) cell {
	c, ok := map[inspect.Status]cell{
		inspect.StatusNone:        {"- no approval", dim},
		inspect.StatusPending:     {"… pending", yellow},
		inspect.StatusSafe:        {"✓ safe", green},
		inspect.StatusDrift:       {"≠ changed since it was read", red},
		inspect.StatusCheckFailed: {"! check failed", red},
		inspect.StatusRejected:    {"✗ rejected", plain},
		inspect.StatusExpired:     {"○ expired", dim},
		inspect.StatusSuperseded:  {"○ replaced by a newer request", dim},
		inspect.StatusExecuted:    {"● executed", green},
		inspect.StatusFailed:      {"✗ failed", red},
		inspect.StatusInDoubt:     {"? in doubt", yellow},
	}[s]
	if !ok {
		return cell{text: string(s)}
	}
	return c
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// style is a colour of a terminal. It never says anything that the text does not.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
)

// cell is a text in a style.
type cell struct {
	text  string
	style style
}

// maxCell bounds a column that is not the last one.
const maxCell = 48

// maxLine bounds a text that stands alone, maxWide a column that is not cut at maxCell.
const (
	maxLine = 240
	maxWide = 1 << 10
)

// minLast is how much a last column has at least in a line of bounded width.
const minLast = 20

// table collects what is printed for people: aligned rows, and lines between them. All
// texts pass printable.
type table struct {
	color bool
	// lineWidth bounds the lines of rows: the last column has what is left of it, and
	// minLast at least. Zero is no bound.
	lineWidth int
	out       strings.Builder
	rows      [][]cell // not written yet
	wide      []int    // columns that are not cut at maxCell
}

// columns begins a block of rows, with a heading; whole names the columns that are never
// cut, such as ids that somebody copies.
func (t *table) columns(names []string, whole ...int) {
	t.flush()
	t.wide = whole
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
		if slices.Contains(t.wide, i) {
			most = maxWide
		}
		if i == len(values)-1 {
			most = max(most, maxLine)
		}
		cells[i] = cell{cut(printable(c.text), most), c.style}
	}
	t.rows = append(t.rows, cells)
}

// line writes a line that stands alone, of several pieces: strings are kept as they are
// and cells are made printable.
func (t *table) line(pieces ...any) {
	t.flush()
	for _, p := range pieces {
		switch p := p.(type) {
		case cell:
			t.out.WriteString(t.paint(cut(printable(p.text), maxLine), p.style))
		default:
			fmt.Fprint(&t.out, p)
		}
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
	if t.lineWidth > 0 && len(widths) > 0 {
		last := len(widths) - 1
		left := t.lineWidth
		for _, w := range widths[:last] {
			left -= w + 2
		}
		for _, row := range t.rows {
			row[last].text = cut(row[last].text, max(left, minLast))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(t.paint(c.text, c.style))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-width(c.text)+2))
			}
		}
		t.out.WriteString(strings.TrimRight(line.String(), " "))
		t.out.WriteByte('\n')
	}
	t.rows, t.wide = nil, nil
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
		inspect.StatusNone:        {"- none", dim},
		inspect.StatusPending:     {"… pending", yellow},
		inspect.StatusSafe:        {"✓ safe", green},
		inspect.StatusDrift:       {"≠ drift", red},
		inspect.StatusCheckFailed: {"! check failed", red},
		inspect.StatusRejected:    {"✗ rejected", plain},
		inspect.StatusExpired:     {"○ expired", dim},
		inspect.StatusExecuted:    {"● executed", green},
		inspect.StatusFailed:      {"✗ failed", red},
		inspect.StatusInDoubt:     {"? in doubt", yellow},
	}[s]
	if !ok {
		return cell{text: string(s)}
	}
	return c
}

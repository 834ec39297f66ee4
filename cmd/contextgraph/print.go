// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// The forms that --output names.
const (
	outputTable  = "table"
	outputJSON   = "json"
	outputNDJSON = "ndjson"
)

// textOnlyKey marks a command that prints text in a form of its own.
const textOnlyKey = "text-only"

// textOnly marks c: --output is an error there and not ignored.
func textOnly(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{textOnlyKey: "true"}
	return c
}

// checkOutput reports what is wrong with --output.
func (a *app) checkOutput(c *cobra.Command) error {
	forms := []string{outputTable, outputJSON, outputNDJSON}
	switch {
	case !slices.Contains(forms, a.output):
		return meant(fmt.Errorf("--output is table, json or ndjson, not %q", a.output), a.output, forms)
	case a.output != outputTable && c.Annotations[textOnlyKey] != "":
		return usageError{fmt.Errorf("%s prints text only: leave --output out", c.CommandPath())}
	}
	return nil
}

// print writes v to stdout in the form of --output: fill makes the table for people, JSON is v as
// it is, and NDJSON has one line for each element of v if v is a slice, else one line for v.
func (a *app) print(v any, fill func(*table)) error {
	e := json.NewEncoder(text.JSONWriter{W: a.stdout})
	e.SetEscapeHTML(false) // people read it too, and characters of HTML are nothing special here
	list := reflect.ValueOf(v)
	switch {
	case a.output == outputJSON:
		e.SetIndent("", "  ")
		return e.Encode(v)
	case a.output == outputNDJSON && list.Kind() != reflect.Slice:
		return e.Encode(v)
	case a.output == outputNDJSON:
		for i := range list.Len() {
			if err := e.Encode(list.Index(i).Interface()); err != nil {
				return err
			}
		}
		return nil
	}
	t := a.newTable()
	fill(t)
	_, err := io.WriteString(a.stdout, t.String())
	return err
}

// printWith is print with another list for NDJSON.
func (a *app) printWith(v, list any, fill func(*table)) error {
	if a.output == outputNDJSON {
		v = list
	}
	return a.print(v, fill)
}

// style is a colour of a terminal. It never says anything that the text does not. Red is an error or
// something that was blocked, yellow waits or warns, green is good. What only tells kinds apart has
// another colour. All are of one length, for cells of a column stand below each other.
type style string

const (
	plain   style = "00"
	bold    style = "01"
	dim     style = "02"
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

// Bounds of texts, in characters.
const (
	maxCell = 48      // of a column that is not the last one
	maxText = 1 << 10 // of any other text
	maxID   = 24      // of the id of a session
)

// table collects what is printed for people: aligned rows, and lines between them. All
// texts pass printable.
type table struct {
	color bool
	// now is the time that times are relative to; utc prints them as they are.
	now time.Time
	utc bool
	// width cuts lines without colours; 0 leaves them whole.
	width int

	out  bytes.Buffer
	tabs *tabwriter.Writer // has the rows that are not in out yet
}

// newTable returns a table for stdout.
func (a *app) newTable() *table {
	colored := !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && a.terminal(a.stdout)
	t := &table{color: colored, now: a.now(), utc: a.utc}
	t.tabs = tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', 0)
	return t
}

// columns begins a block of rows, with a heading.
func (t *table) columns(names ...string) {
	_ = t.tabs.Flush() // to memory, like all of it
	head := make([]any, len(names))
	for i, name := range names {
		head[i] = cell{name, dim}
	}
	t.row(head...)
}

// row adds a row: a string, a number or a cell each.
func (t *table) row(values ...any) {
	for i, v := range values {
		c, ok := v.(cell)
		if !ok {
			c = cell{text: fmt.Sprint(v)}
		}
		most, end := maxCell, "\t"
		if i == len(values)-1 {
			most, end = maxText, "\n"
		}
		c.text = cut(printable(c.text), most)
		if t.color {
			c.text = paint(c)
		}
		fmt.Fprint(t.tabs, c.text, end)
	}
}

// line writes a line that stands alone, of several pieces: strings are kept as they are
// and cells are made printable.
func (t *table) line(pieces ...any) {
	_ = t.tabs.Flush()
	for _, p := range pieces {
		c, ok := p.(cell)
		switch c.text = cut(printable(c.text), maxText); {
		case !ok:
			fmt.Fprint(&t.out, p)
		case t.color && c.style != plain && c.style != "" && c.text != "":
			t.out.WriteString(paint(c))
		default:
			t.out.WriteString(c.text)
		}
	}
	t.out.WriteByte('\n')
}

// fact writes the name of a value and the value below those of the facts before it.
func (t *table) fact(name, value string) {
	if value != "" {
		t.line(cell{name, dim}, strings.Repeat(" ", max(1, 14-len(name))), cell{text: value})
	}
}

// String returns all of it.
func (t *table) String() string {
	_ = t.tabs.Flush()
	var out strings.Builder
	for line := range strings.Lines(t.out.String()) {
		if line = strings.TrimRight(line, " \n"); t.width > 0 {
			line = cut(line, t.width)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func paint(c cell) string {
	if c.style == "" {
		c.style = plain
	}
	return "\x1b[" + string(c.style) + "m" + c.text + "\x1b[0m"
}

// when writes a time for people: how far it is from now, or the time itself in UTC.
func (t *table) when(at time.Time) string {
	switch d := at.Sub(t.now); {
	case at.IsZero():
		return "-"
	case t.utc:
		return at.UTC().Format(time.DateTime)
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
		inspect.StatusUnknown:     {"? unknown", dim},
	}[s]
	if !ok {
		return cell{text: string(s)}
	}
	return c
}

// waited writes how long was waited, "-" for not at all.
func waited(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return human(time.Duration(ms) * time.Millisecond)
}

// milliseconds is the duration of so many milliseconds.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

const day = 24 * time.Hour

// human writes a duration with two units at most.
func human(d time.Duration) string {
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

// cut returns s in at most n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// sessionID returns the id of a session for a table. The middle of a long one is left out; it names
// the session all the same.
func sessionID(id string) string {
	id = printable(id)
	if r := []rune(id); len(r) > maxID {
		return cut(id, maxID-7) + string(r[len(r)-7:])
	}
	return id
}

// sequences are what sets colours and places in terminals. The text in longer sequences, such as a title of
// the window, stays: nothing that was recorded is hidden.
var sequences = regexp.MustCompile("(\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?")

// printable returns s in one line, without what a terminal would obey: rows hold what
// users, tools and servers wrote.
func printable(s string) string { return strings.Join(strings.Fields(printableLines(s)), " ") }

// printableLines is printable with the lines and the indents of s.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return ' '
	}, sequences.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), ""))
}

// note tells people something about what is printed.
func (a *app) note(format string, args ...any) { a.say("note: "+format, args...) }

// say writes a line to stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stderr, printable(fmt.Sprintf(format, args...)))
}

// statement writes a statement that can be run as it stands.
func (a *app) statement(sql string) { fmt.Fprintf(a.stdout, "%s;\n\n", strings.TrimSpace(sql)) }

// progress tells people who wait at a terminal how far something is.
func (a *app) progress(what string, at, all int) {
	if !a.terminal(a.stderr) {
		return
	}
	end := "\r" // the next output, also an error, stands over it
	if at == all {
		end = "\n"
	}
	fmt.Fprintf(a.stderr, "%s: %d of %d%s", what, at, all, end)
}

// checkedWriter remembers the first error of a writer: output that is not whole must not look
// whole.
type checkedWriter struct {
	io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

func isTerminal(w io.Writer) bool {
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// notFound is the error for an id that nothing has; known are those that there are.
func notFound(what, id, where string, known []string, remedy string) error {
	message := fmt.Sprintf("%s has no %s %q", where, what, id)
	if meant := text.Nearest(id, known); meant != "" {
		message += fmt.Sprintf("; did you mean %q?", meant)
	}
	return exit{exitNotFound, errors.New(message + "\n" + remedy)}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// newTable returns a table for stdout.
func (a *app) newTable() *table {
	return &table{color: a.colored(a.stdout), wrap: a.terminal(a.stdout), now: a.now(), utc: a.utc}
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

// colored reports whether colours may be written to w.
func (a *app) colored(w io.Writer) bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && a.terminal != nil && a.terminal(w)
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

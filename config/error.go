// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Error is one thing that is wrong with a [Config]. Everything is reported at once, joined
// with [errors.Join] in the order of the lines; [errors.As] finds the first.
type Error struct {
	// File is the name of the file, as given to Load or Parse. Empty when the value did
	// not come from a file.
	File string
	// Line and Column are where the value stands in the file, from 1. Both are 0
	// when the value did not come from a file; Column is 0 when only the line is
	// known.
	Line, Column int
	// Variable is the environment variable that gave the value, or that is
	// missing. Empty when no variable is involved.
	Variable string
	// Key is the path of the value: "guard.drift.price.severity" in a file,
	// `Config.Guard.Drift["price"].Severity` in a Config written in Go. Empty when
	// the file as a whole is wrong.
	Key string
	// Problem names the value and its fault.
	Problem string
	// Remedy says what to write instead.
	Remedy string
}

// Error returns the error as one line: place, key, problem, remedy.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
		b.WriteString(": ")
	}
	// A variable that a header names is part of the problem's text; one that
	// overrides a key takes the place of the line.
	if e.Line == 0 && e.Variable != "" {
		variable := e.Variable
		if !isVariable(variable) {
			variable = Quote(variable)
		}
		b.WriteString(variable + ": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Quote returns s in quotes and shortened, for a problem: a message names the value, it
// does not repeat a file.
func Quote(s string) string {
	if short := shorten(s); short != s {
		return strconv.Quote(short) + "..."
	}
	return strconv.Quote(s)
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// choose is the remedy for a word that is none of those that a key takes. It names the one
// that was probably meant first.
func choose[S, W ~string](word S, words ...W) string {
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = string(w)
	}
	if meant := text.Nearest(strings.ToLower(string(word)), plain); meant != "" {
		return "did you mean " + Quote(meant) + "? Write one of: " + strings.Join(plain, ", ")
	}
	return oneOf(words...)
}

// oneOf is the remedy that lists the words that a key takes.
func oneOf[S ~string](words ...S) string {
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = string(w)
	}
	return "write one of: " + strings.Join(plain, ", ")
}

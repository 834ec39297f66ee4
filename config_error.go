// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/nearest"
)

// ConfigError is one thing that is wrong with a [Config]. Loading or opening a
// configuration reports all of them at once, joined with [errors.Join] in the
// order of their lines; [errors.As] finds the first.
type ConfigError struct {
	// File is the name of the file, as given to LoadConfig or ParseConfig. Empty
	// when the value did not come from a file.
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
	// Problem says what was found and what is wrong with it.
	Problem string
	// Remedy says what to write instead.
	Remedy string
}

// Error returns the error as one line: place, key, problem, remedy.
func (e *ConfigError) Error() string {
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
			variable = quote(variable)
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

// keyPath names one value in the spelling of the file and in that of Go.
type keyPath struct {
	file, code string
	parent     *keyPath
}

func (k keyPath) field(key string) keyPath {
	file := key
	if k.file != "" {
		file = k.file + "." + key
	}
	return keyPath{file: file, code: k.code + "." + goName(key), parent: &k}
}

func (k keyPath) index(i int) keyPath {
	s := "[" + strconv.Itoa(i) + "]"
	return keyPath{file: k.file + s, code: k.code + s, parent: &k}
}

// entry names an entry of a map whose keys the user chooses.
func (k keyPath) entry(key string) keyPath {
	quoted := "[" + strconv.Quote(key) + "]"
	file := k.file + quoted
	if isPlainKey(key) {
		file = k.file + "." + key
	}
	return keyPath{file: file, code: k.code + quoted, parent: &k}
}

func isPlainKey(s string) bool {
	for _, c := range s {
		if !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c rune) bool  { return '0' <= c && c <= '9' }

// goName returns the name of the struct field that a key fills.
func goName(key string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(key, "_") {
		switch word {
		case "uri", "url", "http", "sql":
			b.WriteString(strings.ToUpper(word))
		case "bigquery":
			b.WriteString("BigQuery")
		case "":
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

type position struct{ line, column int }

// problems collects what is wrong with a configuration. It knows where every
// value came from, so that a check need only name the key.
type problems struct {
	// file is empty for a Config written in Go.
	file string
	// at holds the place of every value that the file has, by keyPath.file.
	at map[string]position
	// variables holds the variable of every value that the environment has.
	variables map[string]string
	// reported holds the keys that have an error. What follows from a first
	// error is not worth a second one.
	reported map[string]bool
	errs     []*ConfigError
}

func newProblems(file string) *problems {
	return &problems{
		file:      file,
		at:        make(map[string]position),
		variables: make(map[string]string),
		reported:  make(map[string]bool),
	}
}

// failed reports whether the value at k, or one that holds it, has an error.
func (p *problems) failed(k keyPath) bool {
	for at := &k; at != nil; at = at.parent {
		if p.reported[at.file] {
			return true
		}
	}
	return false
}

// add reports a problem of the value at k, unless it already has one.
func (p *problems) add(k keyPath, problem, remedy string) {
	if p.failed(k) {
		return
	}
	p.reported[k.file] = true
	e := &ConfigError{File: p.file, Key: k.file, Problem: problem, Remedy: remedy}
	p.errs = append(p.errs, e)
	if p.file == "" {
		e.Key = k.code
		return
	}
	// A key that is missing has no place of its own: show what should hold it.
	e.Line, e.Column = 1, 1
	for at := &k; at != nil; at = at.parent {
		if variable, ok := p.variables[at.file]; ok {
			e.File, e.Variable, e.Line, e.Column = "", variable, 0, 0
			return
		}
		if pos, ok := p.at[at.file]; ok {
			e.Line, e.Column = pos.line, pos.column
			return
		}
	}
}

// addAt reports a problem at a place of the file.
func (p *problems) addAt(pos position, k keyPath, problem, remedy string) {
	p.reported[k.file] = true
	p.note(pos, k, problem, remedy)
}

// note reports a problem that says nothing about the value at k itself.
func (p *problems) note(pos position, k keyPath, problem, remedy string) {
	p.errs = append(p.errs, &ConfigError{
		File: p.file, Line: pos.line, Column: pos.column,
		Key: k.file, Problem: problem, Remedy: remedy,
	})
}

// override notes that the value at k is that of a variable. What the file has
// there, and what was wrong with it, is no longer the value to check.
func (p *problems) override(k keyPath, variable string) {
	p.variables[k.file] = variable
	inside := func(file string) bool {
		return file == k.file || strings.HasPrefix(file, k.file+"[") || strings.HasPrefix(file, k.file+".")
	}
	maps.DeleteFunc(p.at, func(file string, _ position) bool { return inside(file) })
	maps.DeleteFunc(p.reported, func(file string, _ bool) bool { return inside(file) })
}

// err returns everything reported, in the order of the file; problems of
// variables come last.
func (p *problems) err() error {
	slices.SortStableFunc(p.errs, func(a, b *ConfigError) int {
		return cmp.Or(
			compareBool(a.Line == 0, b.Line == 0),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
	errs := make([]error, len(p.errs))
	for i, e := range p.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// quote returns s in quotes, shortened: a message names the value, it does not
// repeat a file.
func quote(s string) string {
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

// oneOf lists the values a key accepts.
func oneOf[S ~string](values ...S) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = string(v)
	}
	return "write one of: " + strings.Join(quoted, ", ")
}

// choose lists the values a key accepts, after the one that value was probably
// meant to be.
func choose[S ~string](value S, values ...S) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	if meant := closest(strings.ToLower(string(value)), words); meant != "" {
		return "did you mean " + quote(meant) + "? Write one of: " + strings.Join(words, ", ")
	}
	return oneOf(values...)
}

// closest returns the known word nearest to s, or "" when none is near enough
// to be what the user meant.
func closest(s string, known []string) string { return nearest.Word(s, known) }

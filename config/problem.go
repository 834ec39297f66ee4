// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// A Check returns the faults of c. A package that uses a part of a Config has a Check for rules
// that only the package knows, such as the conditions that suit a type. If the file has a mistake
// at a value, c holds the zero value there.
type Check func(c *Config) []Problem

// Problem is a fault of one value of a Config.
type Problem struct {
	// Path is the path of the value in a file: guard.types.Product.max_age. See [Index] and
	// [Entry]. Only the first problem of a value is reported, and none below a value that has one.
	Path string
	// Text names the value and its fault.
	Text string
	// Remedy says what to write instead.
	Remedy string
}

// Entry returns the path of an entry of the map at path: guard.types.Product, or
// guard.drift["*"] for a name that is no plain word.
func Entry(path, name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return path + "." + name
	}
	return path + "[" + strconv.Quote(name) + "]"
}

// Index returns the path of an element of the list at path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// around returns path and the paths of all that the value is in, from the inside.
func around(path string) []string {
	out := []string{""}
	quoted := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '.' || c == '[') && i > 0:
			out = append(out, path[:i])
		}
	}
	out = append(out, path)
	slices.Reverse(out)
	return out
}

// goName returns the name in Go of the value at path in a t that is called name.
func goName(name string, t reflect.Type, path string) string {
	for path != "" {
		parts := around(path)
		key := parts[len(parts)-2]
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
			continue
		case reflect.Struct:
			f, ok := fieldOf(t, path)
			if ok {
				key = path // value.args
			} else if f, ok = fieldOf(t, key); !ok {
				return name + "." + path
			}
			name += "." + f.Name
			t = f.Type
		case reflect.Map, reflect.Slice:
			if key[0] == '[' {
				name += key
			} else {
				name += "[" + strconv.Quote(key) + "]"
			}
			t = t.Elem()
		default:
			return name + "." + path
		}
		path = strings.TrimPrefix(path[len(key):], ".")
	}
	return name
}

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
	var parts []string
	switch {
	case e.File != "" && e.Column > 0:
		parts = append(parts, fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column))
	case e.File != "":
		parts = append(parts, fmt.Sprintf("%s:%d", e.File, e.Line))
	case variableName.MatchString(e.Variable):
		parts = append(parts, e.Variable)
	case e.Variable != "":
		parts = append(parts, Quote(e.Variable))
	}
	if e.Key != "" {
		parts = append(parts, shorten(e.Key, longestKey))
	}
	return strings.Join(append(parts, e.Problem), ": ") + "; " + e.Remedy
}

// place is where a value stands: in a line of the file, or in a variable.
type place struct {
	line, column int
	variable     string
}

// report collects what is wrong with a configuration.
type report struct {
	file   string           // "" for a value written in Go
	of     reflect.Type     // the type of that value
	places map[string]place // by path
	failed map[string]bool  // the paths with a problem
	errs   []*Error
}

func newReport(file string, of reflect.Type) *report {
	return &report{file: file, of: of, places: make(map[string]place), failed: make(map[string]bool)}
}

// add reports problems at the places of their values. A key that is missing has none: the place of
// what should hold it is shown.
func (r *report) add(problems ...Problem) {
	for _, p := range problems {
		all := around(p.Path)
		if slices.ContainsFunc(all, func(path string) bool { return r.failed[path] }) {
			continue
		}
		r.failed[p.Path] = true
		at := place{line: 1, column: 1}
		for _, path := range all {
			if found, ok := r.places[path]; ok {
				at = found
				break
			}
		}
		r.addAt(at, p)
	}
}

// addAt reports a problem at a place, whatever was reported before.
func (r *report) addAt(at place, p Problem) {
	e := &Error{Key: p.Path, Problem: p.Text, Remedy: p.Remedy, Variable: at.variable}
	if r.file == "" {
		e.Key = goName(r.of.Name(), r.of, p.Path)
	} else if at.line > 0 {
		e.File, e.Line, e.Column = r.file, at.line, at.column
	}
	r.errs = append(r.errs, e)
}

// err returns everything reported, in the order of the file; problems of
// variables come last, by their names.
func (r *report) err() error {
	if r.file != "" {
		slices.SortStableFunc(r.errs, func(a, b *Error) int {
			if a.Line == 0 && b.Line == 0 {
				return cmp.Compare(a.Variable, b.Variable)
			}
			// As unsigned numbers, one less than line 0 is behind every line.
			return cmp.Or(cmp.Compare(uint(a.Line-1), uint(b.Line-1)), cmp.Compare(a.Column, b.Column))
		})
	}
	errs := make([]error, len(r.errs))
	for i, e := range r.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

const (
	longestKey   = 240
	longestValue = 60
)

// Quote returns s in quotes and shortened, for a problem: a message names the value, it
// does not repeat a file.
func Quote(s string) string {
	if short := shorten(s, longestValue); short != s {
		return strconv.Quote(short) + "..."
	}
	return strconv.Quote(s)
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// choose is the remedy for a word that is none of those that a key takes. It names the one
// that was probably meant first. lead stands before the words.
func choose[W ~string](word W, lead string, known []W) string {
	words := make([]string, len(known))
	for i, w := range known {
		words[i] = string(w)
	}
	all := lead + ": " + strings.Join(words, ", ")
	if meant := text.Nearest(strings.ToLower(string(word)), words); meant != "" {
		return "did you mean " + Quote(meant) + "? " + strings.ToUpper(all[:1]) + all[1:]
	}
	return all
}

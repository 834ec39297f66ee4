// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// at returns the key of the value at path.
func (k Key) at(path string) Key {
	out := k
	for _, step := range steps(path) {
		around := out
		out = Key{problems: k.problems, file: step, code: goName("Config", reflect.TypeFor[Config](), step), parent: &around}
	}
	return out
}

// Key names a value of a Config, in the spelling of the file and in that of Go, and takes reports
// about the value. The zero Key is not valid; a [Check] gets one.
type Key struct {
	problems   *problems
	value      reflect.Value // addressable, or not valid
	file, code string
	parent     *Key
	// sample is how a value without a default is written, and lists says that a value may be
	// a list of values.
	sample string
	lists  bool
}

// Of returns the key of a field of the struct that k names, at any depth. It panics if field
// is no pointer to one.
func (k Key) Of(field any) Key {
	of := reflect.ValueOf(field)
	if found, ok := k.find(of.Pointer(), of.Type().Elem()); ok {
		return found
	}
	panic(fmt.Sprintf("config: no field of %s is at the %T", k.code, field))
}

func (k Key) find(at uintptr, t reflect.Type) (Key, bool) {
	v := k.value
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return Key{}, false
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		if name == "" || name == "-" {
			continue
		}
		key := k.field(f, v.Field(i))
		if key.value.Addr().Pointer() == at && f.Type == t {
			return key, true
		}
		if found, ok := key.find(at, t); ok {
			return found, true
		}
	}
	return Key{}, false
}

// field returns the key of a field. A name with a dot stands in a mapping of its own.
func (k Key) field(f reflect.StructField, v reflect.Value) Key {
	out := Key{
		problems: k.problems, value: v, file: k.file, code: k.code + "." + f.Name, parent: &k,
		sample: f.Tag.Get("example"), lists: f.Tag.Get("lists") != "",
	}
	for part := range strings.SplitSeq(f.Tag.Get("yaml"), ".") {
		if out.file != k.file {
			around := out
			out.parent = &around
		}
		if out.file != "" {
			out.file += "."
		}
		out.file += part
	}
	return out
}

// Index returns the key of an element of the list that k names.
func (k Key) Index(i int) Key {
	s := "[" + strconv.Itoa(i) + "]"
	out := Key{problems: k.problems, file: k.file + s, code: k.code + s, parent: &k}
	if k.value.IsValid() {
		out.value = k.value.Index(i)
	}
	return out
}

// Entry returns the key of an entry of the map that k names. value is a pointer to a copy of
// its value, for the keys below it, or nil.
func (k Key) Entry(name string, value any) Key {
	name = shorten(name)
	quoted := "[" + strconv.Quote(name) + "]"
	file := k.file + quoted
	if isPlainKey(name) {
		file = k.file + "." + name
	}
	out := Key{problems: k.problems, file: file, code: k.code + quoted, parent: &k}
	if value != nil {
		out.value = reflect.ValueOf(value).Elem()
	}
	return out
}

// Wrong reports a fault of the value, and the remedy. Only the first report on a value counts, and
// none below a value that failed, because it would be a consequence.
func (k Key) Wrong(problem, remedy string) {
	p := k.problems
	if k.Failed() {
		return
	}
	p.reported[k.file] = true
	e := &Error{File: p.file, Key: k.file, Problem: problem, Remedy: remedy}
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

// Failed reports whether something was wrong with the value, or with one that holds it.
func (k Key) Failed() bool {
	for at := &k; at != nil; at = at.parent {
		if k.problems.reported[at.file] {
			return true
		}
	}
	return false
}

// Sound reports whether there is no fault so far of the value, nor of one below it or around it.
func (k Key) Sound() bool {
	for file := range k.problems.reported {
		if file == k.file || strings.HasPrefix(file, k.file+".") || strings.HasPrefix(file, k.file+"[") {
			return false
		}
	}
	return !k.Failed()
}

// String returns the path of the value in a file.
func (k Key) String() string { return k.file }

// name returns the last part of the path.
func (k Key) name() string { return k.file[strings.LastIndexByte(k.file, '.')+1:] }

// given reports whether the file has the value.
func (k Key) given() bool {
	_, ok := k.problems.at[k.file]
	return ok
}

// position is a place in a file, from 1.
type position struct{ line, column int }

// problems collects what is wrong with a configuration.
type problems struct {
	file string
	errs []*Error
	// at holds the places of the values that the file has, by key.
	at map[string]position
	// variables holds the variables that replaced values, by key.
	variables map[string]string
	// reported holds the keys with a problem.
	reported map[string]bool
}

func newProblems(file string) *problems {
	return &problems{file: file, at: make(map[string]position), variables: make(map[string]string), reported: make(map[string]bool)}
}

// root returns the key of the whole configuration.
func (p *problems) root(c *Config) Key {
	return Key{problems: p, value: reflect.ValueOf(c).Elem(), code: "Config"}
}

// addAt reports a problem at a place of the file.
func (p *problems) addAt(pos position, k Key, problem, remedy string) {
	p.reported[k.file] = true
	p.note(pos, k, problem, remedy)
}

// note reports a problem that says nothing about the value at k itself.
func (p *problems) note(pos position, k Key, problem, remedy string) {
	p.errs = append(p.errs, &Error{
		File: p.file, Line: pos.line, Column: pos.column,
		Key: k.file, Problem: problem, Remedy: remedy,
	})
}

// override notes that a variable gives the value at k. The value in the file, and its faults, no
// longer count.
func (p *problems) override(k Key, variable string) {
	p.variables[k.file] = variable
	inside := func(file string) bool {
		return file == k.file || strings.HasPrefix(file, k.file+"[") || strings.HasPrefix(file, k.file+".")
	}
	maps.DeleteFunc(p.at, func(file string, _ position) bool { return inside(file) })
	maps.DeleteFunc(p.reported, func(file string, _ bool) bool { return inside(file) })
}

// err returns everything reported, in the order of the file; problems of
// variables come last, by their names.
func (p *problems) err() error {
	slices.SortStableFunc(p.errs, func(a, b *Error) int {
		switch {
		case (a.Line == 0) != (b.Line == 0):
			return cmp.Compare(b.Line, a.Line)
		case a.Line == 0:
			return cmp.Compare(a.Variable, b.Variable)
		default:
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		}
	})
	errs := make([]error, len(p.errs))
	for i, e := range p.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
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

func isVariable(name string) bool {
	for i, c := range name {
		if !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "regexp"

// Redaction says what is a secret beyond the built-in rules. The zero value adds
// nothing.
type Redaction struct {
	// Keys are further names of secrets, compared as a whole, without case and
	// without what is neither a letter nor a digit.
	Keys []string
	// Patterns are replaced wherever they match in a string value, a key or an
	// error text. They see the string as it was given and the strings inside JSON
	// that it holds, not what is percent-encoded in it.
	Patterns []*regexp.Regexp
}

// Redactor finds secrets. A nil Redactor has the built-in rules only. It is safe
// for concurrent use.
type Redactor struct {
	keys     map[string]bool
	patterns []*regexp.Regexp
}

// NewRedactor returns a Redactor with the built-in rules and those of r.
func NewRedactor(r Redaction) *Redactor {
	c := &Redactor{keys: make(map[string]bool, len(r.Keys))}
	for _, k := range r.Keys {
		var f folded
		if word, _ := f.fold(k, false); len(word) > 0 {
			c.keys[string(word)] = true
		}
	}
	for _, p := range r.Patterns {
		if p != nil {
			c.patterns = append(c.patterns, p)
		}
	}
	return c
}

// NewWriter returns a Writer with the given limits that redacts by the rules of r.
func (r *Redactor) NewWriter(l Limits) *Writer {
	return &Writer{limits: l.withDefaults(), cleaner: cleaner{rules: r}}
}

// Secret reports whether key names a secret, by which its value is one.
func (r *Redactor) Secret(key string) bool { return r.secret(key) }

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact finds secrets in texts and puts a mark in their place.
//
// It knows a secret by the name of its key: in objects, in JSON inside of a string, however often
// it was wrapped, in YAML, and in text, plain, escaped or percent-encoded. A name may also be the
// value of a member beside it ({"name": "DB_PASSWORD", "value": ...}), the first of a pair, or a
// flag of a command. It knows others by their form: credentials of authorization headers, cookies,
// the user of a URI, private keys, and the tokens of the table in token.go. A secret without a name
// and without such a form, like a password in a sentence, is found by configured patterns only; see
// [Config].
package redact

import "regexp"

// Marks that stand in the place of something that was left out. They are the
// ones the Python plugin writes, so that queries for them work on both.
const (
	Mark          = "[REDACTED]"
	MarkSensitive = "[REDACTED_SENSITIVE_TEXT]" // of a text that cannot be cleaned
)

// Config adds to the built-in rules. The zero value adds nothing.
type Config struct {
	// Keys are further names of secrets, compared as a whole, without case and by letters and
	// digits alone.
	Keys []string
	// Patterns are replaced wherever they match in a string value, a key or an
	// error text. They see the string as it was given and the strings inside JSON
	// that it holds, not what is percent-encoded in it.
	Patterns []*regexp.Regexp
}

// Rules tell what is a secret. Nil are the built-in rules alone. They are safe for
// concurrent use.
type Rules struct {
	keys     map[string]bool
	patterns []*regexp.Regexp
}

// NewRules returns the built-in rules and those of c.
func NewRules(c Config) *Rules {
	r := &Rules{keys: make(map[string]bool, len(c.Keys))}
	for _, k := range c.Keys {
		var f folded
		if word, _ := f.fold(k, false); len(word) > 0 {
			r.keys[string(word)] = true
		}
	}
	for _, p := range c.Patterns {
		if p != nil {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A Role is the role of a member in an object that stands for a variable, a header or a field of a
// form: its name or its value.
type Role int

const (
	NoRole Role = iota
	Naming
	Valued // a secret if the name beside it names one
)

// RoleOf returns the role of a member by its key.
func RoleOf(k string) Role {
	switch len(k) {
	case len("key"), len("name"), len("value"), len("parameterKey"), len("parameterValue"):
	default:
		return NoRole
	}
	switch {
	case strings.EqualFold(k, "key"), strings.EqualFold(k, "name"), strings.EqualFold(k, "parameterKey"):
		return Naming
	case strings.EqualFold(k, "value"), strings.EqualFold(k, "parameterValue"):
		return Valued
	}
	return NoRole
}

// sibling reports whether the member before the key that begins at b is the name of a secret:
// {"name": "DB_PASSWORD", "value": ...}.
func (r *Rules) sibling(s string, b int) bool {
	back := func(j int, of string) int {
		for n := 0; j > 0 && n < maxKey && strings.IndexByte(of, s[j-1]) >= 0; n++ {
			j--
		}
		return j
	}
	word := func(j int) int {
		from := j
		for j > 0 && from-j < maxKey && isWord(s[j-1]) {
			j--
		}
		return j
	}
	end := back(b, "\"'`, \t\r\n;")
	from := word(end)
	if end == b || from == end {
		return false
	}
	sep := back(from, "\"'` \t")
	if sep == 0 || s[sep-1] != ':' && s[sep-1] != '=' {
		return false
	}
	keyEnd := back(sep-1, "\"'` \t")
	return RoleOf(s[word(keyEnd):keyEnd]) == Naming && r.Secret(s[from:end])
}

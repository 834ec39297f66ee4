// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import "strings"

// A role is what a member of an object is for where the object stands for a
// variable, a header or a field of a form: its name or its value.
type role int

const (
	noRole role = iota
	naming
	valued
)

// roleOf returns the role of a member by its key.
func roleOf(k string) role {
	switch len(k) {
	case len("key"):
		if strings.EqualFold(k, "key") {
			return naming
		}
	case len("name"):
		if strings.EqualFold(k, "name") {
			return naming
		}
	case len("value"):
		if strings.EqualFold(k, "value") {
			return valued
		}
	case len("parameterKey"):
		if strings.EqualFold(k, "parameterKey") {
			return naming
		}
	case len("parameterValue"):
		if strings.EqualFold(k, "parameterValue") {
			return valued
		}
	}
	return noRole
}

// sibling reports whether the member before the one whose key begins at b is a
// name that names a secret: {"name": "DB_PASSWORD", "value": ...}.
func (r *Redactor) sibling(s string, b int) bool {
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
	return roleOf(s[word(keyEnd):keyEnd]) == naming && r.secret(s[from:end])
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

// variable collects an object, in JSON in a string, that may stand for a variable with a name and a
// value. They come in any order.
type variable struct {
	secret bool // its name names one
	// The value, if it came first and is a scalar, and the text copied before it.
	from, to  int
	out, last int
}

// ahead returns the string that comes next, without going on behind it.
func (e *embedded) ahead() (string, bool) {
	at := e.i
	text, escaped, ok := e.token()
	e.i = at
	if escaped && ok {
		text = unescape(text)
	}
	return text, ok
}

// named looks at the name of a variable, the member at from, before it is read.
func (e *embedded) named(from int) {
	name, ok := e.ahead()
	if !ok || !e.Rules.Secret(name) {
		return
	}
	e.object.secret = true
	v := e.object
	if v.to == 0 || e.s[v.from:v.to] == `"`+Mark+`"` {
		return
	}
	// The value came before its name: it is replaced now.
	between := e.last > v.to
	e.out = append(e.out[:v.out], e.s[v.last:v.from]...)
	e.out = appendQuoted(e.out, Mark)
	e.last = v.to
	if between {
		// With it goes what was replaced in between.
		e.out = append(e.out, ',')
		e.last = from
		e.Lost++
	}
	e.Redacted++
}

// unnamed reads a value that has no name yet.
func (e *embedded) unnamed() bool {
	v := variable{from: e.i, out: len(e.out), last: e.last}
	scalar := e.peek() != '{' && e.peek() != '['
	if !e.value() {
		return false
	}
	if scalar {
		v.to = e.i
		e.object = v
	}
	return true
}

// element reads an element of a list.
func (e *embedded) element() bool {
	e.space()
	if e.muted > 0 {
		return e.value()
	}
	text, _ := e.ahead()
	if e.elements.Hides(text) {
		return e.hidden()
	}
	return e.value()
}

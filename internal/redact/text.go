// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// finder looks through one text for secrets and builds the text without them. It goes from signal
// to signal, and never back before a replacement, so its time grows only with the length of the
// text.
type finder struct {
	rules *Rules
	text  string
	view
	out  []byte // the text without secrets, up to last
	last int    // offset in text
	done int    // offset in view up to which everything is decided
	// found counts the secrets that were replaced.
	found int
	// closing is the place of an end tag, the first behind where it was looked for.
	closing int
}

// find returns text without the secrets that show in its view, and their number.
func find(rules *Rules, text string, v view) (string, int) {
	f := finder{rules: rules, text: text, view: v, closing: -1}
	// Neither place is looked for again before it is reached.
	pem, next := f.pemAfter(0), signal(f.s, 0)
	for i := 0; i < len(f.s); {
		if next < i {
			next = signal(f.s, i)
		}
		i = min(next, pem)
		if next < pem {
			done := f.done
			if i = f.look(next); f.done > done {
				i = f.resume(i)
			}
		}
		// A block goes on where a value ends that it began in.
		for pem < len(f.s) && pem <= i {
			end := f.block(pem)
			i = max(i, end)
			pem = f.pemAfter(end)
		}
	}
	if f.found == 0 {
		return text, 0
	}
	return string(append(f.out, text[f.last:]...)), f.found
}

// replace puts the mark in the place of a secret in the view. quote is the place
// of a quote that the mark shall stand in, or -1.
func (f *finder) replace(start, end, quote int) {
	start = max(start, f.done)
	if start >= end {
		return
	}
	f.done = end
	from, to := f.offset(start), f.offset(end)
	if f.text[from:to] == Mark {
		return
	}
	f.found++
	f.out = append(f.out, f.text[f.last:from]...)
	var q string
	if quote >= 0 {
		q = f.text[f.offset(quote):f.offset(quote+1)]
	}
	f.out = append(f.out, q...)
	f.out = append(f.out, Mark...)
	f.out = append(f.out, q...)
	f.last = to
}

// look decides what a signal means and returns the place behind it to go on from.
func (f *finder) look(i int) int {
	switch f.s[i] {
	case ' ':
		return f.credential(i)
	case '>':
		return f.element(i)
	case ':':
		if strings.HasPrefix(f.s[i+1:], "//") {
			return f.authority(i)
		}
		if start, end := botToken(f.s, i); start >= 0 {
			f.replace(start, end, -1)
			return end
		}
		return f.pair(i)
	case '=':
		return f.pair(i)
	}
	if i == 0 {
		return i + 1
	}
	if f.s[i-1] == '-' {
		if k := f.rules.flag(f.s, i); k >= 0 {
			return f.argument(i, k)
		}
	}
	if start, end := token(f.s, i); start >= 0 {
		f.replace(start, end, -1)
		return end
	}
	return i + 1
}

// resume returns the place to go on from after a replacement, instead of i: the value of a flag at
// the end of the replaced text may follow it.
func (f *finder) resume(i int) int {
	b := f.done
	for b > 0 && f.done-b < maxKey && isWord(f.s[b-1]) {
		b--
	}
	if n := strings.IndexByte(f.s[b:f.done], '-'); n >= 0 {
		return min(i, b+n+1)
	}
	return i
}

// argument replaces the value of a flag at i, which begins at k.
func (f *finder) argument(i, k int) int {
	if marked(f.s[k:]) {
		return k
	}
	start, end := k, k
	if isQuote(f.s[k]) {
		start, end = f.quoted(k)
	} else {
		end = f.bare(k, f.at(i))
	}
	f.replace(start, end, -1)
	return max(end, i+1)
}

// pair looks at a separator of a key and a value.
func (f *finder) pair(i int) int {
	if end := dsn(f.s, i); end > 0 {
		f.replace(i+1, end, -1)
		return end
	}
	k := f.rules.keyBefore(f.s, i)
	if k.kind == noSecret && f.level != nil {
		// An apparent encoded byte may be a part of the key.
		k.kind = f.rules.keyBefore(f.text, f.offset(i)).kind
	}
	if k.kind == noSecret {
		return i + 1
	}
	start, end, wrap := f.value(i, k)
	if !wrap {
		k.quote = -1
	}
	f.replace(start, end, k.quote)
	// A separator at the end of the value belongs to a value behind it.
	for j := end - 1; j > i && j >= start; j-- {
		switch f.s[j] {
		case ' ', '\t', '"', '\'', '`', '\\':
			continue
		case ':', '=':
			return j
		}
		break
	}
	return max(end, i+1)
}

// kind says how far the value of a secret key goes where nothing else ends it.
type kind int

const (
	noSecret kind = iota
	oneWord
	oneLine // a header
)

// key is the key before a separator.
type key struct {
	kind  kind
	quote int // the place of the quote behind it, or -1
}

// Lengths of the text before a separator that is looked at, in bytes.
const (
	maxKey    = 96
	maxSpaces = 16
)

// keyBefore finds the key that ends before the separator at i and classifies it.
func (r *Rules) keyBefore(s string, i int) key {
	none := key{quote: -1}
	j := i
	for j > 0 && i-j < maxSpaces && (s[j-1] == ' ' || s[j-1] == '\t') {
		j--
	}
	for n := 0; j > 0 && n < 2 && (s[j-1] == ']' || s[j-1] == ')'); n++ {
		j--
	}
	if j == 0 {
		return none
	}
	if q := s[j-1]; q == '"' || q == '\'' || q == '`' {
		end := j - 1
		for end > 0 && i-end < maxSpaces && (s[end-1] == q || s[end-1] == '\\') {
			end--
		}
		from := max(0, end-maxKey)
		if n := strings.LastIndexByte(s[from:end], q); n >= 0 {
			name := s[from+n+1 : end]
			if r.Secret(name) || RoleOf(name) == Valued && r.sibling(s, from+n) {
				return key{kindOf(name), j - 1}
			}
			return none
		}
		j = end
	}
	b := j
	for b > 0 && j-b < maxKey && isWord(s[b-1]) {
		b--
	}
	name := s[b:j]
	if name != "" && isUserFlag(s, b) && !isPort(name) && i+1 < len(s) && ends[s[i+1]] != 1 {
		return key{oneWord, -1} // a password, unless they are a user and a group
	}
	switch {
	case name == "" || !mayEndSecret(name) && name[0]|0x20 != 'x' && (b == 0 || s[b-1] == ' ') && (r == nil || len(r.keys) == 0):
		return none
	case r.Secret(name), strings.HasSuffix(s[:b], "temp:"):
		// The words before it may make a token a page token.
		if !listToken(s[phrase(s, b):j]) {
			return key{kindOf(name), -1}
		}
	case b > 0 && (s[b-1] == '?' || s[b-1] == '&') && isParameter(name, s[i+1:]),
		RoleOf(name) == Valued && r.sibling(s, b):
		return key{oneWord, -1}
	case mayEndSecret(name) && b > 0 && s[b-1] == ' ':
		var f folded
		if word, _ := f.tail(s[phrase(s, b):j]); secretTail(word) && !listToken(s[phrase(s, b):j]) {
			return key{kindOf(name), -1}
		}
	}
	return none
}

// phrase returns where the words before b begin that may belong to a key.
func phrase(s string, b int) int {
	from := b
	for from > 0 && b-from < maxKey/2 && (isWord(s[from-1]) || s[from-1] == ' ') {
		from--
	}
	return from
}

func kindOf(name string) kind {
	var f folded
	word, _ := f.tail(name)
	if hasSuffix(word, "authorization") || hasSuffix(word, "cookie") {
		return oneLine
	}
	return oneWord
}

// element looks at the end of a tag: <password>...</password>.
func (f *finder) element(i int) int {
	b := i
	for b > 0 && i-b < maxKey && isWord(f.s[b-1]) {
		b--
	}
	name := f.s[b:i]
	if b == 0 || f.s[b-1] != '<' || !f.rules.Secret(name) {
		return i + 1
	}
	if f.closing <= i {
		if f.closing = strings.Index(f.s[i:], "</"); f.closing < 0 {
			f.closing = len(f.s)
		} else {
			f.closing += i
		}
	}
	if !strings.HasPrefix(f.s[min(f.closing+2, len(f.s)):], name) {
		return i + 1
	}
	f.replace(i+1, f.closing, -1)
	return f.closing
}

// pemAfter returns the place of the next PEM block, not before i.
func (f *finder) pemAfter(i int) int {
	if n := strings.Index(f.s[i:], pemBegin); n >= 0 {
		return i + n
	}
	return len(f.s)
}

// block looks at a PEM block and replaces it when it holds a private key.
func (f *finder) block(i int) int {
	const end = "-----END"
	body := i + len(pemBegin)
	head := f.s[body:min(body+64, len(f.s))]
	if n := strings.Index(head, "-----"); n >= 0 {
		head = head[:n]
	}
	if !strings.Contains(head, "PRIVATE") {
		return body
	}
	stop := len(f.s)
	if n := strings.Index(f.s[body:], end); n >= 0 {
		stop = body + n + len(end)
		tail := f.s[stop:min(stop+64, len(f.s))]
		if n := strings.Index(tail, "-----B"); n >= 0 {
			tail = tail[:n] // the next block
		}
		if n := strings.Index(tail, "-----"); n >= 0 {
			stop += n + len("-----")
		}
	}
	f.replace(i, stop, -1)
	return stop
}

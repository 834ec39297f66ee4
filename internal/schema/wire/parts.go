// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields of content_parts and of its object_ref, as of the others.
const (
	partMimeType protowire.Number = iota + 1
	partURI
	partObjectRef
	partText
	partIndex
	partAttributes
	partStorageMode
)

const (
	refURI protowire.Number = iota + 1
	refVersion
	refAuthorizer
	refDetails
)

// appendParts appends an element of content_parts for each object in the JSON list s,
// and none of them when s is no such list.
func appendParts(dst []byte, s string) []byte {
	if s == "" || s == "[]" {
		return dst
	}
	start := len(dst)
	r, p := newReader(s), part{}
	for r.next(&p) {
		dst = protowire.AppendTag(dst, fieldContentParts, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(p.size()))
		dst = p.append(dst)
	}
	if r.bad {
		return dst[:start]
	}
	return dst
}

func sizeParts(s string) int {
	if s == "" || s == "[]" {
		return 0
	}
	n := 0
	r, p := newReader(s), part{}
	for r.next(&p) {
		n += protowire.SizeTag(fieldContentParts) + protowire.SizeBytes(p.size())
	}
	if r.bad {
		return 0
	}
	return n
}

// part is one element of content_parts. Its texts are views of the JSON text.
type part struct {
	mimeType, uri, text, attributes, storageMode value
	ref                                          objectRef
	hasRef, hasIndex                             bool
	index                                        int64
}

type objectRef struct{ uri, version, authorizer, details value }

func (p *part) size() int {
	n := p.mimeType.size(partMimeType) + p.uri.size(partURI) + p.text.size(partText) +
		p.attributes.size(partAttributes) + p.storageMode.size(partStorageMode)
	if p.hasRef {
		n += protowire.SizeTag(partObjectRef) + protowire.SizeBytes(p.ref.size())
	}
	if p.hasIndex {
		n += protowire.SizeTag(partIndex) + protowire.SizeVarint(uint64(p.index))
	}
	return n
}

func (p *part) append(dst []byte) []byte {
	dst = p.mimeType.append(dst, partMimeType)
	dst = p.uri.append(dst, partURI)
	if p.hasRef {
		dst = protowire.AppendTag(dst, partObjectRef, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(p.ref.size()))
		dst = p.ref.append(dst)
	}
	dst = p.text.append(dst, partText)
	if p.hasIndex {
		dst = protowire.AppendTag(dst, partIndex, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(p.index))
	}
	dst = p.attributes.append(dst, partAttributes)
	return p.storageMode.append(dst, partStorageMode)
}

func (o *objectRef) size() int {
	return o.uri.size(refURI) + o.version.size(refVersion) + o.authorizer.size(refAuthorizer) + o.details.size(refDetails)
}

func (o *objectRef) append(dst []byte) []byte {
	dst = o.uri.append(dst, refURI)
	dst = o.version.append(dst, refVersion)
	dst = o.authorizer.append(dst, refAuthorizer)
	return o.details.append(dst, refDetails)
}

// value is a text in the JSON text and what is to be done to it.
type value struct {
	raw string
	// length is the number of bytes it has in the message.
	length int
	form   form
}

type form uint8

const (
	absent  form = iota
	plain        // copied as it is
	quoted       // of a string: escapes are undone and what is not UTF-8 repaired
	invalid      // of a JSON value: what is not UTF-8 is repaired
)

func (v value) size(n protowire.Number) int {
	if v.form == absent {
		return 0
	}
	return protowire.SizeTag(n) + protowire.SizeBytes(v.length)
}

func (v value) append(dst []byte, n protowire.Number) []byte {
	if v.form == absent {
		return dst
	}
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(v.length))
	switch v.form {
	case quoted:
		return appendUnquoted(dst, v.raw)
	case invalid:
		return appendRepaired(dst, v.raw)
	}
	return append(dst, v.raw...)
}

// next reads the next element of the list into p. It reports false at the end of the
// list and where the text is not one: then r.bad is set.
func (r *reader) next(p *part) bool {
	switch {
	case r.depth > 0: // behind an element
		if r.close(']') {
			return r.end()
		}
		if !r.take(',') {
			return r.fail()
		}
	case r.literal("null"):
		return r.end()
	case !r.open('['):
		return false
	case r.close(']'):
		return r.end()
	}
	r.space()
	*p = part{}
	ok := r.members(func(key string) bool {
		switch key {
		case "mime_type":
			return r.text(&p.mimeType)
		case "uri":
			return r.text(&p.uri)
		case "object_ref":
			return r.objectRef(p)
		case "text":
			return r.text(&p.text)
		case "part_index":
			return r.integer(&p.index, &p.hasIndex)
		case "part_attributes":
			return r.text(&p.attributes)
		case "storage_mode":
			return r.text(&p.storageMode)
		}
		return r.skip()
	})
	r.space()
	return ok
}

// objectRef reads the value of the member object_ref.
func (r *reader) objectRef(p *part) bool {
	if !r.at('{') {
		return r.skip()
	}
	p.hasRef = true
	return r.members(func(key string) bool {
		switch key {
		case "uri":
			return r.text(&p.ref.uri)
		case "version":
			return r.text(&p.ref.version)
		case "authorizer":
			return r.text(&p.ref.authorizer)
		case "details":
			return r.json(&p.ref.details)
		}
		return r.skip()
	})
}

// text reads a value into v if it is a string, and past it otherwise.
func (r *reader) text(v *value) bool {
	if !r.at('"') {
		return r.skip()
	}
	s, ok := r.str()
	if ok {
		*v = s
	}
	return ok
}

// json reads a value of any type but null as it stands.
func (r *reader) json(v *value) bool {
	start := r.i
	if !r.skip() {
		return false
	}
	raw := r.s[start:r.i]
	switch {
	case raw == "null":
	case utf8.ValidString(raw):
		*v = value{raw: raw, length: len(raw), form: plain}
	default:
		*v = value{raw: raw, length: repairedSize(raw), form: invalid}
	}
	return true
}

// integer reads a value into n if it is an integer of 64 bits, and past it otherwise.
func (r *reader) integer(n *int64, has *bool) bool {
	start := r.i
	if !r.skip() {
		return false
	}
	if i, err := strconv.ParseInt(r.s[start:r.i], 10, 64); err == nil {
		*n, *has = i, true
	}
	return true
}

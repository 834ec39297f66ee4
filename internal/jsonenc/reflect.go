// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

var errPanic = errors.New("panic")

// contain calls a function that runs a foreign value's own methods and turns
// their panic into an error.
func contain[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return f()
}

// foreign writes a value of a type that value does not know. It writes the output of encoding/json,
// within the limits, with these differences: members are in the order of their names, secrets are
// redacted, bytes are left out, and a part that cannot be encoded does not spoil the rest.
func (w *Writer) foreign(v any) {
	w.odd = true
	from, depth, values, texts := len(w.buf), w.depth, len(w.values.members), len(w.texts.members)
	if _, err := contain(func() (any, error) { w.reflected(reflect.ValueOf(v)); return nil, nil }); err != nil {
		w.buf, w.depth, w.binary = w.buf[:from], depth, nil
		w.values.members, w.texts.members = w.values.members[:values], w.texts.members[:texts]
		w.unserializable()
	}
}

// nested writes a value inside a foreign one.
func (w *Writer) nested(v reflect.Value) {
	if v.Kind() == reflect.Interface {
		w.value(v.Interface())
		return
	}
	if w.nodes++; w.nodes > w.limits.Nodes || w.over() {
		w.spent()
		return
	}
	w.reflected(v)
}

func (w *Writer) reflected(v reflect.Value) {
	info := w.info(v.Type())
	switch {
	case info.addrJSON && v.CanAddr():
		w.marshaled(v.Addr(), info)
	case info.json:
		w.marshaled(v, info)
	case info.addrText && v.CanAddr():
		w.text(v.Addr())
	case info.text:
		w.text(v)
	default:
		w.kind(v, info)
	}
}

// marshaled writes what the value's own MarshalJSON gives. It is read back, so
// that redaction and limits hold inside it too.
func (w *Writer) marshaled(v reflect.Value, info *typeInfo) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		w.null()
		return
	}
	data, err := contain(func() ([]byte, error) { return json.Marshal(v.Interface()) })
	if err != nil {
		w.unserializable()
		return
	}
	if len(data) > 4*w.limits.Total {
		w.mark(MarkTruncated)
		return
	}
	tree, ok := Decode(data)
	if !ok {
		w.unserializable()
		return
	}
	if info.bytes {
		c := collector{found: map[string]bool{}, most: len(data), nodes: w.limits.Nodes, seen: map[uintptr]bool{}}
		if c.collect(v); c.nodes < 0 {
			w.mark(MarkBudget)
			return
		}
		w.binary = c.found
		defer func() { w.binary = nil }()
	}
	w.value(tree)
}

func (w *Writer) text(v reflect.Value) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		w.null()
		return
	}
	if s, err := textOf(v); err != nil {
		w.unserializable()
	} else {
		w.string(s)
	}
}

func textOf(v reflect.Value) (string, error) {
	return contain(func() (string, error) {
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return string(b), err
	})
}

func (w *Writer) kind(v reflect.Value, info *typeInfo) {
	switch v.Kind() {
	case reflect.Bool:
		w.buf = strconv.AppendBool(w.buf, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.buf = strconv.AppendUint(w.buf, v.Uint(), 10)
	case reflect.Float32:
		w.float(v.Float(), 32)
	case reflect.Float64:
		w.float(v.Float(), 64)
	case reflect.String:
		switch {
		case v.Type() != reflect.TypeFor[json.Number]():
			w.string(v.String())
		case v.Len() == 0:
			w.buf = append(w.buf, '0') // as encoding/json has it
		default:
			w.number(json.Number(v.String()))
		}
	case reflect.Struct:
		w.structure(v, info)
	case reflect.Map:
		w.mapping(v)
	case reflect.Slice, reflect.Array:
		w.elements(v, info)
	case reflect.Pointer:
		w.pointer(v)
	default:
		w.unserializable()
	}
}

// enter counts a level of nesting; false, with the mark written, means it is one
// too many.
func (w *Writer) enter() bool {
	if w.depth >= w.limits.Depth {
		w.mark(MarkDepth)
		return false
	}
	w.depth++
	return true
}

func (w *Writer) pointer(v reflect.Value) {
	if v.IsNil() {
		w.null()
		return
	}
	e := v.Elem()
	if k := e.Kind(); k != reflect.Pointer && k != reflect.Interface {
		w.reflected(e)
		return
	}
	// Pointers may form a cycle with nothing between them.
	if w.enter() {
		w.nested(e)
		w.depth--
	}
}

func (w *Writer) elements(v reflect.Value, info *typeInfo) {
	q := redact.List{Rules: w.secrets.Rules, Pair: v.Len() == 2 && w.inList()}
	switch {
	case v.Kind() == reflect.Slice && v.IsNil():
		w.null()
		return
	case info.binary:
		w.mark(MarkBinary)
		return
	case !w.enter():
		return
	}
	w.buf = append(w.buf, '[')
	for i := range v.Len() {
		if !w.next(i, true) {
			break
		}
		if e := v.Index(i); q.Hides(textIn(e)) {
			w.redact()
		} else {
			w.nested(e)
		}
	}
	w.buf = append(w.buf, ']')
	w.depth--
}

func (w *Writer) mapping(v reflect.Value) {
	if v.IsNil() {
		w.null()
		return
	}
	if !w.enter() {
		return
	}
	defer func() { w.depth-- }()
	members := make([]member[reflect.Value], 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		k, err := keyOf(it.Key())
		if err != nil {
			w.unserializable()
			return
		}
		members = append(members, member[reflect.Value]{k, it.Value()})
	}
	byKey := func(m member[reflect.Value], k string) int { return strings.Compare(m.key, k) }
	slices.SortStableFunc(members, func(a, b member[reflect.Value]) int { return byKey(a, b.key) })
	has := func(k string) bool { _, ok := slices.BinarySearchFunc(members, k, byKey); return ok }
	writeMembers(w, members, nil, has, (*Writer).nested)
}

var errKey = errors.New("no text form for a key")

func keyOf(k reflect.Value) (string, error) {
	switch {
	case k.Kind() == reflect.String:
		return k.String(), nil
	case k.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		return textOf(k)
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	}
	return "", errKey
}

func (w *Writer) structure(v reflect.Value, info *typeInfo) {
	if !w.enter() {
		return
	}
	w.buf = append(w.buf, '{')
	names := func(f field) bool {
		if f.role != redact.Naming {
			return false
		}
		fv, ok := f.of(v)
		return ok && w.secrets.Secret(textIn(fv))
	}
	n := 0
	for i := range info.fields {
		f := &info.fields[i]
		fv, ok := f.of(v)
		if !ok || f.omitEmpty && isEmpty(fv) || f.omitZero && isZero(fv) {
			continue
		}
		if !w.next(n, false) {
			break
		}
		n++
		w.buf = append(w.buf, f.key...)
		switch {
		case f.secret, f.role == redact.Valued && slices.ContainsFunc(info.fields, names):
			w.redact()
		case f.quoted:
			w.quoted(fv)
		default:
			w.nested(fv)
		}
	}
	w.buf = append(w.buf, '}')
	w.depth--
}

// textIn returns the text that v holds or points to, or "".
func textIn(v reflect.Value) string {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.String {
		return ""
	}
	return v.String()
}

// quoted writes a scalar as JSON inside a string, for the tag option "string".
func (w *Writer) quoted(v reflect.Value) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	from := len(w.buf)
	w.nested(v)
	if info := w.info(v.Type()); v.Kind() == reflect.Pointer || info.json || info.text || v.CanAddr() && (info.addrJSON || info.addrText) {
		return
	}
	text := string(w.buf[from:])
	w.buf = w.buf[:from]
	w.string(text)
}

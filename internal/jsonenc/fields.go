// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"cmp"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

// typeInfo has the facts about a type that its encoding depends on.
type typeInfo struct {
	json, text         bool // has MarshalJSON, MarshalText
	addrJSON, addrText bool // a pointer to it has
	binary             bool // a slice or an array of bytes
	bytes              bool // has MarshalJSON and may hold bytes
	fields             []field
}

// info returns the facts about t. The Writer keeps them; a program has few Writers.
func (w *Writer) info(t reflect.Type) *typeInfo {
	if i := w.types[t]; i != nil {
		return i
	}
	i := &typeInfo{}
	marshaler, text := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	i.json, i.text = t.Implements(marshaler), t.Implements(text)
	if t.Kind() != reflect.Pointer {
		p := reflect.PointerTo(t)
		i.addrJSON, i.addrText = p.Implements(marshaler), p.Implements(text)
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		e := t.Elem()
		p := reflect.PointerTo(e)
		i.binary = e.Kind() == reflect.Uint8 && !p.Implements(marshaler) && !p.Implements(text)
	case reflect.Struct:
		i.fields = fieldsOf(t, w.secrets.Rules)
	}
	if i.json || i.addrJSON {
		i.bytes = mayHoldBytes(t, map[reflect.Type]bool{}) && !i.binary
	}
	if w.types == nil {
		w.types = map[reflect.Type]*typeInfo{}
	}
	w.types[t] = i
	return i
}

// field is a member of the object that a struct becomes.
type field struct {
	name   string
	key    []byte // the name as JSON, with a colon
	index  []int
	tagged bool // the name comes from the tag

	omitEmpty, omitZero, quoted bool
	secret                      bool
	role                        redact.Role
}

// of returns the field of v, or false when a nil embedded pointer leads to it.
func (f *field) of(v reflect.Value) (reflect.Value, bool) {
	for n, i := range f.index {
		if n > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// fieldsOf returns the fields of a struct type that encoding/json writes, in the
// order of their names. Of fields with one name the shallowest counts, of those
// the one named by its tag; when that leaves more than one, none does.
func fieldsOf(t reflect.Type, rules *redact.Rules) []field {
	all := appendFields(nil, t, nil, nil)
	for i := range all {
		all[i].secret, all[i].role = rules.Secret(all[i].name), redact.RoleOf(all[i].name)
		all[i].key = quotedKey(all[i].name)
	}
	slices.SortFunc(all, func(a, b field) int {
		switch {
		case a.name != b.name:
			return cmp.Compare(a.name, b.name)
		case len(a.index) != len(b.index):
			return len(a.index) - len(b.index)
		case a.tagged && !b.tagged:
			return -1
		case b.tagged && !a.tagged:
			return 1
		}
		return slices.Compare(a.index, b.index)
	})
	kept := all[:0]
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].name == all[i].name {
			n++
		}
		if n == i+1 || len(all[i].index) != len(all[i+1].index) || all[i].tagged != all[i+1].tagged {
			kept = append(kept, all[i])
		}
		i = n
	}
	return slices.Clip(kept)
}

// quotedKey returns a name as the key of a member, with the colon.
func quotedKey(name string) []byte {
	var w Writer
	w.quote(name, 0, math.MaxInt)
	return append(w.buf, ':')
}

// appendFields appends the fields of t and of the structs embedded in it. outer
// are the types that t is embedded in.
func appendFields(all []field, t reflect.Type, index []int, outer []reflect.Type) []field {
	if slices.Contains(outer, t) {
		return all
	}
	outer = append(outer, t)
	for i := range t.NumField() {
		sf := t.Field(i)
		base := sf.Type
		if base.Name() == "" && base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		embedded := sf.Anonymous && base.Kind() == reflect.Struct
		tag := sf.Tag.Get("json")
		// An embedded struct of an unexported type may have exported fields.
		if !sf.IsExported() && !embedded || tag == "-" {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		at := append(slices.Clip(index), i)
		if name == "" && embedded {
			all = appendFields(all, base, at, outer)
			continue
		}
		f := field{name: cmp.Or(name, sf.Name), index: at, tagged: name != ""}
		for opt := range strings.SplitSeq(rest, ",") {
			switch opt {
			case "omitempty":
				f.omitEmpty = true
			case "omitzero":
				f.omitZero = true
			case "string":
				f.quoted = isScalar(base.Kind())
			}
		}
		all = append(all, f)
	}
	return all
}

func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

func validName(s string) bool {
	for _, c := range s {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) {
			return false
		}
	}
	return s != ""
}

// isEmpty reports whether the tag option "omitempty" leaves v out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero reports whether the tag option "omitzero" leaves v out: its own IsZero decides, else the
// zero value of its type.
func isZero(v reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Interface) && v.IsNil() {
		return true
	}
	if !v.CanInterface() {
		return v.IsZero()
	}
	t, method := v.Type(), reflect.TypeFor[zeroer]()
	switch {
	case t.Implements(method):
		if v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() {
			return true
		}
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(method):
		p := reflect.New(t)
		p.Elem().Set(v)
		v = p
	default:
		return v.IsZero()
	}
	zero, err := contain(func() (bool, error) { return v.Interface().(zeroer).IsZero(), nil })
	return zero && err == nil
}

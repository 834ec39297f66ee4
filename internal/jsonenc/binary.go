// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"encoding/base64"
	"reflect"
)

// mayHoldBytes reports whether bytes can be reached from a value of type t
// through what it exports.
func mayHoldBytes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || mayHoldBytes(t.Elem(), seen)
	case reflect.Pointer, reflect.Array, reflect.Map:
		return mayHoldBytes(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && mayHoldBytes(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// collector finds the bytes in a value whose MarshalJSON gives no hint where in
// its JSON it put them: they are told by their base64 form. It looks only at what
// is exported, because the rest may be guarded by a lock.
type collector struct {
	found map[string]bool
	most  int // the longest base64 form that is of interest
	nodes int // how many values it still looks at; below zero it has not seen all
	seen  map[uintptr]bool
}

func (c *collector) collect(v reflect.Value) {
	if c.nodes--; c.nodes < 0 {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			c.collect(v.Elem())
		}
	case reflect.Pointer:
		if !v.IsNil() && c.first(v) {
			c.collect(v.Elem())
		}
	case reflect.Map:
		if c.first(v) {
			for it := v.MapRange(); it.Next(); {
				c.collect(it.Value())
			}
		}
	case reflect.Slice, reflect.Array:
		c.elements(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				c.collect(v.Field(i))
			}
		}
	}
}

func (c *collector) elements(v reflect.Value) {
	switch k := v.Type().Elem().Kind(); {
	case v.Kind() == reflect.Slice && k == reflect.Uint8:
		if n := v.Len(); n > 0 && base64.StdEncoding.EncodedLen(n) <= c.most {
			c.found[base64.StdEncoding.EncodeToString(v.Bytes())] = true
		}
	case !isScalar(k):
		for i := range v.Len() {
			c.collect(v.Index(i))
		}
	}
}

// first reports whether it sees a pointer or a map for the first time.
func (c *collector) first(v reflect.Value) bool {
	p := v.Pointer()
	if c.seen[p] {
		return false
	}
	c.seen[p] = true
	return true
}

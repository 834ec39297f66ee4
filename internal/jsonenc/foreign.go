// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
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

// foreign writes a value of a type that value does not know: what encoding/json makes of it, read
// back, so that redaction and limits hold in it, and without its bytes. A value that encoding/json
// refuses is unserializable as a whole.
func (w *Writer) foreign(v any) {
	w.odd = true
	s := survey{left: 4 * w.limits.Total, bytes: map[string]bool{}}
	s.walk(reflect.ValueOf(v), 0)
	if s.left < 0 {
		w.mark(MarkBudget)
		return
	}
	tree, err := contain(func() (any, error) { return treeOf(v) })
	if err != nil {
		w.unserializable()
		return
	}
	outer := w.binary
	w.binary = s.bytes
	w.value(tree)
	w.binary = outer
}

var errNotJSON = errors.New("not one value of JSON")

// treeOf returns what encoding/json makes of v, as maps, lists and scalars.
func treeOf(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	tree, ok := Decode(data)
	if !ok {
		return nil, errNotJSON
	}
	return tree, nil
}

// survey walks a value as encoding/json would, and ends where that is too much: encoding/json has
// no bound of its own, and follows each of two pointers to one value. It sees what is exported
// alone, because the rest may be guarded by a lock.
type survey struct {
	left int // how much it still looks at: one for each value and each byte; below zero it has not seen all
	// bytes has the base64 form of the bytes that it saw: that is how they stand in JSON.
	bytes map[string]bool
}

// maxSurvey is how deep a survey goes. Deeper, encoding/json looks for cycles.
const maxSurvey = 1000

func (s *survey) walk(v reflect.Value, depth int) {
	if s.left--; s.left < 0 || depth > maxSurvey {
		return
	}
	depth++
	switch v.Kind() {
	case reflect.String:
		s.left -= v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			s.walk(v.Elem(), depth)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next() && s.left >= 0; {
			s.walk(it.Key(), depth)
			s.walk(it.Value(), depth)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if s.left -= v.Len(); s.left >= 0 && v.Len() > 0 {
				s.bytes[base64.StdEncoding.EncodeToString(v.Bytes())] = true
			}
			return
		}
		s.elements(v, depth)
	case reflect.Array:
		s.elements(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				s.walk(v.Field(i), depth)
			}
		}
	}
}

func (s *survey) elements(v reflect.Value, depth int) {
	for i := 0; i < v.Len() && s.left >= 0; i++ {
		s.walk(v.Index(i), depth)
	}
}

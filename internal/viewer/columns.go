// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// table is a list of objects as columns: the values of each field in the order of the objects, and
// nil where an object lacks the field. A name is written once for all objects, and values that are
// alike stand together, so that they compress well.
type table map[string][]any

// tableOf returns the fields of the structs in a list under their names in JSON.
func tableOf[T any](list []T) table {
	out := make(table)
	t := reflect.TypeFor[T]()
	for f := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(f).Tag.Get("json"), ",")
		omit := strings.HasPrefix(options, "omit")
		column := make([]any, len(list))
		for i := range list {
			v := reflect.ValueOf(&list[i]).Elem().Field(f)
			if omit && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
				continue
			}
			column[i] = v.Interface()
		}
		out[name] = column
	}
	return out
}

// MarshalJSON writes the columns that have a value. The sign before a name says how the page reads
// the column: "+" whole numbers, each as the difference to the one before; "@" times in the same
// way, in microseconds since 1970; "#" hexadecimal digits as the bytes that they stand for. A column
// without a sign has the values as they are.
func (t table) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(t))
	for name, column := range t {
		if numbers, ok := differences(column, whole); ok {
			out["+"+name] = numbers
		} else if times, ok := differences(column, micros); ok {
			out["@"+name] = times
		} else if digits, ok := hexOf(column); ok {
			out["#"+name] = digits
		} else if ok := has(column); ok {
			out[name] = column
		}
	}
	return json.Marshal(out)
}

func has(column []any) bool {
	for _, v := range column {
		if v != nil {
			return true
		}
	}
	return false
}

// differences returns the numbers of a column that has nothing else, and at least one.
func differences(column []any, number func(any) (int64, bool)) ([]any, bool) {
	if !has(column) {
		return nil, false
	}
	out := make([]any, len(column))
	last := int64(0)
	for i, v := range column {
		if v == nil {
			continue
		}
		n, ok := number(v)
		if !ok {
			return nil, false
		}
		out[i] = n - last
		last = n
	}
	return out, true
}

func whole(v any) (int64, bool) {
	n, ok := v.(int)
	return int64(n), ok
}

// micros returns a time that the page can count: its numbers are whole up to 2^53.
func micros(v any) (int64, bool) {
	t, ok := v.(time.Time)
	n := t.UnixMicro()
	return n, ok && t.Equal(time.UnixMicro(n)) && -1<<53 < n && n < 1<<53
}

// digits are texts of hexadecimal digits, all of the same length.
type digits struct {
	Bytes int    `json:"bytes"` // of each text
	All   string `json:"all"`   // in base64
}

// hexOf returns the digits of a column that has nothing else. A column with the same text twice
// running compresses better as it is.
func hexOf(column []any) (digits, bool) {
	var all []byte
	for i, v := range column {
		s, ok := v.(string)
		b, err := hex.DecodeString(s)
		if !ok || err != nil || len(b) == 0 || i > 0 && s == column[i-1] || hex.EncodeToString(b) != s || len(all) != i*len(b) {
			return digits{}, false
		}
		all = append(all, b...)
	}
	if len(all) == 0 {
		return digits{}, false
	}
	return digits{Bytes: len(all) / len(column), All: base64.StdEncoding.EncodeToString(all)}, true
}

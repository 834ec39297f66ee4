// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strconv"
	"strings"
)

// Entry returns the path of an entry of the map at path: guard.types.Product, or
// guard.drift["*"] for a name that is no plain word.
func Entry(path, name string) string {
	name = shorten(name)
	if isPlainKey(name) {
		return path + "." + name
	}
	return path + "[" + strconv.Quote(name) + "]"
}

// Index returns the path of an element of the list at path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// steps returns the paths of all that is around path, from the outside, and path itself.
func steps(path string) (out []string) {
	quoted := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '.' || c == '[') && i > 0:
			out = append(out, path[:i])
		}
	}
	return append(out, path)
}

// goName returns the name in Go of the value at path in a value of type t that is called name.
func goName(name string, t reflect.Type, path string) string {
	for path != "" {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch step := steps(path)[0]; t.Kind() {
		case reflect.Struct:
			path = strings.TrimPrefix(path, ".")
			f, tag := fieldAt(t, path)
			if tag == "" {
				return name + "." + path
			}
			name += "." + f.Name
			t, path = f.Type, path[len(tag):]
		case reflect.Map, reflect.Slice:
			path = path[len(step):]
			if entry, ok := strings.CutPrefix(step, "."); ok {
				step = "[" + strconv.Quote(entry) + "]"
			}
			name += step
			t = t.Elem()
		default:
			return name + path
		}
	}
	return name
}

// fieldAt returns the field with the longest tag that path begins with.
func fieldAt(t reflect.Type, path string) (found reflect.StructField, tag string) {
	for _, f := range reflect.VisibleFields(t) {
		key := f.Tag.Get("yaml")
		if rest, ok := strings.CutPrefix(path, key); ok && len(key) > len(tag) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			found, tag = f, key
		}
	}
	return found, tag
}

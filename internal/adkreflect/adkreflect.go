// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package adkreflect reads parts of ADK's agents and tools that ADK does not export: fields of
// types that only its own packages name. Each function documents its result for the case that
// ADK renames them.
package adkreflect

import (
	"reflect"

	"google.golang.org/adk/v2/agent"
)

// adkPath is where the packages of ADK begin.
const adkPath = "google.golang.org/adk/v2/"

// Configured returns the value of a field of an LLM agent, or the zero value where the agent has no
// such field.
func Configured[T any](a agent.Agent, field string) T {
	return valueIn[T](reflect.Indirect(reflect.ValueOf(a)), field)
}

// valueIn returns the value of an exported field of v, or the zero value where v has no such field
// or one of another type. ADK exports the fields of its agents, but on types that it does not.
func valueIn[T any](v reflect.Value, field string) (value T) {
	f := fieldOf(v, field)
	if !f.IsValid() || !f.CanInterface() {
		return value
	}
	value, _ = f.Interface().(T)
	return value
}

// fieldOf returns the field of that name, also of a struct embedded in v; the zero Value
// where v has none, or where a nil pointer leads to it.
func fieldOf(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	sf, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	f, err := v.FieldByIndexErr(sf.Index)
	if err != nil {
		return reflect.Value{}
	}
	return f
}

// pointee follows pointers and interfaces.
func pointee(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// exported returns what the pointer v points to, also if v was read from a field that is
// not exported.
func exported(v reflect.Value) any {
	return reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface()
}

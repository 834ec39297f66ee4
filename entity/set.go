// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Names is the attribute of the set of all things that a call showed by a rule: their names.
const Names = "names"

const setPrefix = "all "

// SetOf returns the type of the sets of things of a type that calls showed.
func SetOf(typ string) string { return setPrefix + typ }

// ElementOf returns the type of the things in sets of a type; false if the type is not one of sets.
func ElementOf(typ string) (of string, isSet bool) { return strings.CutPrefix(typ, setPrefix) }

// Set returns what a thing holds: texts, in any order. One that stands twice counts twice.
func Set(elements ...string) Value {
	list := make([]any, len(elements))
	for i, s := range elements {
		list[i] = Text(s).text
	}
	v, _ := setOf(list) // texts have no faults
	return v
}

// setOf returns the set of decoded JSON values. Its text is the sorted list of their normal forms.
func setOf(list []any) (Value, error) {
	elements := make([]string, len(list))
	for i, e := range list {
		normal, err := normalElement(e)
		if err != nil {
			return Value{}, err
		}
		if n, isNumber := normal.(json.Number); isNumber {
			normal = n.String() // as a text, so that an id may be either
		}
		data, err := json.Marshal(normal)
		if err != nil {
			return Value{}, err
		}
		elements[i] = string(data)
	}
	slices.Sort(elements)
	return Value{kind: KindSet, text: "[" + strings.Join(elements, ",") + "]"}, nil
}

// normalElement returns v with its numbers in their normal form.
func normalElement(v any) (out any, err error) {
	switch v := v.(type) {
	case nil:
		return nil, errors.New("null is no element of a set")
	case bool:
		return v, nil
	case string:
		return Text(v).text, nil
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			if e != nil {
				if list[i], err = normalElement(e); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	case map[string]any:
		object := maps.Clone(v)
		for name, e := range v {
			if e != nil {
				if object[name], err = normalElement(e); err != nil {
					return nil, err
				}
			}
		}
		return object, nil
	}
	n, err := FromAny(v, KindNumber, "")
	return json.Number(n.text), err
}

// parseSet reads the JSON of a set.
func parseSet(s string) (Value, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil || list == nil || d.More() {
		return Value{}, errors.New("it is not the JSON of a set")
	}
	return setOf(list)
}

// AsSet returns the elements of a set as decoded JSON, in their order; false when v is not a set.
func (v Value) AsSet() (list []any, ok bool) {
	if v.kind != KindSet {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(v.text))
	d.UseNumber()
	_ = d.Decode(&list) // we wrote it
	return list, true
}

// Elements returns the elements of a set as shown to people, sorted: a plain text as it is, any other
// element as JSON. Different elements are shown differently. It is nil when v is not a set.
func (v Value) Elements() []string {
	list, _ := v.AsSet()
	var shown []string
	for _, e := range list {
		text, isText := e.(string)
		if !isText || text == "true" || text == "false" || text != strings.TrimSpace(text) || text == "" || strings.ContainsAny(text, `,"[]{}`) {
			data, _ := json.Marshal(e) // it was JSON
			text = string(data)
		}
		shown = append(shown, text)
	}
	slices.Sort(shown)
	return shown
}

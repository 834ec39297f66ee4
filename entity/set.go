// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"encoding/json"
	"errors"
	"fmt"
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
		e, err := normalElement(e)
		if n, isNumber := e.(json.Number); isNumber {
			e = n.String() // an id may be either
		}
		if err == nil && e == nil {
			err = errors.New("null is no element of a set")
		}
		if err != nil {
			return Value{}, err
		}
		data, _ := json.Marshal(e) // it has the types of decoded JSON
		elements[i] = string(data)
	}
	slices.Sort(elements)
	return Value{kind: KindSet, text: "[" + strings.Join(elements, ",") + "]"}, nil
}

// normalElement returns a copy of v with its numbers in their normal form.
func normalElement(v any) (out any, err error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return Text(v).text, nil
	case []any:
		list := slices.Clone(v)
		for i := 0; i < len(list) && err == nil; i++ {
			list[i], err = normalElement(list[i])
		}
		return list, err
	case map[string]any:
		object := maps.Clone(v)
		for name, e := range v {
			if object[name], err = normalElement(e); err != nil {
				break
			}
		}
		return object, err
	}
	n, err := FromAny(v, KindNumber, "")
	return json.Number(n.text), err
}

// parseSet reads the JSON of a set.
func parseSet(s string) (Value, error) {
	list, err := decodeSet(s)
	if err != nil || list == nil {
		return Value{}, fmt.Errorf("%q is not the JSON of a set", clip(s))
	}
	return setOf(list)
}

func decodeSet(s string) (list []any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err = d.Decode(&list); err == nil && d.More() {
		err = errors.New("something follows the set")
	}
	return list, err
}

// AsSet returns the elements of a set as decoded JSON, in their order; false when v is not a set.
func (v Value) AsSet() (list []any, ok bool) {
	if v.kind != KindSet {
		return nil, false
	}
	list, _ = decodeSet(v.text) // we wrote it
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

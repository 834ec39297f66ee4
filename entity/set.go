// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Names is the attribute of the set of all things that a call showed by a rule: their names.
const Names = "names"

const setPrefix = "all "

// SetOf returns the type of the sets of things of a type.
func SetOf(typ string) string { return setPrefix + typ }

// ElementOf returns the type of the things in sets of a type; false if the type is not one of sets.
func ElementOf(typ string) (of string, isSet bool) { return strings.CutPrefix(typ, setPrefix) }

// Set returns names as a set: their order and how often each comes do not count.
func Set(names []string) Value {
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, strings.ToValidUTF8(name, "\uFFFD"))
	}
	slices.Sort(list)
	text, _ := json.Marshal(slices.Compact(list)) // of valid texts
	return Value{kind: KindSet, text: string(text)}
}

// AsSet returns the names in v, sorted; false when v is not a set.
func (v Value) AsSet() (names []string, ok bool) {
	if v.kind != KindSet {
		return nil, false
	}
	return names, json.Unmarshal([]byte(v.text), &names) == nil
}

// parseSet reads the wire form of a set, a list of texts as JSON.
func parseSet(s string) (Value, error) {
	var names []string
	if err := json.Unmarshal([]byte(s), &names); err != nil {
		return Value{}, fmt.Errorf("%q is not a set: use a list of texts, as JSON", clip(s))
	}
	return Set(names), nil
}

// showSet shows the names of a set to people: "Chair, Desk". A name with a comma stands in quotes.
func (v Value) showSet() string {
	names, _ := v.AsSet()
	for i, name := range names {
		if strings.ContainsAny(name, `,"`) {
			names[i] = `"` + strings.ReplaceAll(name, `"`, "'") + `"`
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

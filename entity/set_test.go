// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// What a set holds counts, and how often; the order does not, nor how a number is written.
func TestSet(t *testing.T) {
	decoded := func(s string) any {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct{ in, shown string }{
		{`[]`, "[]"},
		{`["Desk", "Chair"]`, "[Chair, Desk]"},
		{`["Desk", "Desk"]`, "[Desk, Desk]"},
		{`["a, b", "[c", "", " d", "true", "\"e\""]`, `[" d", "", "[c", "\"e\"", "a, b", "true"]`},
		{`[17, "4", 4.0, true]`, "[17, 4, 4, true]"},
		{`[{"n": 1.0, "item": "Desk", "note": null, "tags": [null, 2.50, false]}]`, `[{"item":"Desk","n":1,"note":null,"tags":[null,2.5,false]}]`},
	} {
		v, err := entity.FromAny(decoded(tt.in), entity.KindSet, "")
		if err != nil {
			t.Fatalf("%s: %v", tt.in, err)
		}
		if got := v.String(); got != tt.shown {
			t.Errorf("%s is shown as %s, want %s", tt.in, got, tt.shown)
		}
		data, err := json.Marshal(v)
		var again entity.Value
		if err != nil || json.Unmarshal(data, &again) != nil || again != v {
			t.Errorf("%s: %s, %v, read as %v", tt.in, data, err, again)
		}
		list, isSet := v.AsSet()
		if fromList, err := entity.FromAny(list, entity.KindSet, ""); !isSet || err != nil || fromList != v || len(list) != len(v.Elements()) {
			t.Errorf("%s: elements %v, %v", tt.in, list, err)
		}
	}
	if a, b := entity.Set("x", "y"), entity.Set("y", "x"); a != b || a == entity.Set("x", "y", "y") || a.Canonical() != "set:[x, y]" {
		t.Errorf("%s and %s", a, b)
	}
	for _, in := range []string{`[null]`, `"x"`, `{}`, `[["a", {"b": 1e99999}]]`, `[{"a": [1e99999]}]`, `[1e99999]`} {
		if v, err := entity.FromAny(decoded(in), entity.KindSet, ""); err == nil || !v.IsZero() {
			t.Errorf("%s is the set %s", in, v)
		}
	}
	for _, in := range []string{`{"kind":"set","value":"x"}`, `{"kind":"set","value":"null"}`, `{"kind":"set","value":"[] []"}`, `{"kind":"set","value":"[null]"}`} {
		if err := json.Unmarshal([]byte(in), new(entity.Value)); err == nil {
			t.Errorf("%s is a value", in)
		}
	}
	if list, isSet := entity.Text("[]").AsSet(); isSet || list != nil || entity.Text("[]").Elements() != nil {
		t.Errorf("a text is the set %v", list)
	}
}

// A set may be longer than another value, and not without end.
func TestSetIsBounded(t *testing.T) {
	for n, ok := range map[int]bool{entity.MaxSet / 11: true, entity.MaxSet/10 + 1: false} {
		e := entity.Entity{Type: "Cart", Value: "c", Attributes: map[string]entity.Value{"items": entity.Set(slices.Repeat([]string{"12345678"}, n)...)}}
		if err := e.Validate(); (err == nil) != ok {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

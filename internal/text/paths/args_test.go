// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package paths_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
)

func TestPlain(t *testing.T) {
	for path, want := range map[string]bool{
		"$": true, "$.a": true, "$['a b'][0][-1][*]": true, "$.*": true,
		"$..a": false, "$[0:1]": false, "$['a','b']": false, "$[?@.n > 0]": false, "$.a[*][?@]": false,
	} {
		if got := paths.Plain(jsonpath.MustParse(path)); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}

func decode(t *testing.T, doc string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A rule is "each value", with a question mark behind it if it is optional.
func TestReader(t *testing.T) {
	for name, test := range map[string]struct {
		rules, doc string
		read       []string
		faults     []string
	}{
		"one thing":            {"$ $.item", `{"item": "Desk", "n": 1}`, []string{"/item"}, nil},
		"each line":            {"$.lines[*] $.item", `{"lines": [{"item": "a"}, {"item": "b", "n": 1}]}`, []string{"/lines/0/item", "/lines/1/item"}, nil},
		"an odd name":          {"$['a/b~'] $", `{"a/b~": "x"}`, []string{"/a~1b~0"}, nil},
		"absent":               {"$ $.item; $.lines[*] $.item", `{"item": "a"}`, []string{"/item"}, nil},
		"null":                 {"$ $.item; $.lines[*] $.item", `{"item": "a", "lines": null}`, []string{"/item"}, nil},
		"empty list":           {"$ $.item; $.lines[*] $.item", `{"item": "a", "lines": []}`, []string{"/item"}, []string{`"lines" is empty, and rule "r2" reads it`}},
		"empty text":           {"$ $.item; $.lines[*] $.item", `{"item": "a", "lines": " "}`, []string{"/item"}, []string{`"lines" is empty`}},
		"empty members":        {"$ $.item; $.lines.* $.item", `{"item": "a", "lines": {}}`, []string{"/item"}, []string{`"lines" is empty`}},
		"may be empty":         {"$ $.item; $.lines[*] $.item?", `{"item": "a", "lines": []}`, []string{"/item"}, nil},
		"no list":              {"$ $.item; $.lines[*] $.item?", `{"item": "a", "lines": "b"}`, []string{"/item"}, []string{`"lines" is no list or object, and rule "r2" takes it for one`}},
		"a number":             {"$ $.item; $.lines[*] $.item", `{"item": "a", "lines": 3}`, []string{"/item"}, []string{`"lines" is no list`}},
		"members of an object": {"$.lines.* $.item", `{"lines": {"b": {"item": "x"}, "a": {"other": "y"}}}`, []string{"/lines/b/item"}, []string{`"lines.a" names nothing`}},
		"no object":            {"$.order $.item", `{"order": ["a"]}`, nil, []string{`"order" is no list or object`}},
		"one line left":        {"$.lines[*] $.item", `{"lines": [{"item": "a"}, {"other": "b"}, "c"]}`, []string{"/lines/0/item"}, []string{`"lines[1]" names nothing`, `"lines[2]" is no list`, `"lines[2]" names nothing`}},
		"by an index":          {"$.lines[0] $.item", `{"lines": [{"item": "a"}, {"item": "b"}]}`, []string{"/lines/0/item"}, []string{`"lines[1]" names nothing`}},
		"from the end":         {"$.lines[-1] $.item; $.lines[-2] $.item; $.lines[-3] $.item; $.lines[2] $.item", `{"lines": [{"item": "a"}, {"item": "b"}]}`, []string{"/lines/0/item", "/lines/1/item"}, nil},
		"index in an object":   {"$ $.item; $.lines[0] $", `{"item": "a", "lines": {"0": "b"}}`, []string{"/item"}, []string{`"lines" is no list`}},
		"list in a list":       {"$.orders[*].lines[*] $.item", `{"orders": [{"lines": [{"item": "a"}]}, {"items": ["b"]}]}`, []string{"/orders/0/lines/0/item"}, []string{`"orders[1]" names nothing`}},
		"two rules for a list": {"$.legs[*] $.flight; $.legs[*] $.hotel", `{"legs": [{"flight": "a"}, {"hotel": "b"}]}`, []string{"/legs/0/flight", "/legs/1/hotel"}, nil},
		"list of texts":        {"$.copies[*] $", `{"copies": ["a", "b"]}`, []string{"/copies/0", "/copies/1"}, nil},
		"the whole":            {"$[*] $", `[]`, nil, []string{`the whole of the arguments is empty`}},
		"other case":           {"$ $.item; $.lines[*] $.item", `{"item": "a", "LINES": ["b"]}`, []string{"/item"}, []string{`the member "LINES" may be taken for "lines"`}},
		"other spelling":       {"$.line_items[*] $.item", `{"line_items": [{"item": "a", "I-tem": 1}], "lineItems": []}`, []string{"/line_items/0/item"}, []string{`the member "I-tem" may`, `the member "lineItems" may be taken for "line_items"`}},
		"both are read":        {"$ $.line_items; $ $.lineItems", `{"line_items": "a", "lineItems": "b"}`, []string{"/lineItems", "/line_items"}, nil},
		"a key in two objects": {"$ $.stock; $.order $.stock", `{"stock": "a", "order": {"stock": "b"}}`, []string{"/order/stock", "/stock"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := paths.New(decode(t, test.doc))
			var named []string
			for i, rule := range strings.Split(test.rules, "; ") {
				rule, optional := strings.CutSuffix(rule, "?")
				each, value, _ := strings.Cut(rule, " ")
				r.Names("r"+string(rune('1'+i)), optional, jsonpath.MustParse(each), jsonpath.MustParse(value))
				named = r.Read()
			}
			if diff := cmp.Diff(test.read, r.Read()); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			faults := r.Faults(named)
			if len(faults) != len(test.faults) {
				t.Fatalf("faults %q, want %q", faults, test.faults)
			}
			for i, want := range test.faults {
				if !strings.Contains(faults[i], want) {
					t.Errorf("fault %q, want %q", faults[i], want)
				}
			}
		})
	}
}

func TestUnread(t *testing.T) {
	doc := decode(t, `{"item": "Desk", "n": 1, "tags": ["a", "b"], "none": null, "empty": "", "list": [], "object": {},
		"options": {"ship": {"to": "x"}, "gift": true}, "lines": [{"item": "a", "days": 1}, {"item": "b", "days": 2, "odd": {"a": [1]}}], "area": {"any": ["x"]}}`)
	r := paths.New(doc)
	r.Names("r", false, jsonpath.MustParse("$.lines[*]"), jsonpath.MustParse("$.item"))
	for from, path := range map[string]string{"$": "$.item", "$.lines[*]": "$.days", "$.options": "$[?@ == true]", "$['area']": "$"} {
		r.Reads(jsonpath.MustParse(from), jsonpath.MustParse(path))
	}
	want := []string{"empty", "lines[*].odd.a", "list", "n", "object", "options.ship.to", "tags"}
	if diff := cmp.Diff(want, paths.Unread(doc, r.Read())); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	if got := r.Faults([]string{"/lines/0/item", "/lines/1/item"}); len(got) != 0 {
		t.Errorf("faults %q", got)
	}
	for _, doc := range []string{"{}", "null", "[]"} {
		if got := paths.Unread(decode(t, doc), nil); len(got) != 0 {
			t.Errorf("%s: unread %q", doc, got)
		}
	}
}

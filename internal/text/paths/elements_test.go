// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package paths_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		path, doc string
		want      string // the elements; "missing" if there is no list; else in the error
	}{
		{"$.items[*]", `{"items": ["a", "b"]}`, "[a b]"},
		{"$.items[*]", `{"items": []}`, "[]"},
		{"$.items[*]", `{"items": null}`, "[]"},
		{"$.items[*]", `{"items": [null]}`, "[<nil>]"},
		{"$.items[*]", `{"items": {"x": "a"}}`, "[a]"},
		{"$.items[*]", `{"Items": ["a"]}`, "missing"},
		{"$.cart.items[*]", `{"cart": null}`, "missing"},
		{"$.cart.items[*]", `{}`, "missing"},
		{"$.items[*]", `{"items": "none"}`, "no list or object stands where [*] looks into one"},
		{"$.items[*]", `{"items": 0}`, "no list or object"},
		{"$.items[*].name", `{"items": [{"name": "a"}, {"name": "b"}]}`, "[a b]"},
		{"$.items[*].name", `{"items": [{"name": "a"}, {"id": "b"}]}`, `an element has no ["name"]`},
		{"$.items[*].name", `{"items": ["a"]}`, "an element has no"},
		{"$.items[*].name", `{"items": [null]}`, "an element has no"},
		{"$.items[*].name", `{"items": []}`, "[]"},
		{"$.orders[*].lines[*].item", `{"orders": [{"lines": [{"item": "a"}]}, {"lines": []}, {"lines": null}, {"lines": [{"item": "b"}]}]}`, "[a b]"},
		{"$.orders[*].lines[*].item", `{"orders": [{"items": [{"item": "a"}]}]}`, `an element has no ["lines"]`},
		{"$.items[?@.open == true].id", `{"items": [{"id": "a", "open": true}, {"id": "b"}]}`, "[a]"},
		{"$.items[?@.open == true].id", `{}`, "missing"},
		{"$..id", `{"items": [{"id": "a"}, {"x": {"id": "b"}}]}`, "[a b]"},
	} {
		var doc any
		if err := json.Unmarshal([]byte(tt.doc), &doc); err != nil {
			t.Fatal(err)
		}
		list, found, err := paths.Elements(jsonpath.MustParse(tt.path), doc)
		got := fmt.Sprint(list)
		switch {
		case err != nil:
			got = err.Error()
		case !found:
			got = "missing"
		}
		if !strings.Contains(got, tt.want) || err != nil && (len(list) > 0 || !found) {
			t.Errorf("%s in %s: %s, want %s", tt.path, tt.doc, got, tt.want)
		}
	}
}

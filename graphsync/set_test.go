// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

func setRule(path string, change func(*config.Attribute)) []config.Extract {
	items := config.Attribute{Path: path, Type: entity.KindSet}
	if change != nil {
		change(&items)
	}
	return []config.Extract{{Name: "r", Tool: "cart", Type: "Cart", Value: "$.name", Attributes: map[string]config.Attribute{"items": items}}}
}

// A set is what the path selects. It is read whole or not at all.
func TestExtractSet(t *testing.T) {
	optional := func(a *config.Attribute) { a.Optional = true }
	for name, tt := range map[string]struct {
		rules  []config.Extract
		result m
		want   string // as shown, "none" for no attribute
		fail   string
	}{
		"texts":             {setRule("$.items[*]", nil), m{"name": "c", "items": []any{"Desk", "Chair"}}, "[Chair, Desk]", ""},
		"none":              {setRule("$.items[*]", nil), m{"name": "c", "items": []any{}}, "[]", ""},
		"null":              {setRule("$.items[*]", nil), m{"name": "c", "items": nil}, "[]", ""},
		"lines":             {setRule("$.items[*]", nil), m{"name": "c", "items": []any{m{"n": 1.0, "id": "Desk"}}}, `[{"id":"Desk","n":1}]`, ""},
		"names of lines":    {setRule("$.items[*].id", nil), m{"name": "c", "items": []any{m{"id": 7}}}, "[7]", ""},
		"a line without":    {setRule("$.items[*].id", nil), m{"name": "c", "items": []any{m{"id": 7}, m{}}}, "", "an element has no"},
		"a null":            {setRule("$.items[*]", nil), m{"name": "c", "items": []any{nil}}, "", "null is no element"},
		"missing":           {setRule("$.items[*]", nil), m{"name": "c"}, "", "it selects nothing"},
		"optional":          {setRule("$.items[*]", optional), m{"name": "c"}, "none", ""},
		"redacted":          {setRule("$.items[*]", optional), m{"name": "c", "items": "[REDACTED]"}, "", "it looks into what was redacted"},
		"a redacted item":   {setRule("$.items[*]", nil), m{"name": "c", "items": []any{"Desk", "[REDACTED]"}}, "", "it looks into what was redacted"},
		"redacted in a row": {setRule("$.items[*]", nil), m{"name": "c", "items": []any{m{"id": "Desk", "x": "[REDACTED]"}}}, "", "it looks into what was redacted"},
		"redacted beside":   {setRule("$.items[*]", nil), m{"name": "c", "items": []any{"Desk"}, "token": "[REDACTED]"}, "[Desk]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			r.tool("T", "A", "c1=cart", m{"name": "c"}, tt.result)
			s := graphsync.Fold(compile(t, tt.rules), r.rows)
			found, failed := s.Graph().Entities(), s.Counts().Error
			switch {
			case tt.fail != "":
				if len(found) != 1 {
					t.Fatalf("found %v, error %q", found, failed)
				}
				if why, bad := found[0].Attributes["items"].Unreadable(); !bad || !strings.Contains(why, tt.fail) {
					t.Errorf("found %v, error %q, want %q", found, why, tt.fail)
				}
			case len(found) != 1 || failed != "":
				t.Errorf("found %v, error %q", found, failed)
			default:
				got := found[0].Attributes["items"].String()
				if _, has := found[0].Attributes["items"]; !has {
					got = "none"
				}
				diff(t, "the set", tt.want, got)
			}
		})
	}
}

// A set is an echo if the arguments say all that it holds, under whatever names.
func TestEchoOfASet(t *testing.T) {
	lookedUp := func(a *config.Attribute) { a.LookedUp = true }
	for name, tt := range map[string]struct {
		change       func(*config.Attribute)
		args, result m
		want         bool
	}{
		"all":               {nil, m{"add": []any{"Desk"}, "chair": "Chair"}, m{"name": "c", "items": []any{"Chair", "Desk"}}, true},
		"not all":           {nil, m{"add": "Desk"}, m{"name": "c", "items": []any{"Chair", "Desk"}}, false},
		"nothing":           {nil, m{"name": "c"}, m{"name": "c", "items": []any{}}, false},
		"lines":             {nil, m{"item": "Desk", "count": 2}, m{"name": "c", "items": []any{m{"item": "Desk", "n": 2}}}, true},
		"lines with a cost": {nil, m{"item": "Desk", "count": 2}, m{"name": "c", "items": []any{m{"item": "Desk", "n": 2, "cost": 400}}}, false},
		"looked up":         {lookedUp, m{"add": "Desk"}, m{"name": "c", "items": []any{"Desk"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			r.tool("T", "A", "c1=cart", tt.args, tt.result)
			found := fold(t, setRule("$.items[*]", tt.change), r.rows).Graph().Entities()
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			if got := len(found[0].Echoes) > 0; got != tt.want {
				t.Errorf("echoes %v", found[0].Echoes)
			}
		})
	}
}

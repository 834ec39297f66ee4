// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A tally says how far the path of a rule matched, and shows no value of the result.
func TestTallies(t *testing.T) {
	for _, tt := range []struct {
		name, each, result, nearly string
		found                      int
		idle                       bool
	}{
		{"found", "$.items[*]", `{"items":[{"name":"a"},{"name":"b"}]}`, "", 2, false},
		{"an empty list", "$.items[*]", `{"items":[]}`, "", 0, false},
		{"a misspelt member", "$.item[*]", `{"items":[{"name":"a"}]}`, "$ is an object with items, without .item; did you mean items?", 0, true},
		{"a member in another case", "$.ITEMS[*]", `{"items":[{"name":"a"}]}`, "$ is an object with items, without .ITEMS; did you mean items?", 0, true},
		{"a member far away", "$.products[*]", `{"items":[]}`, "$ is an object with items, without .products", 0, true},
		{"an object in the place of a list", "$.items[*].x", `{"items":{"name":"secret"}}`, "$.items[*] is a text, without .x", 0, true},
		{"a text in the place of a list", "$.items[*]", `{"items":"secret"}`, "$.items is a text, without [*]", 0, true},
		{"a number", "$.items[*]", `{"items":7}`, "$.items is a number, without [*]", 0, true},
		{"a boolean", "$.items[*]", `{"items":true}`, "$.items is a boolean, without [*]", 0, true},
		{"null", "$.items[*]", `{"items":null}`, "", 0, false},
		{"an empty object", "$.items.all[*]", `{"items":{}}`, "$.items is an empty object, without .all", 0, true},
		{"a list in the place of an object", "$.name", `[1,2]`, "$ is a list of 2, without .name", 0, true},
		{"a member that needs brackets", `$['all items'][*]`, `{"items":[]}`, `$ is an object with items, without ["all items"]`, 0, true},
		{"many members", "$.x[*]", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`, "$ is an object with a, b, c, d, e, f, g, h, …, without .x", 0, true},
		{"a call that failed", "$.items[*]", `{"error":"no"}`, "", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := compile(t, []config.Extract{
				{Name: "r", Tool: "find", Each: tt.each, Type: "T", Value: "$.name"},
				{Name: "other", Tool: "never", Type: "T", Value: "$.name"},
			})
			read := row(t, record.ToolCompleted, fmt.Sprintf(`{"tool":"find","result":%s}`, tt.result))
			counts := graphsync.Fold(x, []record.Event{read}).Counts()
			if got := counts.Rule("r"); got.Found != tt.found || got.Nearly != tt.nearly || got.Idle() != tt.idle || counts.Rule("other").Rows != 0 {
				t.Errorf("%+v, idle %v; want found %d, nearly %q", counts.Rules, got.Idle(), tt.found, tt.nearly)
			}
			if !slices.Equal(counts.Tools, []string{"find"}) {
				t.Errorf("tools %v", counts.Tools)
			}
		})
	}
	if c := graphsync.Fold(nil, nil).Counts(); c.Rules != nil || c.Tools != nil {
		t.Error("no rules have tallies")
	}
}

// The rule that a row contradicts is tallied as failed, and no other rule of the row suffers.
func TestTallyOfAFailedRow(t *testing.T) {
	x := compile(t, []config.Extract{
		{Name: "first", Tool: "find", Type: "A", Value: "$.id"},
		{Name: "second", Tool: "find", Type: "B", Value: "$.nmae"},
	})
	list := graphsync.Fold(x, []record.Event{row(t, record.ToolCompleted, `{"tool":"find","result":{"id":"1","name":"n"}}`)}).Counts().Rules
	want := []graphsync.Tally{{Rule: "first", Rows: 1, Found: 1}, {
		Rule: "second", Rows: 1, Failed: 1,
		Nearly: "match 1 of each $: value $.nmae: it selects nothing; $ is an object with id, name, without .nmae; did you mean name?",
	}}
	if !slices.Equal(list, want) {
		t.Errorf("tallies\n%+v\nwant\n%+v", list, want)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

func TestCompileErrors(t *testing.T) {
	good := graphsync.Rule{Name: "r", Tool: "t", Type: "Product", Value: "$.name"}
	attribute := func(name string, a graphsync.AttributeRule) func(*graphsync.Rule) {
		return func(r *graphsync.Rule) { r.Attributes = map[string]graphsync.AttributeRule{name: a} }
	}
	byArgs := func(path string) func(*graphsync.Rule) {
		return func(r *graphsync.Rule) { r.Value, r.ValueArgs = "", path }
	}
	tests := []struct {
		name   string
		change func(*graphsync.Rule)
		want   string
	}{
		{"no name", func(r *graphsync.Rule) { r.Name = "" }, "rule 1: name: "},
		{"no tool", func(r *graphsync.Rule) { r.Tool = "" }, `rule "r": tool: `},
		{"tool and event", func(r *graphsync.Rule) { r.Event = "AGENT_RESPONSE" }, `rule "r": event: `},
		{"content without event", func(r *graphsync.Rule) { r.In, r.Tool = graphsync.InContent, "" }, `rule "r": event: `},
		{"content with tool", func(r *graphsync.Rule) { r.In, r.Event = graphsync.InContent, "X" }, `rule "r": tool: `},
		{"unknown place", func(r *graphsync.Rule) { r.In = 9 }, `rule "r": in: unknown place In(9)`},
		{"no type", func(r *graphsync.Rule) { r.Type = "" }, `rule "r": type: `},
		{"no value", func(r *graphsync.Rule) { r.Value = "" }, `rule "r": value: `},
		{"two values", func(r *graphsync.Rule) { r.ValueArgs = "$.id" }, `rule "r": value: `},
		{"arguments path", byArgs("id"), `rule "r": value.args: path "id"`},
		{"value of arguments in arguments", func(r *graphsync.Rule) { byArgs("$.id")(r); r.In = graphsync.InArgs }, `rule "r": value.args: the args`},
		{"value of arguments for several", func(r *graphsync.Rule) { byArgs("$.id")(r); r.Each = "$.items[*]" }, `rule "r": value.args: the arguments have one value`},
		{"value path", func(r *graphsync.Rule) { r.Value = "name" }, `rule "r": value: path "name"`},
		{"each path", func(r *graphsync.Rule) { r.Each = "$[" }, `rule "r": each: path "$["`},
		{"artifact path", func(r *graphsync.Rule) { r.ArtifactURI = "x" }, `rule "r": artifact_uri: path "x"`},
		{"value kind", func(r *graphsync.Rule) { r.ValueKind = 77 }, `rule "r": value_type: `},
		{"currency of a text", func(r *graphsync.Rule) { r.Currency = "USD" }, `rule "r": currency: a text`},
		{"bad currency", func(r *graphsync.Rule) { r.ValueKind, r.Currency = entity.KindMoney, "usd" }, `rule "r": currency: "usd"`},
		{"confidence", func(r *graphsync.Rule) { r.Confidence = 1.5 }, `rule "r": confidence: 1.5`},
		{"confidence NaN", func(r *graphsync.Rule) { r.Confidence = math.NaN() }, `rule "r": confidence: NaN`},
		{"attribute name", attribute("Price", graphsync.AttributeRule{Path: "$.p"}), `rule "r": attributes.Price: `},
		{"attribute without path", attribute("price", graphsync.AttributeRule{}), `rule "r": attributes.price.path: `},
		{"attribute path", attribute("price", graphsync.AttributeRule{Path: "$$"}), `rule "r": attributes.price.path: path "$$"`},
		{"attribute kind", attribute("price", graphsync.AttributeRule{Path: "$.p", Kind: 50}), `rule "r": attributes.price.type: `},
		{"exists as a text", attribute("exists", graphsync.AttributeRule{Path: "$.p"}), `rule "r": attributes.exists.type: `},
		{"looked up in an action", func(r *graphsync.Rule) {
			attribute("price", graphsync.AttributeRule{Path: "$.p", LookedUp: true})(r)
			r.In = graphsync.InAction
		}, `rule "r": attributes.price.looked_up: `},
		{"alternatives in an action", func(r *graphsync.Rule) { r.In, r.Alternatives = graphsync.InAction, true }, `rule "r": alternatives: a rule over the action shows nothing`},
		{"alternatives in a content", func(r *graphsync.Rule) {
			r.In, r.Tool, r.Event, r.Alternatives = graphsync.InContent, "", "X", true
		}, `rule "r": alternatives: a rule over the content shows nothing`},
		{"attribute currency", attribute("price", graphsync.AttributeRule{Path: "$.p", Kind: entity.KindMoney, Currency: "US"}), `rule "r": attributes.price.currency: `},
	}
	for _, tt := range tests {
		r := good
		tt.change(&r)
		x, err := graphsync.Compile([]graphsync.Rule{r})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || x != nil {
			t.Errorf("%s: error %v, want %s...", tt.name, err, tt.want)
		}
	}
	bad := good
	bad.Type = ""
	_, err := graphsync.Compile([]graphsync.Rule{good, good, bad})
	if err == nil || strings.Count(err.Error(), "name: another rule has this name") != 2 || !strings.Contains(err.Error(), "type: ") {
		t.Errorf("not every error is reported: %v", err)
	}
}

func TestVersion(t *testing.T) {
	base := adRules()
	x := compile(t, base)
	if x.Version() != compile(t, adRules()).Version() {
		t.Error("the same rules have two versions")
	}
	if v := (*graphsync.Extractor)(nil).Version(); v != compile(t, nil).Version() || v == x.Version() {
		t.Error("no rules and a nil extractor differ, or equal some rules")
	}
	explicit := adRules()
	explicit[1].Each, explicit[1].ValueKind, explicit[1].Confidence = "$", entity.KindText, 1
	if compile(t, explicit).Version() != x.Version() {
		t.Error("writing the defaults changes the version")
	}
	for i, change := range []func(r []graphsync.Rule){
		func(r []graphsync.Rule) { r[0].Tool = "other" },
		func(r []graphsync.Rule) { r[0].Value = "$.id" },
		func(r []graphsync.Rule) { r[0].Confidence = 0.5 },
		func(r []graphsync.Rule) { r[0].Alternatives = true },
		func(r []graphsync.Rule) { r[1].Value, r[1].ValueArgs = "", r[1].Value },
		func(r []graphsync.Rule) {
			a := r[0].Attributes["price"]
			a.LookedUp = true
			r[0].Attributes["price"] = a
		},
		func(r []graphsync.Rule) { r[2].In = graphsync.InArgs },
		func(r []graphsync.Rule) { r[0], r[1] = r[1], r[0] },
		func(r []graphsync.Rule) { r[0].Attributes["reach"] = graphsync.AttributeRule{Path: "$.reach"} },
		func(r []graphsync.Rule) {
			r[0].Attributes["price"] = graphsync.AttributeRule{Path: "$.price", Kind: entity.KindMoney, Currency: "USD", Optional: false}
		},
	} {
		rules := adRules()
		change(rules)
		if compile(t, rules).Version() == x.Version() {
			t.Errorf("change %d does not change the version", i)
		}
	}
}

func TestParseIn(t *testing.T) {
	for _, in := range []graphsync.In{graphsync.InResult, graphsync.InArgs, graphsync.InAction, graphsync.InContent} {
		if got, err := graphsync.ParseIn(in.String()); err != nil || got != in {
			t.Errorf("ParseIn(%s) = %v, %v", in, got, err)
		}
	}
	if in, err := graphsync.ParseIn(""); err != nil || in != graphsync.InResult {
		t.Errorf("ParseIn(\"\") = %v, %v", in, err)
	}
	if _, err := graphsync.ParseIn("output"); err == nil {
		t.Error("ParseIn accepted output")
	}
}

func TestShows(t *testing.T) {
	price := map[string]graphsync.AttributeRule{"price": {Path: "$.price"}, "exists": {Path: "$.listed", Kind: entity.KindBool}}
	x := compile(t, []graphsync.Rule{
		{Name: "offers", Tool: "search", Each: "$.offers[*]", Type: "Product", Value: "$.id", Attributes: price},
		{Name: "one", Tool: "lookup", Type: "Product", ValueArgs: "$.id"},
		{Name: "asked", Tool: "search", In: graphsync.InArgs, Type: "Product", Value: "$.id"},
		{Name: "bought", Tool: "buy", In: graphsync.InAction, Type: "Product", Value: "$.id"},
		{Name: "said", In: graphsync.InContent, Event: "USER_MESSAGE_RECEIVED", Type: "Product", Value: "$.text"},
		{Name: "ended", In: graphsync.InContent, Event: "TOOL_COMPLETED", Type: "Call", Value: "$.tool"},
	})
	want := []graphsync.Shown{
		{Type: "Product", Attribute: "exists", Rule: "offers", Tool: "search"},
		{Type: "Product", Attribute: "price", Rule: "offers", Tool: "search"},
		{Type: "Product", Rule: "one", Tool: "lookup"},
		{Type: "Call", Rule: "ended"},
	}
	if diff := cmp.Diff(want, x.Shows()); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	for tool, want := range map[string]bool{"lookup": true, "search": false, "buy": false, "": false} {
		if got := x.ArgsAtEnd(tool); got != want {
			t.Errorf("ArgsAtEnd(%q) = %v", tool, got)
		}
	}
	if x := (*graphsync.Extractor)(nil); x.Shows() != nil || x.ArgsAtEnd("lookup") {
		t.Error("a nil extractor shows something")
	}
}

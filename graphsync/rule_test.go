// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

func TestCompileErrors(t *testing.T) {
	good := config.Extract{Name: "r", Tool: "t", Type: "Product", Value: "$.name"}
	attribute := func(name string, a config.Attribute) func(*config.Extract) {
		return func(r *config.Extract) { r.Attributes = map[string]config.Attribute{name: a} }
	}
	byArgs := func(path string) func(*config.Extract) {
		return func(r *config.Extract) { r.Value, r.ValueArgs = "", path }
	}
	tests := []struct {
		name   string
		change func(*config.Extract)
		want   string
	}{
		{"no name", func(r *config.Extract) { r.Name = "" }, `Name: missing`},
		{"no tool", func(r *config.Extract) { r.Tool = "" }, `Tool: neither tool nor event is given`},
		{"tool and event", func(r *config.Extract) { r.Event = "AGENT_RESPONSE" }, `Event: given beside tool`},
		{"content without event", func(r *config.Extract) { r.In, r.Tool = config.InContent, "" }, `Tool: neither tool nor event is given`},
		{"content with tool", func(r *config.Extract) { r.In, r.Event = config.InContent, "X" }, `Event: given beside tool`},
		{"unknown place", func(r *config.Extract) { r.In = "output" }, `In: "output" is not a part of an event`},
		{"no type", func(r *config.Extract) { r.Type = "" }, `Type: missing`},
		{"no value", func(r *config.Extract) { r.Value = "" }, `Value: no path is given`},
		{"two values", func(r *config.Extract) { r.ValueArgs = "$.id" }, `ValueArgs: given beside a path in the node`},
		{"arguments path", byArgs("id"), `ValueArgs: "id" is not a JSONPath (RFC 9535): unexpected identifier at position 1`},
		{"value of arguments in arguments", func(r *config.Extract) { byArgs("$.id")(r); r.In = config.InArgs }, `ValueArgs: the value is taken from the arguments, and the rule does not read a result`},
		{"value of arguments for several", func(r *config.Extract) { byArgs("$.id")(r); r.Each = "$.items[*]" }, `ValueArgs: the arguments have one value for all that each selects`},
		{"value path", func(r *config.Extract) { r.Value = "name" }, `Value: "name" is not a JSONPath (RFC 9535): unexpected identifier at position 1`},
		{"each path", func(r *config.Extract) { r.Each = "$[" }, `Each: "$[" is not a JSONPath (RFC 9535): unexpected eof at position 3`},
		{"artifact path", func(r *config.Extract) { r.ArtifactURI = "x" }, `ArtifactURI: "x" is not a JSONPath (RFC 9535): unexpected identifier at position 1`},
		{"value kind", func(r *config.Extract) { r.ValueType = 77 }, `ValueType: Kind(77) is not a type of value`},
		{"currency of a text", func(r *config.Extract) { r.Currency = "USD" }, `Currency: given for a value that is not money`},
		{"bad currency", func(r *config.Extract) { r.ValueType, r.Currency = entity.KindMoney, "usd" }, `Currency: "usd" is not a currency code`},
		{"confidence", func(r *config.Extract) { r.Confidence = 1.5 }, `Confidence: 1.5 is out of range`},
		{"confidence NaN", func(r *config.Extract) { r.Confidence = math.NaN() }, `Confidence: NaN is out of range`},
		{"attribute name", attribute("Price", config.Attribute{Path: "$.p"}), `Attributes["Price"]: "Price" is not the name of an attribute`},
		{"attribute without path", attribute("price", config.Attribute{}), `Attributes["price"].Path: no path is given`},
		{"attribute path", attribute("price", config.Attribute{Path: "$$"}), `Attributes["price"].Path: "$$" is not a JSONPath (RFC 9535): unexpected '$' at position 2`},
		{"attribute kind", attribute("price", config.Attribute{Path: "$.p", Type: 50}), `Attributes["price"].Type: Kind(50) is not a type of value`},
		{"exists as a text", attribute("exists", config.Attribute{Path: "$.p"}), `Attributes["exists"].Type: exists is what a rule without attributes gives, a boolean`},
		{"looked up in an action", func(r *config.Extract) {
			attribute("price", config.Attribute{Path: "$.p", LookedUp: true})(r)
			r.In = config.InAction
		}, `Attributes["price"].LookedUp: the rule does not read a result, where a tool looks things up`},
		{"alternatives in an action", func(r *config.Extract) { r.In, r.Alternatives = config.InAction, true }, `Alternatives: the rule reads no result, and only a result shows the choices`},
		{"alternatives in a content", func(r *config.Extract) {
			r.In, r.Tool, r.Event, r.Alternatives = config.InContent, "", "X", true
		}, `Alternatives: the rule reads no result, and only a result shows the choices`},
		{"attribute currency", attribute("price", config.Attribute{Path: "$.p", Type: entity.KindMoney, Currency: "US"}), `Attributes["price"].Currency: "US" is not a currency code`},
	}
	for _, tt := range tests {
		r := good
		tt.change(&r)
		x, err := graphsync.Compile([]config.Extract{r})
		if err == nil || !strings.Contains(err.Error(), "\nConfig.Extract[0]."+tt.want+"; ") || x != nil {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
	bad := good
	bad.Type = ""
	_, err := graphsync.Compile([]config.Extract{good, good, bad})
	if err == nil || strings.Count(err.Error(), `Name: "r" is also that of entry [0]`) != 2 || !strings.Contains(err.Error(), "[2].Type: missing") {
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
	// Receipts and journals have the version: it stays while the same rules find the same.
	for want, rules := range map[string][]config.Extract{
		"862f04473c66a664f3ef64bb6d6259aa": adRules(), "314c3c4bdd2886fb8dcb5d9e25db30fb": nil,
	} {
		if v := compile(t, rules).Version(); v != want {
			t.Errorf("%d rules have the version %s, want %s", len(rules), v, want)
		}
	}
	explicit := adRules()
	explicit[1].Each, explicit[1].ValueType, explicit[1].Confidence = "$", entity.KindText, 1
	explicit[0].Place = "contextgraph.yaml:12"
	if compile(t, explicit).Version() != x.Version() {
		t.Error("the defaults, or the place of a rule, change the version")
	}
	for i, change := range []func(r []config.Extract){
		func(r []config.Extract) { r[0].Tool = "other" },
		func(r []config.Extract) { r[0].Value = "$.id" },
		func(r []config.Extract) { r[0].Confidence = 0.5 },
		func(r []config.Extract) { r[0].Alternatives = true },
		func(r []config.Extract) { r[1].Value, r[1].ValueArgs = "", r[1].Value },
		func(r []config.Extract) {
			a := r[0].Attributes["price"]
			a.LookedUp = true
			r[0].Attributes["price"] = a
		},
		func(r []config.Extract) { r[2].In = config.InArgs },
		func(r []config.Extract) { r[0], r[1] = r[1], r[0] },
		func(r []config.Extract) { r[0].Attributes["reach"] = config.Attribute{Path: "$.reach"} },
		func(r []config.Extract) {
			r[0].Attributes["price"] = config.Attribute{Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: false}
		},
	} {
		rules := adRules()
		change(rules)
		if compile(t, rules).Version() == x.Version() {
			t.Errorf("change %d does not change the version", i)
		}
	}
}

// Rules that are stored and read again find the same.
func TestRulesAsJSON(t *testing.T) {
	full := append(adRules(), callRules()[3:]...)
	full[0].Alternatives = true
	full = append(full, config.Extract{
		Name: "one", Tool: "lookup", Type: "Product", ValueArgs: "$.id", ValueType: entity.KindMoney, Currency: "EUR", Confidence: 0.5,
		Attributes: map[string]config.Attribute{"seen": {Path: "$.at", Type: entity.KindTime, LookedUp: true}},
	})
	for _, x := range []*graphsync.Extractor{nil, compile(t, nil), compile(t, full)} {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		again, err := graphsync.ReadRules(text)
		if err != nil || again.Version() != x.Version() {
			t.Errorf("%s: the version is %s, want %s; %v", text, again.Version(), x.Version(), err)
		}
		diff(t, "what they show", x.Shows(), again.Shows())
	}
	for text, want := range map[string]string{"x": "rules of extraction: ", `[{"Name":"r"}]`: "Type: missing"} {
		if x, err := graphsync.ReadRules([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || x != nil {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestShows(t *testing.T) {
	price := map[string]config.Attribute{"price": {Path: "$.price"}, "exists": {Path: "$.listed", Type: entity.KindBool}}
	x := compile(t, []config.Extract{
		{Name: "offers", Tool: "search", Each: "$.offers[*]", Type: "Product", Value: "$.id", Attributes: price},
		{Name: "one", Tool: "lookup", Type: "Product", ValueArgs: "$.id"},
		{Name: "asked", Tool: "search", In: config.InArgs, Type: "Product", Value: "$.id"},
		{Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.id"},
		{Name: "said", In: config.InContent, Event: "USER_MESSAGE_RECEIVED", Type: "Product", Value: "$.text"},
		{Name: "ended", In: config.InContent, Event: "TOOL_COMPLETED", Type: "Call", Value: "$.tool"},
	})
	want := []entity.Shown{
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

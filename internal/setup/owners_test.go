// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestDefaults(t *testing.T) {
	if err := (config.Config{}).Check(Checks()...); err != nil {
		t.Error(err)
	}
	if !*(config.Config{}).WithDefaults().Enabled {
		t.Error("the zero Config must be enabled")
	}
}

// TestValidate checks that a Config written in Go is held to the same rules, in
// the names of Go.
func TestValidate(t *testing.T) {
	cfg := config.Config{
		Journal: config.Journal{CommitInterval: -1},
		Guard: config.Guard{
			Mode: "off", Tools: config.Tools(""), MinConfidence: new(math.NaN()), CheckTimeout: time.Hour, CheckDeadline: time.Minute,
			Drift: map[string]config.Drift{"price": {
				Severity: new(2.0), Tolerance: config.Tolerance{Percent: math.NaN(), Absolute: math.Inf(1)}, Direction: "up", Effect: "x",
			}},
			Types:   map[string]config.TypePolicy{"T": {MinConfidence: new(-1.0), MaxAge: -1, Unseen: "x"}},
			Require: "x",
			Budgets: []config.Budget{{Severity: new(math.NaN())}},
		},
		Extract: []config.Extract{
			{Name: "a", Event: "X", In: config.InArgs, Type: "T", Value: "$", ValueType: 99, ArtifactURI: "uri", Confidence: -1},
			{Name: "b", Tool: "t", In: "x", Type: "T", Value: "$", ValueArgs: "$.id", Currency: "USD", Attributes: map[string]config.Attribute{"price": {Currency: "$"}}},
		},
		Checkers: []config.Checker{
			{},
			{Type: "T", HTTP: &config.HTTP{
				URL: "x", AsOf: "x", Version: "x", Headers: map[string]config.Secret{"A": "\n", "B": "", "": "x"},
				Attributes: map[string]config.Answer{"price": {Path: "$"}},
			}},
		},
	}
	want := strings.Split(`contextgraph: configuration:
Config.Journal.CommitInterval: -1ns is negative; write a positive duration, or leave it out for the default
Config.Guard.Mode: "off" is not a mode; write one of: enforce, observe
Config.Guard.Tools[""]: missing; write the name of a tool, or a pattern such as provision_*
Config.Guard.CheckTimeout: 1h is longer than check_deadline (1m); one check cannot take longer than all together: write a shorter duration
Config.Guard.MinConfidence: NaN is out of range; write a number from 0 to 1
Config.Guard.Drift["price"].Severity: 2 is out of range; write a number from 0 to 1
Config.Guard.Drift["price"].Tolerance.Percent: NaN is out of range; write a number from 0 to 100
Config.Guard.Drift["price"].Tolerance.Absolute: +Inf is out of range; write a number from 0 to 1e+15
Config.Guard.Drift["price"].Direction: "up" is not a direction; write one of: either, rise, fall
Config.Guard.Drift["price"].Effect: "x" is not an effect; write one of: block, warn
Config.Guard.Types["T"].MaxAge: -1ns is negative; write a positive duration, or leave it out for the default
Config.Guard.Types["T"].MinConfidence: -1 is out of range; write a number from 0 to 1
Config.Guard.Types["T"].Unseen: "x" is not an answer to what is unseen; write one of: deny, allow
Config.Guard.Require: "x" is not a requirement; write one of: everything, named, listed
Config.Guard.Budgets[0].Cost.Type: missing; write a type of entity, for example Product
Config.Guard.Budgets[0].Cost.Attribute: "" is not the name of an attribute; use lower-case letters, digits and underscores, beginning with a letter
Config.Guard.Budgets[0].Limit.Type: missing; write a type of entity, for example Product
Config.Guard.Budgets[0].Severity: NaN is out of range; write a number from 0 to 1
Config.Extract[0].In: args belongs to a tool, not to an event; write content, or leave it out
Config.Extract[0].ValueType: Kind(99) is not a type of value; write one of: text, number, money, boolean, time, set
Config.Extract[0].ArtifactURI: "uri" is not a JSONPath (RFC 9535): unexpected identifier at position 1; write for example $.name or $.items[*]
Config.Extract[0].Confidence: -1 is out of range; write a number from 0 to 1
Config.Extract[1].In: "x" is not a part of an event; write one of: result, args, action, content
Config.Extract[1].ValueArgs: given beside a path in the node; keep one of them
Config.Extract[1].Currency: given for a value that is not money; write the type money, or remove the currency
Config.Extract[1].Attributes["price"].Path: no path is given; write a JSONPath, for example $.name
Config.Extract[1].Attributes["price"].Currency: "$" is not a currency code; write three capital letters, for example USD
Config.Checkers[0].Type: missing; write a type of entity, for example Product
Config.Checkers[0].HTTP: missing; say how to ask: write one of the mappings http, sql or replay
Config.Checkers[1].HTTP.URL: the URL is not an absolute http or https URL; write for example http://127.0.0.1:8080/v1/placements/{value}
Config.Checkers[1].HTTP.Headers[""]: "" is not the name of a header; use letters, digits and hyphens, for example Authorization
Config.Checkers[1].HTTP.Headers["A"]: the value holds a line break or another control character; remove it, also from the variables the value names
Config.Checkers[1].HTTP.Headers["B"]: the header has no value; give it a value, or remove it
Config.Checkers[1].HTTP.AsOf: "x" does not say how old an answer is; write one of: fetch, date_header, or a JSONPath such as $.as_of
Config.Checkers[1].HTTP.Version: "x" does not say which revision an answer describes; write etag, or a JSONPath such as $.version`, "\n")
	err := cfg.Check(Checks()...)
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var first *config.Error
	if !errors.As(err, &first) || first.Problem == "" || first.Remedy == "" {
		t.Errorf("the first error is %#v", first)
	}
}

func TestCheckers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/p/Reels" || r.Header.Get("Authorization") != "Bearer abc" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"7"`)
		io.WriteString(w, `{"price": 40000, "name": "Reels", "as_of": "2026-01-02T03:04:05Z"}`)
	}))
	defer server.Close()
	inGo := safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{Version: "go"}, nil
	})
	asked := &config.HTTP{
		URL: server.URL + "/p/{value}", Headers: map[string]config.Secret{"Authorization": "Bearer abc"}, AsOf: "$.as_of", Version: "etag",
		Attributes: map[string]config.Answer{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}, "name": {Path: "$.name"}},
	}
	cfg := config.Config{
		Checkers: []config.Checker{{Type: "Product", HTTP: asked}, {Type: "Budget", HTTP: asked}},
	}
	code := Code{Checkers: map[string]safety.Checker{"Budget": inGo, "Campaign": inGo}}
	if err := cfg.Check(Checks()...); err != nil {
		t.Fatal(err)
	}
	checkers, err := Checkers(cfg, code)
	if err != nil {
		t.Fatal(err)
	}
	price, err := entity.Money("40000", "USD")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]safety.State{
		"Product": {
			Attributes: map[string]entity.Value{"price": price, "name": entity.Text("Reels")},
			AsOf:       time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: `"7"`,
		},
		"Budget":   {Version: "go"},
		"Campaign": {Version: "go"},
	} {
		got, err := checkers[name].Check(t.Context(), entity.Canonical{Type: name, Value: "Reels"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, bad := range []config.Checker{{Type: "A"}, {Type: "A", HTTP: &config.HTTP{}}} {
		if _, err := Checkers(config.Config{Checkers: []config.Checker{bad}}, Code{}); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestValidateUse checks that what only the package that uses a value refuses is
// refused with the place of the value.
func TestValidateUse(t *testing.T) {
	const text = `checkers:
  - type: A
    http:
      url: http://127.0.0.1/../{value}
      attributes: {price: {path: $.price}}
`
	_, err := config.Parse("c.yaml", []byte(text), nil, Checks()...)
	if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:3:5: checkers[0].http: http checker: URL ") {
		t.Errorf("got %v", err)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestExample holds the example to its word: every key with its default, and samples of the others.
func TestExample(t *testing.T) {
	data, err := os.ReadFile("contextgraph.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`(lifetime|age): (7d|30d)\n`).ReplaceAll(data, []byte("$1: 168h\n")) // the reader of package config knows days
	got, err := ParseConfig("contextgraph.example.yaml", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Config{}.withDefaults(), got.withDefaults()); diff != "" {
		t.Errorf("the example is not the default (-default +example):\n%s", diff)
	}
	// A line whose # is followed by a key or by an indent is a sample, not prose. Two samples need another choice for a
	// key that is set above them.
	text := regexp.MustCompile(`(?m)^#(\S|  )`).ReplaceAllString(string(data), "$1")
	text = strings.NewReplacer("store: contextgraph.db.artifacts", "store: gs://bucket/prefix", "require: everything", "require: listed").Replace(text)
	got, err = ParseConfig("contextgraph.example.yaml", []byte(text), []string{"ADS_TOKEN=abc"})
	if err != nil {
		t.Fatalf("with its samples taken in: %v", err)
	}
	if w := got.warnings(); len(w) > 0 {
		t.Errorf("with its samples taken in: %q", w)
	}
	if len(got.Extract) != 5 || len(got.Checkers) != 3 || len(got.Guard.Budgets) != 1 || !got.BigQuery.Enabled() {
		t.Errorf("%+v", got)
	}
}

func TestDefaults(t *testing.T) {
	p, err := Config{}.policy()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(safety.DefaultPolicy(), p); diff != "" {
		t.Errorf("policy (-default +zero Config):\n%s", diff)
	}
	if err := (Config{}).validate(); err != nil {
		t.Error(err)
	}
	if !(Config{}).enabled() || (Config{Disabled: true}).enabled() {
		t.Error("the zero Config must be enabled, a disabled one not")
	}
}

func TestPolicy(t *testing.T) {
	cfg := Config{Guard: GuardConfig{
		RequestLifetime: 20 * time.Second,
		CheckTimeout:    20 * time.Second,
		MinConfidence:   new(0.0),
		Drift: map[string]DriftConfig{
			"price":  {Tolerance: ToleranceConfig{Percent: 5}},
			"reach":  {Type: "reach_moved", Severity: new(0.0)},
			"pages":  {Tolerance: ToleranceConfig{Absolute: 3}},
			"*":      {Type: "moved", Severity: new(0.1), Tolerance: ToleranceConfig{Percent: 1}},
			"clicks": {Direction: safety.Fall, Effect: safety.Warn, Optional: true},
		},
		Types: map[string]TypeConfig{
			"Product": {Optional: true, MaxAge: time.Second, MinConfidence: new(0.9), Unseen: safety.UnseenAllow, Drift: map[string]DriftConfig{
				"price": {Direction: safety.Rise}, // what it leaves out is strict
				"pages": {Effect: safety.Warn},
				"words": {Tolerance: ToleranceConfig{Absolute: 2}},
				"*":     {Type: "turned"},
			}},
			"Room": {Drift: map[string]DriftConfig{"words": {}}},
		},
		Require: safety.RequireListed,
		Listed:  []string{"Product"},
		Budgets: []BudgetConfig{
			{Cost: CostConfig{Type: "Product", Attribute: "price"}, Limit: LimitConfig{Type: "Budget"}},
			{
				Tool: "buy_*", Cost: CostConfig{Type: "Product", Attribute: "price", Quantity: "pages"},
				Limit: LimitConfig{Type: "Budget", Attribute: "amount"}, Everything: true, Severity: new(0.0),
			},
		},
	}}
	got, err := cfg.policy()
	if err != nil {
		t.Fatal(err)
	}
	want := safety.DefaultPolicy()
	want.RequestLifetime = 20 * time.Second
	want.MaxAge = 20 * time.Second // not longer than the request
	want.Timeout = 20 * time.Second
	want.Deadline = 20 * time.Second // not shorter than one check
	want.MinConfidence = 0
	want.Rules["price"] = safety.Rule{Drift: safety.PriceChanged, Severity: 0.72, Tolerance: safety.Tolerance{Percent: 5}}
	want.Rules["reach"] = safety.Rule{Drift: "reach_moved"}
	want.Rules["pages"] = safety.Rule{Drift: "moved", Severity: 0.1, Tolerance: safety.Tolerance{Absolute: 3}}
	want.Rules["clicks"] = safety.Rule{Drift: "moved", Severity: 0.1, Direction: safety.Fall, Effect: safety.Warn, Optional: true}
	want.Types = map[string]safety.TypePolicy{
		"Product": {Optional: true, MaxAge: time.Second, MinConfidence: new(0.9), Unseen: safety.UnseenAllow, Rules: map[string]safety.Rule{
			"price":      {Drift: safety.PriceChanged, Severity: 0.72, Direction: safety.Rise},
			"pages":      {Drift: "moved", Severity: 0.1, Effect: safety.Warn},
			"words":      {Drift: "turned", Severity: 0.1, Tolerance: safety.Tolerance{Absolute: 2}},
			safety.Other: {Drift: "turned", Severity: 0.1},
		}},
		"Room": {Rules: map[string]safety.Rule{"words": {Drift: "moved", Severity: 0.1}}},
	}
	want.Require, want.Listed = safety.RequireListed, []string{"Product"}
	want.Budgets = []safety.BudgetRule{
		{CostType: "Product", CostAttribute: "price", LimitType: "Budget", Severity: 0.85},
		{
			Tool: "buy_*", CostType: "Product", CostAttribute: "price", QuantityAttribute: "pages",
			LimitType: "Budget", LimitAttribute: "amount", Everything: true,
		},
	}
	want.Rules[safety.Other] = safety.Rule{Drift: "moved", Severity: 0.1, Tolerance: safety.Tolerance{Percent: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got, err = Config{Guard: GuardConfig{CheckDeadline: time.Second}}.policy()
	if err != nil || got.Timeout != time.Second {
		t.Errorf("timeout %v with a deadline of 1s: %v", got.Timeout, err)
	}
}

func TestRules(t *testing.T) {
	cfg := Config{Extract: []ExtractConfig{
		{Name: "a", Tool: "query", Type: "Product", Value: "$.name", Attributes: map[string]AttributeConfig{
			"price":  {Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: true},
			"status": {Path: "$.status"},
		}},
		{Name: "b", Event: "USER_MESSAGE_RECEIVED", Type: "Brief", Value: "$", Confidence: 0.5},
		{Name: "c", Tool: "get", Type: "Account", ValueArgs: "$.id", Attributes: map[string]AttributeConfig{"limit": {Path: "$.limit", LookedUp: true}}},
	}}
	got, err := cfg.rules()
	if err != nil {
		t.Fatal(err)
	}
	want := []graphsync.Rule{
		{Name: "a", Tool: "query", In: graphsync.InResult, Each: "$", Type: "Product", Value: "$.name", ValueKind: entity.KindText, Confidence: 1,
			Attributes: map[string]graphsync.AttributeRule{
				"price":  {Path: "$.price", Kind: entity.KindMoney, Currency: "USD", Optional: true},
				"status": {Path: "$.status", Kind: entity.KindText},
			}},
		{Name: "b", Event: "USER_MESSAGE_RECEIVED", In: graphsync.InContent, Each: "$", Type: "Brief", Value: "$", ValueKind: entity.KindText, Confidence: 0.5},
		{Name: "c", Tool: "get", In: graphsync.InResult, Each: "$", Type: "Account", ValueArgs: "$.id", ValueKind: entity.KindText, Confidence: 1,
			Attributes: map[string]graphsync.AttributeRule{"limit": {Path: "$.limit", Kind: entity.KindText, LookedUp: true}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cfg.Extract[0].Each != "" || cfg.Extract[0].Attributes["status"].Type != entity.KindNone {
		t.Error("the conversion changed the Config")
	}
	if _, err := (Config{Extract: []ExtractConfig{{}}}).rules(); err == nil {
		t.Error("a rule that does not compile: no error")
	}
}

// TestValidate checks that a Config written in Go is held to the same rules, in
// the names of Go.
func TestValidate(t *testing.T) {
	cfg := Config{
		Journal: JournalConfig{CommitInterval: -1},
		Guard: GuardConfig{
			Mode: "off", Tools: []string{""}, MinConfidence: new(math.NaN()), CheckTimeout: time.Hour, CheckDeadline: time.Minute,
			Drift: map[string]DriftConfig{"price": {
				Severity: new(2.0), Tolerance: ToleranceConfig{Percent: math.NaN(), Absolute: math.Inf(1)}, Direction: 9, Effect: 9,
			}},
			Types:   map[string]TypeConfig{"T": {MinConfidence: new(-1.0), MaxAge: -1, Unseen: 9}},
			Require: 9,
			Budgets: []BudgetConfig{{Severity: new(math.NaN())}},
		},
		Extract: []ExtractConfig{
			{Name: "a", Event: "X", In: graphsync.InArgs, Type: "T", Value: "$", ValueType: 99, ArtifactURI: "uri", Confidence: -1},
			{Name: "b", Tool: "t", In: 99, Type: "T", Value: "$", ValueArgs: "$.id", Currency: "USD", Attributes: map[string]AttributeConfig{"price": {Currency: "$"}}},
		},
		Checkers: []CheckerConfig{
			{},
			{Type: "T", HTTP: &HTTPCheckerConfig{
				URL: "x", AsOf: "x", Version: "x", Headers: map[string]Secret{"A": "\n", "B": "", "": "x"},
				Attributes: map[string]AttributeConfig{"price": {Path: "$", Optional: true, LookedUp: true}},
			}},
		},
		CheckFuncs: map[string]safety.Checker{"": safety.CheckerFunc(nil), "T": nil},
	}
	want := strings.Split(`contextgraph: configuration:
Config.Journal.CommitInterval: -1ns is negative; write a positive duration, or leave it out for the default
Config.Guard.Mode: "off" is not a mode; write one of: enforce, observe
Config.Guard.Tools[0]: missing; write the name of a tool, or a pattern such as provision_*
Config.Guard.CheckTimeout: 1h0m0s is longer than check_deadline (1m0s); one check cannot take longer than all together: write a shorter duration
Config.Guard.MinConfidence: NaN is out of range; write a number from 0 to 1
Config.Guard.Drift["price"].Severity: 2 is out of range; write a number from 0 to 1
Config.Guard.Drift["price"].Tolerance.Percent: NaN is out of range; write a number from 0 to 100
Config.Guard.Drift["price"].Tolerance.Absolute: +Inf is out of range; write a number from 0 to 1e+15
Config.Guard.Drift["price"].Direction: 9 is not a direction; write one of: either, rise, fall
Config.Guard.Drift["price"].Effect: 9 is not an effect; write one of: block, warn
Config.Guard.Types["T"].MaxAge: -1ns is negative; write a positive duration, or leave it out for the default
Config.Guard.Types["T"].MinConfidence: -1 is out of range; write a number from 0 to 1
Config.Guard.Types["T"].Unseen: 9 is not an answer to what is unseen; write one of: deny, allow
Config.Guard.Require: 9 is not a requirement; write one of: everything, named, listed
Config.Guard.Budgets[0].Cost.Type: missing; write a type of entity, for example Product
Config.Guard.Budgets[0].Cost.Attribute: "" is not the name of an attribute; use lower-case letters, digits and underscores, beginning with a letter
Config.Guard.Budgets[0].Limit.Type: missing; write a type of entity, for example Product
Config.Guard.Budgets[0].Severity: NaN is out of range; write a number from 0 to 1
Config.Extract[0].In: args belongs to a tool, not to an event; write content, or leave it out
Config.Extract[0].ValueType: Kind(99) is not a type of value; write one of: text, number, money, boolean, time
Config.Extract[0].ArtifactURI: "uri" is not a JSONPath (RFC 9535): unexpected identifier at position 1; write for example $.name or $.items[*]
Config.Extract[0].Confidence: -1 is out of range; write a number from 0 to 1
Config.Extract[1].In: In(99) is not a part of a tool's events; write one of: result, args, action
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
Config.Checkers[1].HTTP.Version: "x" does not say which revision an answer describes; write etag, or a JSONPath such as $.version
Config.Checkers[1].HTTP.Attributes["price"].Optional: given for a checker; leave it out: what was seen is always required of a checker
Config.Checkers[1].HTTP.Attributes["price"].LookedUp: given for a checker; leave it out: it is for rules over results
Config.CheckFuncs[""]: missing; write a type of entity, for example Product
Config.CheckFuncs["T"]: the checker is nil; give a checker, or remove the entry`, "\n")
	err := cfg.validate()
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var first *ConfigError
	if !errors.As(err, &first) || first.Key != "Config.Journal.CommitInterval" {
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
	asked := &HTTPCheckerConfig{
		URL: server.URL + "/p/{value}", Headers: map[string]Secret{"Authorization": "Bearer abc"}, AsOf: "$.as_of", Version: "etag",
		Attributes: map[string]AttributeConfig{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}, "name": {Path: "$.name"}},
	}
	cfg := Config{
		Checkers:   []CheckerConfig{{Type: "Product", HTTP: asked}, {Type: "Budget", HTTP: asked}},
		CheckFuncs: map[string]safety.Checker{"Budget": inGo, "Campaign": inGo},
	}
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	checkers, err := cfg.checkers()
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
	for _, bad := range []CheckerConfig{{Type: "A"}, {Type: "A", HTTP: &HTTPCheckerConfig{}}} {
		if _, err := (Config{Checkers: []CheckerConfig{bad}}).checkers(); err == nil {
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
	_, err := ParseConfig("c.yaml", []byte(text), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:3:5: checkers[0].http: http checker: URL ") {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	one, two := safety.CheckerFunc(nil), safety.CheckerFunc(nil)
	base := Config{CheckFuncs: map[string]safety.Checker{"A": one}}
	logger := slog.New(slog.DiscardHandler)
	cfg := base
	for _, o := range []Option{WithChecker("B", two), WithLogger(logger), WithAuthorizer(nil)} {
		o(&cfg)
	}
	if len(cfg.CheckFuncs) != 2 || cfg.Logger != logger {
		t.Errorf("got %+v", cfg)
	}
	if len(base.CheckFuncs) != 1 {
		t.Error("the option changed the map of another Config")
	}
}

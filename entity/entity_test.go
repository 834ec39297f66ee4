// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
)

func TestCanonicalKey(t *testing.T) {
	text := func(typ, v string) entity.Entity { return entity.Entity{Type: typ, Value: v} }
	same := [][2]entity.Entity{
		{text("Product", "Instagram Reels"), text("Product", "  instagram\t REELS ")},
		{text("Product", "ΣΟΦΟΣ"), text("Product", "σοφος")},
		{text("Product", "Reels"), {Type: "Product", Value: "reels", Norm: entity.Text("reels")}},
	}
	for _, p := range same {
		if p[0].CanonicalKey() != p[1].CanonicalKey() {
			t.Errorf("%q and %q have the keys %q and %q", p[0].Value, p[1].Value, p[0].CanonicalKey(), p[1].CanonicalKey())
		}
	}
	other := [][2]entity.Entity{
		{text("a", "b:c"), text("a:text:b", "c")},
		{text("a", "b"), text("A", "b")},
		{text("a", "x y"), text("a", "xy")},
		{text("a%3A", "b"), text("a:", "b")},
		{text("a", "number:5"), {Type: "a", Value: "5", Norm: must(t)(entity.ParseNumber("5"))}},
	}
	for _, p := range other {
		if p[0].CanonicalKey() == p[1].CanonicalKey() {
			t.Errorf("%q/%q and %q/%q share the key %q", p[0].Type, p[0].Value, p[1].Type, p[1].Value, p[0].CanonicalKey())
		}
	}
	if got := text("Product", "Instagram Reels").CanonicalKey(); got != "Product:text:instagram reels" {
		t.Errorf("key %q", got)
	}
}

func TestBizNodeID(t *testing.T) {
	e := entity.Entity{SpanID: "s1", Type: "A:B", Value: "50% : x"}
	if got, want := e.BizNodeID(), "s1:A%3AB:50%25 %3A x"; got != want {
		t.Errorf("BizNodeID = %q, want %q", got, want)
	}
	span, typ, value, err := entity.ParseBizNodeID(e.BizNodeID())
	if err != nil || span != e.SpanID || typ != e.Type || value != e.Value {
		t.Errorf("ParseBizNodeID = %q, %q, %q, %v", span, typ, value, err)
	}
	for _, s := range []string{"", "a", "a:b", "a:b:c:d", "a::c", "a:b:", "a:b:%", "a:b:%3a", "a:b:%41"} {
		if _, _, _, err := entity.ParseBizNodeID(s); err == nil {
			t.Errorf("ParseBizNodeID(%q) has no error", s)
		}
	}
}

func TestValidate(t *testing.T) {
	good := entity.Entity{Type: "Product", Value: "Reels", Confidence: 1, Attributes: map[string]entity.Value{"price_2": entity.Text("x")}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*entity.Entity)
		want   string
	}{
		{"no type", func(e *entity.Entity) { e.Type = "" }, "type is empty"},
		{"no value", func(e *entity.Entity) { e.Value = " " }, "value is empty"},
		{"long", func(e *entity.Entity) { e.Value = strings.Repeat("x", 1025) }, "longer than 1024"},
		{"bad UTF-8", func(e *entity.Entity) { e.Value = "a\xff" }, "UTF-8"},
		{"control", func(e *entity.Entity) { e.Value = "a\x1b[2J" }, "invisible character U+001B"},
		{"reordered", func(e *entity.Entity) { e.Value = "a\u202Eb" }, "invisible character U+202E"},
		{"a zero-width space", func(e *entity.Entity) { e.Value = "a\u200bb" }, `"a\u200bb" has the invisible character U+200B`},
		{"a variation", func(e *entity.Entity) { e.Value = "a\ufe0f" }, "invisible character U+FE0F"},
		{"a joiner in a word of Latin letters", func(e *entity.Entity) { e.Value = "De\u200dsk" }, "invisible character U+200D"},
		{"a non-joiner in a word of Cyrillic letters", func(e *entity.Entity) { e.Value = "ст\u200cол" }, "invisible character U+200C"},
		{"a joiner at the end", func(e *entity.Entity) { e.Value = "\u0915\u200d" }, "invisible character U+200D"},
		{"a non-joiner between emoji", func(e *entity.Entity) { e.Value = "👨\u200c👩" }, "invisible character U+200C"},
		{"two variations", func(e *entity.Entity) { e.Value = "❤\ufe0f\ufe0f" }, "invisible character U+FE0F"},
		{"a filler", func(e *entity.Entity) { e.Value = "a\u3164" }, "invisible character U+3164"},
		{"a tag", func(e *entity.Entity) { e.Value = "a\U000e0041" }, "invisible character U+E0041"},
		{"uri", func(e *entity.Entity) { e.ArtifactURI = "gs://\n" }, "artifact URI"},
		{"NaN", func(e *entity.Entity) { e.Confidence = math.NaN() }, "confidence"},
		{"negative", func(e *entity.Entity) { e.Confidence = -0.1 }, "confidence"},
		{"above one", func(e *entity.Entity) { e.Confidence = 1.1 }, "confidence"},
		{"attribute name", func(e *entity.Entity) { e.Attributes = map[string]entity.Value{"Price": entity.Text("x")} }, "attribute name"},
		{"attribute none", func(e *entity.Entity) { e.Attributes = map[string]entity.Value{"price": {}} }, "no value"},
		{"attribute long", func(e *entity.Entity) {
			e.Attributes = map[string]entity.Value{"price": entity.Text(strings.Repeat("x", 1025))}
		}, "longer"},
	}
	for _, tt := range tests {
		e := good
		tt.change(&e)
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestCanonicalize(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	num := func(s string) entity.Value { return must(t)(entity.ParseNumber(s)) }
	reels := func(v string, sec int64, conf float64, src entity.Source, attrs map[string]entity.Value, uri string) entity.Entity {
		return entity.Entity{Type: "Product", Value: v, Confidence: conf, Source: src, SeenAt: at(sec), Attributes: attrs, ArtifactURI: uri}
	}
	late := reels("Instagram Reels", 3, 0.6, entity.SourceModel, map[string]entity.Value{"price": num("52")}, "")
	early := reels("instagram reels", 1, 0.9, entity.SourceRule, map[string]entity.Value{"price": num("40"), "reach": num("7")}, "gs://a")
	tie := reels("INSTAGRAM REELS", 3, 0.5, entity.SourceRule, map[string]entity.Value{"price": num("53")}, "")
	budget := entity.Entity{Type: "Budget", Value: "$5", Norm: must(t)(entity.ParseMoney("$5", "")), Source: entity.SourceAction, Confidence: 1, SeenAt: at(2)}

	got := entity.Canonicalize([]entity.Entity{late, early, tie, budget})
	want := []entity.Canonical{
		{
			Key: "Budget:money:5:USD", Type: "Budget", Value: "$5", Norm: budget.Norm, Attributes: map[string]entity.Value{},
			AttributeSeenAt: map[string]time.Time{}, Confidence: 1, Sources: []entity.Source{"action"},
			Seen: []entity.Entity{budget}, FirstSeen: at(2), LastSeen: at(2),
		},
		{
			Key: "Product:text:instagram reels", Type: "Product", Value: "INSTAGRAM REELS",
			Attributes:      map[string]entity.Value{"price": num("53"), "reach": num("7")},
			AttributeSeenAt: map[string]time.Time{"price": at(3), "reach": at(1)},
			Confidence:      0.9, ArtifactURI: "gs://a", Sources: []entity.Source{"model", "rule"},
			Seen: []entity.Entity{early, late, tie}, FirstSeen: at(1), LastSeen: at(3),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := entity.Canonicalize(nil); len(got) != 0 {
		t.Errorf("Canonicalize(nil) = %v", got)
	}
}

// A model may add facts; it never replaces what an exact source gave, however late
// it says so.
func TestCanonicalizeModelAddsOnly(t *testing.T) {
	exact := entity.Entity{
		Type: "Product", Value: "Reels", Confidence: 0.5, Source: entity.SourceRule, ArtifactURI: "gs://exact", SeenAt: time.Unix(1, 0),
		Attributes: map[string]entity.Value{"price": entity.Text("40")},
	}
	model := entity.Entity{
		Type: "Product", Value: "REELS", Confidence: 1, Source: entity.SourceModel, ArtifactURI: "gs://model", SeenAt: time.Unix(2, 0),
		Attributes: map[string]entity.Value{"price": entity.Text("52"), "reach": entity.Text("7")},
	}
	got := entity.Canonicalize([]entity.Entity{model, exact})
	if len(got) != 1 {
		t.Fatalf("%d entities", len(got))
	}
	c := got[0]
	if c.Value != "Reels" || c.ArtifactURI != "gs://exact" || !c.LastSeen.Equal(time.Unix(2, 0)) || !c.AttributeSeenAt["price"].Equal(time.Unix(1, 0)) {
		t.Errorf("%+v", c)
	}
	want := map[string]entity.Value{"price": entity.Text("40"), "reach": entity.Text("7")}
	if diff := cmp.Diff(want, c.Attributes); diff != "" {
		t.Error(diff)
	}
}

// Readings come before words, and words before a model, attribute by attribute, whichever
// is later. An echo of the call's arguments counts as words.
func TestCanonicalizeReadingsBeforeWords(t *testing.T) {
	said := func(second int64, source entity.Source, value, price string, echoes ...string) entity.Entity {
		e := entity.Entity{Type: "Product", Value: value, ArtifactURI: "doc " + value, Source: source, SeenAt: time.Unix(second, 0).UTC(), Echoes: echoes}
		if price != "" {
			e.Attributes = map[string]entity.Value{"price": entity.Text(price)}
		}
		return e
	}
	partly := said(5, entity.SourceRule, "REELS", "9", "price")
	partly.Attributes["reach"] = entity.Text("7")
	for name, test := range map[string]struct {
		seen         []entity.Entity
		value, price string
		at           int64
		shows        bool // the last one
	}{
		"the action later":     {[]entity.Entity{said(1, entity.SourceRule, "reels", "1"), said(2, entity.SourceAction, "Reels", "9")}, "reels", "1", 1, false},
		"a claim later":        {[]entity.Entity{said(1, entity.SourceDeclared, "reels", "1"), said(2, entity.SourceClaim, "Reels", "9")}, "reels", "1", 1, false},
		"a model later":        {[]entity.Entity{said(1, entity.SourceClaim, "reels", "1"), said(2, entity.SourceModel, "Reels", "9")}, "reels", "1", 1, false},
		"a reading later":      {[]entity.Entity{said(1, entity.SourceRule, "reels", "9"), said(2, entity.SourceRule, "Reels", "1")}, "Reels", "1", 2, true},
		"words only":           {[]entity.Entity{said(1, entity.SourceClaim, "reels", "9"), said(2, entity.SourceAction, "Reels", "1")}, "Reels", "1", 2, false},
		"an echo later":        {[]entity.Entity{said(1, entity.SourceRule, "reels", "1"), said(2, entity.SourceRule, "Reels", "9", "price")}, "reels", "1", 1, false},
		"an echo of one":       {[]entity.Entity{said(1, entity.SourceRule, "reels", "1"), partly}, "REELS", "1", 1, true},
		"an echo and words":    {[]entity.Entity{said(1, entity.SourceRule, "reels", "1", "price"), said(2, entity.SourceAction, "Reels", "9")}, "Reels", "9", 2, false},
		"the name alone later": {[]entity.Entity{said(1, entity.SourceAction, "reels", "1"), said(2, entity.SourceRule, "Reels", "")}, "Reels", "1", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if last := test.seen[len(test.seen)-1]; last.Shows() != test.shows {
				t.Errorf("it shows the thing: %v, want %v", last.Shows(), test.shows)
			}
			c := entity.Canonicalize(test.seen)[0]
			if c.Value != test.value || c.ArtifactURI != "doc "+test.value || c.Attributes["price"].String() != test.price || c.AttributeSeenAt["price"].Unix() != test.at {
				t.Errorf("%s of %s for %s since %v, want %s for %s since %d", c.Value, c.ArtifactURI, c.Attributes["price"], c.AttributeSeenAt["price"], test.value, test.price, test.at)
			}
		})
	}
}

// Joiners that people write are no reason to refuse a name.
func TestJoinersOfPeople(t *testing.T) {
	for _, name := range []string{"می\u200cخواهم", "\u0915\u094d\u200d\u0937", "Mug ❤\ufe0f", "T-9 👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3 first"} {
		e := entity.Entity{Type: "Product", Value: name, Confidence: 1, Source: entity.SourceRule}
		if err := e.Validate(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

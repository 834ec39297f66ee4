// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package entity holds the things of the business world that an agent looked at
// (a product, a budget, an audience) and their typed values. It says when two of
// them are the same, however they were written.
package entity

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Source says how an entity was found.
type Source string

// The sources of entities. All but SourceModel are exact.
const (
	// SourceDeclared is an entity that the tool itself recorded.
	SourceDeclared Source = "declared"
	// SourceRule is an entity that a configured rule found.
	SourceRule Source = "rule"
	// SourceAction is an entity in the arguments of the action to be approved.
	SourceAction Source = "action"
	// SourceModel is an entity that a language model found.
	SourceModel Source = "model"
	// SourceClaim is an entity in the words of a user or an agent, in a state, or in the
	// arguments of a call that is not the action: nobody looked it up there.
	SourceClaim Source = "claim"
	// SourceGiven is an entity in a result that no tool gave which was called here: a client, an event
	// or a callback brought it. A model read it, so it has to hold, and it proves nothing.
	SourceGiven Source = "given"
)

// Reading reports whether a source shows what a model was told of the thing. Any other only names the
// thing.
func (s Source) Reading() bool { return s.Proves() || s == SourceGiven }

// Proves reports whether a source shows what is, by a result that was looked up.
func (s Source) Proves() bool { return s == SourceDeclared || s == SourceRule }

// Exists is the attribute of a thing that was seen, or named, without any attribute: true.
const Exists = "exists"

// Limits of the texts of an Entity, in bytes.
const (
	MaxType  = 256
	MaxValue = 1 << 10
	MaxURI   = 4 << 10
	MaxSet   = 64 << 10
)

// Entity is one sighting: one thing seen in one span. The same thing seen in ten
// spans is ten entities and one [Canonical].
type Entity struct {
	// Type is the configured type: Product, Targeting, Budget, Campaign, ...
	Type string
	// Value is the name or value as shown: "Instagram Reels", "$50,000".
	Value string
	// Norm is the typed form of Value; the zero Value means that Value is a text.
	Norm Value
	// Attributes are the typed facts seen with it: price, availability, reach, status, ...
	Attributes map[string]Value
	// Echoes names the attributes that are no readings, sorted: the result only repeats the
	// arguments of its call. Where sightings of one span are merged, it also names the
	// attributes that no result gave, only words.
	Echoes []string `json:",omitzero"`
	// Near names the attributes whose value stands in the arguments of the call under another name, sorted: they may
	// be readings, and replace none.
	Near []string `json:",omitzero"`
	// Absent names the attributes that a result may lack and lacked, sorted.
	Absent []string `json:",omitzero"`
	// ArtifactURI names a document that belongs to it; may be empty.
	ArtifactURI string
	// Confidence is 0..1; exact sources use 1 unless configured otherwise.
	Confidence float64
	Source     Source
	// EventID is the row it was seen in.
	EventID string
	// TechNode is the key of the span that evaluated it, SpanID its span id.
	TechNode string
	SpanID   string
	// SeenAt is the time of the row.
	SeenAt time.Time
	// Repeats is the number of further times that the row has it: an entity that a plan lists twice
	// is bought twice. Only a rule over the arguments of an action counts.
	Repeats int `json:",omitzero"`
	// Read says that the step that decided had read the sighting. Only the selection of
	// evidence for a decision sets it.
	Read bool `json:",omitzero"`
}

// Shows reports whether e shows the thing: it is a reading, and not all of its attributes are
// echoes.
func (e Entity) Shows() bool {
	return e.Source.Reading() && (len(e.Attributes) == 0 || len(e.Echoes) < len(e.Attributes))
}

// Reads reports whether e is a reading of an attribute that it has.
func (e Entity) Reads(attribute string) bool {
	_, has := e.Attributes[attribute]
	return has && e.Source.Reading() && !slices.Contains(e.Echoes, attribute)
}

// Outweighs reports whether e counts more than other for an attribute, whichever is later: a
// reading more than words, words more than a model. The attribute "" is the thing itself, with its
// value and its document.
func (e Entity) Outweighs(other Entity, attribute string) bool {
	return e.weight(attribute) > other.weight(attribute)
}

func (e Entity) weight(attribute string) int {
	switch {
	case e.Source == SourceModel:
		return 0
	case e.Reads(attribute) || attribute == "" && e.Shows():
		return 2
	}
	return 1
}

// Identity returns the identity for a check: the type and the value. A text counts by its exact
// code points, any other kind by its normal form. Two texts that differ in case may be two things
// in the world, so each is checked by its own name. [Entity.CanonicalKey] shows them as one.
func (e Entity) Identity() string {
	if e.Norm.kind == KindNone || e.Norm.kind == KindText {
		return escape(e.Type) + ":text:" + e.Value
	}
	return escape(e.Type) + ":" + e.Norm.Canonical()
}

// CanonicalKey returns the identity for display: the type and the normalised value. A typed value
// counts by its normal form ("$50,000" and "50000 USD" are one); a text counts without regard to
// case and to the amount of white space.
func (e Entity) CanonicalKey() string {
	norm := e.Norm.Canonical()
	if e.Norm.kind == KindNone || e.Norm.kind == KindText {
		norm = "text:" + fold(e.Value)
	}
	return escape(e.Type) + ":" + norm
}

// BizNodeID returns span_id:node_type:node_value, the id that entities have in the
// warehouse. A ':' inside a part is written %3A and a '%' is written %25.
func (e Entity) BizNodeID() string {
	return escape(e.SpanID) + ":" + escape(e.Type) + ":" + escape(e.Value)
}

// ParseBizNodeID splits what [Entity.BizNodeID] joined. The span may be empty.
func ParseBizNodeID(s string) (span, typ, value string, err error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return "", "", "", fmt.Errorf("entity id %q: want span:type:value, with ':' written %%3A inside a part", clip(s))
	}
	for i, p := range parts {
		if parts[i], err = unescape(p); err != nil {
			return "", "", "", fmt.Errorf("entity id %q: %w", clip(s), err)
		}
	}
	if parts[1] == "" || parts[2] == "" {
		return "", "", "", fmt.Errorf("entity id %q: type or value is empty", clip(s))
	}
	return parts[0], parts[1], parts[2], nil
}

func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "%", "%25"), ":", "%3A")
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(after, "3A"):
			b.WriteByte(':')
		case strings.HasPrefix(after, "25"):
			b.WriteByte('%')
		default:
			return "", errors.New("'%' must be written %25")
		}
		s = after[2:]
	}
}

// fold maps texts that differ in case or white space only to one text.
func fold(s string) string {
	return strings.Map(foldRune, strings.Join(strings.Fields(s), " "))
}

func foldRune(r rune) rune {
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	// The lower case reads better, but only a member of the same orbit folds alike.
	lower := unicode.ToLower(least)
	for c := unicode.SimpleFold(least); c != least; c = unicode.SimpleFold(c) {
		if c == lower {
			return lower
		}
	}
	return least
}

// Validate reports the first thing that is wrong with e: an empty, oversized or
// unprintable text, a confidence outside 0..1, or a bad attribute.
func (e Entity) Validate() error {
	if err := checkText("type", e.Type, MaxType); err != nil {
		return err
	}
	if err := checkText("value", e.Value, MaxValue); err != nil {
		return err
	}
	if e.ArtifactURI != "" {
		if err := checkText("artifact URI", e.ArtifactURI, MaxURI); err != nil {
			return err
		}
	}
	if math.IsNaN(e.Confidence) || e.Confidence < 0 || e.Confidence > 1 {
		return fmt.Errorf("entity %s %q: confidence %v is outside 0..1", e.Type, clip(e.Value), e.Confidence)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		v := e.Attributes[name]
		switch {
		case !IsAttributeName(name):
			return fmt.Errorf("entity %s %q: attribute name %q: use lower-case letters, digits and '_', a letter first", e.Type, clip(e.Value), clip(name))
		case v.IsZero():
			return fmt.Errorf("entity %s %q: attribute %s has no value: leave it out", e.Type, clip(e.Value), name)
		case v.kind == KindSet && len(v.text) > MaxSet:
			return fmt.Errorf("entity %s %q: attribute %s is a set of more than %d bytes", e.Type, clip(e.Value), name, MaxSet)
		case v.kind != KindSet && len(v.text) > MaxValue:
			return fmt.Errorf("entity %s %q: attribute %s is longer than %d bytes", e.Type, clip(e.Value), name, MaxValue)
		}
	}
	return nil
}

// IsAttributeName reports whether s can name an attribute: [a-z][a-z0-9_]*, at
// most 64 bytes.
func IsAttributeName(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func checkText(what, s string, limit int) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("entity %s is empty", what)
	case len(s) > limit:
		return fmt.Errorf("entity %s %q is longer than %d bytes", what, clip(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("entity %s %q is not valid UTF-8", what, clip(s))
	}
	for i, r := range s {
		if misleading(r) && !joins(s[:i], r, s[i+utf8.RuneLen(r):]) {
			return fmt.Errorf("entity %s %+q has the invisible character %U", what, clip(s), r)
		}
	}
	return nil
}

// joined are the scripts whose letters look otherwise next to a joiner. Inside of a word of any other script it would
// show nothing, and two names would look the same.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// joins reports whether r is a joiner inside of a word of a script that has them, or a part of an emoji.
func joins(before string, r rune, after string) bool {
	const nonJoiner, joiner, emojiForm, keycap = '\u200c', '\u200d', '\ufe0f', '\u20e3'
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	symbol := func(r rune) bool { return unicode.In(r, unicode.So, unicode.Sk) && r > 0x7f }
	switch r {
	case nonJoiner, joiner:
		return unicode.In(last, joined...) && unicode.In(next, joined...) ||
			r == joiner && (symbol(last) || last == emojiForm) && (symbol(next) || next == '♀' || next == '♂')
	case emojiForm:
		return symbol(last) || next == keycap
	}
	return false
}

// misleading reports characters that are invisible or reorder what is shown: an approver must see
// the value that is acted on. They are the control characters, the separators of lines, and the code
// points that Unicode lets a screen ignore (Default_Ignorable_Code_Point).
func misleading(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// In says which part of a row a [Rule] reads.
type In uint8

// The places a rule can read.
const (
	// InResult is the result of a tool (TOOL_COMPLETED). It is the default.
	InResult In = iota
	// InArgs is the arguments of a tool (TOOL_STARTING).
	InArgs
	// InAction is the arguments of a tool that needs an approval: what is found
	// there is the very thing that is approved.
	InAction
	// InContent is the whole content of the rows of Rule.Event.
	InContent
)

var inNames = [...]string{InResult: "result", InArgs: "args", InAction: "action", InContent: "content"}

// String returns the name of in as [ParseIn] reads it.
func (in In) String() string {
	if int(in) < len(inNames) {
		return inNames[in]
	}
	return fmt.Sprintf("In(%d)", uint8(in))
}

// ParseIn returns the place named s: result, args, action or content; result when
// s is empty.
func ParseIn(s string) (In, error) {
	if s == "" {
		return InResult, nil
	}
	if i := slices.Index(inNames[:], s); i >= 0 {
		return In(i), nil
	}
	return 0, fmt.Errorf("unknown place %q: use result, args, action or content", s)
}

// Rule says where entities of one type stand in the rows of one tool or event.
// All paths are RFC 9535 JSONPath.
type Rule struct {
	// Name tells rules apart in errors; required, unique.
	Name string
	// Tool is the tool whose rows are read; required unless In is InContent.
	Tool string
	In   In
	// Event is the event type whose content is read; for InContent only, required there.
	Event string
	// Each selects the objects that hold one entity each; default "$". That it
	// selects nothing is no error.
	Each string
	// Type is the type of the entities; required.
	Type string
	// Value is the path of the value in each object. It must select exactly one node.
	// Either Value or ValueArgs is required.
	Value string
	// ValueArgs is the path of the value in the arguments of the call, as they were at its
	// end, for results that do not repeat what was looked up. It must select exactly one
	// scalar. It is for InResult, with Each "$".
	ValueArgs string
	// ValueKind is the kind of the value; default text.
	ValueKind entity.Kind
	// Currency is the default currency of a value of money.
	Currency string
	// Attributes are the typed facts to take along, by name. Without any a sighting has the
	// attribute "exists", true. A rule with an attribute of that name has it boolean.
	Attributes map[string]AttributeRule
	// ArtifactURI is the path of a document's address in each object; optional.
	ArtifactURI string
	// Confidence of what the rule finds, 0..1; 0 means the default of 1.
	Confidence float64
	// Alternatives says that the entries of a result are there to choose from. An entity then
	// does not count if the action does not name it, only such rules have shown it, and each
	// result that shows it also shows, by the same rule, an entry that the action names.
	// See [Evidence.Select]. It is for InResult.
	Alternatives bool
}

// AttributeRule says where one attribute stands in an object.
type AttributeRule struct {
	// Path must select at most one node. Nothing, or null, means that the
	// attribute was not seen, which is an error of the row unless it is Optional.
	Path string
	// Kind of the attribute; default text.
	Kind entity.Kind
	// Currency is the default currency of an amount of money.
	Currency string
	// Optional allows the attribute to be missing. What was not seen is not
	// compared later, so a path that never matches would otherwise go unnoticed.
	Optional bool
	// LookedUp says that the tool looked the attribute up, although the arguments of the
	// call say it too. Without it such an attribute repeats them and is no reading. It is
	// for InResult.
	LookedUp bool
}

// Extractor finds entities in rows. It is immutable and safe for concurrent use.
// A nil Extractor has no rules and finds declared entities only.
type Extractor struct {
	byEvent map[string][]*compiled
	// rules are all of them in their order: the place of one, from 1, is its number. choices
	// are the types that a rule with Alternatives finds.
	rules   []*compiled
	choices map[string]bool
	version string
}

type compiled struct {
	Rule
	number                int
	source                entity.Source
	each, value, artifact *jsonpath.Path
	valueArgs             *jsonpath.Path // of the arguments; value is nil then
	eachOne               bool
	attributes            []compiledAttribute
}

type compiledAttribute struct {
	AttributeRule
	name string
	path *jsonpath.Path
}

// Compile checks rules and makes an Extractor of them. Its error joins everything
// that is wrong, each named by rule and field.
func Compile(rules []Rule) (*Extractor, error) {
	x := &Extractor{byEvent: make(map[string][]*compiled), choices: make(map[string]bool)}
	names := make(map[string]bool)
	var errs []error
	normal := make([]Rule, len(rules))
	for i, r := range rules {
		label := fmt.Sprintf("rule %q", r.Name)
		fail := func(field string, err error) {
			errs = append(errs, fmt.Errorf("%s: %s: %w", label, field, err))
		}
		switch {
		case r.Name == "":
			label = fmt.Sprintf("rule %d", i+1)
			fail("name", errors.New("give the rule a name"))
		case names[r.Name]:
			fail("name", errors.New("another rule has this name"))
		}
		names[r.Name] = true
		c := compileRule(r, fail)
		normal[i], c.number = c.Rule, i+1
		x.rules = append(x.rules, c)
		if c.Alternatives {
			x.choices[c.Type] = true
		}
		event := c.event()
		x.byEvent[event] = append(x.byEvent[event], c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	x.version = rulesVersion(normal)
	return x, nil
}

func compileRule(r Rule, fail func(field string, err error)) *compiled {
	path := func(field, s string) *jsonpath.Path {
		p, err := jsonpath.Parse(s)
		if err != nil {
			fail(field, fmt.Errorf("path %q: %w", s, err))
		}
		return p
	}
	r.Each = cmp.Or(r.Each, "$")
	r.ValueKind = cmp.Or(r.ValueKind, entity.KindText)
	r.Confidence = cmp.Or(r.Confidence, 1)
	c := &compiled{source: entity.SourceRule}

	switch {
	case int(r.In) >= len(inNames):
		fail("in", fmt.Errorf("unknown place %s: use result, args, action or content", r.In))
	case r.In == InContent && r.Event == "":
		fail("event", errors.New("name the event type whose content is read"))
	case r.In == InContent && r.Tool != "":
		fail("tool", errors.New("a rule over the content of an event has no tool"))
	case r.In != InContent && r.Tool == "":
		fail("tool", errors.New("name the tool whose rows are read"))
	case r.In != InContent && r.Event != "":
		fail("event", fmt.Errorf("a rule over the %s of a tool has no event", r.In))
	}
	if r.Alternatives && r.In != InResult {
		fail("alternatives", fmt.Errorf("a rule over the %s shows nothing to choose from: leave it out, or read the result", r.In))
	}
	switch r.In {
	case InAction:
		c.source = entity.SourceAction
	case InArgs:
		c.source = entity.SourceClaim
	}
	if err := (entity.Entity{Type: r.Type, Value: "x"}).Validate(); err != nil {
		fail("type", err)
	}
	if math.IsNaN(r.Confidence) || r.Confidence < 0 || r.Confidence > 1 {
		fail("confidence", fmt.Errorf("%v is outside 0..1", r.Confidence))
	}
	c.each = path("each", r.Each)
	c.eachOne = c.each != nil && c.each.Query().Singular() != nil
	switch {
	case r.Value == "" && r.ValueArgs == "":
		fail("value", errors.New("give the path of the value"))
	case r.Value != "" && r.ValueArgs != "":
		fail("value", errors.New("it is taken from the object or from the arguments: give one path"))
	case r.Value != "":
		c.value = path("value", r.Value)
	default:
		c.valueArgs = path("value.args", r.ValueArgs)
		if r.In != InResult {
			fail("value.args", fmt.Errorf("the %s is read anyhow: give the path of the value there", r.In))
		}
		if r.Each != "$" {
			fail("value.args", fmt.Errorf("the arguments have one value, and each %s selects several objects: use each $, or take the value from the object", r.Each))
		}
	}
	checkKind("value_type", "currency", r.ValueKind, r.Currency, fail)
	if r.ArtifactURI != "" {
		c.artifact = path("artifact_uri", r.ArtifactURI)
	}
	attributes := make(map[string]AttributeRule, len(r.Attributes))
	for _, name := range sortedKeys(r.Attributes) {
		a := r.Attributes[name]
		field := "attributes." + name
		a.Kind = cmp.Or(a.Kind, entity.KindText)
		if !entity.IsAttributeName(name) {
			fail(field, errors.New("use lower-case letters, digits and '_', a letter first"))
		}
		checkKind(field+".type", field+".currency", a.Kind, a.Currency, fail)
		if name == entity.Exists && a.Kind != entity.KindBool {
			fail(field+".type", errors.New("it is what a sighting without attributes has, true: use boolean, or another name"))
		}
		if a.LookedUp && r.In != InResult {
			fail(field+".looked_up", fmt.Errorf("a rule over the %s looks nothing up: leave it out, or read the result", r.In))
		}
		if a.Path == "" {
			fail(field+".path", errors.New("give the path of the attribute"))
		} else {
			c.attributes = append(c.attributes, compiledAttribute{AttributeRule: a, name: name, path: path(field+".path", a.Path)})
		}
		attributes[name] = a
	}
	r.Attributes = attributes
	c.Rule = r
	return c
}

func checkKind(kindField, currencyField string, k entity.Kind, currency string, fail func(string, error)) {
	if k > entity.KindTime {
		fail(kindField, fmt.Errorf("unknown type %s: use text, number, money, boolean or time", k))
	}
	if currency == "" {
		return
	}
	if k != entity.KindMoney {
		fail(currencyField, fmt.Errorf("a %s has no currency", k))
	} else if _, err := entity.Money("0", currency); err != nil {
		fail(currencyField, err)
	}
}

// event returns the event type of the rows that c reads.
func (c *compiled) event() string {
	switch c.In {
	case InContent:
		return c.Event
	case InResult:
		return record.ToolCompleted
	default:
		return record.ToolStarting
	}
}

// Version returns a digest of the rules: two extractors with the same version
// find the same entities in the same rows.
func (x *Extractor) Version() string {
	if x == nil {
		return rulesVersion(nil)
	}
	return x.version
}

// extractionFormat is raised whenever the same rules would find something else.
const extractionFormat = "2"

func rulesVersion(rules []Rule) string {
	fields := []string{extractionFormat}
	for _, r := range rules {
		fields = append(fields, r.Name, r.In.String(), r.Tool, r.Event, r.Each, r.Type, r.Value, r.ValueArgs, r.ValueKind.String(),
			r.Currency, r.ArtifactURI, strconv.FormatFloat(r.Confidence, 'g', -1, 64), strconv.FormatBool(r.Alternatives), strconv.Itoa(len(r.Attributes)))
		for _, name := range sortedKeys(r.Attributes) {
			a := r.Attributes[name]
			fields = append(fields, name, a.Path, a.Kind.String(), a.Currency, strconv.FormatBool(a.Optional), strconv.FormatBool(a.LookedUp))
		}
	}
	return hashKey(fields...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

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
	config.Extract
	number                int
	source                entity.Source
	each, value, artifact *jsonpath.Path
	valueArgs             *jsonpath.Path // of the arguments; value is nil then
	eachOne               bool
	attributes            []compiledAttribute
}

type compiledAttribute struct {
	config.Attribute
	name string
	path *jsonpath.Path
}

// Compile checks rules and makes an Extractor of them. Its error joins everything
// that is wrong, each named by rule and field.
func Compile(rules []config.Extract) (*Extractor, error) {
	x := &Extractor{byEvent: make(map[string][]*compiled), choices: make(map[string]bool)}
	names := make(map[string]bool)
	var errs []error
	normal := make([]config.Extract, len(rules))
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
		normal[i], c.number = c.Extract, i+1
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

func compileRule(r config.Extract, fail func(field string, err error)) *compiled {
	path := func(field, s string) *jsonpath.Path {
		p, err := jsonpath.Parse(s)
		if err != nil {
			fail(field, fmt.Errorf("path %q: %w", s, err))
		}
		return p
	}
	r = r.WithDefaults()
	c := &compiled{source: entity.SourceRule}

	switch {
	case !slices.Contains([]config.In{config.InResult, config.InArgs, config.InAction, config.InContent}, r.In):
		fail("in", fmt.Errorf("unknown place %s: use result, args, action or content", r.In))
	case r.In == config.InContent && r.Event == "":
		fail("event", errors.New("name the event type whose content is read"))
	case r.In == config.InContent && r.Tool != "":
		fail("tool", errors.New("a rule over the content of an event has no tool"))
	case r.In != config.InContent && r.Tool == "":
		fail("tool", errors.New("name the tool whose rows are read"))
	case r.In != config.InContent && r.Event != "":
		fail("event", fmt.Errorf("a rule over the %s of a tool has no event", r.In))
	}
	if r.Alternatives && r.In != config.InResult {
		fail("alternatives", fmt.Errorf("a rule over the %s shows nothing to choose from: leave it out, or read the result", r.In))
	}
	switch r.In {
	case config.InAction:
		c.source = entity.SourceAction
	case config.InArgs:
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
		if r.In != config.InResult {
			fail("value.args", fmt.Errorf("the %s is read anyhow: give the path of the value there", r.In))
		}
		if r.Each != "$" {
			fail("value.args", fmt.Errorf("the arguments have one value, and each %s selects several objects: use each $, or take the value from the object", r.Each))
		}
	}
	checkKind("value_type", "currency", r.ValueType, r.Currency, fail)
	if r.ArtifactURI != "" {
		c.artifact = path("artifact_uri", r.ArtifactURI)
	}
	for _, name := range sortedKeys(r.Attributes) {
		a := r.Attributes[name]
		field := "attributes." + name
		if !entity.IsAttributeName(name) {
			fail(field, errors.New("use lower-case letters, digits and '_', a letter first"))
		}
		checkKind(field+".type", field+".currency", a.Type, a.Currency, fail)
		if name == entity.Exists && a.Type != entity.KindBool {
			fail(field+".type", errors.New("it is what a sighting without attributes has, true: use boolean, or another name"))
		}
		if a.LookedUp && r.In != config.InResult {
			fail(field+".looked_up", fmt.Errorf("a rule over the %s looks nothing up: leave it out, or read the result", r.In))
		}
		if a.Path == "" {
			fail(field+".path", errors.New("give the path of the attribute"))
		} else {
			c.attributes = append(c.attributes, compiledAttribute{Attribute: a, name: name, path: path(field+".path", a.Path)})
		}
	}
	c.Extract = r
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
	case config.InContent:
		return c.Event
	case config.InResult:
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

func rulesVersion(rules []config.Extract) string {
	fields := []string{extractionFormat}
	for _, r := range rules {
		fields = append(fields, r.Name, string(r.In), r.Tool, r.Event, r.Each, r.Type, r.Value, r.ValueArgs, r.ValueType.String(),
			r.Currency, r.ArtifactURI, strconv.FormatFloat(r.Confidence, 'g', -1, 64), strconv.FormatBool(r.Alternatives), strconv.Itoa(len(r.Attributes)))
		for _, name := range sortedKeys(r.Attributes) {
			a := r.Attributes[name]
			fields = append(fields, name, a.Path, a.Type.String(), a.Currency, strconv.FormatBool(a.Optional), strconv.FormatBool(a.LookedUp))
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// operand is one key of a condition with its value.
type operand struct {
	key      string
	operator safety.Operator
	value    any
}

// operands returns the conditions of the entry: at most one in a valid configuration.
func (c DriftConfig) operands() []operand {
	return slices.DeleteFunc([]operand{
		{"at_least", safety.AtLeast, c.AtLeast},
		{"at_most", safety.AtMost, c.AtMost},
		{"one_of", safety.OneOf, c.OneOf},
		{"equals", safety.Equals, c.Equals},
	}, func(o operand) bool { return o.value == nil })
}

// path returns the value as a JSONPath; false if it is a literal, such as the amount "$50".
func (o operand) path() (string, bool) {
	s, _ := o.value.(string)
	return s, s == "$" || strings.HasPrefix(s, "$.") || strings.HasPrefix(s, "$[")
}

// condition returns the operand as safety has it.
func (o operand) condition() (safety.Condition, error) {
	if path, is := o.path(); is {
		return safety.Condition{Operator: o.operator, Path: path}, nil
	}
	literal, err := json.Marshal(o.value)
	return safety.Condition{Operator: o.operator, Literal: string(literal)}, err
}

// condition returns the condition of an entry that was checked.
func (c DriftConfig) condition() (out safety.Condition) {
	for _, o := range c.operands() {
		out, _ = o.condition()
	}
	return out
}

// operand reads the value of a condition, or, with lists, a list of values.
func (d *decoder) operand(dst *any, lists bool) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		if !lists || n.Kind != yaml.SequenceNode {
			d.literal(dst)(k, n)
			return
		}
		values := []any{}
		list(d, &values, d.literal)(k, n)
		if !slices.Contains(values, nil) { // each nil was reported
			*dst = values
		}
	}
}

// literal reads a text, a number or a boolean.
func (d *decoder) literal(dst *any) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		const remedy = `write a text, a number, a boolean or a JSONPath, for example 8 or $.cpus; put quotes around a date`
		s, ok := d.scalar(k, n, remedy, "!!str", "!!bool", "!!int", "!!float")
		if !ok {
			return
		}
		switch n.ShortTag() {
		case "!!str":
			text(d, &s)(k, n)
			*dst = s
		case "!!bool":
			*dst = strings.EqualFold(s, "true")
		default:
			if !json.Valid([]byte(s)) {
				d.addAt(place(n), k, s+" is not a decimal number", "write for example 8 or 0.5, or put quotes around it for a text")
				return
			}
			*dst = json.Number(s)
		}
	}
}

// checkCondition reports what is wrong with the condition of an entry by itself. typ is the
// type that it is for; it is "" for the entries of guard.drift.
func (c DriftConfig) checkCondition(p *problems, k keyPath, typ, attribute string) {
	given := c.operands()
	if len(given) == 0 {
		return
	}
	first := k.field(given[0].key)
	switch {
	case typ == "" || attribute == safety.Other:
		p.add(first, "a condition is for one attribute of one type", "write it under guard.types, as in Cluster: {drift: {free: {at_least: 8}}}")
		return
	case len(given) > 1:
		p.add(k.field(given[1].key), "given beside "+given[0].key, "keep one of them")
		return
	}
	const remedy = "keep one of them: with a condition the present value is not compared with what was read"
	if c.Tolerance != (ToleranceConfig{}) {
		p.add(k.field("tolerance"), "given beside "+given[0].key, remedy)
	}
	if c.Direction != safety.Either {
		p.add(k.field("direction"), "given beside "+given[0].key, remedy)
	}
	if path, is := given[0].path(); is {
		checkPath(p, first, path)
		return
	}
	condition, err := given[0].condition()
	if err == nil {
		err = condition.Validate()
	}
	if err != nil {
		p.add(first, err.Error(), "write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus")
	}
}

// checkConditions reports conditions that do not suit an attribute: a rule or a checker gives
// it as another kind.
func (c Config) checkConditions(p *problems, root keyPath) {
	types := root.field("guard").field("types")
	for _, typ := range slices.Sorted(maps.Keys(c.Guard.Types)) {
		drift := c.Guard.Types[typ].Drift
		for _, attribute := range slices.Sorted(maps.Keys(drift)) {
			for _, o := range drift[attribute].operands() {
				c.checkKinds(p, types.entry(typ).field("drift").entry(attribute).field(o.key), typ, attribute, o)
			}
		}
	}
}

func (c Config) checkKinds(p *problems, k keyPath, typ, attribute string, o operand) {
	condition, err := o.condition()
	if err != nil || p.failed(k) {
		return
	}
	for _, known := range c.kinds(typ, attribute) {
		if err := condition.Suits(known.kind); err != nil {
			p.add(k, fmt.Sprintf("%s gives %s as %s: %v", known.by, attribute, known.kind, err), "write a value of that type, or correct the type of the attribute")
			return
		}
	}
}

// knownKind is what one part of the configuration gives an attribute as.
type knownKind struct {
	by   string
	kind entity.Kind
}

// kinds returns what rules and checkers give an attribute of a type as.
func (c Config) kinds(typ, attribute string) (out []knownKind) {
	for _, e := range c.Extract {
		if a, has := e.Attributes[attribute]; has && e.Type == typ {
			out = append(out, knownKind{fmt.Sprintf("rule %q", e.Name), cmp.Or(a.Type, entity.KindText)})
		}
	}
	answers, _ := c.answers()
	if answer := answers[typ]; answer != nil {
		if kind, has := answer(attribute); has {
			out = append(out, knownKind{"the checker of " + quote(typ), kind})
		}
	}
	return out
}

// unmet names the conditions that no check can meet: no rule shows their attribute in a
// result, and a check needs a reading of it. It needs a guard with its defaults.
func (c Config) unmet(guard GuardConfig, shown map[string]map[string]bool) []string {
	var out []string
	for _, typ := range slices.Sorted(maps.Keys(guard.Types)) {
		drift := guard.Types[typ].Drift
		for _, attribute := range slices.Sorted(maps.Keys(drift)) {
			given := drift[attribute].operands()
			if len(given) == 0 || shown[typ][attribute] || drift[attribute].Optional || guard.Types[typ].Optional {
				continue
			}
			w := fmt.Sprintf("guard.types.%s.drift.%s has a condition (%s), and no rule shows %q of type %q in a result: an approval that rests on one fails its check unless a tool declares it; add it to a rule with in: result",
				typ, attribute, given[0].key, attribute, typ)
			if near := closest(attribute, slices.Sorted(maps.Keys(shown[typ]))); near != "" {
				w += fmt.Sprintf("; did you mean %q?", near)
			}
			out = append(out, w)
		}
	}
	return out
}

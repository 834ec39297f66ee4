// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// Check reports what a guard could not decide by: conditions that cannot be met or do not suit their
// attribute, and people and budgets that are there twice. It is a [config.Check].
func Check(k config.Key, c *config.Config) {
	guard := k.Of(&c.Guard)
	checkConditions(guard.Of(&c.Guard.Drift), "", c.Guard.Drift, c)
	for _, typ := range slices.Sorted(maps.Keys(c.Guard.Types)) {
		t := c.Guard.Types[typ]
		checkConditions(guard.Of(&c.Guard.Types).Entry(typ, &t).Of(&t.Drift), typ, t.Drift, c)
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Guard.Approvals)) {
		a := c.Guard.Approvals[pattern]
		people := guard.Of(&c.Guard.Approvals).Entry(pattern, &a).Of(&a.Override)
		for i, who := range a.Override {
			if j := slices.IndexFunc(a.Override[:i], func(name string) bool { return same(name, who) }); j >= 0 && a.Override[j] != who {
				people.Index(i).Wrong(fmt.Sprintf("%s and %s are one person", config.Quote(who), config.Quote(a.Override[j])), "keep one of them")
			}
		}
	}
	for i, b := range c.Guard.Budgets {
		if slices.ContainsFunc(c.Guard.Budgets[:i], func(other config.Budget) bool { return reflect.DeepEqual(b, other) }) {
			guard.Of(&c.Guard.Budgets).Index(i).Wrong("it is there twice", "keep one of them")
		}
	}
}

// checkConditions reports what is wrong with the conditions of the entries for a type; typ is
// "" for the entries of guard.drift.
func checkConditions(k config.Key, typ string, drift map[string]config.Drift, c *config.Config) {
	for _, attribute := range slices.Sorted(maps.Keys(drift)) {
		d := drift[attribute]
		at := k.Entry(attribute, &d)
		given := d.Operands()
		if len(given) == 0 {
			continue
		}
		first := at.Of(given[0].Field)
		const remedy = "keep one of them: with a condition the present value is not compared with what was read"
		switch {
		case typ == "" || attribute == config.Other:
			first.Wrong("a condition is for one attribute of one type", "write it under guard.types, as in Cluster: {drift: {free: {at_least: 8}}}")
			continue
		case len(given) > 1:
			at.Of(given[1].Field).Wrong("given beside "+given[0].Key, "keep one of them")
			continue
		}
		if d.Tolerance != (config.Tolerance{}) {
			at.Of(&d.Tolerance).Wrong("given beside "+given[0].Key, remedy)
		}
		if cmp.Or(d.Direction, config.Either) != config.Either {
			at.Of(&d.Direction).Wrong("given beside "+given[0].Key, remedy)
		}
		condition, err := conditionOf(given[0])
		if path, is := given[0].Path(); is {
			config.CheckPath(first, path)
		} else if err != nil {
			first.Wrong(err.Error(), "write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus")
		}
		for _, known := range kindsOf(c, typ, attribute) {
			if err := condition.suits(known.kind); err != nil {
				first.Wrong(fmt.Sprintf("%s gives %s as %s: %v", known.by, attribute, known.kind, err), "write a value of that type, or correct the type of the attribute")
			}
		}
	}
}

// knownKind is the kind that one part of the configuration gives an attribute.
type knownKind struct {
	by   string
	kind entity.Kind
}

// kindsOf returns the kinds that rules and checkers give an attribute of a type.
func kindsOf(c *config.Config, typ, attribute string) (out []knownKind) {
	for _, e := range c.Extract {
		if a, has := e.Attributes[attribute]; has && e.Type == typ {
			out = append(out, knownKind{fmt.Sprintf("rule %q", e.Name), cmp.Or(a.Type, entity.KindText)})
		}
	}
	for _, checker := range c.Checkers {
		if kind, has := checker.Answers(attribute); has && checker.Type == typ {
			out = append(out, knownKind{"the checker of " + config.Quote(typ), kind})
		}
	}
	return out
}

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
func Check(c *config.Config) []config.Problem {
	out := checkConditions("guard.drift", "", c.Guard.Drift, c)
	for _, typ := range slices.Sorted(maps.Keys(c.Guard.Types)) {
		out = append(out, checkConditions(config.Entry("guard.types", typ)+".drift", typ, c.Guard.Types[typ].Drift, c)...)
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Guard.Tools)) {
		people := c.Guard.Tools[pattern].Override
		for i, who := range people {
			if j := slices.IndexFunc(people[:i], func(name string) bool { return same(name, who) }); j >= 0 {
				out = append(out, config.Problem{
					Path:   config.Index(config.Entry("guard.tools", pattern)+".override", i),
					Text:   fmt.Sprintf("%s is the same person as %s", config.Quote(who), config.Quote(people[j])),
					Remedy: "keep one of them",
				})
			}
		}
	}
	for i, b := range c.Guard.Budgets {
		if slices.ContainsFunc(c.Guard.Budgets[:i], func(other config.Budget) bool { return reflect.DeepEqual(b, other) }) {
			out = append(out, config.Problem{Path: config.Index("guard.budgets", i), Text: "it is there twice", Remedy: "keep one of them"})
		}
	}
	return out
}

// checkConditions reports what is wrong with the conditions of the entries at path for a type; typ
// is "" for the entries of guard.drift.
func checkConditions(path, typ string, drift map[string]config.Drift, c *config.Config) (out []config.Problem) {
	wrong := func(path, text, remedy string) {
		out = append(out, config.Problem{Path: path, Text: text, Remedy: remedy})
	}
	for _, attribute := range slices.Sorted(maps.Keys(drift)) {
		d := drift[attribute]
		at := config.Entry(path, attribute)
		given := d.Operands()
		if len(given) == 0 {
			continue
		}
		first := at + "." + given[0].Key
		const remedy = "keep one of them: with a condition the present value is not compared with what was read"
		switch {
		case typ == "" || attribute == config.Other:
			wrong(first, "a condition is for one attribute of one type", "write it under guard.types, as in Cluster: {drift: {free: {at_least: 8}}}")
			continue
		case len(given) > 1:
			wrong(at+"."+given[1].Key, "given beside "+given[0].Key, "keep one of them")
			continue
		}
		if d.Tolerance != (config.Tolerance{}) {
			wrong(at+".tolerance", "given beside "+given[0].Key, remedy)
		}
		if cmp.Or(d.Direction, config.Either) != config.Either {
			wrong(at+".direction", "given beside "+given[0].Key, remedy)
		}
		condition, err := conditionOf(given[0])
		if jsonPath, is := given[0].Path(); is {
			out = append(out, config.CheckPath(first, jsonPath)...)
		} else if err != nil {
			wrong(first, err.Error(), "write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus")
		}
		for _, known := range kindsOf(c, typ, attribute) {
			if err := condition.suits(known.kind); err != nil {
				wrong(first, fmt.Sprintf("%s gives %s as %s: %v", known.by, attribute, known.kind, err), "write a value of that type, or correct the type of the attribute")
			}
		}
	}
	return out
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
		if kind, _, has := checker.Answers(attribute); has && checker.Type == typ {
			out = append(out, knownKind{"the checker of " + config.Quote(typ), kind})
		}
	}
	return out
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// NewPolicy returns the policy of a guard. A part that the guard leaves out has its default. The
// error names each part that is not valid.
func NewPolicy(g config.Guard) (Policy, error) {
	p := policyOf(g)
	return p, p.Validate()
}

// DefaultPolicy returns the policy of a guard that says nothing. The caller owns it.
func DefaultPolicy() Policy { return policyOf(config.Guard{}) }

func policyOf(g config.Guard) Policy {
	g = config.Config{Guard: g}.WithDefaults().Guard
	p := Policy{
		Rules:           rulesOf(g.Drift),
		Require:         valueOf[Requirement](requirementNames, g.Require),
		Listed:          g.Listed,
		MaxAge:          g.CheckAge,
		ClockSkew:       2 * time.Second,
		Timeout:         g.CheckTimeout,
		Deadline:        g.CheckDeadline,
		Parallel:        8,
		MinConfidence:   *g.MinConfidence,
		RequestLifetime: g.RequestLifetime,
	}
	for name, t := range g.Types {
		if p.Types == nil {
			p.Types = make(map[string]TypePolicy, len(g.Types))
		}
		p.Types[name] = TypePolicy{
			Rules: rulesOf(t.Drift), Optional: t.Optional, MaxAge: t.MaxAge, MinConfidence: t.MinConfidence,
			Unseen: valueOf[Unseen](unseenNames, t.Unseen),
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(g.Approvals)) {
		a := g.Approvals[tool]
		p.Approvals = append(p.Approvals, ApprovalRule{Tool: tool, Approvers: a.Approvers, Override: slices.Clone(a.Override)})
	}
	for _, b := range g.Budgets {
		p.Budgets = append(p.Budgets, BudgetRule{
			Tool:     b.Tool,
			CostType: b.Cost.Type, CostAttribute: b.Cost.Attribute, QuantityAttribute: b.Cost.Quantity,
			LimitType: b.Limit.Type, LimitAttribute: b.Limit.Attribute,
			Everything: b.Everything, Severity: *b.Severity,
		})
	}
	return p
}

func rulesOf(drift map[string]config.Drift) map[string]Rule {
	rules := make(map[string]Rule, len(drift))
	for attribute, d := range drift {
		r := Rule{
			Drift: DriftType(d.Type), Severity: *d.Severity, Optional: d.Optional,
			Tolerance: Tolerance{Absolute: d.Tolerance.Absolute, Percent: d.Tolerance.Percent},
			Direction: valueOf[Direction](directionNames, d.Direction), Effect: valueOf[Effect](effectNames, d.Effect),
		}
		switch given := d.Operands(); len(given) {
		case 0:
		case 1:
			r.Condition, _ = conditionOf(given[0]) // which Validate refuses
		default: // none of them alone is the intended one
			r.Condition = Condition{Operator: unknown}
		}
		rules[attribute] = r
	}
	return rules
}

// unknown is a value that no name stands for: a policy with one is not valid.
const unknown = 255

// valueOf returns what a name stands for.
func valueOf[T ~uint8, S ~string](names []string, name S) T {
	if i := slices.Index(names, string(name)); i >= 0 {
		return T(i)
	}
	return unknown
}

// conditionOf returns a condition of the configuration as a condition of a policy. A value that
// JSON cannot hold gives a condition with neither a literal nor a path, which no policy accepts;
// the error says why.
func conditionOf(o config.Operand) (Condition, error) {
	c := Condition{Operator: Operator(slices.Index(operatorNames, o.Key))}
	if path, is := o.Path(); is {
		c.Path = path
		return c, nil
	}
	literal, err := json.Marshal(*o.Field)
	c.Literal = string(literal)
	return c, err
}

// Check reports conditions that cannot be met or do not suit their attribute, and a policy that
// cannot be used. It is a [config.Check].
func Check(c *config.Config) []config.Problem {
	out := checkConditions("guard.drift", "", c.Guard.Drift, c)
	for _, typ := range slices.Sorted(maps.Keys(c.Guard.Types)) {
		out = append(out, checkConditions(config.Entry("guard.types", typ)+".drift", typ, c.Guard.Types[typ].Drift, c)...)
	}
	if len(out) > 0 || c.Check() != nil {
		return out
	}
	if _, err := NewPolicy(c.Guard); err != nil {
		out = append(out, config.Problem{Path: "guard", Text: strings.ReplaceAll(err.Error(), "\n", ", "), Remedy: "correct this part"})
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
		} else if err = cmp.Or(err, condition.Validate()); err != nil {
			wrong(first, err.Error(), "write a text, a number or a boolean, with one_of a list of them, or a JSONPath, for example $.cpus")
		}
		for _, known := range kindsOf(c, typ, attribute) {
			if err := condition.Suits(known.kind); err != nil {
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
		if kind, has := checker.Answers(attribute); has && checker.Type == typ {
			out = append(out, knownKind{"the checker of " + config.Quote(typ), kind})
		}
	}
	return out
}

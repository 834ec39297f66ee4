// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/namepattern"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TypeConfig is what is different for the entities of one type.
type TypeConfig struct {
	// Optional lets a check pass although entities of this type have no checker or
	// fail their check; the report lists them as skipped. A change that is found
	// counts all the same. Defaults to false.
	Optional bool
	// MaxAge is how old an answer about these entities may be when a check starts.
	// Below [GuardConfig.CheckAge] it also shortens how long the check permits the
	// action. Defaults to CheckAge.
	MaxAge time.Duration
	// MinConfidence is the confidence, from 0 to 1, below which one of these
	// entities makes the check fail. Nil means the default. Defaults to
	// [GuardConfig.MinConfidence].
	MinConfidence *float64
	// Unseen says what comes of these entities, and of attributes of them, that no result
	// of a tool shows, although a message, a call or the action names them. With
	// [safety.UnseenAllow] a check passes all the same, and each report says so. Defaults
	// to [safety.UnseenDeny].
	Unseen safety.Unseen
	// Drift is as [GuardConfig.Drift], for these entities. An entry that names an
	// attribute wins over "*", wherever either stands; of two with the same key the
	// one here wins. What it leaves out is not taken from that entry, but for the
	// type and the severity. Defaults to none.
	Drift map[string]DriftConfig
}

// BudgetConfig is a rule across entities: what the plan costs now must fit the
// budget as it was seen and approved. A rule that cannot be evaluated fails the check.
type BudgetConfig struct {
	// Tool names the tool whose calls the rule is for, or gives a pattern as
	// [GuardConfig.Tools]. Defaults to every call.
	Tool string
	// Cost says what the plan costs.
	Cost CostConfig
	// Limit says what it may cost.
	Limit LimitConfig
	// Everything sums all that is recorded and required, not only what the arguments of
	// the action name. Defaults to false.
	Everything bool
	// Severity is how much the alert matters, from 0 to 1. Nil means the default.
	// Defaults to 0.85.
	Severity *float64
}

// CostConfig says what a plan costs: the sum over the entities of a type.
type CostConfig struct {
	// Type is the type of the entities. Required.
	Type string
	// Attribute is the cost of one of them, as the checker answers it. Required.
	Attribute string
	// Quantity is the attribute that says how many the action buys. Unless the checker of
	// the type answers it, it has to be optional there ([DriftConfig]). Defaults to one of
	// each.
	Quantity string
}

// LimitConfig says what a plan may cost.
type LimitConfig struct {
	// Type is the type of the budget: the one that the arguments of the action name,
	// or else the only one. Required.
	Type string
	// Attribute is the attribute with the amount. Defaults to the value of the
	// budget itself, which has to be of the type money or number.
	Attribute string
}

const defaultBudgetSeverity = 0.85

// named reads the name of a value.
func (d *decoder) named(dst interface{ UnmarshalText([]byte) error }, what string, names ...string) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		var s string
		text(d, &s)(k, n)
		if s == "" || dst.UnmarshalText([]byte(s)) == nil {
			return
		}
		if now := renamedWords[s]; slices.Contains(names, now) {
			d.addAt(place(n), k, quote(s)+" is now called "+quote(now), "write "+now)
			return
		}
		d.addAt(place(n), k, quote(s)+" is not "+what, oneOf(names...))
	}
}

// renamedWords and renamedKeys are earlier names: an error says the present one, and which
// of them was meant is never guessed.
var (
	renamedWords = map[string]string{"evaluated": "everything", "arguments": "named"}
	renamedKeys  = map[string]string{"evaluated": "everything"}
)

func (d *decoder) entityType(c *TypeConfig) decodeFunc {
	return d.mapping([]key{
		{"optional", d.boolean(func(v bool) { c.Optional = v })},
		{"max_age", d.duration(&c.MaxAge, "30s")},
		{"min_confidence", d.number(func(v float64) { c.MinConfidence = &v })},
		{"unseen", d.named(&c.Unseen, "an answer to what is unseen", "deny", "allow")},
		{"drift", entries(d, &c.Drift, d.drift)},
	})
}

func (d *decoder) budget(c *BudgetConfig) decodeFunc {
	return d.mapping([]key{
		{"tool", text(d, &c.Tool)},
		{"cost", d.mapping([]key{
			{"type", text(d, &c.Cost.Type)},
			{"attribute", text(d, &c.Cost.Attribute)},
			{"quantity", text(d, &c.Cost.Quantity)},
		})},
		{"limit", d.mapping([]key{
			{"type", text(d, &c.Limit.Type)},
			{"attribute", text(d, &c.Limit.Attribute)},
		})},
		{"everything", d.boolean(func(v bool) { c.Everything = v })},
		{"severity", d.number(func(v float64) { c.Severity = &v })},
	})
}

// checkPolicy reports what is wrong with what counts as a change, and with what has
// to be unchanged.
func (c *GuardConfig) checkPolicy(p *problems, k keyPath) {
	checkDrift(p, k.field("drift"), "", c.Drift)
	types := k.field("types")
	for _, typ := range slices.Sorted(maps.Keys(c.Types)) {
		at, t := types.entry(typ), c.Types[typ]
		entityType(p, at, typ)
		checkDuration(p, at.field("max_age"), t.MaxAge, maxLifetime)
		if t.MinConfidence != nil {
			unit(p, at.field("min_confidence"), *t.MinConfidence)
		}
		if t.Unseen > safety.UnseenAllow {
			p.add(at.field("unseen"), strconv.Itoa(int(t.Unseen))+" is not an answer to what is unseen", oneOf("deny", "allow"))
		}
		checkDrift(p, at.field("drift"), typ, t.Drift)
	}

	require, listed := k.field("require"), k.field("listed")
	if c.Require > safety.RequireListed {
		p.add(require, strconv.Itoa(int(c.Require))+" is not a requirement", oneOf("everything", "named", "listed"))
	}
	first := make(map[string]int)
	for i, typ := range c.Listed {
		entityType(p, listed.index(i), typ)
		unique(p, listed.index(i), first, typ, i)
	}
	switch {
	case p.failed(require):
	case c.Require == safety.RequireListed && len(c.Listed) == 0:
		p.add(listed, "missing beside require: listed", "write the types of entities that have to be unchanged, or require: named for none")
	case c.Require != safety.RequireListed && len(c.Listed) > 0:
		p.add(listed, "given beside require: "+c.Require.String(), "write require: listed, or remove the list")
	}

	budgets := k.field("budgets")
	for i := range c.Budgets {
		c.checkBudget(p, budgets.index(i), &c.Budgets[i])
	}
}

// checkDrift checks the entries for the entities of a type, for all if typ is "".
func checkDrift(p *problems, k keyPath, typ string, drift map[string]DriftConfig) {
	for _, attribute := range slices.Sorted(maps.Keys(drift)) {
		at, d := k.entry(attribute), drift[attribute]
		if attribute != safety.Other {
			attributeName(p, at, attribute)
		}
		if d.Type != "" && !lowerName.MatchString(string(d.Type)) {
			p.add(at.field("type"), quote(string(d.Type))+" is not a drift type", lowerNameRemedy)
		}
		if d.Severity != nil {
			unit(p, at.field("severity"), *d.Severity)
		}
		percent, absolute := at.field("tolerance").field("percent"), at.field("tolerance").field("absolute")
		if v := d.Tolerance.Percent; !(v >= 0 && v <= 100) {
			p.add(percent, format(v)+" is out of range", "write a number from 0 to 100")
		}
		if v := d.Tolerance.Absolute; !(v >= 0 && v <= maxTolerance) {
			p.add(absolute, format(v)+" is out of range", "write a number from 0 to "+format(maxTolerance))
		}
		if d.Direction > safety.Fall {
			p.add(at.field("direction"), strconv.Itoa(int(d.Direction))+" is not a direction", oneOf("either", "rise", "fall"))
		}
		if d.Effect > safety.Warn {
			p.add(at.field("effect"), strconv.Itoa(int(d.Effect))+" is not an effect", oneOf("block", "warn"))
		}
		d.checkCondition(p, at, typ, attribute)
	}
}

func (c *GuardConfig) checkBudget(p *problems, k keyPath, b *BudgetConfig) {
	if b.Tool != "" {
		name(p, k.field("tool"), b.Tool, "the name of a tool, or a pattern such as provision_*")
		if namepattern.Validate(b.Tool) != nil {
			p.add(k.field("tool"), quote(b.Tool)+" is not a pattern", `close every [ and end no pattern with \, as in provision_* or [a-z]*`)
		}
	}
	cost, limit := k.field("cost"), k.field("limit")
	entityType(p, cost.field("type"), b.Cost.Type)
	attributeName(p, cost.field("attribute"), b.Cost.Attribute)
	if b.Cost.Quantity != "" {
		attributeName(p, cost.field("quantity"), b.Cost.Quantity)
	}
	entityType(p, limit.field("type"), b.Limit.Type)
	if b.Limit.Attribute != "" {
		attributeName(p, limit.field("attribute"), b.Limit.Attribute)
	}
	if b.Severity != nil {
		unit(p, k.field("severity"), *b.Severity)
	}
	if b.Everything && (c.Require == safety.RequireNamed || c.Require == safety.RequireListed && !slices.Contains(c.Listed, b.Cost.Type)) {
		p.add(k.field("everything"), "sums entities that "+c.Require.String()+" leaves unchecked", "write require: everything, or put "+quote(b.Cost.Type)+" into guard.listed, with require: listed")
	}
}

// checkAction reports a policy about the arguments of actions that no rule reads.
func (c Config) checkAction(p *problems, root keyPath) {
	guard := root.field("guard")
	reads := func(typ, tool string) bool {
		return slices.ContainsFunc(c.Extract, func(e ExtractConfig) bool {
			return e.In == graphsync.InAction && (typ == "" || e.Type == typ) && (tool == "" || namepattern.Match(tool, e.Tool))
		})
	}
	if c.Guard.Require == safety.RequireNamed && !reads("", "") {
		p.add(guard.field("require"), "named needs a rule with in: action; without one nothing can be checked",
			"add such a rule for each guarded tool, or write everything or listed")
	}
	for i := range c.Guard.Budgets {
		b := &c.Guard.Budgets[i]
		k := guard.field("budgets").index(i).field("cost").field("type")
		if b.Cost.Type != "" && !b.Everything && !reads(b.Cost.Type, b.Tool) {
			p.add(k, "no rule with in: action finds a "+quote(b.Cost.Type)+", so no plan has a cost",
				"add one for the tool that spends, or write everything: true")
		}
	}
}

// withPolicy writes the defaults of the policy out.
func (g GuardConfig) withPolicy(d safety.Policy) GuardConfig {
	defaults := make(map[string]DriftConfig, len(d.Rules)+len(g.Drift))
	for attribute, r := range d.Rules {
		defaults[attribute] = DriftConfig{Type: r.Drift, Severity: &r.Severity}
	}
	set := filledDrift(g.Drift, defaults)
	maps.Copy(defaults, set)
	g.Drift = defaults

	g.Types = maps.Clone(g.Types)
	for typ, t := range g.Types {
		t.Drift = filledDrift(t.Drift, g.Drift)
		g.Types[typ] = t
	}
	g.Budgets = slices.Clone(g.Budgets)
	for i := range g.Budgets {
		if g.Budgets[i].Severity == nil {
			g.Budgets[i].Severity = new(defaultBudgetSeverity)
		}
	}
	return g
}

// filledDrift returns set with the type and the severity of what base has for an
// attribute, or for all others.
func filledDrift(set, base map[string]DriftConfig) map[string]DriftConfig {
	if set == nil {
		return nil
	}
	filled := make(map[string]DriftConfig, len(set))
	// Sorted, safety.Other comes before every name: it is the default of
	// attributes without one.
	for _, attribute := range slices.Sorted(maps.Keys(set)) {
		of, ok := base[attribute]
		if other, has := filled[safety.Other]; !ok && has {
			of = other
		} else if !ok {
			of = base[safety.Other]
		}
		d := set[attribute]
		d.Type = cmp.Or(d.Type, of.Type)
		d.Severity = cmp.Or(d.Severity, of.Severity)
		filled[attribute] = d
	}
	return filled
}

// driftRules returns drift as rules; it needs its defaults.
func driftRules(drift map[string]DriftConfig) map[string]safety.Rule {
	rules := make(map[string]safety.Rule, len(drift))
	for attribute, d := range drift {
		rules[attribute] = safety.Rule{
			Drift: d.Type, Severity: *d.Severity, Direction: d.Direction, Effect: d.Effect, Optional: d.Optional,
			Tolerance: safety.Tolerance{Absolute: d.Tolerance.Absolute, Percent: d.Tolerance.Percent}, Condition: d.condition(),
		}
	}
	return rules
}

// typePolicies returns the policy of every type; it needs a g with its defaults.
func (g GuardConfig) typePolicies() map[string]safety.TypePolicy {
	if len(g.Types) == 0 {
		return nil
	}
	types := make(map[string]safety.TypePolicy, len(g.Types))
	for typ, t := range g.Types {
		types[typ] = safety.TypePolicy{
			Optional: t.Optional, MaxAge: t.MaxAge, MinConfidence: t.MinConfidence, Unseen: t.Unseen, Rules: driftRules(t.Drift),
		}
	}
	return types
}

// budgetRules returns the rules of the budgets; it needs a g with its defaults.
func (g GuardConfig) budgetRules() []safety.BudgetRule {
	var rules []safety.BudgetRule
	for _, b := range g.Budgets {
		rules = append(rules, safety.BudgetRule{
			Tool:     b.Tool,
			CostType: b.Cost.Type, CostAttribute: b.Cost.Attribute, QuantityAttribute: b.Cost.Quantity,
			LimitType: b.Limit.Type, LimitAttribute: b.Limit.Attribute,
			Everything: b.Everything, Severity: *b.Severity,
		})
	}
	return rules
}

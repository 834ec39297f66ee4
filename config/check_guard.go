// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// maxLifetime keeps the time at which a request expires in the range of every
	// store: ten years.
	maxLifetime = 10 * 365 * 24 * time.Hour
	// maxTolerance is far above any amount and exact in a float64.
	maxTolerance = 1e15
	// maxApprovers is more people than anybody asks.
	maxApprovers = 100
)

func (c *Guard) check(p *problems) {
	word(p, "guard.mode", c.Mode, "is not a mode", ModeEnforce, ModeObserve)
	if c.Mode == ModeObserve {
		const gate, gated = "observe cannot be combined with ", "): a configuration cannot remove a gate that it lists"
		p.when(len(c.Tools) > 0, "guard.mode", gate+"guard.tools ("+quoted(slices.Sorted(maps.Keys(c.Tools)))+gated,
			"write enforce, or remove the tools from guard.tools; a gate set in code with Protect stays in either mode")
		p.when(len(c.Inputs) > 0, "guard.mode", gate+"guard.inputs ("+quoted(slices.Sorted(maps.Keys(c.Inputs)))+gated, "write enforce, or remove the nodes from guard.inputs")
	}
	word(p, "guard.unguarded", c.Unguarded, "is not known", UnguardedWarn, UnguardedError)
	sorted("guard.tools", c.Tools, func(at, pattern string, t ToolSettings) {
		p.name(at, pattern, toolPattern)
		p.pattern(at, pattern)
		p.count(at+".approvers", t.Approvers, maxApprovers)
		p.names(at+".override", t.Override, "the name of a person, as WithIdentity or WithAuthorizer gives it")
		p.when(len(t.Override) == 1, at+".override", "names one person", "write two or more: it takes two people to override a check")
		word(p, at+".acts_on", t.ActsOn, "is not known", ActsOnThings, ActsOnNothing)
		word(p, at+".arguments", t.Arguments, "is not known", ArgumentsShown, ArgumentsStrict)
		p.patterns(at+".state.free", t.State.Free, stateKey)
		p.patterns(at+".state.show", t.State.Show, stateKey)
	})
	sorted("guard.inputs", c.Inputs, func(at, pattern string, t InputSettings) {
		p.name(at, pattern, "the name of a workflow node, or a pattern such as review_*")
		p.pattern(at, pattern)
		p.count(at+".approvers", t.Approvers, maxApprovers)
	})

	p.duration("guard.request_lifetime", c.RequestLifetime, 0, maxLifetime)
	p.duration("guard.check_age", c.CheckAge, 0, maxLifetime)
	lifetime := cmp.Or(max(c.RequestLifetime, 0), Default().Guard.RequestLifetime)
	p.when(c.CheckAge > lifetime, "guard.check_age", FormatDuration(c.CheckAge)+" is longer than request_lifetime ("+FormatDuration(lifetime)+")",
		"a check cannot be valid longer than the request: write a shorter duration")
	p.duration("guard.check_deadline", c.CheckDeadline, 0, maxLifetime)
	p.duration("guard.check_timeout", c.CheckTimeout, 0, maxLifetime)
	p.duration("guard.effect_timeout", c.EffectTimeout, 0, maxLifetime)
	p.when(c.CheckDeadline > 0 && c.CheckTimeout > c.CheckDeadline, "guard.check_timeout", FormatDuration(c.CheckTimeout)+" is longer than check_deadline ("+FormatDuration(c.CheckDeadline)+")",
		"one check cannot take longer than all together: write a shorter duration")
	p.unit("guard.min_confidence", c.MinConfidence)

	p.drift("guard.drift", c.Drift)
	sorted("guard.types", c.Types, func(at, typ string, t TypePolicy) {
		p.entityType(at, typ)
		p.duration(at+".max_age", t.MaxAge, 0, maxLifetime)
		p.unit(at+".min_confidence", t.MinConfidence)
		word(p, at+".unseen", t.Unseen, "is not an answer to what is unseen", UnseenDeny, UnseenAllow)
		p.drift(at+".drift", t.Drift)
	})

	word(p, "guard.require", c.Require, "is not a requirement", RequireEverything, RequireNamed, RequireListed)
	for i, typ := range c.Listed {
		p.entityType(Index("guard.listed", i), typ)
	}
	p.unique("guard.listed", "", c.Listed)
	switch required := cmp.Or(c.Require, RequireEverything); required {
	case RequireListed:
		p.when(len(c.Listed) == 0, "guard.listed", "missing beside require: listed", "write the types of entities that have to be unchanged, or require: named for none")
	case RequireEverything, RequireNamed:
		p.when(len(c.Listed) > 0, "guard.listed", "given beside require: "+string(required), "write require: listed, or remove the list")
	}
	for i := range c.Budgets {
		c.Budgets[i].check(p, Index("guard.budgets", i), c)
	}
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Quote(s)
	}
	return strings.Join(out, ", ")
}

var driftType = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (p *problems) drift(path string, drift map[string]Drift) {
	sorted(path, drift, func(at, attribute string, d Drift) {
		if attribute != Other {
			p.attribute(at, attribute)
		}
		p.when(d.Type != "" && !driftType.MatchString(d.Type), at+".type", Quote(d.Type)+" is not a drift type", lowerNameRemedy)
		p.unit(at+".severity", d.Severity)
		p.between(at+".tolerance.percent", d.Tolerance.Percent, 0, 100)
		p.between(at+".tolerance.absolute", d.Tolerance.Absolute, 0, maxTolerance)
		word(p, at+".direction", d.Direction, "is not a direction", Either, Rise, Fall)
		word(p, at+".effect", d.Effect, "is not an effect", EffectBlock, EffectWarn)
	})
}

func (b *Budget) check(p *problems, path string, c *Guard) {
	if b.Tool != "" {
		p.name(path+".tool", b.Tool, toolPattern)
		p.pattern(path+".tool", b.Tool)
	}
	p.entityType(path+".cost.type", b.Cost.Type)
	p.attribute(path+".cost.attribute", b.Cost.Attribute)
	if b.Cost.Quantity != "" {
		p.attribute(path+".cost.quantity", b.Cost.Quantity)
	}
	p.entityType(path+".limit.type", b.Limit.Type)
	if b.Limit.Attribute != "" {
		p.attribute(path+".limit.attribute", b.Limit.Attribute)
	}
	p.unit(path+".severity", b.Severity)
	word(p, path+".across", b.Across, "does not say which requests take from the limit", AcrossNone, AcrossSession)
	p.when(b.Everything && b.Across == AcrossSession, path+".across", "everything sums what earlier requests of the session took as well", "keep one of them")
	p.when(b.Enough && b.Limit.Attribute == "", path+".enough", "the limit is the name of a thing, which does not change", "write limit.attribute, or leave it out")
	unchecked := c.Require == RequireNamed || c.Require == RequireListed && !slices.Contains(c.Listed, b.Cost.Type)
	p.when(b.Everything && unchecked, path+".everything", "sums entities that "+string(c.Require)+" leaves unchecked",
		"write require: everything, or put "+Quote(b.Cost.Type)+" into guard.listed, with require: listed")
}

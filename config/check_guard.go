// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxLifetime keeps the time at which a request expires in the range of every
	// store: ten years.
	maxLifetime = 10 * 365 * 24 * time.Hour
	// maxTolerance is far above any amount and exact in a float64.
	maxTolerance = 1e15
)

func (c *Guard) check(k Key) {
	if mode := k.Of(&c.Mode); c.Mode == ModeObserve {
		if len(c.Tools) > 0 {
			mode.Wrong("observe cannot be combined with guard.tools ("+strings.Join(quoted(c.Tools), ", ")+
				"): a configuration cannot remove a gate that it lists",
				"write enforce, or remove the tools from guard.tools; a gate set in code with Protect stays in either mode")
		}
		if len(c.Inputs) > 0 {
			mode.Wrong("observe cannot be combined with guard.inputs ("+strings.Join(quoted(c.Inputs), ", ")+
				"): a configuration cannot remove a gate that it lists", "write enforce, or remove the nodes from guard.inputs")
		}
		if len(c.Approvals) > 0 {
			mode.Wrong("observe cannot be combined with guard.approvals: nothing waits for approvers", "write enforce, or remove guard.approvals")
		}
	}
	names(k.Of(&c.Tools), c.Tools, "the name of a tool, or a pattern such as provision_*", checkPattern)
	names(k.Of(&c.Inputs), c.Inputs, "the name of a workflow node, or a pattern such as review_*", checkPattern)

	c.checkApprovals(k.Of(&c.Approvals))

	lifetime, age := k.Of(&c.RequestLifetime), k.Of(&c.CheckAge)
	checkDuration(lifetime, c.RequestLifetime, maxLifetime)
	checkDuration(age, c.CheckAge, maxLifetime)
	if limit := cmp.Or(c.RequestLifetime, Default().Guard.RequestLifetime); c.CheckAge > limit && !lifetime.Failed() {
		age.Wrong(FormatDuration(c.CheckAge)+" is longer than request_lifetime ("+FormatDuration(limit)+")", "a check cannot be valid longer than the request: write a shorter duration")
	}
	timeout, deadline := k.Of(&c.CheckTimeout), k.Of(&c.CheckDeadline)
	checkDuration(timeout, c.CheckTimeout, maxLifetime)
	checkDuration(deadline, c.CheckDeadline, maxLifetime)
	checkDuration(k.Of(&c.EffectTimeout), c.EffectTimeout, maxLifetime)
	if c.CheckDeadline != 0 && c.CheckTimeout > c.CheckDeadline && !deadline.Failed() {
		timeout.Wrong(FormatDuration(c.CheckTimeout)+" is longer than check_deadline ("+FormatDuration(c.CheckDeadline)+")", "one check cannot take longer than all together: write a shorter duration")
	}
	unit(k.Of(&c.MinConfidence), c.MinConfidence)

	checkDrift(k.Of(&c.Drift), c.Drift)
	for _, typ := range slices.Sorted(maps.Keys(c.Types)) {
		t := c.Types[typ]
		at := k.Of(&c.Types).Entry(typ, &t)
		entityType(at, typ)
		checkDuration(at.Of(&t.MaxAge), t.MaxAge, maxLifetime)
		unit(at.Of(&t.MinConfidence), t.MinConfidence)
		checkDrift(at.Of(&t.Drift), t.Drift)
	}
	c.checkRequired(k)
	for i := range c.Budgets {
		c.checkBudget(k.Of(&c.Budgets).Index(i), &c.Budgets[i])
	}
}

// maxApprovers is more people than anybody asks.
const maxApprovers = 100

func (c *Guard) checkApprovals(k Key) {
	for _, pattern := range slices.Sorted(maps.Keys(c.Approvals)) {
		a := c.Approvals[pattern]
		at := k.Entry(pattern, &a)
		name(at, pattern, "the name of a tool, or a pattern such as provision_*")
		checkPattern(at, pattern)
		if a.Approvers < 0 || a.Approvers > maxApprovers {
			at.Of(&a.Approvers).Wrong(strconv.Itoa(a.Approvers)+" is out of range", "write a number from 1 to "+strconv.Itoa(maxApprovers))
		}
		people := at.Of(&a.Override)
		names(people, a.Override, "the name of a person, as WithIdentity or WithAuthorizer gives it", nil)
		if len(a.Override) == 1 {
			people.Wrong("names one person", "write two or more: it takes two people to override a check")
		}
	}
}

// checkRequired reports types that are listed and not required, or the other way round.
func (c *Guard) checkRequired(k Key) {
	listed := k.Of(&c.Listed)
	first := make(map[string]int)
	for i, typ := range c.Listed {
		entityType(listed.Index(i), typ)
		unique(listed.Index(i), first, typ, i)
	}
	switch {
	case k.Of(&c.Require).Failed():
	case c.Require == RequireListed && len(c.Listed) == 0:
		listed.Wrong("missing beside require: listed", "write the types of entities that have to be unchanged, or require: named for none")
	case c.Require != RequireListed && len(c.Listed) > 0:
		listed.Wrong("given beside require: "+string(cmp.Or(c.Require, RequireEverything)), "write require: listed, or remove the list")
	}
}

var driftType = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func checkDrift(k Key, drift map[string]Drift) {
	for _, attribute := range slices.Sorted(maps.Keys(drift)) {
		d := drift[attribute]
		at := k.Entry(attribute, &d)
		if attribute != Other {
			attributeName(at, attribute)
		}
		if d.Type != "" && !driftType.MatchString(d.Type) {
			at.Of(&d.Type).Wrong(Quote(d.Type)+" is not a drift type", lowerNameRemedy)
		}
		unit(at.Of(&d.Severity), d.Severity)
		if v := d.Tolerance.Percent; !(v >= 0 && v <= 100) {
			at.Of(&d.Tolerance.Percent).Wrong(format(v)+" is out of range", "write a number from 0 to 100")
		}
		if v := d.Tolerance.Absolute; !(v >= 0 && v <= maxTolerance) {
			at.Of(&d.Tolerance.Absolute).Wrong(format(v)+" is out of range", "write a number from 0 to "+format(maxTolerance))
		}
	}
}

func (c *Guard) checkBudget(k Key, b *Budget) {
	if b.Tool != "" {
		name(k.Of(&b.Tool), b.Tool, "the name of a tool, or a pattern such as provision_*")
		checkPattern(k.Of(&b.Tool), b.Tool)
	}
	entityType(k.Of(&b.Cost.Type), b.Cost.Type)
	attributeName(k.Of(&b.Cost.Attribute), b.Cost.Attribute)
	if b.Cost.Quantity != "" {
		attributeName(k.Of(&b.Cost.Quantity), b.Cost.Quantity)
	}
	entityType(k.Of(&b.Limit.Type), b.Limit.Type)
	if b.Limit.Attribute != "" {
		attributeName(k.Of(&b.Limit.Attribute), b.Limit.Attribute)
	}
	unit(k.Of(&b.Severity), b.Severity)
	if b.Everything && (c.Require == RequireNamed || c.Require == RequireListed && !slices.Contains(c.Listed, b.Cost.Type)) {
		k.Of(&b.Everything).Wrong("sums entities that "+string(c.Require)+" leaves unchecked", "write require: everything, or put "+Quote(b.Cost.Type)+" into guard.listed, with require: listed")
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/journal"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// withDefaults returns c with every default written out. It shares no map and no
// slice with c that it changes.
func (c Config) withDefaults() Config {
	c.Journal.Path = cmp.Or(c.Journal.Path, journal.DefaultPath)
	c.Journal.CommitInterval = cmp.Or(c.Journal.CommitInterval, journal.DefaultCommitInterval)
	c.Guard = c.Guard.withDefaults()
	c.Extract = slices.Clone(c.Extract)
	for i := range c.Extract {
		e := &c.Extract[i]
		if e.Event != "" {
			e.In = graphsync.InContent
		}
		e.Each = cmp.Or(e.Each, "$")
		e.ValueType = cmp.Or(e.ValueType, entity.KindText)
		e.Confidence = cmp.Or(e.Confidence, 1)
		e.Attributes = attributesWithDefaults(e.Attributes)
	}
	c.Checkers = slices.Clone(c.Checkers)
	for i := range c.Checkers {
		if h := c.Checkers[i].HTTP; h != nil {
			filled := *h
			filled.AsOf = cmp.Or(h.AsOf, safety.AsOfFetch)
			filled.Attributes = attributesWithDefaults(h.Attributes)
			c.Checkers[i].HTTP = &filled
		}
	}
	return c
}

func (g GuardConfig) withDefaults() GuardConfig {
	d := safety.DefaultPolicy()
	g.Mode = cmp.Or(g.Mode, ModeEnforce)
	g.RequestLifetime = cmp.Or(g.RequestLifetime, d.RequestLifetime)
	// A default gives way to a limit that was set.
	g.CheckAge = cmp.Or(g.CheckAge, min(d.MaxAge, g.RequestLifetime))
	if g.CheckTimeout == 0 {
		g.CheckTimeout = min(d.Timeout, cmp.Or(g.CheckDeadline, d.Timeout))
	}
	g.CheckDeadline = cmp.Or(g.CheckDeadline, max(d.Deadline, g.CheckTimeout))
	if g.MinConfidence == nil {
		g.MinConfidence = &d.MinConfidence
	}

	drift := make(map[string]DriftConfig, len(d.Rules)+len(g.Drift))
	for attribute, r := range d.Rules {
		drift[attribute] = DriftConfig{Type: r.Drift, Severity: &r.Severity}
	}
	// Sorted, safety.Other comes before every name: it is the default of
	// attributes without one.
	for _, attribute := range slices.Sorted(maps.Keys(g.Drift)) {
		base, ok := drift[attribute]
		if !ok {
			base = drift[safety.Other]
		}
		set := g.Drift[attribute]
		set.Type = cmp.Or(set.Type, base.Type)
		set.Severity = cmp.Or(set.Severity, base.Severity)
		drift[attribute] = set
	}
	g.Drift = drift
	return g
}

func attributesWithDefaults(attributes map[string]AttributeConfig) map[string]AttributeConfig {
	attributes = maps.Clone(attributes)
	for name, a := range attributes {
		a.Type = cmp.Or(a.Type, entity.KindText)
		attributes[name] = a
	}
	return attributes
}

// policy returns the policy of the gate.
func (c Config) policy() (safety.Policy, error) {
	p := c.Guard.withDefaults().policy()
	if err := p.Validate(); err != nil {
		return safety.Policy{}, fmt.Errorf("contextgraph: configuration: %w", err)
	}
	return p, nil
}

// rules returns the rules of the extractor. They compile.
func (c Config) rules() ([]graphsync.Rule, error) {
	c = c.withDefaults()
	rules := make([]graphsync.Rule, len(c.Extract))
	for i := range c.Extract {
		rules[i] = c.Extract[i].rule()
	}
	if _, err := graphsync.Compile(rules); err != nil {
		return nil, fmt.Errorf("contextgraph: configuration: extract: %w", err)
	}
	return rules, nil
}

// checkers returns the checker of every entity type: those of the configuration,
// and over them those written in Go.
func (c Config) checkers() (map[string]safety.Checker, error) {
	checkers := make(map[string]safety.Checker, len(c.Checkers)+len(c.CheckFuncs))
	for i, cc := range c.withDefaults().Checkers {
		if cc.HTTP == nil {
			return nil, fmt.Errorf("contextgraph: configuration: checkers[%d]: no way to ask is given; set HTTP", i)
		}
		checker, err := safety.NewHTTPChecker(cc.HTTP.config())
		if err != nil {
			return nil, fmt.Errorf("contextgraph: configuration: checkers[%d]: %w", i, err)
		}
		checkers[cc.Type] = checker
	}
	maps.Copy(checkers, c.CheckFuncs)
	return checkers, nil
}

// policy needs a g with its defaults.
func (g GuardConfig) policy() safety.Policy {
	p := safety.DefaultPolicy()
	p.RequestLifetime = g.RequestLifetime
	p.MaxAge = g.CheckAge
	p.Timeout = g.CheckTimeout
	p.Deadline = g.CheckDeadline
	p.MinConfidence = *g.MinConfidence
	for attribute, d := range g.Drift {
		p.Rules[attribute] = safety.Rule{
			Drift:     d.Type,
			Severity:  *d.Severity,
			Tolerance: safety.Tolerance{Absolute: d.Tolerance.Absolute, Percent: d.Tolerance.Percent},
		}
	}
	return p
}

func (c *ExtractConfig) rule() graphsync.Rule {
	r := graphsync.Rule{
		Name: c.Name, Tool: c.Tool, In: c.In, Event: c.Event, Each: c.Each,
		Type: c.Type, Value: c.Value, ValueKind: c.ValueType, Currency: c.Currency,
		ArtifactURI: c.ArtifactURI, Confidence: c.Confidence,
	}
	if len(c.Attributes) > 0 {
		r.Attributes = make(map[string]graphsync.AttributeRule, len(c.Attributes))
	}
	for name, a := range c.Attributes {
		r.Attributes[name] = graphsync.AttributeRule{Path: a.Path, Kind: a.Type, Currency: a.Currency, Optional: a.Optional}
	}
	return r
}

func (h *HTTPCheckerConfig) config() safety.HTTPConfig {
	cfg := safety.HTTPConfig{
		URL: h.URL, AsOf: h.AsOf, Version: h.Version,
		Headers:    make(map[string]string, len(h.Headers)),
		Attributes: make(map[string]safety.HTTPAttribute, len(h.Attributes)),
	}
	for name, value := range h.Headers {
		cfg.Headers[name] = string(value)
	}
	for name, a := range h.Attributes {
		cfg.Attributes[name] = safety.HTTPAttribute{Path: a.Path, Kind: a.Type, Currency: a.Currency}
	}
	return cfg
}

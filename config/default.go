// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Default returns the Config with every default written out. What has no default is zero.
func Default() Config {
	return Config{
		Enabled: new(true),
		Journal: Journal{
			Path:           "contextgraph.db",
			Durability:     DurabilityJournal,
			CommitInterval: 20 * time.Millisecond,
			QueueBytes:     384 << 20,
			OnFull:         DropOldest,
		},
		Record: Record{
			PromptHistory: PromptFull,
			SessionState:  new(true),
			MaxString:     512_000,
			MaxRow:        1_000_000,
			Artifacts:     Artifacts{Store: "contextgraph.db.artifacts", MaxBytes: 64 << 20},
		},
		Guard: Guard{
			Mode:            ModeEnforce,
			Unguarded:       UnguardedWarn,
			RequestLifetime: 7 * 24 * time.Hour,
			CheckAge:        30 * time.Second,
			CheckTimeout:    5 * time.Second,
			CheckDeadline:   15 * time.Second,
			EffectTimeout:   10 * time.Minute,
			MinConfidence:   new(0.5),
			Drift: map[string]Drift{
				"availability": change("unavailable", 0.95),
				"price":        change("price_changed", 0.72),
				"reach":        change("changed", 0.60),
				"status":       change("status_changed", 0.90),
				Other:          change("changed", 0.50),
			},
			Require: RequireEverything,
		},
		BigQuery: BigQuery{
			Location:         "US",
			Table:            "agent_events",
			ViewPrefix:       "v",
			CreateViews:      new(true),
			ClusteringFields: []string{"event_type", "agent", "user_id"},
			Init:             new(true),
			MaxBytesBilled:   10 << 30,
			Stream:           Stream{FlushTimeout: 5 * time.Second},
			Graph:            Graph{Sync: new(true), Name: "contextgraph", Queries: QueriesAuto},
			Extract: Extraction{
				EntityTypes: []string{"Product", "Targeting", "Campaign", "Budget", "Audience", "Creative", "Placement"},
				MaxRows:     1000,
			},
		},
	}
}

// change returns what any change of a value leads to by default.
func change(alert string, severity float64) Drift {
	return Drift{Type: alert, Severity: &severity, Direction: Either, Effect: EffectBlock}
}

// Other is the name in [Guard.Drift] that stands for every attribute without an entry.
const Other = "*"

const (
	defaultMemoryInterval = time.Second
	defaultMaxCalls       = 20
	defaultSeverity       = 0.85
)

// WithDefaults returns c with every default written out: those of Default, unless they depend on
// the values of c. A default gives way to a bound that was set. No map and no slice of c is
// changed.
func (c Config) WithDefaults() Config {
	d := Default()
	if c.Journal.Durability == DurabilityMemory {
		d.Journal.CommitInterval = defaultMemoryInterval
	}
	if c.Journal.Path != "" {
		d.Record.Artifacts.Store = c.Journal.Path + ".artifacts"
	}
	if c.Record.MaxRow != 0 {
		d.Record.MaxString = min(d.Record.MaxString, c.Record.MaxRow)
	}
	g, dg := &c.Guard, &d.Guard
	dg.CheckAge = min(dg.CheckAge, cmp.Or(g.RequestLifetime, dg.RequestLifetime))
	dg.CheckDeadline = max(dg.CheckDeadline, g.CheckTimeout)
	dg.CheckTimeout = min(dg.CheckTimeout, cmp.Or(g.CheckDeadline, dg.CheckTimeout))
	drift := filled(g.Drift, dg.Drift)
	maps.Copy(dg.Drift, drift)
	g.Drift = dg.Drift
	d.BigQuery.BillingProject = c.BigQuery.Project
	fill(reflect.ValueOf(&c).Elem(), reflect.ValueOf(d))

	g.Types = maps.Clone(g.Types)
	for name, t := range g.Types {
		t.Unseen = cmp.Or(t.Unseen, UnseenDeny)
		t.Drift = filled(t.Drift, g.Drift)
		g.Types[name] = t
	}
	g.Approvals = maps.Clone(g.Approvals)
	for tool, a := range g.Approvals {
		a.Approvers, a.Override = cmp.Or(a.Approvers, 1), slices.Clone(a.Override)
		g.Approvals[tool] = a
	}
	g.Budgets = slices.Clone(g.Budgets)
	for i := range g.Budgets {
		g.Budgets[i].Severity = cmp.Or(g.Budgets[i].Severity, new(defaultSeverity))
	}
	c.Extract = slices.Clone(c.Extract)
	for i := range c.Extract {
		c.Extract[i] = c.Extract[i].WithDefaults()
	}
	c.Checkers = slices.Clone(c.Checkers)
	for i := range c.Checkers {
		c.Checkers[i] = c.Checkers[i].WithDefaults()
	}
	return c
}

// fill gives each field of dst that is zero the value that it has in from.
func fill(dst, from reflect.Value) {
	for i := range dst.NumField() {
		switch to := dst.Field(i); {
		case to.Kind() == reflect.Struct:
			fill(to, from.Field(i))
		case to.IsZero():
			to.Set(from.Field(i))
		}
	}
}

// filled returns set with the defaults of base. An entry of set for the same attribute comes first,
// then the entry of set for any other attribute, then those of base.
func filled(set, base map[string]Drift) map[string]Drift {
	if set == nil {
		return nil
	}
	out := make(map[string]Drift, len(set))
	// Sorted, Other comes before every name: it is the default of attributes without one.
	for _, attribute := range slices.Sorted(maps.Keys(set)) {
		of, ok := base[attribute]
		if other, has := out[Other]; !ok && has {
			of = other
		} else if !ok {
			of = base[Other]
		}
		d := set[attribute]
		d.Type = cmp.Or(d.Type, of.Type)
		d.Severity = cmp.Or(d.Severity, of.Severity)
		d.Direction = cmp.Or(d.Direction, Either)
		d.Effect = cmp.Or(d.Effect, EffectBlock)
		out[attribute] = d
	}
	return out
}

// WithDefaults returns e with every default written out.
func (e Extract) WithDefaults() Extract {
	in := InResult
	if e.Event != "" {
		in = InContent
	}
	e.In = cmp.Or(e.In, in)
	e.Each = cmp.Or(e.Each, "$")
	e.ValueType = cmp.Or(e.ValueType, entity.KindText)
	e.Confidence = cmp.Or(e.Confidence, 1)
	e.Attributes = maps.Clone(e.Attributes)
	for name, a := range e.Attributes {
		a.Type = cmp.Or(a.Type, entity.KindText)
		e.Attributes[name] = a
	}
	return e
}

// WithDefaults returns c with every default written out.
func (c Checker) WithDefaults() Checker {
	if c.HTTP != nil {
		c.HTTP = new(c.HTTP.WithDefaults())
	}
	if c.SQL != nil {
		c.SQL = new(c.SQL.WithDefaults())
	}
	if c.Replay != nil {
		c.Replay = new(*c.Replay)
		c.Replay.MaxCalls = cmp.Or(c.Replay.MaxCalls, defaultMaxCalls)
	}
	return c
}

// WithDefaults returns h with every default written out.
func (h HTTP) WithDefaults() HTTP {
	h.AsOf = cmp.Or(h.AsOf, AsOfFetch)
	h.Attributes = maps.Clone(h.Attributes)
	for name, a := range h.Attributes {
		a.Type = cmp.Or(a.Type, entity.KindText)
		h.Attributes[name] = a
	}
	return h
}

// WithDefaults returns s with every default written out.
func (s SQL) WithDefaults() SQL {
	s.AsOf = cmp.Or(s.AsOf, AsOfFetch)
	s.Attributes = maps.Clone(s.Attributes)
	for name, a := range s.Attributes {
		a.Type = cmp.Or(a.Type, entity.KindText)
		s.Attributes[name] = a
	}
	return s
}

// WithDefaults returns j with every default written out.
func (j Journal) WithDefaults() Journal { return Config{Journal: j}.WithDefaults().Journal }

// Enabled reports whether b names a project or a dataset. It needs both: a check reports the one
// that is missing.
func (b BigQuery) Enabled() bool { return b.Project != "" || b.Dataset != "" }

// WithDefaults returns b with every default written out.
func (b BigQuery) WithDefaults() BigQuery { return Config{BigQuery: b}.WithDefaults().BigQuery }

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
			Mode:              ModeEnforce,
			Unguarded:         UnguardedWarn,
			RequestLifetime:   7 * 24 * time.Hour,
			CheckAge:          30 * time.Second,
			CheckTimeout:      5 * time.Second,
			CheckDeadline:     15 * time.Second,
			CheckBeforeAsking: new(true),
			EffectTimeout:     10 * time.Minute,
			MinConfidence:     new(0.5),
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
			Graph:            Graph{Sync: new(true), Name: "contextgraph", GQL: new(true)},
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

// defaultOf returns the default of a value that stands in a list, in a map or behind a pointer.
func defaultOf(t reflect.Type) reflect.Value {
	for _, v := range []any{
		ToolSettings{Approvers: 1},
		InputSettings{Approvers: 1},
		TypePolicy{Unseen: UnseenDeny},
		Budget{Severity: new(0.85), Across: AcrossNone},
		Extract{In: InResult, Each: "$", ValueType: entity.KindText, Confidence: 1},
		Attribute{Type: entity.KindText},
		HTTP{AsOf: AsOfFetch},
		Answer{Type: entity.KindText},
		SQL{AsOf: AsOfFetch},
		Column{Type: entity.KindText},
		Replay{MaxCalls: 20},
	} {
		if reflect.TypeOf(v) == t {
			return reflect.ValueOf(v)
		}
	}
	return reflect.Zero(t)
}

// WithDefaults returns c with every default written out: those of Default, unless they depend on
// the values of c. A default gives way to a bound that was set. No map and no slice of c is
// changed.
func (c Config) WithDefaults() Config {
	d := Default()
	if c.Journal.Durability == DurabilityMemory {
		d.Journal.CommitInterval = time.Second
	}
	if c.Journal.Path != "" {
		d.Record.Artifacts.Store = c.Journal.Path + ".artifacts"
	}
	if c.Store.Postgres.DSN != "" {
		d.Journal.Path, d.Record.Artifacts.Store = "", StoreOff
	}
	if c.Record.MaxRow != 0 {
		d.Record.MaxString = min(d.Record.MaxString, c.Record.MaxRow)
	}
	g, dg := &c.Guard, &d.Guard
	dg.CheckAge = min(dg.CheckAge, cmp.Or(g.RequestLifetime, dg.RequestLifetime))
	dg.CheckDeadline = max(dg.CheckDeadline, g.CheckTimeout)
	dg.CheckTimeout = min(dg.CheckTimeout, cmp.Or(g.CheckDeadline, dg.CheckTimeout))
	maps.Copy(dg.Drift, filled(g.Drift, maps.Clone(dg.Drift)))
	g.Drift = dg.Drift
	d.BigQuery.BillingProject = c.BigQuery.Project
	fill(reflect.ValueOf(&c).Elem(), reflect.ValueOf(d))
	for name, t := range g.Types { // of the copy that fill has made
		t.Drift = filled(t.Drift, g.Drift)
		g.Types[name] = t
	}
	return c
}

// fill copies what dst points to, and gives each value in it that is zero the one that it has in
// from.
func fill(dst, from reflect.Value) {
	if dst.Kind() != reflect.Struct && dst.IsZero() {
		dst.Set(from)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		if e, ok := dst.Addr().Interface().(*Extract); ok && e.Event != "" {
			e.In = cmp.Or(e.In, InContent)
		}
		for i := range dst.NumField() {
			fill(dst.Field(i), from.Field(i))
		}
	case reflect.Pointer:
		of := reflect.New(dst.Type().Elem())
		of.Elem().Set(dst.Elem())
		fill(of.Elem(), defaultOf(of.Elem().Type()))
		dst.Set(of)
	case reflect.Slice:
		list := reflect.MakeSlice(dst.Type(), dst.Len(), dst.Len())
		reflect.Copy(list, dst)
		for i := range list.Len() {
			fill(list.Index(i), defaultOf(dst.Type().Elem()))
		}
		dst.Set(list)
	case reflect.Map:
		entries := reflect.MakeMap(dst.Type())
		for name, entry := range dst.Seq2() {
			of := reflect.New(dst.Type().Elem()).Elem()
			of.Set(entry)
			fill(of, defaultOf(of.Type()))
			entries.SetMapIndex(name, of)
		}
		dst.Set(entries)
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

// withDefaults returns a part of a Config with every default written out.
func withDefaults[T any](part T) T {
	fill(reflect.ValueOf(&part).Elem(), defaultOf(reflect.TypeFor[T]()))
	return part
}

// WithDefaults returns e with every default written out.
func (e Extract) WithDefaults() Extract { return withDefaults(e) }

// WithDefaults returns h with every default written out.
func (h HTTP) WithDefaults() HTTP { return withDefaults(h) }

// WithDefaults returns s with every default written out.
func (s SQL) WithDefaults() SQL { return withDefaults(s) }

// WithDefaults returns j with every default written out.
func (j Journal) WithDefaults() Journal { return Config{Journal: j}.WithDefaults().Journal }

// Enabled reports whether b names a project or a dataset. It needs both: a check reports the one
// that is missing.
func (b BigQuery) Enabled() bool { return b.Project != "" || b.Dataset != "" }

// WithDefaults returns b with every default written out.
func (b BigQuery) WithDefaults() BigQuery { return Config{BigQuery: b}.WithDefaults().BigQuery }

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// withDefaults returns c with every default written out. It shares no map and no
// slice with c that it changes.
func (c Config) withDefaults() Config {
	c.Journal = c.Journal.withDefaults()
	c.Record = c.Record.withDefaults(c.Journal.Path)
	c.Guard = c.Guard.withDefaults()
	if c.BigQuery.Enabled() {
		c.BigQuery = c.BigQuery.WithDefaults()
	}
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
			c.Checkers[i].HTTP = h.withDefaults()
		}
		if s := c.Checkers[i].SQL; s != nil {
			c.Checkers[i].SQL = s.withDefaults()
		}
		if r := c.Checkers[i].Replay; r != nil {
			c.Checkers[i].Replay = r.withDefaults(c.Guard)
		}
	}
	return c
}

func (h *HTTPCheckerConfig) withDefaults() *HTTPCheckerConfig {
	filled := *h
	filled.AsOf = cmp.Or(h.AsOf, source.AsOfFetch)
	filled.Attributes = attributesWithDefaults(h.Attributes)
	return &filled
}

func (j JournalConfig) withDefaults() JournalConfig {
	j.Path = cmp.Or(j.Path, journal.DefaultPath)
	j.Durability = cmp.Or(j.Durability, journal.DurabilityJournal)
	interval := time.Duration(journal.DefaultCommitInterval)
	if j.Durability == journal.DurabilityMemory {
		interval = journal.DefaultMemoryInterval
	}
	j.CommitInterval = cmp.Or(j.CommitInterval, interval)
	j.QueueBytes = cmp.Or(j.QueueBytes, journal.DefaultQueueBytes)
	j.QueueRows = cmp.Or(j.QueueRows, journal.DefaultQueueRows)
	j.OnFull = cmp.Or(j.OnFull, journal.DropOldest)
	if j.OnFull == journal.Block {
		j.BlockTimeout = cmp.Or(j.BlockTimeout, journal.DefaultBlockTimeout)
	}
	return j
}

func (r RecordConfig) withDefaults(journalPath string) RecordConfig {
	r.PromptHistory = cmp.Or(r.PromptHistory, PromptFull)
	// A default gives way to a limit that was set.
	r.MaxRow = cmp.Or(r.MaxRow, defaultMaxRow)
	r.MaxString = cmp.Or(r.MaxString, min(defaultMaxString, r.MaxRow))
	a := &r.Artifacts
	a.Store = cmp.Or(a.Store, journalPath+".artifacts")
	if a.MaxBytes == 0 {
		a.MaxBytes = min(offload.DefaultMaxBytes, cmp.Or(a.QueueBytes, offload.DefaultQueueBytes))
	}
	a.QueueBytes = cmp.Or(a.QueueBytes, max(offload.DefaultQueueBytes, a.MaxBytes))
	return r
}

func (g GuardConfig) withDefaults() GuardConfig {
	d := safety.DefaultPolicy()
	g.Mode = cmp.Or(g.Mode, ModeEnforce)
	g.Unguarded = cmp.Or(g.Unguarded, UnguardedWarn)
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

	return g.withPolicy(d)
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

// checkers returns the checker of every entity type: those of the configuration, but
// for those that repeat calls, and over them those written in Go.
func (c Config) checkers() (map[string]safety.Checker, error) {
	checkers := make(map[string]safety.Checker, len(c.Checkers)+len(c.CheckFuncs))
	for i, cc := range c.withDefaults().Checkers {
		var checker safety.Checker
		var err error
		switch {
		case c.CheckFuncs[cc.Type] != nil || cc.Replay != nil:
			continue
		case cc.SQL != nil:
			checker, err = cc.SQL.checker(c)
		case cc.HTTP != nil:
			hc := cc.HTTP.config()
			hc.Now = c.Now
			checker, err = source.NewHTTPChecker(hc)
		default:
			err = errors.New("no way to ask is given; set HTTP, SQL or Replay")
		}
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
	p.Rules = driftRules(g.Drift)
	p.Types = g.typePolicies()
	p.Require, p.Listed = g.Require, g.Listed
	p.Budgets = g.budgetRules()
	return p
}

// config returns the configuration of the journal; it needs a j with its defaults.
func (j JournalConfig) config() journal.Config {
	return journal.Config{
		Path: j.Path, Durability: j.Durability, CommitInterval: j.CommitInterval,
		QueueBytes: j.QueueBytes, QueueRows: j.QueueRows, OnFull: j.OnFull, BlockTimeout: j.BlockTimeout,
		Retention: journal.Retention{MaxAge: j.Retention.MaxAge, MaxBytes: j.Retention.MaxSize},
	}
}

// options returns what is written of a run, and how; where large parts are kept is
// left open.
func (c Config) options() (cgplugin.Options, error) {
	r := c.Record
	o := cgplugin.Options{
		Allow: r.Allow, Deny: r.Deny, Content: r.Content,
		Format: c.Format, Classify: c.Classify,
		PromptDelta: r.PromptHistory == PromptDelta, Chunks: r.Chunks, NoSessionState: r.NoSessionState,
		Tags: r.Tags, Metadata: r.Metadata, FinalTools: r.FinalResponseTools,
		ObjectAuthorizer: r.Artifacts.Connection,
	}
	o.Redaction.Keys = r.Redact.Keys
	for i, pattern := range r.Redact.Patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return cgplugin.Options{}, fmt.Errorf("contextgraph: configuration: record.redact.patterns[%d]: %w", i, err)
		}
		o.Redaction.Patterns = append(o.Redaction.Patterns, re)
	}
	return o, nil
}

// limits returns the bounds of a row.
func (c Config) limits() cgplugin.Limits {
	r := c.withDefaults().Record
	return cgplugin.Limits{String: r.MaxString, Total: r.MaxRow}
}

func (c *ExtractConfig) rule() graphsync.Rule {
	r := graphsync.Rule{
		Name: c.Name, Tool: c.Tool, In: c.In, Event: c.Event, Each: c.Each,
		Type: c.Type, Value: c.Value, ValueArgs: c.ValueArgs, ValueKind: c.ValueType, Currency: c.Currency,
		ArtifactURI: c.ArtifactURI, Confidence: c.Confidence, Alternatives: c.Alternatives,
	}
	if len(c.Attributes) > 0 {
		r.Attributes = make(map[string]graphsync.AttributeRule, len(c.Attributes))
	}
	for name, a := range c.Attributes {
		r.Attributes[name] = graphsync.AttributeRule{Path: a.Path, Kind: a.Type, Currency: a.Currency, Optional: a.Optional, LookedUp: a.LookedUp}
	}
	return r
}

func (h *HTTPCheckerConfig) config() source.HTTPConfig {
	cfg := source.HTTPConfig{
		URL: h.URL, AsOf: h.AsOf, Version: h.Version,
		Headers:    make(map[string]string, len(h.Headers)),
		Attributes: make(map[string]source.HTTPAttribute, len(h.Attributes)),
	}
	for name, value := range h.Headers {
		cfg.Headers[name] = string(value)
	}
	for name, a := range h.Attributes {
		cfg.Attributes[name] = source.HTTPAttribute{Path: a.Path, Kind: a.Type, Currency: a.Currency}
	}
	return cfg
}

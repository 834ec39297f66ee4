// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

// An attribute with a meaning of its own, as [Exists] has one: an answer that it is false
// is an alert whether or not it was seen.
const availability = "availability"

// TypePolicy is the policy for the entities of one type. The zero value adds nothing to the general
// policy.
type TypePolicy struct {
	// Rules holds rules per attribute, as [Policy.Rules]. A rule that names an
	// attribute wins over one under [config.Other], wherever either stands; of two with
	// the same key, the one here wins.
	Rules map[string]Rule
	// Optional lets a check pass although entities of this type have no checker or fail their
	// check. They are then listed as skipped, with the reason. A change that is found counts all
	// the same. A check that compared nothing at all fails.
	Optional bool
	// MaxAge is the greatest age of an answer about these entities when a check starts. A MaxAge
	// below that of the policy also ends the permit earlier. Default: the MaxAge of the policy.
	MaxAge time.Duration
	// MinConfidence is the floor of the confidence of these entities. Nil means
	// that of the policy.
	MinConfidence *float64
	// Unseen decides about entities of this type that no result on record has shown. Default: their
	// check fails.
	Unseen Unseen
}

// Unseen decides about an entity, or an attribute, that is only claimed: the arguments of a call, a
// person or a model name it, and no result shows it.
type Unseen uint8

// What comes of claims. The zero value denies.
const (
	UnseenDeny Unseen = iota
	// UnseenAllow compares what the arguments of the action say with the world, as if it
	// had been read. The report says so.
	UnseenAllow
)

var unseenNames = []string{UnseenDeny: "deny", UnseenAllow: "allow"}

// String returns "allow" or, for every other value, "deny".
func (u Unseen) String() string { return nameOf(unseenNames, u) }

// Policy defines a change, the entities that have to be unchanged, and the time that each step may
// take or stay valid. [NewPolicy] makes it from a configuration; the zero Policy is not valid.
type Policy struct {
	// Rules holds one rule for each attribute, and under [config.Other] the rule of all other
	// attributes. Attributes without a rule keep their default, see [config.Guard.Drift].
	Rules map[string]Rule
	// Types holds what is different for the entities of a type.
	Types map[string]TypePolicy
	// Require says which entities have to be checked. Default: everything that
	// was recorded before the decision.
	Require Requirement
	// Listed are the entity types that are required with [RequireListed]; it must
	// be empty otherwise.
	Listed []string
	// Budgets are the rules for the present cost of a plan.
	Budgets []BudgetRule
	// Approvals are the rules for who has to approve. A tool without a rule needs one person.
	Approvals []ApprovalRule
	// MaxAge is how old an answer may be when a check starts, and how long after
	// its start a check permits.
	MaxAge time.Duration
	// ClockSkew is how far ahead of ours a clock that names a time may be.
	ClockSkew time.Duration
	// Timeout is for the check of one entity.
	Timeout time.Duration
	// Deadline is for the whole check.
	Deadline time.Duration
	// Parallel is how many entities are checked at a time.
	Parallel int
	// MinConfidence is the floor below which an entity fails its check, between
	// 0 and 1.
	MinConfidence float64
	// RequestLifetime is how long a request may wait for its answer and its
	// execution.
	RequestLifetime time.Duration
}

const maxParallel = 1024

var driftName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Validate reports everything that is wrong with the policy, naming the fields.
func (p Policy) Validate() error {
	var errs []error
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v: it must be positive (start from NewPolicy)", name, d))
		}
	}
	positive("MaxAge", p.MaxAge)
	positive("Timeout", p.Timeout)
	positive("Deadline", p.Deadline)
	positive("RequestLifetime", p.RequestLifetime)
	if p.ClockSkew < 0 {
		errs = append(errs, fmt.Errorf("ClockSkew is %v: it must not be negative", p.ClockSkew))
	}
	if p.Parallel < 1 || p.Parallel > maxParallel {
		errs = append(errs, fmt.Errorf("Parallel is %d: it must be between 1 and %d", p.Parallel, maxParallel))
	}
	if !fraction(p.MinConfidence) {
		errs = append(errs, fmt.Errorf("MinConfidence is %v: it must be between 0 and 1", p.MinConfidence))
	}
	rules := func(of string, rules map[string]Rule) {
		for _, name := range slices.Sorted(maps.Keys(rules)) {
			if err := rules[name].validate(); err != nil {
				errs = append(errs, fmt.Errorf("%srule %q: %w", of, name, err))
			}
			if rules[name].Condition != (Condition{}) && (of == "" || name == config.Other) {
				errs = append(errs, fmt.Errorf("%srule %q: a condition is for one attribute of one type: put it into the Rules of a TypePolicy, under the name of the attribute", of, name))
			}
		}
	}
	rules("", p.Rules)
	for _, typ := range slices.Sorted(maps.Keys(p.Types)) {
		t := p.Types[typ]
		of := fmt.Sprintf("type %q: ", typ)
		if typ == "" {
			errs = append(errs, fmt.Errorf("%sa type has a name", of))
		}
		if t.MaxAge < 0 {
			errs = append(errs, fmt.Errorf("%sMaxAge is %v: it must not be negative", of, t.MaxAge))
		}
		if t.MinConfidence != nil && !fraction(*t.MinConfidence) {
			errs = append(errs, fmt.Errorf("%sMinConfidence is %v: it must be between 0 and 1", of, *t.MinConfidence))
		}
		if int(t.Unseen) >= len(unseenNames) {
			errs = append(errs, fmt.Errorf("%sUnseen is %d: use UnseenDeny or UnseenAllow", of, uint8(t.Unseen)))
		}
		rules(of, t.Rules)
	}
	errs = append(errs, p.validateRequirement(), p.validateBudgets(), p.validateApprovals())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("safety policy: %w", err)
	}
	return nil
}

// Version returns a digest of the whole policy, 64 hexadecimal digits. An approval asked under one
// version is not carried out under another. Policies with the same meaning have the same version,
// for example if one spells out a default that the other leaves out. A policy that is not valid has
// the version "".
func (p Policy) Version() string {
	if p.Validate() != nil {
		return ""
	}
	fields := []string{
		"policy v3", p.MaxAge.String(), p.ClockSkew.String(), p.Timeout.String(), p.Deadline.String(),
		strconv.Itoa(p.Parallel), decimalText(p.MinConfidence), p.RequestLifetime.String(), p.Require.String(),
	}
	listed := slices.Compact(slices.Sorted(slices.Values(p.Listed)))
	for _, part := range [][]string{listed, p.ruleFields(), p.budgetFields()} {
		fields = append(fields, strconv.Itoa(len(part)))
		fields = append(fields, part...)
	}
	// Without rules they are no part, as in versions that had none.
	return digest(append(fields, p.approvalFields()...)...)
}

// ruleFields writes what the rules come to: of the policy what differs from the rule
// of all other attributes, of each type what differs from the policy.
func (p Policy) ruleFields() []string {
	b := p.rulebook()
	names := maps.Clone(b.base)
	for _, t := range p.Types {
		maps.Copy(names, t.Rules)
	}
	sorted := slices.Sorted(maps.Keys(names))

	other := b.base[config.Other]
	fields := append([]string{"rule", "", config.Other}, other.fields()...)
	for _, name := range sorted {
		if r := b.rule("", name); r != other {
			fields = append(append(fields, "rule", "", name), r.fields()...)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(p.Types)) {
		ofOther := b.rule(typ, config.Other)
		if ofOther != other {
			fields = append(append(fields, "rule", typ, config.Other), ofOther.fields()...)
		}
		for _, name := range sorted {
			// The fields written so far would give a reader this rule.
			expected := ofOther
			if r := b.rule("", name); r != other {
				expected = r
			}
			if r := b.rule(typ, name); r != expected {
				fields = append(append(fields, "rule", typ, name), r.fields()...)
			}
		}
		if t := p.Types[typ]; t.Optional {
			fields = append(fields, "optional", typ)
		}
		if u := p.Types[typ].Unseen; u != UnseenDeny {
			fields = append(fields, "unseen", typ, u.String())
		}
		if d := p.maxAge(typ); d != p.MaxAge {
			fields = append(fields, "max age", typ, d.String())
		}
		if f := p.minConfidence(typ); f != p.MinConfidence {
			fields = append(fields, "min confidence", typ, decimalText(f))
		}
	}
	return fields
}

// clone returns a copy that shares nothing with p.
func (p Policy) clone() Policy {
	p.Rules = maps.Clone(p.Rules)
	p.Types = maps.Clone(p.Types)
	for typ, t := range p.Types {
		t.Rules = maps.Clone(t.Rules)
		if t.MinConfidence != nil {
			t.MinConfidence = new(*t.MinConfidence)
		}
		p.Types[typ] = t
	}
	p.Listed = slices.Clone(p.Listed)
	p.Budgets = slices.Clone(p.Budgets)
	p.Approvals = slices.Clone(p.Approvals)
	for i, r := range p.Approvals {
		p.Approvals[i].Override = slices.Clone(r.Override)
	}
	return p
}

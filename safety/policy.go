// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Tolerance is how far a number or an amount of money may move and still count as
// unchanged. The zero value tolerates nothing. When both fields are set a change
// must be within both. It never applies to other kinds or between currencies.
type Tolerance struct {
	// Absolute is in the unit of the attribute.
	Absolute float64
	// Percent is in percent of the value seen: 5 tolerates 95 to 105 for 100.
	Percent float64
}

// Rule says what a change of an attribute means.
type Rule struct {
	// Drift is the drift type of the alert: lower case letters, digits and
	// underscores.
	Drift DriftType
	// Severity is between 0 (not worth a look) and 1.
	Severity float64
	// Tolerance is how much change is no change.
	Tolerance Tolerance
}

// The attribute that has a meaning of its own: an answer that it is false is an
// alert whether or not it was seen.
const availability = "availability"

// Other is the key in [Policy.Rules] of the rule for attributes without one.
const Other = "*"

func defaultRules() map[string]Rule {
	return map[string]Rule{
		availability: {Drift: InventoryDepleted, Severity: 0.95},
		"price":      {Drift: PriceChanged, Severity: 0.72},
		"reach":      {Drift: AudienceShifted, Severity: 0.60},
		"status":     {Drift: CampaignPaused, Severity: 0.90},
		Other:        {Drift: Changed, Severity: 0.50},
	}
}

// Policy says what counts as a change and how long things may take or stay valid.
// Start from [DefaultPolicy]; the zero Policy is not valid.
type Policy struct {
	// Rules holds one rule per attribute, and under [Other] the rule of all other
	// attributes. What is not named keeps its default: availability is
	// inventory_depleted 0.95, price is price_changed 0.72, reach is
	// audience_shifted 0.60, status is campaign_paused 0.90 and any other
	// attribute is changed 0.50.
	Rules map[string]Rule
	// MaxAge is how old an answer may be when a check starts, and how long after
	// its start a check permits. Default 30 s.
	MaxAge time.Duration
	// ClockSkew is how far ahead of ours a clock that names a time may be.
	// Default 2 s.
	ClockSkew time.Duration
	// Timeout is for the check of one entity. Default 5 s.
	Timeout time.Duration
	// Deadline is for the whole check. Default 15 s.
	Deadline time.Duration
	// Parallel is how many entities are checked at a time. Default 8.
	Parallel int
	// MinConfidence is the floor below which an entity fails its check, between
	// 0 and 1. Default 0.5.
	MinConfidence float64
	// RequestLifetime is how long a request may wait for its answer and its
	// execution. Default 7 days.
	RequestLifetime time.Duration
}

// DefaultPolicy returns the default policy. The caller owns it.
func DefaultPolicy() Policy {
	return Policy{
		Rules:           defaultRules(),
		MaxAge:          30 * time.Second,
		ClockSkew:       2 * time.Second,
		Timeout:         5 * time.Second,
		Deadline:        15 * time.Second,
		Parallel:        8,
		MinConfidence:   0.5,
		RequestLifetime: 7 * 24 * time.Hour,
	}
}

const maxParallel = 1024

var driftName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Validate reports everything that is wrong with the policy, naming the fields.
func (p Policy) Validate() error {
	var errs []error
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v: it must be positive (start from DefaultPolicy)", name, d))
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
	for _, name := range slices.Sorted(maps.Keys(p.Rules)) {
		r := p.Rules[name]
		if !driftName.MatchString(string(r.Drift)) {
			errs = append(errs, fmt.Errorf("rule %q: drift type %q: use lower case letters, digits and underscores", name, r.Drift))
		}
		if !fraction(r.Severity) {
			errs = append(errs, fmt.Errorf("rule %q: severity is %v: it must be between 0 and 1", name, r.Severity))
		}
		if !amount(r.Tolerance.Absolute) || !amount(r.Tolerance.Percent) {
			errs = append(errs, fmt.Errorf("rule %q: tolerance is %v absolute, %v percent: both must be finite and not negative",
				name, r.Tolerance.Absolute, r.Tolerance.Percent))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("safety policy: %w", err)
	}
	return nil
}

func fraction(f float64) bool { return f >= 0 && f <= 1 }

func amount(f float64) bool { return f >= 0 && !math.IsInf(f, 1) }

// Version returns a digest of everything in the policy, 64 hexadecimal digits. An
// approval asked under one version is not carried out under another. Policies that
// mean the same (a default left out or spelled out) have the same version. A policy
// that is not valid has the version "".
func (p Policy) Version() string {
	if p.Validate() != nil {
		return ""
	}
	effective := defaultRules()
	maps.Copy(effective, p.Rules)
	fields := []string{
		"policy v1", p.MaxAge.String(), p.ClockSkew.String(), p.Timeout.String(), p.Deadline.String(),
		strconv.Itoa(p.Parallel), decimalText(p.MinConfidence), p.RequestLifetime.String(),
	}
	for _, name := range slices.Sorted(maps.Keys(effective)) {
		r := effective[name]
		fields = append(fields, name, string(r.Drift), decimalText(r.Severity),
			decimalText(r.Tolerance.Absolute), decimalText(r.Tolerance.Percent))
	}
	return digest(fields...)
}

// decimalText writes a float64 as the shortest decimal that reads back as it, which
// is also what a person meant by it: 0.1 is one tenth.
func decimalText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// rule returns the rule of an attribute.
func (p Policy) rule(attribute string) Rule {
	if r, ok := p.Rules[attribute]; ok {
		return r
	}
	defaults := defaultRules()
	if r, ok := defaults[attribute]; ok {
		return r
	}
	if r, ok := p.Rules[Other]; ok {
		return r
	}
	return defaults[Other]
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// examined is everything the check of one entity gave.
type examined struct {
	result   EntityResult
	alerts   []Alert
	failures []Failure
	// read is set if the answer is one to go by: without an error, and fresh.
	read bool
}

func (x *examined) fail(f Failure) { x.failures = append(x.failures, f) }

// settle derives the outcome. It is called once, when nothing can be added. What is
// wrong with an optional entity does not fail the check.
func (x *examined) settle(optional bool) {
	if optional {
		x.result.Skipped, x.failures = x.failures, nil
	}
	switch {
	case slices.ContainsFunc(x.alerts, Alert.blocks):
		x.result.Outcome = EntityChanged
	case len(x.failures) > 0:
		x.result.Outcome = EntityFailed
	case len(x.result.Skipped) > 0:
		x.result.Outcome = EntitySkipped
	case len(x.alerts) > 0:
		x.result.Outcome = EntityWarned
	default:
		x.result.Outcome = EntityUnchanged
	}
}

// accept records an answer and compares it with what was seen. now is the time the
// answer arrived, started the time the check began; for passedOver see compare.
func (x *examined) accept(b rulebook, e entity.Canonical, s State, passedOver bool, started, now time.Time) {
	x.result.AsOf, x.result.Version = writable(s.AsOf), s.Version
	x.result.Now = maps.Clone(s.Attributes)
	switch {
	case len(s.Attributes) == 0:
		x.fail(failOf(e, ReasonEmptyAnswer, "the checker gave no attributes"))
	case s.AsOf.IsZero():
		x.fail(failOf(e, ReasonNoAsOf, "the checker did not say when its answer was true"))
	case s.AsOf.Before(started.Add(-b.maxAge(e.Type))):
		x.fail(failOf(e, ReasonStaleAnswer, "the answer is of %s, more than %v before the check began at %s",
			stamp(s.AsOf), b.maxAge(e.Type), stamp(started)))
	case s.AsOf.After(now.Add(b.ClockSkew)):
		x.fail(failOf(e, ReasonFutureAnswer, "the answer is of %s, more than %v after it arrived at %s",
			stamp(s.AsOf), b.ClockSkew, stamp(now)))
	default:
		x.read = true
		x.compare(b, e, x.result.Now, passedOver)
	}
}

// compare holds every attribute that was seen against the answer, and availability
// in any case: what is not to be had is an alert even if that was seen, unless the plan
// passed the thing over, which may have been for that.
func (x *examined) compare(b rulebook, e entity.Canonical, answer map[string]entity.Value, passedOver bool) {
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		seen, now, r := e.Attributes[name], answer[name], b.rule(e.Type, name)
		switch {
		case now.IsZero() && r.Optional:
		case now.IsZero():
			x.fail(failOf(e, ReasonMissingAttribute, "%s was seen as %s and is not in the answer", name, show(name, seen)))
		case seen.Kind() != now.Kind() || seen.Currency() != now.Currency() && (seen.Currency() == "" || now.Currency() == ""):
			remedy := ""
			if seen.Kind() == now.Kind() {
				remedy = "; give the one without a currency its currency, where it is read"
			}
			x.fail(failOf(e, ReasonTypeMismatch, "%s was seen as %s and is now %s, which cannot be compared%s", name, kindOf(seen), kindOf(now), remedy))
			if isFalse(name, now) {
				x.alert(e, name, r, passedOver, show(name, seen), show(name, now), nil)
			}
		default:
			compared++
			if !r.covers(seen, now) || isFalse(name, now) && !(passedOver && isFalse(name, seen)) {
				x.alert(e, name, r, passedOver, show(name, seen), show(name, now), changePercent(seen, now))
			}
		}
	}
	if now := answer[availability]; !now.IsZero() && e.Attributes[availability].IsZero() {
		_, isBool := now.AsBool()
		switch {
		case !isBool:
			x.fail(failOf(e, ReasonTypeMismatch, "availability is a %s where a boolean is expected", now.Kind()))
		case isFalse(availability, now):
			x.alert(e, availability, b.rule(e.Type, availability), passedOver, "not seen", show(availability, now), nil)
			compared++
		default:
			compared++
		}
	}
	if compared == 0 {
		x.fail(failOf(e, ReasonNothingCompared, "no attribute could be compared"))
	}
}

func (x *examined) alert(e entity.Canonical, name string, r Rule, passedOver bool, before, after string, percent *float64) {
	advice := recommend(r.Drift, e.Type, e.Value, before, after)
	if passedOver {
		advice = recommendAnew(e.Type, e.Value, before, after)
	}
	x.alerts = append(x.alerts, Alert{
		EntityType: e.Type, Entity: e.Value, Attribute: name, Drift: r.Drift,
		Before: before, After: after, ChangePercent: percent, Severity: r.Severity, Effect: r.Effect,
		Recommendation: advice,
	})
}

// changePercent returns the relative change of a number in percent, rounded to two
// decimals, or nil where there is none.
func changePercent(seen, now entity.Value) *float64 {
	a, isNumber := seen.Rat()
	b, _ := now.Rat()
	if !isNumber || a.Sign() == 0 || seen.Currency() != now.Currency() {
		return nil
	}
	b.Sub(b, a).Quo(b, a.Abs(a)).Mul(b, big.NewRat(100, 1))
	percent, _ := strconv.ParseFloat(b.FloatString(2), 64)
	return new(percent)
}

// isFalse reports whether the attribute says that the thing is not to be had.
func isFalse(name string, v entity.Value) bool {
	b, isBool := v.AsBool()
	return name == availability && isBool && !b
}

// show displays a value; availability reads as a word.
func show(name string, v entity.Value) string {
	b, isBool := v.AsBool()
	switch {
	case name != availability || !isBool:
		return v.String()
	case b:
		return "available"
	default:
		return "unavailable"
	}
}

func kindOf(v entity.Value) string {
	if v.Currency() != "" {
		return v.Kind().String() + " in " + v.Currency()
	}
	return v.Kind().String()
}

// writable returns t if JSON can hold it and the zero time if not.
func writable(t time.Time) time.Time {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

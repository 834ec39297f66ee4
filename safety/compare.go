// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// entityCheck is everything the check of one entity gave.
type entityCheck struct {
	target   target
	result   EntityResult
	alerts   []Alert
	failures []Failure
	// read is set if the answer is one to go by: without an error, and fresh.
	read bool
}

func (x *entityCheck) fail(reason, format string, args ...any) {
	x.failures = append(x.failures, failOf(x.target.entity, reason, format, args...))
}

// settle derives the outcome. It is called once, after everything was added. A failure of an
// optional entity does not fail the check.
func (x *entityCheck) settle(optional bool) {
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

// accept records an answer and compares it with the basis of the entity. now is the time at which the answer arrived.
func (x *entityCheck) accept(q *check, rests basis, s State, now time.Time) {
	age := q.policy.maxAge(x.target.entity.Type)
	x.result.AsOf, x.result.Version = writable(s.AsOf), s.Version
	x.result.Now = maps.Clone(s.Attributes)
	switch {
	case len(s.Attributes) == 0:
		x.fail(ReasonEmptyAnswer, "the checker gave no attributes")
	case s.AsOf.IsZero():
		x.fail(ReasonNoAsOf, "the checker did not say when its answer was true")
	case s.AsOf.Before(q.started.Add(-age)):
		x.fail(ReasonStaleAnswer, "the answer is of %s, more than %v before the check began at %s",
			stamp(s.AsOf), age, stamp(q.started))
	case s.AsOf.After(now.Add(clockSkew)):
		x.fail(ReasonFutureAnswer, "the answer is of %s, more than %v after it arrived at %s",
			stamp(s.AsOf), clockSkew, stamp(now))
	default:
		x.read = true
		x.compare(q.policy, rests, s)
	}
}

// notSeen stands for the value of what no result showed.
const notSeen = "not seen"

// notThere stands for the value of an attribute that may be missing, and was.
const notThere = "not there"

// lookedFor says where an attribute was looked for, "" where nobody knows.
func lookedFor(where string) string {
	if where == "" {
		return ""
	}
	return ", where it was looked for at " + where
}

// compare holds every attribute that was read against the answer, and in any case whether the thing is there and to
// be had. If not, that is an alert even if it was read so, for a thing that the action names, and for all if it names
// none: what was not to be had when it was read, and still is not, has not changed.
func (x *entityCheck) compare(b rulebook, rests basis, s State) {
	e := x.target.entity
	answer, compared := x.result.Now, 0
	gone := isFalse(Exists, answer[Exists])
	for _, a := range rests.attributes {
		now := answer[a.name]
		if a.name == Exists && now.IsZero() && says(answer) {
			now = entity.Bool(true)
		}
		switch {
		case !now.IsZero():
			compared += x.compareOne(a, now, rests.acted)
		case !a.rule.Optional && !gone: // what does not exist has no attributes
			x.failures = append(x.failures, failOf(e, ReasonMissingAttribute, "%s was seen as %s and is not in the answer%s%s",
				a.name, show(a.name, a.values[0]), lookedFor(s.Missing[a.name]), a.doubt(0, "; ")).about(a.name))
		}
	}
	for _, name := range [...]string{availability, Exists} {
		now := answer[name]
		if now.IsZero() || slices.ContainsFunc(rests.attributes, func(a attribute) bool { return a.name == name }) {
			continue
		}
		if _, isBool := now.AsBool(); !isBool {
			x.fail(ReasonTypeMismatch, "%s is a %s where a boolean is expected", name, now.Kind())
			continue
		}
		compared++
		if isFalse(name, now) {
			before := notSeen
			if name == Exists && shown(e) {
				before = "true"
			}
			x.alert(attribute{name: name, rule: b.rule(e.Type, name)}, before, show(name, now), now, nil, "")
		}
	}
	for _, name := range e.Absent { // of an answer without it nobody knows whether it could have it
		if now := answer[name]; !now.IsZero() && !isFalse(name, now) {
			x.alert(attribute{name: name, rule: b.rule(e.Type, name)}, notThere, show(name, now), now, nil, "")
		}
	}
	if compared == 0 && (len(rests.attributes) > 0 || len(rests.failures) == 0) {
		x.fail(ReasonNothingCompared, "no attribute could be compared")
	}
}

// compareOne compares every value of the basis of an attribute with its present value. It returns 1
// if all could be compared. Values that do not hold give one alert, about the latest of them. acted says that the action
// is about the thing.
func (x *entityCheck) compareOne(a attribute, now entity.Value, acted bool) (compared int) {
	odd := slices.IndexFunc(a.values, func(v entity.Value) bool { return a.unlike(v, now) })
	moved := slices.IndexFunc(a.values, func(v entity.Value) bool { return !unlike(v, now) && !a.covers(v, now) })
	if odd >= 0 {
		seen, remedy := a.values[odd], ""
		if seen.Kind() == now.Kind() && (seen.Currency() == "" || now.Currency() == "") {
			remedy = "; give the one without a currency its currency, where it is read"
		}
		x.fail(ReasonTypeMismatch, "%s was seen as %s and is now %s, which cannot be compared%s%s",
			a.name, kindOf(seen), kindOf(now), remedy, a.doubt(odd, "; "))
	}
	if moved < 0 && acted && isFalse(a.name, now) {
		moved = max(odd, 0)
	}
	if moved >= 0 {
		seen := a.values[moved]
		before, after := showMove(a.name, seen, now)
		x.alert(a, before, after, now, changePercent(seen, now), a.doubt(moved, " "))
	}
	if odd >= 0 {
		return 0
	}
	return 1
}

func (x *entityCheck) alert(a attribute, before, after string, now entity.Value, percent *float64, doubt string) {
	e := x.target.entity
	recommendation := recommend(a.name, now, e.Type, e.Value, before, after)
	if a.demand.phrase != "" && !isFalse(a.name, now) {
		recommendation = recommendMeeting(a.name, e.Type, e.Value, after, a.demand.phrase)
	}
	x.alerts = append(x.alerts, Alert{
		EntityType: e.Type, Entity: e.Value, Attribute: a.name, Drift: a.rule.Type,
		Before: before, After: after, Condition: a.demand.phrase, ChangePercent: percent, Severity: a.rule.severity, Effect: a.rule.Effect,
		Recommendation: recommendation + doubt,
	})
}

// unlike reports whether two values cannot be compared.
func unlike(a, b entity.Value) bool {
	return a.Kind() != b.Kind() || a.Currency() != b.Currency() && (a.Currency() == "" || b.Currency() == "")
}

// says reports whether an answer has a value of any attribute, and so of a thing that is
// there.
func says(answer map[string]entity.Value) bool {
	for _, v := range answer {
		if !v.IsZero() {
			return true
		}
	}
	return false
}

// changePercent returns the relative change of a number in percent, rounded to two
// decimals, or nil where there is none.
func changePercent(seen, now entity.Value) *float64 {
	a, isNumber := seen.Rat()
	b, _ := now.Rat()
	if !isNumber || a.Sign() == 0 || seen.Kind() != now.Kind() || seen.Currency() != now.Currency() {
		return nil
	}
	b.Sub(b, a).Quo(b, a.Abs(a)).Mul(b, big.NewRat(100, 1))
	percent, _ := strconv.ParseFloat(b.FloatString(2), 64)
	return new(percent)
}

// isFalse reports whether the attribute says that the thing is not there, or not to be had.
func isFalse(name string, v entity.Value) bool {
	b, isBool := v.AsBool()
	return (name == availability || name == Exists) && isBool && !b
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

// showMove displays a change: of a set, what came and what went.
func showMove(name string, seen, now entity.Value) (before, after string) {
	if seen.Kind() != entity.KindSet || now.Kind() != entity.KindSet {
		return show(name, seen), show(name, now)
	}
	var moved []string
	came, went := moves(seen, now)
	if len(came) > 0 {
		moved = append(moved, strings.Join(came, ", ")+" came")
	}
	if len(went) > 0 {
		moved = append(moved, strings.Join(went, ", ")+" went")
	}
	return show(name, seen), strings.Join(moved, "; ")
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// readings returns the values that models were told of an attribute, the latest first, and whether the
// deciding step had read one of them. A value that repeats the arguments of its call is no reading.
func readings(e entity.Canonical, name string) (values []entity.Value, read bool) {
	for _, s := range slices.Backward(e.Seen) {
		if s.Reads(name) {
			values, read = append(values, s.Attributes[name]), read || s.Read
		}
	}
	return values, read
}

// unreadable returns why one of the values could not be read; false if all could.
func unreadable(values []entity.Value) (why string, is bool) {
	for _, v := range values {
		if why, is = v.Unreadable(); is {
			break
		}
	}
	return why, is
}

// looked reports whether a look-up gave a value of an attribute.
func looked(e entity.Canonical, name string) bool {
	return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool { return s.Reads(name) && s.Source.Proves() })
}

// latest returns the value that was read last; the zero value if none was.
func latest(e entity.Canonical, name string) entity.Value {
	values, _ := readings(e, name)
	return append(values, entity.Value{})[0]
}

// shown reports whether a look-up gave any attribute of e.
func shown(e entity.Canonical) bool {
	for name := range e.Attributes {
		if looked(e, name) {
			return true
		}
	}
	return false
}

// nothingRead returns the failure of a check of which no reading was shown to the model that asked, where the
// call names no thing. Each thing that a call names has to be read by itself.
func (q *check) nothingRead() []Failure {
	proves := func(s entity.Entity) bool { return s.Read || !q.record.Asked && s.Source.Proves() }
	for _, t := range q.targets {
		if t.action || q.policy.Types[t.entity.Type].Unseen == config.UnseenAllow || slices.ContainsFunc(t.entity.Seen, proves) {
			return nil
		}
	}
	return []Failure{fail(ReasonNothingRead, "the model that asked was shown nothing of what the call rests on: look it up, then ask again")}
}

// attribute is one that is compared, with every value that has to hold, the latest first.
type attribute struct {
	name   string
	rule   rule
	values []entity.Value
	demand demand
	// enough says that a budget holds what is left, whatever it was.
	enough bool
}

// covers reports whether now counts as unchanged: with a condition if it meets that, without
// one as the rule says. A value that is as it was read has not changed, even if it does not
// meet the condition: then the reading fails the check. Values of one kind are expected.
func (a attribute) covers(seen, now entity.Value) bool {
	if a.enough {
		return true
	}
	if a.demand.phrase != "" {
		return seen.Equal(now) || a.demand.met(now)
	}
	return a.rule.covers(seen, now)
}

// unlike reports whether two values cannot be compared. A condition with an order needs
// amounts of one currency, as does a limit that has to be enough.
func (a attribute) unlike(seen, now entity.Value) bool {
	return unlike(seen, now) || (a.enough || a.rule.condition.operator.ordered()) && seen.Currency() != now.Currency()
}

// doubt says, after sep, that the i-th value and another cannot both be true; "" if they
// can. Two that meet a condition can: it holds with either.
func (a attribute) doubt(i int, sep string) string {
	v := a.values[i]
	for _, other := range a.values {
		if unlike(v, other) || a.demand.phrase == "" && !a.rule.covers(v, other) && !a.rule.covers(other, v) {
			return oneLine(fmt.Sprintf("%s%s was read as %s and as %s: read it again before asking.", sep, a.name, show(a.name, v), show(a.name, other)))
		}
	}
	return ""
}

// basis holds the values that the check of one entity compares with.
type basis struct {
	attributes []attribute
	failures   []Failure
	waived     []Failure
	// conditions are the conditions of the attributes, in words. broken says that one of them
	// cannot be evaluated, or that a value that was read did not meet it.
	conditions map[string]string
	broken     bool
	// acted says that the action names the entity, or names none.
	acted bool
}

// basis finds the values of an entity that were read, and the attributes that should have been read
// and were not.
func (q *check) basis(ctx context.Context, t target) basis {
	var out basis
	e := t.entity
	out.acted = t.action || !slices.ContainsFunc(q.targets, func(t target) bool { return t.action })
	seen, allowed := shown(e), q.policy.Types[e.Type].Unseen == config.UnseenAllow
	given := func(s entity.Entity) bool { return s.Source == entity.SourceGiven }
	lack := func(name, format string, args ...any) {
		if slices.ContainsFunc(e.Seen, given) {
			format += "; a client, an event or a callback told the model of it, which proves nothing: if a client may answer for it, its rule says from_client: true"
		}
		f := failOf(e, ReasonNothingSeen, format, args...).about(name)
		if allowed {
			out.waived = append(out.waived, f)
		} else {
			out.failures = append(out.failures, f)
		}
	}
	if !seen && (t.action || !slices.ContainsFunc(e.Seen, given)) {
		lack(Exists, "nothing on record shows it: %s%s", q.expected(e, Exists), q.otherSpelling(e))
	}
	names := slices.AppendSeq(q.policy.conditioned(e.Type), maps.Keys(e.Attributes))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a := attribute{name: name, rule: q.policy.rule(e.Type, name), enough: q.enough(e, name)}
		values, read := readings(e, name)
		was, known := e.Attributes[name]
		a.values = values
		switch {
		case looked(e, name):
			if q.record.Asked && t.action && !read && !a.rule.Optional {
				out.failures = append(out.failures, failOf(e, ReasonNotRead, "%s is %s on record, and the model that asked had not read it: read it, then ask again", name, show(name, values[0])).about(name))
			}
		case len(values) > 0 && !t.action: // it was only given; it has to hold
		case a.rule.Optional:
			continue
		case !known:
			out.failures = append(out.failures, q.unread(e, name))
			continue
		default:
			if seen {
				lack(name, "nothing on record shows %s: %s", name, q.expected(e, name))
			}
			if !allowed && len(values) == 0 {
				continue
			}
			a.values = append(a.values, q.said(e, name)...)
		}
		// The values that the approver saw have to hold in any case.
		if known && !slices.Contains(a.values, was) {
			a.values = append(a.values, was)
		}
		if why, bad := unreadable(a.values); bad {
			out.failures, out.broken = append(out.failures, failOf(e, ReasonExtractionFailed, "%s could not be read: %s; look it up again, then ask again", name, why)), true
			continue
		}
		if a.demand = q.demand(ctx, e, a); a.demand.phrase != "" {
			if out.conditions == nil {
				out.conditions = make(map[string]string)
			}
			out.conditions[name] = a.demand.phrase
			out.broken = out.broken || len(a.demand.failures) > 0
			out.failures = append(out.failures, a.demand.failures...)
		}
		if len(values) > 0 {
			out.failures = append(out.failures, q.otherwise(e, a)...)
		}
		out.attributes = append(out.attributes, a)
	}
	return out
}

// otherwise returns a failure for each value in the arguments of the action that differs from
// the latest reading; with a condition, for each value that does not meet it.
func (q *check) otherwise(e entity.Canonical, a attribute) (failures []Failure) {
	for _, v := range q.said(e, a.name) {
		switch was := a.values[0]; {
		case !unlike(was, v) && a.covers(was, v):
		case a.demand.phrase != "":
			failures = append(failures, failOf(e, ReasonArgumentDiffers, "%s is %s in the arguments, was read as %s and has to be %s: plan with one that meets that, then ask again", a.name, show(a.name, v), show(a.name, was), a.demand.phrase))
		default:
			failures = append(failures, failOf(e, ReasonArgumentDiffers, "%s is %s in the arguments and was read as %s: plan with what was read, then ask again", a.name, show(a.name, v), show(a.name, was)))
		}
	}
	return failures
}

// said returns the values that the arguments of the action give an attribute.
func (q *check) said(e entity.Canonical, name string) (values []entity.Value) {
	for _, s := range e.Seen {
		if v := s.Attributes[name]; saidBy(s, q.approval.DecisionNode) && !v.IsZero() && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// expected names the rule that would have shown an attribute. For [Exists], any attribute of the
// type will do.
func (q *check) expected(e entity.Canonical, name string) string {
	var ways []string
	for _, x := range q.record.Expected {
		way := fmt.Sprintf("rule %q in the results of %q", x.Rule, x.Tool)
		if x.Type == e.Type && (name == Exists || x.Attribute == name) && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		return "no rule of the configuration shows it"
	}
	remedy := strings.Join(ways, ", or ") + " should have; look it up, then ask again"
	for _, attribute := range slices.Sorted(maps.Keys(q.record.Echoed[e.Key])) {
		if name == Exists || name == attribute {
			said := q.record.Echoed[e.Key][attribute]
			return remedy + fmt.Sprintf(". A result only repeats %s as its argument %s says it: if the tool looked that up, write looked_up: true beside its path", attribute, quoted(text.Clip(oneLine(said), maxWord)))
		}
	}
	return remedy
}

// folded is one text for things that differ in the spelling of their names alone.
func folded(c entity.Canonical) string {
	return entity.Entity{Type: c.Type, Value: c.Value, Norm: c.Norm}.CanonicalKey()
}

// lookUp names the tools whose results show an attribute. For [Exists], any attribute of the type will do.
func (q *check) lookUp(typ, name string) string {
	var tools []string
	for _, x := range q.record.Expected {
		if x.Type == typ && (name == Exists || x.Attribute == name) && x.Tool != "" && !slices.Contains(tools, x.Tool) {
			tools = append(tools, x.Tool)
		}
	}
	return strings.Join(tools, " or ")
}

// otherSpelling names what was read and differs from e in its spelling alone, or has a redacted name.
func (q *check) otherSpelling(e entity.Canonical) string {
	for _, other := range q.record.Entities {
		if other.Key != e.Key && folded(other) == folded(e) && shown(other) {
			return fmt.Sprintf("; %q was read: name it by exactly that", other.Value)
		}
		if other.Type == e.Type && strings.Contains(other.Value, jsonenc.MarkRedacted) && shown(other) {
			return fmt.Sprintf("; %q was read, whose name was redacted when it was recorded, as it looks like a secret: such a thing cannot be approved under this name", other.Value)
		}
	}
	return ""
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// operator says how a [condition] holds a value against its own. It is the key of the condition in a
// configuration, "" if there is none.
type operator string

const (
	// atLeast is met by the value and by any greater or later one.
	atLeast operator = "at_least"
	// atMost is met by the value and by any smaller or earlier one.
	atMost operator = "at_most"
	// oneOf is met by each value of a list.
	oneOf operator = "one_of"
	// equals is met by the value alone.
	equals operator = "equals"
)

// maxOneOf bounds a list that values are held against, so that a person can read it.
const maxOneOf = 100

// condition is a condition on the present value of an attribute, compiled. The zero condition is
// none.
//
// The values of a literal are taken as values of the kind of the latest reading, and amounts without
// a currency as amounts in its currency. A path takes the values from the approved arguments. It
// starts at each node at which the action names the entity ([entity.Evidence.Places]), or at the root
// of the arguments if the action does not name it. It has to select one value there; with oneOf it
// selects a list. If it does not, or if there is no request, the check of the entity fails. If the
// action names the entity at several nodes, the values of all nodes have to be met. With atLeast they
// add up, and so do those of other spellings of its name.
type condition struct {
	operator operator
	// values are those of a literal. There are none with a path.
	values []any
	path   *jsonpath.Path
	// text is the path, or the canonical form of the literal: 8 and 8.0 have the same.
	text string
}

// conditionOf compiles a condition of the configuration.
func conditionOf(o config.Operand) (condition, error) {
	c := condition{operator: operator(o.Key)}
	path, isPath := o.Path()
	if isPath {
		var err error
		c.text = path
		c.path, err = jsonpath.Parse(path)
		return c, err
	}
	literal, err := json.Marshal(*o.Field)
	if err != nil {
		return c, err
	}
	v, err := text.StrictJSON(literal)
	if err != nil {
		return c, err
	}
	if c.values, err = c.operator.values(v); err != nil {
		return c, err
	}
	canonical, err := appendCanonical(nil, v, &place{}, 0)
	if err != nil {
		return c, errors.New("it has a number that a float64 does not hold; write it as a text")
	}
	c.text = string(canonical)
	return c, nil
}

// values returns what a value of JSON gives to hold a reading against.
func (o operator) values(v any) ([]any, error) {
	list, isList := v.([]any)
	switch {
	case o != oneOf:
		list = []any{v}
	case !isList:
		return nil, errors.New("it is not a list, which one_of needs")
	case len(list) == 0:
		return nil, errors.New("the list is empty, and nothing could be one of it")
	case len(list) > maxOneOf:
		return nil, fmt.Errorf("the list has %d values; use at most %d", len(list), maxOneOf)
	}
	for _, v := range list {
		switch v.(type) {
		case nil:
			return nil, errors.New("null is no value")
		case map[string]any:
			return nil, errors.New("an object is no value to compare with")
		case []any:
			return nil, errors.New("a list is no value to compare with")
		}
	}
	return list, nil
}

// suits reports why no value of the kind could be held against the condition: the operator
// needs an order that the kind does not have, or the literal is none of that kind.
func (c condition) suits(kind entity.Kind) error {
	if err := c.operator.suits(kind); err != nil {
		return err
	}
	for _, v := range c.values {
		if _, err := entity.FromAny(v, kind, ""); err != nil {
			return err
		}
	}
	return nil
}

// ordered reports whether the operator compares by size.
func (o operator) ordered() bool { return o == atLeast || o == atMost }

func (o operator) suits(kind entity.Kind) error {
	if o.ordered() && kind != entity.KindNumber && kind != entity.KindMoney && kind != entity.KindTime {
		return fmt.Errorf("a %s has no order; use one_of or equals", kind)
	}
	return nil
}

// phrase says a condition in words: "at least 8", "one of passed, skipped".
func (o operator) phrase(values ...string) string {
	words := map[operator]string{atLeast: "at least ", atMost: "at most ", oneOf: "one of ", equals: "exactly "}
	return words[o] + strings.Join(values, ", ")
}

// bound is a condition with values of the kind of a reading.
type bound struct {
	operator operator
	values   []entity.Value
}

// bind reads the values of a condition with the kind and the currency of a reading.
func (o operator) bind(values []any, like entity.Value) (bound, error) {
	b := bound{operator: o}
	if err := o.suits(like.Kind()); err != nil {
		return b, err
	}
	for _, raw := range values {
		v, err := entity.FromAny(raw, like.Kind(), like.Currency())
		if err == nil && o.ordered() && v.Currency() != like.Currency() {
			err = fmt.Errorf("%s cannot be compared with %s", kindOf(v), kindOf(like))
		}
		if err != nil {
			return b, err
		}
		b.values = append(b.values, v)
	}
	return b, nil
}

// met reports whether a value meets the condition. One of another kind, or in another
// currency, does not.
func (b bound) met(v entity.Value) bool {
	return slices.ContainsFunc(b.values, func(w entity.Value) bool {
		if v.Equal(w) {
			return true
		}
		if v.Kind() != w.Kind() {
			return false
		}
		way, _ := movement(w, v)
		return b.operator == atLeast && way > 0 || b.operator == atMost && way < 0
	})
}

// phrase returns the condition in words, with its values written as values of the attribute.
func (b bound) phrase(name string) string {
	var values []string
	for _, v := range b.values {
		values = append(values, show(name, v))
	}
	return b.operator.phrase(values...)
}

// Need is a condition on one attribute of one entity as it was when approval was asked for.
type Need struct {
	// Condition says it in words, with the values that it came to: "at least 8".
	Condition string `json:"condition"`
	// Problem says why the condition will fail a check: it cannot be evaluated, or the value that
	// was read does not meet it. It is "" otherwise.
	Problem string `json:"problem,omitempty"`
}

// demand is a condition as it applies to one attribute of one entity.
type demand struct {
	// phrase says it in words; it is "" for an attribute without a condition.
	phrase string
	bounds []bound
	// failures say that it cannot be evaluated, or which reading did not meet it.
	failures []Failure
}

// met reports whether a value meets all that the demand could find out.
func (d demand) met(v entity.Value) bool {
	return !slices.ContainsFunc(d.bounds, func(b bound) bool { return !b.met(v) })
}

// conditioned returns the attributes of a type that have a condition, in order.
func (b rulebook) conditioned(typ string) []string {
	rules := b.rules[typ]
	return slices.DeleteFunc(slices.Sorted(maps.Keys(rules)), func(name string) bool {
		return rules[name].condition.operator == ""
	})
}

// inAll stands behind a condition that the action sets several times, and whose values add up.
const inAll = " in all"

// demand finds out what the condition of an attribute comes to, and holds every value of a
// against it, the latest first.
func (q *check) demand(ctx context.Context, e entity.Canonical, a attribute) (d demand) {
	c := a.rule.condition
	if c.operator == "" {
		return d
	}
	sets, err := q.values(ctx, e, c)
	var phrases []string
	known := make(map[string]bool)
	for _, values := range sets {
		var said string
		if len(a.values) == 0 {
			said = c.operator.phrase(texts(values)...)
		} else if bound, badly := c.operator.bind(values, a.values[0]); badly == nil {
			d.bounds, said = append(d.bounds, bound), bound.phrase(a.name)
		} else {
			said, err = c.operator.phrase(texts(values)...), errors.Join(err, badly)
		}
		if !known[said] {
			known[said], phrases = true, append(phrases, said)
		}
	}
	if c.operator == atLeast && len(d.bounds) > 1 {
		if all, badly := added(d.bounds); badly == nil {
			d.bounds, phrases = []bound{all}, []string{all.phrase(a.name) + inAll}
		} else {
			err = errors.Join(err, badly)
		}
	}
	if d.phrase = oneLine(strings.Join(phrases, " and ")); len(phrases) == 0 {
		d.phrase = oneLine(c.operator.phrase(c.text))
	}
	if err != nil {
		d.failures = append(d.failures, failOf(e, ReasonPolicy, "%s has to be %s, which cannot be evaluated: %v", a.name, d.phrase, err))
	}
	for _, v := range a.values {
		if !d.met(v) {
			f := failOf(e, ReasonConditionUnmet,
				"%s is %s on record, and has to be %s: plan with one that meets that, or read it again, then ask again", a.name, show(a.name, v), d.phrase).about(a.name)
			f.Read, f.Need = show(a.name, v), d.phrase
			d.failures = append(d.failures, f)
		}
	}
	return d
}

// added returns what needs come to together.
func added(needs []bound) (bound, error) {
	var s sum
	for _, n := range needs {
		if err := s.add(n.values[0], big.NewRat(1, 1)); err != nil {
			return bound{}, fmt.Errorf("the action names it %d times, and what it needs cannot be added up, for one need is %w: have the call name it once, in one spelling", len(needs), err)
		}
	}
	all, err := s.value()
	return bound{atLeast, []entity.Value{all}}, err
}

func texts(values []any) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// values returns the values of a condition, one list for each place that gives some.
func (q *check) values(ctx context.Context, e entity.Canonical, c condition) ([][]any, error) {
	if c.path == nil {
		return [][]any{c.values}, nil
	}
	if len(q.approval.Args) == 0 {
		return nil, fmt.Errorf("there is no request, and so no arguments that %s could be read from; it can be checked when a tool asks for approval", c.text)
	}
	starts := slices.Clone(q.record.Places[e.Key])
	switch {
	case !q.recorded:
		return nil, errors.New("the record could not be read, which says where the action names the entity")
	case len(starts) == 0 && ofAction(e, q.approval.DecisionNode):
		return nil, errors.New("the record does not say where the action names the entity")
	case len(starts) == 0:
		starts = []string{"$"}
	case c.operator == atLeast: // a source may ignore case; a line with two spellings needs it twice
		for _, other := range q.record.Entities {
			if other.Key != e.Key && folded(other) == folded(e) {
				starts = append(starts, q.record.Places[other.Key]...)
			}
		}
	}
	// Paths come from the configuration; the arguments that they walk through may be large.
	return bounded(ctx, q.policy.CheckTimeout, func(context.Context) (sets [][]any, err error) {
		document, err := q.arguments()
		if err != nil {
			return nil, fmt.Errorf("the arguments cannot be read: %w", err)
		}
		for _, start := range starts {
			values, err := selected(document, start, c)
			if err != nil {
				return nil, fmt.Errorf("%s from %s in the arguments: %w; have the call say it there, or change the path in guard.types.%s.drift", c.text, start, err, e.Type)
			}
			sets = append(sets, values)
		}
		return sets, nil
	})
}

// selected returns the values that the path of a condition selects from the node at start.
func selected(document any, start string, c condition) ([]any, error) {
	from, err := jsonpath.Parse(start)
	if err != nil {
		return nil, err
	}
	node, err := text.One(from.Select(document))
	if err != nil {
		return nil, err
	}
	v, err := text.One(c.path.Select(node))
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, errors.New("it selects nothing, or null")
	default:
		return c.operator.values(v)
	}
}

// unread is the failure of an entity that lacks a reading of an attribute with a condition. It
// is never waived: without a value nothing tells the kind that the condition is about.
func (q *check) unread(e entity.Canonical, name string) Failure {
	return failOf(e, ReasonNothingSeen, "nothing on record shows %s, on which there is a condition: %s", name, q.expected(e, name)).about(name)
}

// needs returns what the conditions of the policy come to for the entities of a request,
// nil without any.
func (q *check) needs(ctx context.Context, entities []entity.Canonical) map[string]map[string]Need {
	var out map[string]map[string]Need
	for _, e := range entities {
		for _, name := range q.policy.conditioned(e.Type) {
			a := attribute{name: name, rule: q.policy.rule(e.Type, name)}
			if a.values, _ = readings(e, name); len(a.values) == 0 && a.rule.Optional {
				continue
			}
			if len(a.values) == 0 {
				a.values = q.said(e, name)
			}
			d := q.demand(ctx, e, a)
			if len(a.values) == 0 {
				d.failures = append(d.failures, q.unread(e, name))
			}
			n := Need{Condition: d.phrase}
			if len(d.failures) > 0 {
				n.Problem = d.failures[0].Detail
			}
			if out == nil {
				out = make(map[string]map[string]Need)
			}
			if out[e.Key] == nil {
				out[e.Key] = make(map[string]Need)
			}
			out[e.Key][name] = n
		}
	}
	return out
}

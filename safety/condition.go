// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Operator says how a [Condition] holds a value against its own.
type Operator uint8

// The operators. AtLeast and AtMost are for numbers, amounts of money in one currency, and
// times.
const (
	// NoCondition holds a value against nothing: an attribute is unchanged as its rule says.
	NoCondition Operator = iota
	// AtLeast is met by the value and by any greater or later one.
	AtLeast
	// AtMost is met by the value and by any smaller or earlier one.
	AtMost
	// OneOf is met by each value of a list.
	OneOf
	// Equals is met by the value alone.
	Equals
)

var operatorNames = []string{NoCondition: "none", AtLeast: "at_least", AtMost: "at_most", OneOf: "one_of", Equals: "equals"}

// String returns the name of the operator in a configuration, and "none" for NoCondition.
func (o Operator) String() string { return nameOf(operatorNames, o) }

// maxOneOf bounds a list that values are held against, so that a person can read it.
const maxOneOf = 100

// Condition is a condition on the present value of an attribute. An attribute with a condition is
// unchanged if and only if its present value meets the condition. The value that was read must have
// met it too. The zero Condition is none.
type Condition struct {
	// Operator says how a value is compared with the values of the condition.
	Operator Operator
	// Literal is the value, as JSON: a text, a number or a boolean. With OneOf it is a list
	// of 1 to 100 of them. They are taken as values of the kind of the latest reading, and
	// amounts without a currency as amounts in its currency. Either Literal or Path is
	// required.
	Literal string
	// Path is an RFC 9535 JSONPath that takes the value from the approved arguments. It starts at
	// each node at which the action names the entity ([entity.Evidence.Places]), or at the root of the
	// arguments if the action does not name it. It has to select one value there; with OneOf it
	// selects a list. If it does not, or if there is no request, the check of the entity fails. If
	// the action names the entity at several nodes, the values of all nodes have to be met. With
	// AtLeast the check then fails, because the needs may add up.
	Path string
}

// Validate reports what is wrong with the condition by itself.
func (c Condition) Validate() error {
	switch {
	case c == (Condition{}):
		return nil
	case c.Operator == NoCondition || int(c.Operator) >= len(operatorNames):
		return fmt.Errorf("the operator is %d: use AtLeast, AtMost, OneOf or Equals", uint8(c.Operator))
	case (c.Literal == "") == (c.Path == ""):
		return errors.New("give either a literal or a path")
	case c.Path != "":
		if _, err := jsonpath.Parse(c.Path); err != nil {
			return fmt.Errorf("%q is not an RFC 9535 JSONPath: %w", c.Path, err)
		}
		return nil
	}
	_, err := c.literal()
	if _, inexact := c.canonical(); err == nil && inexact != nil {
		err = errors.New("it has a number that a float64 does not hold; write it as a text")
	}
	return err
}

// literal returns the values of the literal.
func (c Condition) literal() ([]any, error) {
	v, err := text.StrictJSON([]byte(c.Literal))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return c.Operator.values(v)
}

// canonical returns the canonical form of the literal: 8 and 8.0 have the same.
func (c Condition) canonical() (string, error) {
	v, err := text.StrictJSON([]byte(c.Literal))
	if err != nil {
		return "", err
	}
	b, err := appendCanonical(nil, v, &place{}, 0)
	return string(b), err
}

// values returns what a value of JSON gives to hold a reading against.
func (o Operator) values(v any) ([]any, error) {
	list, isList := v.([]any)
	switch {
	case o != OneOf:
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

// Suits reports why no value of the kind could be held against the condition: the operator
// needs an order that the kind does not have, or the literal is none of that kind.
func (c Condition) Suits(kind entity.Kind) error {
	err := c.Operator.suits(kind)
	if err != nil || c.Path != "" {
		return err
	}
	values, err := c.literal()
	for _, v := range values {
		if err == nil {
			_, err = entity.FromAny(v, kind, "")
		}
	}
	return err
}

// ordered reports whether the operator compares by size.
func (o Operator) ordered() bool { return o == AtLeast || o == AtMost }

func (o Operator) suits(kind entity.Kind) error {
	if o.ordered() && kind != entity.KindNumber && kind != entity.KindMoney && kind != entity.KindTime {
		return fmt.Errorf("a %s has no order; use one_of or equals", kind)
	}
	return nil
}

// fields are everything in the condition as text, for a digest; nothing if there is none.
// Of a condition that is valid the literal has a canonical form.
func (c Condition) fields() []string {
	if c == (Condition{}) {
		return nil
	}
	literal := ""
	if c.Path == "" {
		literal, _ = c.canonical()
	}
	return []string{"condition", c.Operator.String(), literal, c.Path}
}

// phrase says a condition in words: "at least 8", "one of passed, skipped".
func (o Operator) phrase(values ...string) string {
	word := [...]string{NoCondition: "", AtLeast: "at least ", AtMost: "at most ", OneOf: "one of ", Equals: "exactly "}[o]
	return word + strings.Join(values, ", ")
}

// bound is a condition with values of the kind of a reading.
type bound struct {
	operator Operator
	values   []entity.Value
}

// bind reads the values of a condition with the kind and the currency of a reading.
func (o Operator) bind(values []any, like entity.Value) (bound, error) {
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
		return b.operator == AtLeast && way > 0 || b.operator == AtMost && way < 0
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

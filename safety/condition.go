// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// The attributes of a thing for which a total is known without a budget: what one costs, how many the call says that it
// buys, and how many there are.
const (
	price    = "price"
	quantity = "quantity"
	stock    = "stock"
)

// maxTotal is how many things a total names.
const maxTotal = 5

// bought is how many of a thing a call buys, and what one costs.
type bought struct {
	entity    entity.Canonical
	attribute string // of one
	one       entity.Value
	times     *big.Rat // nil if that is not known
}

// total says what the call buys in all, with the prices that were read: "10 × €3.10 = €31". It is "" where that is not
// certain: each thing of the call that has a price or a quantity needs both, of its own, and all prices one currency.
// each has, by key, the attribute that is what one costs.
func (q *check) total(ctx context.Context) (said string, each map[string]string) {
	var all []bought
	priced := make(map[string]bool)
	for _, t := range q.targets {
		if t.action {
			b := q.bought(ctx, t)
			all = append(all, b)
			priced[t.entity.Type] = priced[t.entity.Type] || !b.one.IsZero() || b.times != nil
		}
	}
	all = slices.DeleteFunc(all, func(b bought) bool { return !priced[b.entity.Type] })
	var s sum
	var parts []string
	places := make(map[string]bool)
	each = make(map[string]string)
	for _, b := range all {
		e := b.entity
		if b.one.Kind() != entity.KindMoney || b.times == nil || s.add(b.one, b.times) != nil {
			return "", nil
		}
		// A quantity that stands for two things, or for a second spelling of one, is of neither.
		for _, at := range append(slices.Clone(q.record.Places[e.Key]), folded(e)) {
			if places[at] {
				return "", nil
			}
			places[at] = true
		}
		digits, _ := b.times.FloatPrec()
		part := b.times.FloatString(digits) + " × " + b.one.String()
		if len(all) > 1 {
			part += " (" + word(e.Type) + " " + word(e.Value) + ")"
		}
		parts, each[e.Key] = append(parts, part), b.attribute
	}
	sum, err := s.value()
	if err != nil {
		return "", nil
	}
	if more := len(parts) - maxTotal; more > 0 {
		parts = append(parts[:maxTotal], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, " + ") + " = " + sum.String(), each
}

// bought returns what the rules know of a thing that the call names. A quantity is that of a budget, or the one that the
// call gives the thing, or the stock that it has to have by a condition that reads the call.
func (q *check) bought(ctx context.Context, t target) bought {
	e := t.entity
	out := bought{entity: e, attribute: price}
	var counts []*big.Rat
	add := func(n *big.Rat, err error) {
		if err == nil && n.Sign() > 0 {
			counts = append(counts, n)
		}
	}
	for _, b := range q.policy.budgets(q.approval.Tool) {
		if b.Cost.Type == e.Type && b.Cost.Quantity != "" {
			out.attribute = b.Cost.Attribute
			add(t.quantity(b.Cost.Quantity, q.approval.DecisionNode))
		}
	}
	if len(q.said(e, quantity)) == 1 {
		add(t.quantity(quantity, q.approval.DecisionNode))
	}
	a := attribute{name: stock, rule: q.policy.rule(e.Type, stock)}
	a.values, _ = readings(e, stock)
	if c := a.rule.condition; c.operator == atLeast && c.path != nil && len(q.record.Places[e.Key]) > 0 {
		if d := q.demand(ctx, e, a); len(d.bounds) == 1 && d.bounds[0].values[0].Kind() == entity.KindNumber {
			n, _ := d.bounds[0].values[0].Rat()
			add(n, nil)
		}
	}
	out.one = latest(e, out.attribute)
	if len(counts) > 0 && !slices.ContainsFunc(counts, func(n *big.Rat) bool { return n.Cmp(counts[0]) != 0 }) {
		out.times = counts[0]
	}
	return out
}

// totalHint says what the call buys in all.
func (a Approval) totalHint() string {
	if a.Total == "" || len(a.Total) > maxTotalHint-len(hintTotal)-2 {
		return ""
	}
	return hintTotal + " " + a.Total + "."
}

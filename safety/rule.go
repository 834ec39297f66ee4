// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// rule is the meaning of a change of one attribute: an entry of the configuration with its condition,
// compiled. The zero rule is the strictest.
type rule struct {
	config.Drift
	severity  float64
	condition condition
}

// normal returns the entry in a form that all entries with the same meaning share.
func (r rule) normal() config.Drift {
	d := r.Drift
	d.AtLeast, d.AtMost, d.OneOf, d.Equals = nil, nil, nil, nil
	if r.condition.operator != "" {
		d.Equals = []any{r.condition.operator, r.condition.path != nil, r.condition.text}
	}
	return d
}

// covers reports whether now counts as unchanged. Values of one kind are expected.
func (r rule) covers(seen, now entity.Value) bool {
	if seen.Equal(now) {
		return true
	}
	if seen.Kind() == entity.KindSet {
		came, went := moves(seen, now)
		return r.Direction == config.Rise && len(came) == 0 || r.Direction == config.Fall && len(went) == 0
	}
	way, ordered := movement(seen, now)
	switch {
	case !ordered:
		return false
	case way > 0 && r.Direction == config.Fall, way < 0 && r.Direction == config.Rise:
		return true
	default:
		return tolerates(r.Tolerance, seen, now)
	}
}

// moves returns the elements that came to a set and those that went, as shown.
func moves(seen, now entity.Value) (came, went []string) {
	count := make(map[string]int)
	for _, e := range now.Elements() {
		count[e]++
	}
	for _, e := range seen.Elements() {
		count[e]--
	}
	for _, e := range slices.Sorted(maps.Keys(count)) {
		came = append(came, slices.Repeat([]string{e}, max(0, count[e]))...)
		went = append(went, slices.Repeat([]string{e}, max(0, -count[e]))...)
	}
	return came, went
}

// movement reports whether a value became more (1) or less (-1); false for values
// without an order.
func movement(seen, now entity.Value) (way int, ordered bool) {
	if a, isTime := seen.AsTime(); isTime {
		b, _ := now.AsTime()
		return b.Compare(a), true
	}
	a, isNumber := seen.Rat()
	if !isNumber || seen.Currency() != now.Currency() {
		return 0, false
	}
	b, _ := now.Rat()
	return b.Cmp(a), true
}

// tolerates reports whether a number that moved moved no further than is tolerated. Nothing else is
// tolerated, and nothing between currencies.
func tolerates(t config.Tolerance, seen, now entity.Value) bool {
	a, isNumber := seen.Rat()
	if !isNumber || t == (config.Tolerance{}) {
		return false
	}
	b, _ := now.Rat()
	moved := b.Sub(b, a)
	moved.Abs(moved)
	if t.Absolute > 0 && moved.Cmp(exact(t.Absolute)) > 0 {
		return false
	}
	limit := exact(t.Percent)
	limit.Mul(limit, a.Abs(a)).Quo(limit, big.NewRat(100, 1))
	return t.Percent == 0 || moved.Cmp(limit) <= 0
}

// exact reads a configured number as the decimal that was written. A policy that
// was validated holds finite numbers only.
func exact(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(decimalText(f))
	return r
}

// decimalText writes a float64 as the shortest decimal that reads back as it, which
// is also what a person meant by it: 0.1 is one tenth.
func decimalText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

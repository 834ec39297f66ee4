// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Cost is what a plan costs, and what it may cost by one rule of [config.Guard.Budgets]. It is for people:
// no verdict depends on it. Amounts are texts as shown, such as "$212,000".
//
// A text is "" if it is not known. So a rule that cannot be evaluated has a Cost as well, with the
// amounts that are known and without the others. The failures of the check say why.
type Cost struct {
	// BudgetType and Budget are the type and the value of the entity that is the budget. Budget is ""
	// if it is not known which one counts.
	BudgetType string `json:"budget_type"`
	Budget     string `json:"budget,omitempty"`
	// Limit is the amount of the budget at the time of the request. Where a smaller one is enough, it is the smallest that
	// was read, or the present one if that is less.
	Limit string `json:"limit,omitempty"`
	// Seen is the cost with the values that were read for the request, and Now the cost with the
	// answers of the check. Now is "" before a check.
	Seen string `json:"seen,omitempty"`
	Now  string `json:"now,omitempty"`
	// Others is what other requests of the session take from the budget. It is "" for nothing.
	Others string `json:"others,omitempty"`
	// Unavailable names what Now counts although its source says that it cannot be had.
	Unavailable string `json:"unavailable,omitempty"`
	// Exceeded says that Now, with Others, is more than Limit. The check then has an alert that says so too. Before a
	// check it says so of Seen.
	Exceeded bool `json:"exceeded,omitempty"`
}

// cost returns a Cost as it is before a check.
func (b budget) cost(owner entity.Canonical, limit, seen entity.Value) Cost {
	return Cost{BudgetType: b.Limit.Type, Budget: owner.Value, Limit: limit.String(), Seen: seen.String()}
}

// costs returns the cost of a plan for each rule that applies, with the values that were read. The
// targets of q are those of the request.
func (q *inquiry) costs(p rulebook) []Cost {
	var out []Cost
	for _, entry := range p.Budgets {
		b := budget(entry)
		if !b.appliesTo(q.tool) {
			continue
		}
		owner, limit, _ := q.limit(p, b)
		seen := q.seenCost(b)
		c := b.cost(owner, limit, seen)
		others, _ := q.beside(b, owner, limit)
		c.Others = others.String()
		most, limited := limit.Rat()
		if sum, known := seen.Rat(); known && limited && seen.Kind() == limit.Kind() && seen.Currency() == limit.Currency() {
			if n, more := others.Rat(); more {
				sum.Add(sum, n)
			}
			c.Exceeded = sum.Cmp(most) > 0
		}
		out = append(out, c)
	}
	return out
}

// shownCosts returns the costs as [Approval.Shown] has them.
func (a Approval) shownCosts() []any {
	out := make([]any, len(a.Costs))
	for i, c := range a.Costs {
		entry := map[string]any{"budget_type": c.BudgetType}
		for name, text := range map[string]string{"budget": c.Budget, "limit": c.Limit, "seen": c.Seen, "others": c.Others} {
			if text != "" {
				entry[name] = text
			}
		}
		if c.Exceeded {
			entry["exceeded"] = true
		}
		out[i] = entry
	}
	return out
}

// costHint says what the plan costs and may cost, where both are known.
func (a Approval) costHint() string {
	known := slices.DeleteFunc(slices.Clone(a.Costs), func(c Cost) bool { return c.Seen == "" || c.Limit == "" })
	items := make([]string, len(known))
	for i, c := range known {
		beside := ""
		if c.Others != "" {
			beside = ", and " + text.Clip(c.Others, maxWord) + " of other requests,"
		}
		items[i] = text.Clip(c.Seen, maxWord) + beside + " of " + word(c.BudgetType) + " " + text.Clip(c.Limit, maxWord)
		if c.Exceeded {
			items[i] += " (exceeded)"
		}
	}
	return listed(hintCost+" ", items, len(items), maxCostHint)
}

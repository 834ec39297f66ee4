// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// ApprovalRule says who has to approve the calls of a tool. Where several rules are for one tool,
// the greatest number of Approvers counts, and an override needs the right in each of them.
type ApprovalRule struct {
	// Tool names the tool, or is a pattern of names as in [BudgetRule]. Required.
	Tool string
	// Approvers is how many different people have to approve; 0 means one. From two on, each has to
	// be authenticated.
	Approvers int
	// Override names the people who may let a call run although its check failed because sources
	// are down: see [Answer.Override]. It takes two of them. Default: nobody may.
	Override []string
}

// maxApprovers bounds Approvers: a larger number is a mistake.
const maxApprovers = 100

func (p Policy) validateApprovals() error {
	var errs []error
	for i, r := range p.Approvals {
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("approval rule %d: %s", i, fmt.Sprintf(format, args...)))
		}
		if err := text.CheckPattern(r.Tool); err != nil || r.Tool == "" {
			wrong("Tool %q is no pattern", r.Tool)
		}
		if r.Approvers < 0 || r.Approvers > maxApprovers {
			wrong("Approvers is %d: it must be between 0 and %d", r.Approvers, maxApprovers)
		}
		for j, who := range r.Override {
			switch {
			case identity(who) == "":
				wrong("Override has an empty name")
			case has(r.Override[:j], who):
				wrong("Override names %q twice", who)
			}
		}
		if len(r.Override) == 1 {
			wrong("Override names one person: it takes %d to override a check", overriders)
		}
	}
	return errors.Join(errs...)
}

// approvalOf returns what the rules together say of a tool.
func (p Policy) approvalOf(tool string) ApprovalRule {
	sum, rules := ApprovalRule{Tool: tool, Approvers: 1}, 0
	for _, r := range p.Approvals {
		if !text.MatchName(r.Tool, tool) {
			continue
		}
		sum.Approvers = max(sum.Approvers, r.Approvers)
		if rules++; rules == 1 {
			sum.Override = slices.Clone(r.Override)
			continue
		}
		sum.Override = slices.DeleteFunc(sum.Override, func(who string) bool { return !has(r.Override, who) })
	}
	return sum
}

// has reports whether a list of people names somebody.
func has(people []string, who string) bool {
	return slices.ContainsFunc(people, func(name string) bool { return same(name, who) })
}

// approvalFields writes the approval rules, in an order of their own, for a digest. Rules that say
// nothing give no field.
func (p Policy) approvalFields() []string {
	var sums []string
	for _, r := range p.Approvals {
		if r.Approvers <= 1 && len(r.Override) == 0 {
			continue
		}
		people := make([]string, len(r.Override))
		for i, who := range r.Override {
			people[i] = identity(who)
		}
		slices.Sort(people)
		sums = append(sums, digest(append([]string{r.Tool, strconv.Itoa(max(r.Approvers, 1))}, people...)...))
	}
	slices.Sort(sums)
	return sums
}

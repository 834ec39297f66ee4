// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"slices"
	"time"
)

// overriders is how many people have to override a check that failed because a source is down.
const overriders = 2

// Consent is the approval of one person.
type Consent struct {
	// Who approved, and At is when.
	Who string    `json:"who"`
	At  time.Time `json:"at"`
	// Content is [Answer.Content].
	Content string `json:"content,omitempty"`
	// Override is the reason of a person who lets the call run although sources are down, and
	// Unchecked names the entities that could not be checked then, as "Product Strava". Both are
	// empty for a consent after a safe check.
	Override  string   `json:"override,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Costs are what the call takes from limits that the requests of a session share, by the last check since the
	// consent. The last consent has them.
	Costs []LimitCost `json:"costs,omitempty"`
}

// with returns the consents with one more. A person counts once: a later consent takes the place of
// an earlier one only if it overrides.
func with(consents []Consent, c Consent) []Consent {
	consents = slices.Clone(consents)
	i := slices.IndexFunc(consents, func(o Consent) bool { return same(o.Who, c.Who) })
	switch {
	case i < 0:
		return append(consents, c)
	case c.Override != "":
		consents[i] = c
	}
	return consents
}

// Consented reports whether a person has approved.
func (a Approval) Consented(who string) bool {
	return slices.ContainsFunc(a.Consents, func(c Consent) bool { return same(c.Who, who) })
}

// Missing returns how many more people have to approve, not counting that a check can fail.
func (a Approval) Missing() int { return max(max(a.Approvers, 1)-len(a.Consents), 0) }

// overrides returns the people whose consent lets the call run although these entities cannot be
// checked.
func (a Approval) overrides(unchecked []string) (people []string) {
	for _, c := range a.Consents {
		covers := !slices.ContainsFunc(unchecked, func(name string) bool { return !slices.Contains(c.Unchecked, name) })
		if c.Override != "" && covers {
			people = append(people, c.Who)
		}
	}
	return people
}

// decided reports whether the consents approve the request, if the last one is c.
func (a Approval) decided(c Consent) bool {
	return a.Missing() == 0 && (c.Override == "" || len(a.overrides(c.Unchecked)) >= overriders)
}

func cloneConsents(consents []Consent) []Consent {
	out := slices.Clone(consents)
	for i := range out {
		out[i].Unchecked, out[i].Costs = slices.Clone(out[i].Unchecked), slices.Clone(out[i].Costs)
	}
	return out
}

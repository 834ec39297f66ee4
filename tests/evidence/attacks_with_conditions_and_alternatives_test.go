// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// attacksOnEvidence are the tests of what an approval rests on that need nothing but a
// harness and a rule that shows what a condition is on. Each takes an option that changes its harnesses after their own options.
var attacksOnEvidence = map[string]func(*testing.T, cgtest.Option){
	"TestRequestArgumentsAreRead":           requestArgumentsAreRead,
	"TestOverlappingModelCalls":             overlappingModelCalls,
	"TestSearchAndBuyInOneResponse":         searchAndBuyInOneResponse,
	"TestOtherTabReadsTheNewPrice":          otherTabReadsTheNewPrice,
	"TestLateRowOfAnotherProcess":           lateRowOfAnotherProcess,
	"TestParallelChildren":                  parallelChildren,
	"TestDynamicChildren":                   dynamicChildren,
	"TestAskingModelIsKnownByAnyAnswer":     askingModelIsKnownByAnyAnswer,
	"TestOneIDForCallsAboutDifferentThings": oneIDForCallsAboutDifferentThings,
	"TestJoinedWordsAreNoReading":           joinedWordsAreNoReading,
}

// TestAttacksOnEvidenceAgain runs them with alternatives and with conditions in use. What
// these leave out or allow must open nothing that was closed, nor close what was open. In the
// quick size each attack meets one of the changes that it can meet, in turn.
func TestAttacksOnEvidenceAgain(t *testing.T) {
	if testsize.Race {
		t.Skip("each attack runs once with the race detector, in its own test")
	}
	alternatives := func(o *cgtest.Options) {
		for i := range o.Config.Extract {
			if e := &o.Config.Extract[i]; e.In == config.InResult && e.Event == "" {
				e.Alternatives = true
			}
		}
	}
	condition := func(name string, d config.Drift) cgtest.Option {
		return func(o *cgtest.Options) {
			of := o.Config.Guard.Types["Product"]
			of.Drift = map[string]config.Drift{name: d}
			o.Config.Guard.Types = maps.Clone(o.Config.Guard.Types)
			if o.Config.Guard.Types == nil {
				o.Config.Guard.Types = make(map[string]config.TypePolicy)
			}
			o.Config.Guard.Types["Product"] = of
		}
	}
	type change struct {
		name    string
		option  cgtest.Option
		without []string
	}
	changes := []change{
		{"alternatives and a condition on availability", cgtest.With(alternatives, condition("availability", config.Drift{Equals: true})), nil},
		{"a condition on the price", condition("price", config.Drift{AtMost: "$50,000"}), []string{
			// In these an honest plan pays $80,000, or was shown that price.
			"TestOneIDForCallsAboutDifferentThings", "TestOtherTabReadsTheNewPrice", "TestLateRowOfAnotherProcess",
		}},
	}
	for i, name := range sorted(attacksOnEvidence) {
		attack := attacksOnEvidence[name]
		meets := slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return slices.Contains(c.without, name) })
		if len(meets) > 1 && !testsize.Thorough() {
			meets = meets[i%2 : i%2+1]
		}
		for _, c := range meets {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				attack(t, c.option)
			})
		}
	}
}

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
// harness. Each takes an option that changes its harnesses after their own options.
var attacksOnEvidence = map[string]func(*testing.T, cgtest.Option){
	"TestRequestArgumentsAreRead":           requestArgumentsAreRead,
	"TestKeysThatFoldIntoOne":               keysThatFoldIntoOne,
	"TestStateWrittenBetween":               stateWrittenBetween,
	"TestOverlappingModelCalls":             overlappingModelCalls,
	"TestSearchAndBuyInOneResponse":         searchAndBuyInOneResponse,
	"TestOtherTabReadsTheNewPrice":          otherTabReadsTheNewPrice,
	"TestIsolatedAgents":                    isolatedAgents,
	"TestDelegateReads":                     delegateReads,
	"TestLateRowOfAnotherProcess":           lateRowOfAnotherProcess,
	"TestParallelChildren":                  parallelChildren,
	"TestDynamicChildren":                   dynamicChildren,
	"TestNobodySawIt":                       nobodySawIt,
	"TestEchoIsNoReading":                   echoIsNoReading,
	"TestArgumentIsNoReading":               argumentIsNoReading,
	"TestAgentsWordIsNoReading":             agentsWordIsNoReading,
	"TestRewrittenResultIsNoReading":        rewrittenResultIsNoReading,
	"TestRefusalIsAReading":                 refusalIsAReading,
	"TestSpellingMustBeWhatWasRead":         spellingMustBeWhatWasRead,
	"TestRuleWithoutAttributes":             ruleWithoutAttributes,
	"TestWorkflowNodeRests":                 workflowNodeRests,
	"TestAskingModelIsKnownByAnyAnswer":     askingModelIsKnownByAnyAnswer,
	"TestGapsOfAnAgentToolCount":            gapsOfAnAgentToolCount,
	"TestEchoOfWhatTheRecordLacks":          echoOfWhatTheRecordLacks,
	"TestOneIDForCallsAboutDifferentThings": oneIDForCallsAboutDifferentThings,
	"TestJoinedWordsAreNoReading":           joinedWordsAreNoReading,
	"TestUserQuotesAnAgent":                 userQuotesAnAgent,
}

// TestAttacksOnEvidenceAgain runs them with alternatives and with conditions in use. What
// these leave out or allow must open nothing that was closed, nor close what was open.
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
	for _, test := range []struct {
		name    string
		change  cgtest.Option
		without []string
	}{
		{"alternatives and a condition on availability", cgtest.With(alternatives, condition("availability", config.Drift{Equals: true})), []string{
			"TestRuleWithoutAttributes", "TestWorkflowNodeRests", // no rule of theirs shows it, which a condition requires
		}},
		{"a condition on the price", condition("price", config.Drift{AtMost: "$50,000"}), []string{
			"TestRuleWithoutAttributes",
			// In these an honest plan pays $80,000, or was shown that price.
			"TestDelegateReads", "TestWorkflowNodeRests", "TestOneIDForCallsAboutDifferentThings", "TestRefusalIsAReading",
			"TestOtherTabReadsTheNewPrice", "TestLateRowOfAnotherProcess", "TestIsolatedAgents",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, attack := range attacksOnEvidence {
				if !slices.Contains(test.without, name) {
					t.Run(name, func(t *testing.T) { attack(t, test.change) })
				}
			}
		})
	}
}

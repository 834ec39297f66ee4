// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"maps"
	"slices"
	"testing"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// attacksOnEvidence are the tests of what an approval rests on that need nothing but a
// harness.
var attacksOnEvidence = map[string]func(*testing.T){
	"TestRequestArgumentsAreRead":           TestRequestArgumentsAreRead,
	"TestKeysThatFoldIntoOne":               TestKeysThatFoldIntoOne,
	"TestStateWrittenBetween":               TestStateWrittenBetween,
	"TestOverlappingModelCalls":             TestOverlappingModelCalls,
	"TestSearchAndBuyInOneResponse":         TestSearchAndBuyInOneResponse,
	"TestOtherTabReadsTheNewPrice":          TestOtherTabReadsTheNewPrice,
	"TestIsolatedAgents":                    TestIsolatedAgents,
	"TestDelegateReads":                     TestDelegateReads,
	"TestLateRowOfAnotherProcess":           TestLateRowOfAnotherProcess,
	"TestParallelChildren":                  TestParallelChildren,
	"TestDynamicChildren":                   TestDynamicChildren,
	"TestNobodySawIt":                       TestNobodySawIt,
	"TestEchoIsNoReading":                   TestEchoIsNoReading,
	"TestArgumentIsNoReading":               TestArgumentIsNoReading,
	"TestAgentsWordIsNoReading":             TestAgentsWordIsNoReading,
	"TestRewrittenResultIsNoReading":        TestRewrittenResultIsNoReading,
	"TestRefusalIsAReading":                 TestRefusalIsAReading,
	"TestSpellingMustBeWhatWasRead":         TestSpellingMustBeWhatWasRead,
	"TestRuleWithoutAttributes":             TestRuleWithoutAttributes,
	"TestWorkflowNodeRests":                 TestWorkflowNodeRests,
	"TestAskingModelIsKnownByAnyAnswer":     TestAskingModelIsKnownByAnyAnswer,
	"TestGapsOfAnAgentToolCount":            TestGapsOfAnAgentToolCount,
	"TestEchoOfWhatTheRecordLacks":          TestEchoOfWhatTheRecordLacks,
	"TestOneIDForCallsAboutDifferentThings": TestOneIDForCallsAboutDifferentThings,
	"TestJoinedWordsAreNoReading":           TestJoinedWordsAreNoReading,
	"TestUserQuotesAnAgent":                 TestUserQuotesAnAgent,
}

// TestAttacksOnEvidenceAgain runs them with alternatives and with conditions in use. What
// these leave out or allow must open nothing that was closed, nor close what was open.
func TestAttacksOnEvidenceAgain(t *testing.T) {
	alternatives := func(o *options) {
		for i := range o.cfg.Extract {
			if e := &o.cfg.Extract[i]; e.In == graphsync.InResult && e.Event == "" {
				e.Alternatives = true
			}
		}
	}
	condition := func(name string, d contextgraph.DriftConfig) option {
		return func(o *options) {
			of := o.cfg.Guard.Types["Product"]
			of.Drift = map[string]contextgraph.DriftConfig{name: d}
			o.cfg.Guard.Types = maps.Clone(o.cfg.Guard.Types)
			if o.cfg.Guard.Types == nil {
				o.cfg.Guard.Types = make(map[string]contextgraph.TypeConfig)
			}
			o.cfg.Guard.Types["Product"] = of
		}
	}
	for _, test := range []struct {
		name    string
		change  option
		without []string
	}{
		{"alternatives and a condition on availability", with(alternatives, condition("availability", contextgraph.DriftConfig{Equals: true})), []string{
			"TestRuleWithoutAttributes", "TestWorkflowNodeRests", // no rule of theirs shows it, which a condition requires
		}},
		{"a condition on the price", condition("price", contextgraph.DriftConfig{AtMost: "$50,000"}), []string{
			"TestRuleWithoutAttributes",
			// In these an honest plan pays $80,000, or was shown that price.
			"TestDelegateReads", "TestWorkflowNodeRests", "TestOneIDForCallsAboutDifferentThings", "TestRefusalIsAReading",
			"TestOtherTabReadsTheNewPrice", "TestLateRowOfAnotherProcess", "TestIsolatedAgents",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyHarness = test.change
			defer func() { everyHarness = nil }()
			for name, attack := range attacksOnEvidence {
				if !slices.Contains(test.without, name) {
					t.Run(name, attack)
				}
			}
		})
	}
}

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
// harness. Each takes an option that changes its harnesses after their own options.
var attacksOnEvidence = map[string]func(*testing.T, option){
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
			for name, attack := range attacksOnEvidence {
				if !slices.Contains(test.without, name) {
					t.Run(name, func(t *testing.T) { attack(t, test.change) })
				}
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Reasons of a [Failure]. They are stable codes for programs; the Detail of the
// failure is for people.
const (
	ReasonNoEntities       = "no_entities"       // nothing to check
	ReasonNoChecker        = "no_checker"        // no checker is registered for the type
	ReasonNeedsAgent       = "needs_agent"       // only the process of the agent can ask; never forgiven as optional
	ReasonInvalidEntity    = "invalid_entity"    // an entity without type, value or key
	ReasonLowConfidence    = "low_confidence"    // confidence below the floor, or no number in [0,1]
	ReasonNotSeen          = "not_seen"          // the time it was seen is unknown or in the future
	ReasonError            = "error"             // the checker returned an error
	ReasonPanic            = "panic"             // the checker panicked or ended its goroutine
	ReasonTimeout          = "timeout"           // no answer in time
	ReasonSourceDown       = "source_down"       // the source of the checker is away: no connection, or an error of the server
	ReasonEmptyAnswer      = "empty_answer"      // an answer without attributes
	ReasonNoAsOf           = "no_as_of"          // an answer that does not say when it was true
	ReasonStaleAnswer      = "stale_answer"      // an answer older than [config.Guard.CheckAge]
	ReasonFutureAnswer     = "future_answer"     // an answer from the future
	ReasonMissingAttribute = "missing_attribute" // an attribute that was seen is not in the answer
	ReasonNothingSeen      = "nothing_seen"      // nothing on record shows it: it is only claimed
	ReasonResultRewritten  = "result_rewritten"  // only results show it that models read otherwise
	ReasonNotRead          = "not_read"          // the model that asked had read none of its values
	ReasonArgumentDiffers  = "argument_differs"  // the arguments of the action differ from the values that were read
	ReasonConditionUnmet   = "condition_unmet"   // a value that was read does not meet the condition of the policy
	ReasonMissingEntity    = "missing_entity"    // the entity is not in the answer of its source any more
	ReasonTypeMismatch     = "type_mismatch"     // an attribute of another kind than was seen
	ReasonNothingCompared  = "nothing_compared"  // no attribute could be compared
	ReasonIncompleteRecord = "incomplete_record" // rows are missing, truncated or were never read
	ReasonExtractionFailed = "extraction_failed" // rows from which no entities could be extracted
	ReasonRulesChanged     = "rules_changed"     // asked under other extraction rules
	ReasonPolicyChanged    = "policy_changed"    // asked under another policy
	ReasonStore            = "store"             // the record or the ledger could not be read
	ReasonCanceled         = "canceled"          // the caller gave up
	ReasonClock            = "clock"             // the clock failed or ran backwards
	ReasonSession          = "session"           // the session is not named in full
	ReasonPolicy           = "policy"            // a rule of the policy cannot be evaluated
)

// Alert reports one changed attribute of one entity. With [BudgetExceeded] it reports a plan that
// costs more than its budget: it names the budget, Before is the cost at the time of the approval,
// and After is the present cost.
type Alert struct {
	// EntityType and Entity are the type and the value of the entity as shown.
	EntityType string `json:"entity_type"`
	Entity     string `json:"entity"`
	// Attribute is the attribute that changed; "cost" for a budget. Drift is the type of the change.
	Attribute string `json:"attribute"`
	Drift     string `json:"drift_type"`
	// Before is the value that was read and does not hold, the latest of several, After
	// the value now, both as shown: "$40,000". Before is "not seen" where the attribute was
	// not read, and "not known" where it is not known what the plan cost.
	Before string `json:"before"`
	After  string `json:"after"`
	// Condition is the condition that After has to meet, in words: "at least 8". It is "" if the
	// policy has no condition.
	Condition string `json:"condition,omitempty"`
	// ChangePercent is the relative change of a number or an amount of money
	// in percent of the value seen; nil for other kinds, for a value seen of
	// zero and between currencies.
	ChangePercent *float64 `json:"change_percent,omitempty"`
	// Severity is between 0 and 1. It does not enter the verdict.
	Severity float64 `json:"severity"`
	// Effect is [config.EffectBlock], or [config.EffectWarn] for a change that is only worth knowing.
	Effect config.Effect `json:"effect"`
	// Recommendation is the remedy, in words. It is never empty.
	Recommendation string `json:"recommendation"`
}

// blocks reports whether the alert enters the verdict. Whatever is not a warning does.
func (a Alert) blocks() bool { return a.Effect != config.EffectWarn }

// Failure says why a check, or the check of one entity, failed.
type Failure struct {
	// EntityType and Entity name the entity; both are empty for a failure of
	// the whole check.
	EntityType string `json:"entity_type,omitempty"`
	Entity     string `json:"entity,omitempty"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
	// Detail is for people: valid UTF-8 in one line of at most 500 bytes.
	Detail string `json:"detail,omitempty"`
}

// String returns "reason: type: value: detail", without the parts that are empty.
func (f Failure) String() string {
	parts := []string{f.Reason}
	for _, p := range []string{f.EntityType, f.Entity, f.Detail} {
		if p != "" {
			parts = append(parts, oneLine(p))
		}
	}
	return strings.Join(parts, ": ")
}

// fail makes a failure of the whole check.
func fail(reason, format string, args ...any) Failure {
	return Failure{Reason: reason, Detail: oneLine(fmt.Sprintf(format, args...))}
}

// down reports whether the failure of an entity says that its source is away. Two people may let a
// call run then; see [Answer.Override].
func (f Failure) down() bool {
	return f.EntityType != "" && (f.Reason == ReasonTimeout || f.Reason == ReasonSourceDown)
}

// name is the entity in [Consent.Unchecked]. A type has no blank.
func (f Failure) name() string { return f.EntityType + " " + f.Entity }

// failOf makes a failure of one entity.
func failOf(e entity.Canonical, reason, format string, args ...any) Failure {
	f := fail(reason, format, args...)
	f.EntityType, f.Entity = e.Type, e.Value
	return f
}

// recommend gives the advice of an alert about an attribute with the present value now.
func recommend(attribute string, now entity.Value, typ, value, before, after string) string {
	subject, before, after := oneLine(typ+" "+value), oneLine(before), oneLine(after)
	switch {
	case isFalse(attribute, now):
		return fmt.Sprintf("Replace %s with one that is available, or leave it out, and ask for approval of the new plan.", subject)
	case now.Kind() == entity.KindMoney:
		return fmt.Sprintf("Plan again with %s at %s instead of %s, check that the total still fits the budget, and ask for approval of the new plan.", subject, after, before)
	case attribute == "status":
		return fmt.Sprintf("Find out why the status of %s is %s before anything is built on it, and ask for approval of the new plan.", subject, after)
	default:
		return fmt.Sprintf("Read %s again, plan with %s instead of %s, and ask for approval of the new plan.", subject, after, before)
	}
}

// recommendMeeting gives the advice of an alert about an attribute with a condition.
func recommendMeeting(name, typ, value, after, condition string) string {
	return fmt.Sprintf("%s is %s now, and has to be %s: plan with one that meets that, and ask for approval of the new plan.",
		oneLine(name+" of "+typ+" "+value), oneLine(after), condition)
}

const maxDetail = 500

// oneLine makes a text of foreign origin safe to print, in at most 500 bytes.
func oneLine(s string) string { return text.Clip(text.Visible(s), maxDetail) }

// selectAlerts returns copies of the alerts that block, or of those that warn.
func selectAlerts(alerts []Alert, blocking bool) []Alert {
	var out []Alert
	for _, a := range alerts {
		if a.blocks() != blocking {
			continue
		}
		if p := a.ChangePercent; p != nil {
			a.ChangePercent = new(*p)
		}
		out = append(out, a)
	}
	return out
}

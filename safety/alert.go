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
//
//	what goes wrong                                  reason               effect
//	no entity to check, or none of a listed type     no_entities          check fails
//	no checker for a type                            no_checker           check fails
//	only the agent's process can ask                 needs_agent          check fails, optional or not
//	an entity without type, value or key             invalid_entity       check fails
//	confidence under the floor                       low_confidence       check fails
//	seen at an unknown time, or in the future        not_seen             check fails
//	nothing on record shows it, or an attribute      nothing_seen         check fails
//	the model that asked had read none of its values not_read             check fails
//	it had read nothing, and the call names nothing  nothing_read         check fails
//	the arguments name nothing that a rule reads, or
//	rules may leave aside something that they name   action_not_read      check fails
//	the arguments differ from what was read          argument_differs     check fails
//	a value that was read does not meet a condition  condition_unmet      check fails
//	checker: error                                   error                check fails
//	checker: panic, end of its goroutine             panic                check fails
//	checker: no answer in time                       timeout              check fails, call abandoned
//	checker: its source is away                      source_down          check fails
//	answer: no attributes                            empty_answer         check fails
//	answer: no time, too old, in the future          no_as_of,            check fails
//	                                                 stale_answer,
//	                                                 future_answer
//	answer: an attribute is missing, of another kind missing_attribute,   check fails
//	                                                 type_mismatch
//	answer: the entity is gone from its source       missing_entity       check fails
//	answer: nothing to compare                       nothing_compared     check fails
//	record: rows missing, truncated, fewer, none     incomplete_record    check fails
//	record: rows that could not be extracted         extraction_failed    check fails
//	record or list of approvals cannot be read       store                check fails
//	a rule of the policy that cannot be evaluated    policy               check fails
//	asked under other rules or another policy        rules_changed,       check fails
//	                                                 policy_changed
//	clock fails or runs backwards                    clock                check fails, or refused
//	the caller gives up                              canceled             check fails, or refused
//	session not named in full                        session              check fails
const (
	ReasonNoEntities       = "no_entities"
	ReasonNoChecker        = "no_checker"
	ReasonNeedsAgent       = "needs_agent"
	ReasonInvalidEntity    = "invalid_entity"
	ReasonLowConfidence    = "low_confidence"
	ReasonNotSeen          = "not_seen"
	ReasonError            = "error"
	ReasonPanic            = "panic"
	ReasonTimeout          = "timeout"
	ReasonSourceDown       = "source_down"
	ReasonEmptyAnswer      = "empty_answer"
	ReasonNoAsOf           = "no_as_of"
	ReasonStaleAnswer      = "stale_answer"
	ReasonFutureAnswer     = "future_answer"
	ReasonMissingAttribute = "missing_attribute"
	ReasonNothingSeen      = "nothing_seen"
	ReasonNotRead          = "not_read"
	ReasonNothingRead      = "nothing_read"
	ReasonActionNotRead    = "action_not_read"
	ReasonArgumentDiffers  = "argument_differs"
	ReasonConditionUnmet   = "condition_unmet"
	ReasonMissingEntity    = "missing_entity"
	ReasonTypeMismatch     = "type_mismatch"
	ReasonNothingCompared  = "nothing_compared"
	ReasonIncompleteRecord = "incomplete_record"
	ReasonExtractionFailed = "extraction_failed"
	ReasonRulesChanged     = "rules_changed"
	ReasonPolicyChanged    = "policy_changed"
	ReasonStore            = "store"
	ReasonCanceled         = "canceled"
	ReasonClock            = "clock"
	ReasonSession          = "session"
	ReasonPolicy           = "policy"
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
	// the value now, both as shown: "$40,000". Of a set, After says what came and what went:
	// "Yacht came; Lamp went". Before is "not seen" where the attribute was not read, and
	// "not known" where it is not known what the plan cost.
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
	// LookUp names the tools whose results show the attribute: "get or search". It is "" if no rule says so.
	LookUp string `json:"-"`
}

// blocks reports whether the alert enters the verdict. Whatever is not a warning does.
func (a Alert) blocks() bool { return a.Effect != config.EffectWarn }

// Failure says why a check, or the check of one entity, failed.
type Failure struct {
	// EntityType and Entity name the entity; both are empty for a failure of
	// the whole check.
	EntityType string `json:"entity_type,omitempty"`
	Entity     string `json:"entity,omitempty"`
	// Attribute is the attribute that it is about, Read the value that was read and Need the condition, where one alone
	// is at fault.
	Attribute string `json:"attribute,omitempty"`
	Read      string `json:"read,omitempty"`
	Need      string `json:"need,omitempty"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
	// Detail is for people: valid UTF-8 in one line of at most 500 bytes.
	Detail string `json:"detail,omitempty"`
	// Remedy says in a sentence what to change in the configuration so that the thing does not count; "" for nothing.
	Remedy string `json:"remedy,omitempty"`
}

// String returns "reason: type: value: detail", without the parts that are empty.
func (f Failure) String() string {
	parts := []string{f.Reason}
	for _, p := range []string{f.EntityType, f.Entity, f.said()} {
		if p != "" {
			parts = append(parts, oneLine(p))
		}
	}
	return strings.Join(parts, ": ")
}

// said is the detail with the remedy.
func (f Failure) said() string { return strings.Trim(f.Detail+"; "+f.Remedy, "; ") }

// fail makes a failure of the whole check.
func fail(reason, format string, args ...any) Failure {
	return Failure{Reason: reason, Detail: oneLine(fmt.Sprintf(format, args...))}
}

// down reports whether the failure of an entity says that its source is away. Two people may let a
// call run then; see [Answer.Override].
func (f Failure) Down() bool {
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

// about names the attribute that a failure is about.
func (f Failure) about(name string) Failure {
	if name != Exists {
		f.Attribute = name
	}
	return f
}

// recommend gives the advice of an alert about an attribute with the present value now.
func recommend(attribute string, now entity.Value, typ, value, before, after string) string {
	subject, before, after := oneLine(typ+" "+value), oneLine(before), oneLine(after)
	_, isSet := entity.ElementOf(typ)
	switch {
	case isSet:
		return fmt.Sprintf("Look at what is new or gone in %s (%s). If the plan is still right with that, make the same call again; else plan anew, and ask for approval of the new plan.", oneLine(value), after)
	case isFalse(attribute, now):
		return fmt.Sprintf("Replace %s with one that is available, or leave it out, and ask for approval of the new plan.", subject)
	case now.Kind() == entity.KindMoney:
		return fmt.Sprintf("Plan again with %s at %s instead of %s, check that the total still fits the budget, and ask for approval of the new plan.", subject, after, before)
	case now.Kind() == entity.KindSet:
		return fmt.Sprintf("Read %s again (%s), plan with what it holds now, and ask for approval of the new plan.", subject, after)
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

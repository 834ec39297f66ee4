// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	Recommendation string `json:"recommendation,omitempty"`
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

// String returns "reason: " and the text of the failure.
func (f Failure) String() string { return f.Reason + ": " + f.finding().Line() }

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

// String returns the type of the change and the change: "price_changed: price of Product Strava: $1 → $2 (+100%), severity 0.72".
func (a Alert) String() string { return a.Drift + ": " + a.finding().Line() }

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

// Finding is one thing that a check found: a value that is not as it was read, or why nothing is proved. Every text
// about a check is made of its findings.
type Finding struct {
	// Type and Value name the thing. Both are empty for what concerns the whole check.
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
	// Attribute is what of the thing it is about; "" for all of it.
	Attribute string `json:"attribute,omitempty"`
	// Read is the value that was read, Now the present one, as shown. Need is the condition in words: "at least 60".
	Read string `json:"read,omitempty"`
	Now  string `json:"now,omitempty"`
	Need string `json:"need,omitempty"`
	// Reason is the type of a change ([Alert.Drift]), or one of the Reason constants.
	Reason string `json:"reason"`
	// Effect is [config.EffectBlock] or [config.EffectWarn] for a change, and "fail" for a failure.
	Effect string `json:"effect"`
	// Text says it in a phrase, Remedy what to do in a sentence or two.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
	// Hopeless says that no later check can find it otherwise: the record of the request itself says so.
	Hopeless bool `json:"hopeless,omitempty"`
	// Heals says that time alone can heal it. Percent and Severity are those of an alert, Detail is that of a failure.
	Heals    bool     `json:"-"`
	Percent  *float64 `json:"-"`
	Severity float64  `json:"-"`
	Detail   string   `json:"-"`
}

// effectFail is the effect of a failure.
const effectFail = "fail"

// cause is what a reason means.
type cause struct {
	// words say it behind the name of a thing. Without them the detail of the failure does.
	words string
	// remedy is what to do about it.
	remedy string
	// waits is set for a failure that may have passed when somebody answers: its source is away, slow or answers
	// nonsense. It says so in a few words.
	waits string
	// hopeless is as in [Finding]. secret says that the detail is an error of a checker, of the store or of the clock,
	// which may name hosts, files and queries.
	hopeless, secret bool
}

// What to do about a failure.
const (
	remedyLater  = "Try again later."
	remedyLookUp = "Look it up, then ask again."
	remedySetUp  = "Whoever runs the agent has to correct that."
)

// noAnswer says that whatever a checker answered proves nothing.
const noAnswer = "no answer that counts"

var causes = map[string]cause{
	ReasonNoEntities:       {remedy: "Ask for something that can be checked.", hopeless: true},
	ReasonNoChecker:        {remedy: remedySetUp},
	ReasonNeedsAgent:       {words: "only the process of the agent can check it", waits: "only the agent can ask", remedy: "It is checked there when the request is answered.", secret: true},
	ReasonInvalidEntity:    {remedy: remedySetUp, hopeless: true},
	ReasonLowConfidence:    {words: "recognised with too little confidence", remedy: remedyLookUp, hopeless: true},
	ReasonNotSeen:          {remedy: remedyLookUp},
	ReasonNothingSeen:      {words: notSeen, remedy: remedyLookUp, hopeless: true},
	ReasonNotRead:          {words: "not read by the model that asked", remedy: "Read it, then ask again.", hopeless: true},
	ReasonNothingRead:      {remedy: remedyLookUp, hopeless: true},
	ReasonActionNotRead:    {hopeless: true},
	ReasonArgumentDiffers:  {hopeless: true},
	ReasonConditionUnmet:   {remedy: "Plan with what meets that, then ask again.", hopeless: true},
	ReasonError:            {words: "its checker returned an error", waits: noAnswer, remedy: remedyLater, secret: true},
	ReasonPanic:            {words: "its checker broke down", waits: noAnswer, remedy: remedyLater, secret: true},
	ReasonTimeout:          {words: "its source gave no answer in time", waits: "no answer in time", remedy: remedyLater, secret: true},
	ReasonSourceDown:       {words: "its source is down", waits: "source is down", remedy: remedyLater, secret: true},
	ReasonEmptyAnswer:      {words: "the answer of its checker is empty", waits: noAnswer, remedy: remedySetUp},
	ReasonNoAsOf:           {words: "the answer of its checker does not say when it was true", waits: noAnswer, remedy: remedySetUp},
	ReasonStaleAnswer:      {words: "the answer of its checker is too old", waits: "answer is too old", remedy: remedyLater},
	ReasonFutureAnswer:     {words: "the answer of its checker is from the future", waits: noAnswer, remedy: remedySetUp},
	ReasonMissingAttribute: {words: "not in the answer of its checker", waits: noAnswer, remedy: remedySetUp},
	ReasonMissingEntity:    {words: "its source does not know it", remedy: "Choose another one, then ask again."},
	ReasonTypeMismatch:     {waits: noAnswer, remedy: remedySetUp},
	ReasonNothingCompared:  {words: "nothing of it could be compared", waits: noAnswer, remedy: remedySetUp},
	ReasonExtractionFailed: {remedy: remedyLookUp},
	ReasonRulesChanged:     {hopeless: true},
	ReasonPolicyChanged:    {hopeless: true},
	ReasonStore:            {words: "the record could not be read", remedy: remedyLater, secret: true},
	ReasonCanceled:         {words: "the run ended before the check did", waits: "no answer in time", remedy: remedyLater, secret: true},
	ReasonClock:            {words: "the clock cannot be trusted", waits: noAnswer, remedy: remedyLater, secret: true},
}

// heals reports whether time alone can heal a failure, passes whether it may have passed when somebody answers.
func (f Failure) heals() bool  { return causes[f.Reason].remedy == remedyLater }
func (f Failure) passes() bool { return causes[f.Reason].waits != "" }

// Findings returns what the check found, the changes first.
func (r Report) Findings() []Finding {
	return Findings(slices.Concat(r.Alerts(), r.Warnings()), r.failures)
}

// Public returns the findings as a model, or a person without rights, may read them: the changes that a refusal tells,
// and the failures without the addresses of services and the errors of programs.
func (r Report) Public() []Finding {
	alerts, _ := r.Told()
	return Findings(alerts, r.public())
}

func (r Report) public() []Failure {
	out := slices.Clone(r.failures)
	for i := range out {
		out[i] = out[i].public()
	}
	return out
}

// Because says in one line why the check denies; "" if nothing was found that does.
func (r Report) Because() string {
	var why []string
	for _, f := range Findings(r.Alerts(), r.failures) {
		why = append(why, f.Reason+": "+f.Line())
	}
	return joined(why)
}

// joined says the first of several reasons, and how many it leaves out.
func joined(why []string) string {
	first := strings.Join(why[:min(len(why), maxHinted)], "; ")
	if more := len(why) - maxHinted; more > 0 {
		first += fmt.Sprintf("; and %d more", more)
	}
	return first
}

// Findings makes one list of alerts and failures, as a [Report] has them. A finding stands there once: a
// thing that nobody saw has no findings for its attributes.
func Findings(alerts []Alert, failures []Failure) []Finding {
	out := []Finding{}
	for _, a := range alerts {
		out = append(out, a.finding())
	}
	for _, x := range failures {
		whole := func(y Failure) bool {
			return y.Reason == ReasonNothingSeen && y.Attribute == "" && y.name() == x.name()
		}
		f := x.finding()
		if x.Attribute != "" && slices.ContainsFunc(failures, whole) || slices.ContainsFunc(out, func(g Finding) bool { return g.Text == f.Text }) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func (a Alert) finding() Finding {
	f := Finding{
		Type: a.EntityType, Value: a.Entity, Attribute: a.Attribute, Read: a.Before, Now: a.After, Need: a.Condition,
		Reason: a.Drift, Effect: string(config.EffectBlock), Remedy: a.Recommendation, Percent: a.ChangePercent, Severity: a.Severity,
	}
	if !a.blocks() {
		f.Effect = string(config.EffectWarn)
	}
	words := f.Read + " → " + f.Now
	switch {
	case f.Attribute == Exists && f.Now == "false" && f.Read == notSeen:
		words = "not seen, and its source does not have it"
	case f.Attribute == Exists && f.Now == "false":
		words = "gone"
	case f.Read == notSeen:
		words = f.Now
	}
	f.Text = f.phrase(f.Attribute, words+f.needed())
	if a.Drift == BudgetExceeded {
		f.Text = oneLine("cost of the plan: " + f.Read + " → " + f.Now + ", more than " + f.Type + " " + f.Value)
	}
	return f
}

func (x Failure) finding() Finding {
	c := causes[x.Reason]
	f := Finding{
		Type: x.EntityType, Value: x.Entity, Attribute: x.Attribute, Read: x.Read, Need: x.Need,
		Reason: x.Reason, Effect: effectFail, Remedy: cmp.Or(x.Remedy, c.remedy), Hopeless: c.hopeless, Heals: x.heals(), Detail: x.Detail,
	}
	switch _, err := strconv.ParseFloat(f.Read, 64); {
	case f.Need != "" && err == nil:
		f.Text = f.phrase("", f.Read+" "+unit(f.Attribute)+f.needed())
	case f.Need != "":
		f.Text = f.phrase(f.Attribute, f.Read+f.needed())
	case c.words != "":
		f.Text = f.phrase(f.Attribute, c.words)
	default:
		f.Text = f.phrase("", cmp.Or(x.Detail, strings.ReplaceAll(x.Reason, "_", " ")))
	}
	return f
}

// phrase says something of the thing of f, or of its attribute: "stock of Drug Amoxicillin 500: 80 → 59".
func (f Finding) phrase(attribute, words string) string {
	about := strings.TrimSpace(f.Type + " " + f.Value)
	if attribute != "" && attribute != Exists {
		about = attribute + " of " + about
	}
	if about != "" {
		words = about + ": " + words
	}
	return oneLine(words)
}

// needed says what the value of f has to be, behind the value: ", 60 needed".
func (f Finding) needed() string {
	if f.Need == "" {
		return ""
	}
	return ", " + Needed(f.Need)
}

// Needed says a condition as people do: "60 needed" for "at least 60", "at most 3 allowed", "passed needed".
func Needed(condition string) string {
	rest, least := strings.CutPrefix(condition, atLeast.phrase())
	exact, is := strings.CutPrefix(condition, equals.phrase())
	switch {
	case strings.Contains(condition, " and "):
		return "has to be " + condition
	case least && strings.HasSuffix(rest, inAll):
		return strings.TrimSuffix(rest, inAll) + " needed" + inAll
	case least:
		return rest + " needed"
	case is:
		return exact + " needed"
	case strings.HasPrefix(condition, atMost.phrase()):
		return condition + " allowed"
	}
	return condition + " needed"
}

// Sentence says it with what to do.
func (f Finding) Sentence() string { return strings.TrimSpace(f.Text + ". " + f.Remedy) }

// Line says all of it: by how much a value changed and how bad that is, or what a checker said.
func (f Finding) Line() string {
	switch {
	case f.Effect != effectFail && f.Percent != nil:
		return fmt.Sprintf("%s (%s%%), severity %.2f", f.Text, signed(*f.Percent), f.Severity)
	case f.Effect != effectFail:
		return fmt.Sprintf("%s, severity %.2f", f.Text, f.Severity)
	case f.Detail == "" || strings.Contains(f.Text, f.Detail):
		return f.Text
	}
	return f.Text + " (" + oneLine(f.Detail) + ")"
}

// Seen returns the attributes of a thing as they were read, in words, and when; the zero time if no result showed the
// thing. A value that only the call gives has a mark: "$100 (not seen)". [Exists] of such a thing is "not seen".
func Seen(e entity.Canonical) (attributes map[string]string, at time.Time) {
	attributes = make(map[string]string, len(e.Attributes))
	for name, v := range e.Attributes {
		values, _ := readings(e, name)
		switch {
		case len(values) > 0:
			attributes[name] = show(name, v)
		case name == Exists:
			attributes[name] = notSeen
		default:
			attributes[name] = show(name, v) + " (" + notSeen + ")"
		}
	}
	for _, name := range e.Absent {
		attributes[name] = notThere
	}
	if shown(e) {
		at = e.LastSeen
	}
	return attributes, at
}

// address matches what names a place in a network: a URL, or a host with a port.
var address = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\[[0-9a-f:.%]*:[0-9a-f:.%]*\](?::\d+)?|\b[a-z0-9-]*[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}\b`)

// moment matches what only looks like a host with a port: a time of day, behind its date or before its zone.
var moment = regexp.MustCompile(`(?i)^(?:\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d|(?:UTC|GMT)-(?:0\d|1[0-2]):[0-5]\d)$`)

// public returns the failure as a model, or a person without rights, may read it: without the addresses
// of services and the errors of programs.
func (f Failure) public() Failure {
	if c := causes[f.Reason]; c.secret {
		f.Detail = c.words
		return f
	}
	f.Detail = oneLine(address.ReplaceAllStringFunc(f.Detail, func(s string) string {
		if strings.Contains(s, ".yaml:") || strings.Contains(s, ".yml:") || moment.MatchString(s) {
			return s // a line of the configuration, or a time
		}
		return "[address]"
	}))
	return f
}

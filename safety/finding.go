// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

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

// cause is what a reason means for a thing, in words behind its name. Without words, the detail of the failure says it.
type cause struct {
	words, remedy string
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

var causes = map[string]cause{
	ReasonNoEntities:       {remedy: "Ask for something that can be checked.", hopeless: true},
	ReasonNoChecker:        {words: "no checker is registered for its type", remedy: remedySetUp},
	ReasonNeedsAgent:       {words: "only the process of the agent can check it", remedy: "It is checked there when the request is answered.", secret: true},
	ReasonInvalidEntity:    {remedy: remedySetUp, hopeless: true},
	ReasonLowConfidence:    {words: "recognised with too little confidence", remedy: remedyLookUp, hopeless: true},
	ReasonNotSeen:          {remedy: remedyLookUp},
	ReasonNothingSeen:      {words: notSeen, remedy: remedyLookUp, hopeless: true},
	ReasonNotRead:          {words: "not read by the model that asked", remedy: "Read it, then ask again.", hopeless: true},
	ReasonNothingRead:      {remedy: remedyLookUp, hopeless: true},
	ReasonActionNotRead:    {hopeless: true},
	ReasonArgumentDiffers:  {hopeless: true},
	ReasonConditionUnmet:   {remedy: "Plan with what meets that, then ask again.", hopeless: true},
	ReasonError:            {words: "its checker returned an error", remedy: remedyLater, secret: true},
	ReasonPanic:            {words: "its checker broke down", remedy: remedyLater, secret: true},
	ReasonTimeout:          {words: "its source gave no answer in time", remedy: remedyLater, secret: true},
	ReasonSourceDown:       {words: "its source is down", remedy: remedyLater, secret: true},
	ReasonEmptyAnswer:      {words: "the answer of its checker is empty", remedy: remedySetUp},
	ReasonNoAsOf:           {words: "the answer of its checker does not say when it was true", remedy: remedySetUp},
	ReasonStaleAnswer:      {words: "the answer of its checker is too old", remedy: remedyLater},
	ReasonFutureAnswer:     {words: "the answer of its checker is from the future", remedy: remedySetUp},
	ReasonMissingAttribute: {words: "not in the answer of its checker", remedy: remedySetUp},
	ReasonMissingEntity:    {words: "its source does not know it", remedy: "Choose another one, then ask again."},
	ReasonTypeMismatch:     {remedy: remedySetUp},
	ReasonNothingCompared:  {words: "nothing of it could be compared", remedy: remedySetUp},
	ReasonExtractionFailed: {remedy: remedyLookUp},
	ReasonRulesChanged:     {hopeless: true},
	ReasonPolicyChanged:    {hopeless: true},
	ReasonStore:            {words: "the record could not be read", remedy: remedyLater, secret: true},
	ReasonCanceled:         {words: "the run ended before the check did", remedy: remedyLater, secret: true},
	ReasonClock:            {words: "the clock cannot be trusted", remedy: remedyLater, secret: true},
}

// heals reports whether time alone can heal a failure.
func (f Failure) heals() bool { return causes[f.Reason].remedy == remedyLater }

// Findings returns what the check found, the changes first.
func (r Report) Findings() []Finding {
	return Findings(slices.Concat(r.Alerts(), r.Warnings()), r.failures)
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

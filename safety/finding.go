// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"slices"
	"strings"

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
}

// effectFail is the effect of a failure.
const effectFail = "fail"

// cause is what a reason means for a thing, in words behind its name, and what can be done.
type cause struct {
	words, remedy string
	// hopeless is as in [Finding].
	hopeless bool
}

// What to do about a failure.
const (
	remedyLater  = "Try again later: time can heal that."
	remedyLookUp = "Look it up, then ask again."
	remedyPlan   = "Plan with what meets that, then ask again."
	remedyAsk    = "Ask again."
	remedySetUp  = "Whoever runs the agent has to correct its checker."
)

// causes has each reason of a [Failure]. Without words, the detail of the failure says it.
var causes = map[string]cause{
	ReasonNoEntities:       {"", "Ask for something that can be checked.", true},
	ReasonNoChecker:        {"no checker is registered for its type", remedySetUp, false},
	ReasonNeedsAgent:       {"only the process of the agent can check it", "It is checked there when the request is answered.", false},
	ReasonInvalidEntity:    {"", remedyAsk, true},
	ReasonLowConfidence:    {"it was recognised with too little confidence", remedyAsk, true},
	ReasonNotSeen:          {"", remedyLookUp, true},
	ReasonNothingSeen:      {"not seen", remedyLookUp, true},
	ReasonNotRead:          {"not read by the model that asked", "Read it, then ask again.", true},
	ReasonNothingRead:      {"", remedyLookUp, true},
	ReasonActionNotRead:    {"", "", true},
	ReasonArgumentDiffers:  {"", "", true},
	ReasonConditionUnmet:   {"", remedyPlan, true},
	ReasonError:            {"its checker returned an error", remedyLater, false},
	ReasonPanic:            {"its checker broke down", remedyLater, false},
	ReasonTimeout:          {"its source gave no answer in time", remedyLater, false},
	ReasonSourceDown:       {"its source is down", remedyLater, false},
	ReasonEmptyAnswer:      {"the answer of its checker is empty", remedySetUp, false},
	ReasonNoAsOf:           {"the answer does not say when it was true", remedySetUp, false},
	ReasonStaleAnswer:      {"the answer of its checker is too old", remedyLater, false},
	ReasonFutureAnswer:     {"the answer of its checker is from the future", remedySetUp, false},
	ReasonMissingAttribute: {"not in the answer of its checker", remedySetUp, false},
	ReasonMissingEntity:    {"its source does not know it", "Choose another one, then ask again.", false},
	ReasonTypeMismatch:     {"", remedySetUp, false},
	ReasonNothingCompared:  {"nothing of it could be compared", remedySetUp, false},
	ReasonIncompleteRecord: {"", "", false},
	ReasonExtractionFailed: {"", remedyLookUp, true},
	ReasonRulesChanged:     {"", remedyAsk, true},
	ReasonPolicyChanged:    {"", remedyAsk, true},
	ReasonStore:            {"the record could not be read", remedyLater, false},
	ReasonCanceled:         {"the run ended before the check did", remedyLater, false},
	ReasonClock:            {"the clock cannot be trusted", remedyLater, false},
	ReasonSession:          {"", remedySetUp, false},
	ReasonPolicy:           {"", "", false},
}

// Findings returns what the check found, the changes first.
func (r Report) Findings() []Finding {
	return Findings(slices.Concat(r.Alerts(), r.Warnings()), r.failures)
}

// Findings makes one list of alerts and failures, as a [Report] has them. What says the same of a thing stands there
// once: of a thing that nobody saw, nobody saw its attributes.
func Findings(alerts []Alert, failures []Failure) []Finding {
	out := []Finding{}
	for _, a := range alerts {
		f := Finding{
			Type: a.EntityType, Value: a.Entity, Attribute: a.Attribute, Read: a.Before, Now: a.After, Need: a.Condition,
			Reason: a.Drift, Effect: string(config.EffectBlock), Remedy: a.Recommendation,
		}
		if !a.blocks() {
			f.Effect = string(config.EffectWarn)
		}
		f.Text = f.phrase(strings.TrimSpace(f.Read+" → "+f.Now) + f.needed())
		out = append(out, f)
	}
	unseen := make(map[[2]string]bool)
	for _, x := range failures {
		if x.Reason == ReasonNothingSeen && x.Attribute == "" {
			unseen[[2]string{x.EntityType, x.Entity}] = true
		}
	}
	for _, x := range failures {
		c := causes[x.Reason]
		f := Finding{
			Type: x.EntityType, Value: x.Entity, Attribute: x.Attribute, Read: x.Read, Need: x.Need,
			Reason: x.Reason, Effect: effectFail, Remedy: c.remedy, Hopeless: c.hopeless,
		}
		words := c.words
		switch {
		case x.Reason == ReasonConditionUnmet && x.Read != "":
			words = f.Read + f.needed()
		case words == "":
			words, f.Attribute = x.Detail, ""
		}
		if words == "" {
			words = x.Reason
		}
		f.Text = f.phrase(words)
		said := func(g Finding) bool { return g.Effect == effectFail && g.Text == f.Text }
		if x.Attribute != "" && unseen[[2]string{x.EntityType, x.Entity}] || slices.ContainsFunc(out, said) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// phrase says something of the thing of f: "stock of Drug Amoxicillin 500: 80 → 59".
func (f Finding) phrase(words string) string {
	about := strings.TrimSpace(f.Type + " " + f.Value)
	if f.Attribute != "" && f.Attribute != Exists {
		about = f.Attribute + " of " + about
	}
	if about == "" {
		return oneLine(words)
	}
	return oneLine(about + ": " + words)
}

// needed says what the value of f has to be, behind the value: ", 60 needed".
func (f Finding) needed() string {
	n := needWords(f.Need)
	if n == "" {
		return ""
	}
	return ", " + n
}

// needWords says a condition as people do: "60 needed" for "at least 60", "at most 3 allowed", "passed needed".
func needWords(condition string) string {
	if strings.Contains(condition, " and ") {
		return "has to be " + condition
	}
	for prefix, words := range map[operator]string{atLeast: " needed", atMost: " allowed", oneOf: " needed", equals: " needed"} {
		if rest, is := strings.CutPrefix(condition, prefix.phrase()); is {
			if prefix == atMost || prefix == oneOf {
				rest = condition
			}
			return rest + words
		}
	}
	if condition == "" {
		return ""
	}
	return condition + " needed"
}

// SeenText returns the attributes of a thing as they were read, in words. What no result showed is "not seen",
// whatever the call says of it.
func SeenText(e entity.Canonical) map[string]string {
	out := make(map[string]string, len(e.Attributes))
	for name, v := range e.Attributes {
		out[name] = notSeen
		if values, _ := readings(e, name); len(values) > 0 {
			out[name] = show(name, v)
		}
	}
	for _, name := range e.Absent {
		out[name] = notThere
	}
	return out
}

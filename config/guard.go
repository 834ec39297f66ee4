// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Guard is the approval gate.
type Guard struct {
	// Mode is what the gate does. Defaults to [ModeEnforce].
	Mode Mode `yaml:"mode"`
	// Tools holds the settings of the tools that need an approval for every call, by the name of a
	// tool or by a pattern of names such as provision_*. A pattern is one of [path.Match], but its
	// "*" and "?" also stand for a slash. Of several that match a tool, the strictest counts, setting
	// by setting. It must be empty with [ModeObserve]. Defaults to none.
	Tools map[string]ToolSettings `yaml:"tools" env:"add"`
	// Unguarded is the reaction to a tool that the gate should guard and cannot. Defaults to
	// [UnguardedWarn].
	Unguarded Unguarded `yaml:"unguarded"`
	// Inputs holds settings by the name of a node of a workflow, or by a pattern as in Tools. A request of
	// such a node for an input is a request for an approval. It is recorded with its evidence
	// before anybody sees it. The user message that answers it starts a run only while the evidence
	// is unchanged, and once. A name also stands for the nodes inside of a node or of a workflow.
	// Every answer goes through the gate, because only the node knows its meaning. It must be empty
	// with [ModeObserve]. Defaults to none.
	Inputs map[string]InputSettings `yaml:"inputs" env:"add"`
	// SelfApproval lets whoever asked for an approval give it, if the Authorizer or the Identity of
	// the program names them. Without both it changes nothing: nothing authenticates the user of the
	// session, who asks and approves. With an Identity, a request of somebody whom it does not name needs
	// two different people; SelfApproval lifts that too. Defaults to false.
	SelfApproval bool `yaml:"self_approval"`
	// RequestLifetime is how long a request waits for its answer before it
	// expires. Defaults to 7d.
	RequestLifetime time.Duration `yaml:"request_lifetime"`
	// CheckAge is how old an answer about the world may be when a check starts,
	// and how old a check may be when the action starts. It is at most
	// RequestLifetime. Defaults to 30s, or to RequestLifetime when that is shorter.
	CheckAge time.Duration `yaml:"check_age"`
	// CheckTimeout bounds the check of one entity. It is at most CheckDeadline.
	// Defaults to 5s, or to CheckDeadline when that is shorter.
	CheckTimeout time.Duration `yaml:"check_timeout"`
	// CheckDeadline bounds the checks of one approval together. Defaults to 15s,
	// or to CheckTimeout when that is longer.
	CheckDeadline time.Duration `yaml:"check_deadline"`
	// CheckBeforeAsking checks a request before anybody is asked, for at most 3s. Nobody is asked for one that no answer
	// can make good: something has changed, or was never read. The model is told what, and may ask again. A source
	// that is down stops no request. It changes nothing with [ModeObserve]. Defaults to true.
	CheckBeforeAsking *bool `yaml:"check_before_asking"`
	// EffectTimeout bounds an approved call of a tool that code protects. Its context ends then, and not
	// when whoever called the agent goes away. A call that it cuts is in doubt. Defaults to 10m.
	EffectTimeout time.Duration `yaml:"effect_timeout"`
	// MinConfidence is the confidence, from 0 to 1, below which an entity makes
	// the check fail; 0 accepts every entity. Defaults to 0.5.
	MinConfidence *float64 `yaml:"min_confidence"`
	// Drift says, by attribute, how a changed value counts; the key "*" stands for every attribute
	// without an entry. An entry adds to the defaults, or changes one of them: availability is
	// unavailable (severity 0.95), price is price_changed (0.72), reach is changed (0.6), status is
	// status_changed (0.9), any other is changed (0.5).
	Drift map[string]Drift `yaml:"drift"`
	// Types holds the policy for the entities of each type, where it differs. Defaults to none.
	Types map[string]TypePolicy `yaml:"types"`
	// Require says which entities have to be unchanged beside those that the arguments of
	// the action name, which always have to be. It holds when a request is asked and at
	// every check. Defaults to [RequireEverything].
	Require Requirement `yaml:"require"`
	// Listed names the types of entities that "require: listed" is about. It must be empty
	// with any other requirement. Defaults to none.
	Listed []string `yaml:"listed"`
	// Budgets are rules across entities: the present cost of a plan must fit its budget. Defaults
	// to none.
	Budgets []Budget `yaml:"budgets"`
}

// ToolSettings are settings of the calls of a tool.
type ToolSettings struct {
	// Approvers is how many different people have to approve, from 1 to 100. From 2 on, the program
	// has to name them, with WithIdentity or WithAuthorizer. Of several settings the greatest number
	// counts. Defaults to 1.
	Approvers int `yaml:"approvers"`
	// Override names the people who may let one call run although its check failed because a source
	// is down; drift and missing evidence stop the call all the same. It takes two of them, so it
	// names none or at least two, as the program names people. Of several settings each has to name
	// them. Defaults to nobody.
	Override []string `yaml:"override"`
	// ActsOn says whether a call has to name what it acts on. Of several settings the strictest counts. Defaults to
	// [ActsOnThings].
	ActsOn ActsOn `yaml:"acts_on"`
	// Arguments says what becomes of arguments that no rule reads. Of several settings the strictest counts. Defaults
	// to [ArgumentsShown].
	Arguments Arguments `yaml:"arguments"`
	// State is about the state of the session that a protected call reads.
	State State `yaml:"state"`
}

// ActsOn says whether a call has to name what it acts on.
type ActsOn string

const (
	// ActsOnThings fails the check of a call in which no rule with "in: action" finds anything.
	ActsOnThings ActsOn = "things"
	// ActsOnNothing is for tools such as restart_all: their calls name nothing. Something has to have been read all
	// the same.
	ActsOnNothing ActsOn = "nothing"
)

// Arguments says what becomes of arguments that no rule, condition or budget reads.
type Arguments string

const (
	// ArgumentsShown shows their names to whoever approves, as not checked.
	ArgumentsShown Arguments = "shown"
	// ArgumentsStrict fails the check.
	ArgumentsStrict Arguments = "strict"
)

// State says which keys of the state of a session a call may find changed.
type State struct {
	// Free are keys that may change between the request and the call, such as a token that is
	// renewed, or patterns of keys as of tools. Of several settings each has to free a key. Defaults to
	// none.
	Free []string `yaml:"free"`
	// Show are keys whose values a request shows, or patterns of keys. They are compared before the
	// call as well. Defaults to none.
	Show []string `yaml:"show"`
}

// InputSettings are settings of the requests of a node for an input.
type InputSettings struct {
	// Approvers is how many different people have to send the same answer, from 1 to 100. From 2 on,
	// the program has to name them, with WithIdentity or WithAuthorizer. Of several settings the
	// greatest number counts. Defaults to 1.
	Approvers int `yaml:"approvers"`
}

// Tools returns a [Guard.Tools] with names or patterns that have no settings of their own.
func Tools(names ...string) map[string]ToolSettings {
	out := make(map[string]ToolSettings, len(names))
	for _, name := range names {
		out[name] = ToolSettings{}
	}
	return out
}

// Matching returns the entries of [Guard.Tools] or [Guard.Inputs] that stand for a name, in the order
// of their keys.
func Matching[S any](settings map[string]S, name string) (out []S) {
	for _, pattern := range slices.Sorted(maps.Keys(settings)) {
		if text.MatchName(pattern, name) {
			out = append(out, settings[pattern])
		}
	}
	return out
}

// NamesThings reports whether the calls of a tool have to name what they act on: unless every entry of [Guard.Tools]
// that stands for it says [ActsOnNothing], and there is one.
func (g Guard) NamesThings(tool string) bool {
	given := Matching(g.Tools, tool)
	return len(given) == 0 || slices.ContainsFunc(given, func(s ToolSettings) bool { return s.ActsOn != ActsOnNothing })
}

// Mode says how strictly the gate treats approvals.
type Mode string

const (
	// ModeEnforce blocks what is not proven safe for every tool that is listed,
	// protected in code, or covered by a rule with "in: action". Any other
	// confirmation is observed.
	ModeEnforce Mode = "enforce"
	// ModeObserve checks every confirmation and records the verdict, but blocks
	// only tools that code protects: a configuration can add a gate, it cannot
	// remove one.
	ModeObserve Mode = "observe"
)

// Unguarded is the reaction to a tool that is listed, protected or covered and would run without
// the gate all the same, and to a tool that asks for confirmations and is none of these while Mode
// is [ModeEnforce]. An example is a streaming tool that is only listed.
type Unguarded string

const (
	// UnguardedWarn logs each such tool once.
	UnguardedWarn Unguarded = "warn"
	// UnguardedError fails the model request that offers it, and the run that could call it without
	// a model request. It also fails runs of agents with a tool that a name in Tools seems to mean
	// and misspells.
	UnguardedError Unguarded = "error"
)

// Drift says how a changed value of one attribute counts.
type Drift struct {
	// Type is the type of the alert: lower-case letters, digits and underscores,
	// beginning with a letter. Defaults to the type of the attribute, see
	// [Guard.Drift].
	Type string `yaml:"type"`
	// Severity is how much the change matters, from 0 to 1. Defaults to the severity of
	// the attribute, see [Guard.Drift].
	Severity *float64 `yaml:"severity"`
	// Tolerance is the difference that does not count as a change. Defaults to
	// none: any difference is a change.
	Tolerance Tolerance `yaml:"tolerance"`
	// Direction is which way a number, an amount or a time has to move to be a
	// change. A set rises if something comes, and falls if something goes. Defaults to [Either].
	Direction Direction `yaml:"direction"`
	// AtLeast is a condition: the attribute is unchanged if its present value is at least this,
	// whatever was read. The value that was read must have met it too. A drift has one condition at
	// most, without Tolerance and Direction, and only in [TypePolicy.Drift] under the name of an
	// attribute. The condition is a literal, or a JSONPath into the approved arguments: a text that
	// is "$" or begins with "$." or "$[". The path starts at the node where a rule with "in:
	// action" finds the entity, else at the root. For numbers, money and times. Defaults to none.
	AtLeast any `yaml:"at_least"`
	// AtMost is the condition that the value is at most this. For numbers, money and times.
	// Defaults to none.
	AtMost any `yaml:"at_most"`
	// OneOf is the condition that the value is one of a list, or of the list at a JSONPath.
	// Defaults to none.
	OneOf any `yaml:"one_of"`
	// Equals is the condition that the value is this. Defaults to none.
	Equals any `yaml:"equals"`
	// Effect is the effect of a change: with [EffectWarn] it is recorded and shown, and does not
	// enter the verdict. Defaults to [EffectBlock].
	Effect Effect `yaml:"effect"`
	// Optional allows the attribute to be missing in the answer of a checker; it is
	// then not compared. Defaults to false.
	Optional bool `yaml:"optional"`
}

// Operand is a condition of a [Drift].
type Operand struct {
	// Key is the key of the condition, such as at_least, and Field the field with its value.
	Key   string
	Field *any
}

// conditions returns the fields of all conditions, by key.
func (d *Drift) conditions() []Operand {
	return []Operand{{"at_least", &d.AtLeast}, {"at_most", &d.AtMost}, {"one_of", &d.OneOf}, {"equals", &d.Equals}}
}

// Operands returns the conditions of d that are set: at most one in a valid Config.
func (d *Drift) Operands() []Operand {
	return slices.DeleteFunc(d.conditions(), func(o Operand) bool { return *o.Field == nil })
}

// Path returns the value if it is a JSONPath; false for a literal, such as the amount "$50".
func (o Operand) Path() (string, bool) {
	s, _ := (*o.Field).(string)
	return s, s == "$" || strings.HasPrefix(s, "$.") || strings.HasPrefix(s, "$[")
}

// Tolerance is the difference between two numbers, or two amounts of the
// same currency, that does not count as a change. When both limits are set, a
// difference must be within both.
type Tolerance struct {
	// Percent is the largest tolerated difference in percent of the value that
	// was seen, from 0 to 100. Defaults to no limit.
	Percent float64 `yaml:"percent"`
	// Absolute is the largest tolerated difference in units of the value. Defaults to no
	// limit.
	Absolute float64 `yaml:"absolute"`
}

// TypePolicy is the policy for the entities of one type, where it differs.
type TypePolicy struct {
	// Optional lets a check pass although entities of this type have no checker or
	// fail their check; the report lists them as skipped. A change that is found
	// counts all the same. Defaults to false.
	Optional bool `yaml:"optional"`
	// MaxAge is how old an answer about these entities may be when a check starts.
	// Below [Guard.CheckAge] it also shortens how long the check permits the
	// action. Defaults to [Guard.CheckAge].
	MaxAge time.Duration `yaml:"max_age"`
	// MinConfidence is the confidence, from 0 to 1, below which one of these
	// entities makes the check fail. Defaults to [Guard.MinConfidence].
	MinConfidence *float64 `yaml:"min_confidence"`
	// Unseen is for entities of this type, and for attributes of them, that no result of a tool
	// shows, although a message, a call or the action names them. With [UnseenAllow] a check passes
	// all the same, and each report says so. Defaults to [UnseenDeny].
	Unseen Unseen `yaml:"unseen"`
	// Drift is like [Guard.Drift], for these entities. An entry that names an attribute wins over
	// "*" in either place; of two entries with the same key, the one here wins. A field that it
	// leaves out keeps its default, except that type and severity come from the entry of the guard.
	// Defaults to none.
	Drift map[string]Drift `yaml:"drift"`
}

// Budget is a rule across entities: the present cost of the plan must fit the budget as it was seen
// and approved. A rule that cannot be evaluated fails the check.
type Budget struct {
	// Tool names the tool with the calls that the rule is for, or gives a pattern as [Guard.Tools].
	// Defaults to every call.
	Tool string `yaml:"tool"`
	// Cost says what the plan costs.
	Cost Cost `yaml:"cost"`
	// Limit says what it may cost.
	Limit Limit `yaml:"limit"`
	// Everything sums all that is recorded and required, not only what the arguments of
	// the action name. Defaults to false.
	Everything bool `yaml:"everything"`
	// Severity is how much the alert matters, from 0 to 1. Defaults to 0.85.
	Severity *float64 `yaml:"severity"`
	// Across says which other requests take from the limit. It goes without Everything. Defaults to [AcrossNone].
	Across Across `yaml:"across"`
	// Enough says that a changed limit is no change as long as the plan fits the smallest of what was read and what
	// is there now. It needs an attribute of the limit. Defaults to false.
	Enough bool `yaml:"enough"`
}

// Across says which other requests take from the limit of a [Budget].
type Across string

const (
	// AcrossNone counts the plan alone.
	AcrossNone Across = "none"
	// AcrossSession adds the requests of the session that are approved, that run, that ran, or of which nobody knows
	// whether they ran, each with its cost when it was checked last, until the amount of the limit changes.
	AcrossSession Across = "session"
)

// Cost says what a plan costs: the sum over the entities of a type.
type Cost struct {
	// Type is the type of the entities. Required.
	Type string `yaml:"type"`
	// Attribute is the cost of one of them, as the checker answers it. Required.
	Attribute string `yaml:"attribute"`
	// Quantity is the attribute that says how many the action buys. Unless the checker of
	// the type answers it, it has to be optional there: [Drift.Optional]. Defaults to one
	// of each.
	Quantity string `yaml:"quantity"`
}

// Limit names the budget of a plan.
type Limit struct {
	// Type is the type of the budget. The budget that counts is the one that the arguments of
	// the action name, or else the only one that is required. Required.
	Type string `yaml:"type"`
	// Attribute is the attribute with the amount. Defaults to the value of the
	// budget itself, which has to be of the type money or number.
	Attribute string `yaml:"attribute"`
}

// Requirement says which entities have to be unchanged.
type Requirement string

const (
	// RequireEverything requires everything that the session recorded.
	RequireEverything Requirement = "everything"
	// RequireNamed requires only what the arguments of the action name.
	RequireNamed Requirement = "named"
	// RequireListed requires the recorded entities of the types in [Guard.Listed]. A listed type
	// without an entity fails the check.
	RequireListed Requirement = "listed"
)

// Direction is which way a value has to move to be a change.
type Direction string

// The directions.
const (
	Either Direction = "either"
	Rise   Direction = "rise"
	Fall   Direction = "fall"
)

// Effect is the effect of a change.
type Effect string

const (
	// EffectBlock blocks the action.
	EffectBlock Effect = "block"
	// EffectWarn records and shows the change, and blocks nothing.
	EffectWarn Effect = "warn"
)

// Unseen is the decision about an entity that no result of a tool shows.
type Unseen string

const (
	// UnseenDeny fails the check.
	UnseenDeny Unseen = "deny"
	// UnseenAllow lets the check pass; each report says so.
	UnseenAllow Unseen = "allow"
)

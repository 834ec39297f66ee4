// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Extract is a rule that finds entities in one kind of event. Paths are
// JSONPath queries as RFC 9535 defines them.
type Extract struct {
	// Name names the rule in errors; no two rules share one. Required.
	Name string `yaml:"name"`
	// Tool is the tool with the events to read. Either Tool or Event is required.
	Tool string `yaml:"tool"`
	// In is the part of the tool's events to read: its result, its arguments, or
	// the arguments of the call being approved. Beside Event only [InContent] is possible.
	// Defaults to [InResult], or to [InContent] beside Event.
	In In `yaml:"in"`
	// Event is the type of event with the content to read, such as USER_MESSAGE_RECEIVED, instead
	// of a tool.
	Event string `yaml:"event"`
	// Each is the path to the nodes that are one entity each. With "in: action" it and Value have names, indexes and
	// [*] only, and each element of each list on the way has to name something. Defaults to "$".
	Each string `yaml:"each"`
	// Type is the type of the entities, such as Product. Required.
	Type string `yaml:"type"`
	// Value is the path, from the node, to the value of the entity. Either Value or
	// ValueArgs is required.
	Value string `yaml:"value"`
	// ValueArgs is the path, in the arguments of the call, to the value of the entity, for
	// results that do not repeat what was looked up. It is for the result of a tool, with
	// Each "$". In a file it is "value: {args: PATH}".
	ValueArgs string `yaml:"value.args"`
	// ValueType is the type of that value. Two spellings of one amount are one
	// entity only when it is [entity.KindMoney]. A set names no thing. Defaults to [entity.KindText].
	ValueType entity.Kind `yaml:"value_type"`
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string `yaml:"currency"`
	// Attributes are the values to compare later, by name: lower-case letters,
	// digits and underscores, beginning with a letter. Without any it is compared that the
	// thing is there: the attribute exists, which is boolean wherever it stands. Defaults
	// to none.
	Attributes map[string]Attribute `yaml:"attributes"`
	// ArtifactURI is the path, from the node, to the URI of a document that shows
	// the entity. Defaults to none.
	ArtifactURI string `yaml:"artifact_uri"`
	// Confidence is how sure the rule is, greater than 0 and at most 1.
	// Defaults to 1.
	Confidence float64 `yaml:"confidence"`
	// Alternatives says what is one list to choose from. An entity then does not count if all of this
	// holds: the action does not name it; only such rules have shown it; and each list that shows it
	// also shows, by the same rule, an entry that the action names, or that an executed approval
	// named whose model was shown the list. It is for the result of a tool. Defaults to none: there is
	// no choice, and every entry counts.
	Alternatives Alternatives `yaml:"alternatives"`
	// Others says whether the names in a result count as a whole, if its tool is Replayable: a name
	// that appears beside them, or is gone, is then a change. It is for the result of a tool. Defaults
	// to [OthersCount], or to [OthersIgnore] with Alternatives.
	Others Others `yaml:"others"`
	// Optional allows the path of each and value to be empty or null in the arguments of an action: a mail without
	// copies. Without it an empty list or text there fails the check. It is for rules with "in: action". Defaults to
	// false.
	Optional bool `yaml:"optional"`
	// FromClient says that a client may answer a long-running call of the tool: its answer to an open one on record, by
	// the id and the name of the call, is a reading. Any client that can write to the session can send one. It is for the
	// result of a tool. Defaults to false: such an answer has to hold, and proves nothing.
	FromClient bool `yaml:"from_client"`
	// Place is where the rule stands, as file and line: "contextgraph.yaml:12". An alert or a
	// failure because of the rule names it. [Parse] sets it; a rule written in Go has
	// none.
	Place string `yaml:"-"`
}

// Attribute says where an event has an attribute of an entity, and with which type.
type Attribute struct {
	// Path is the path to the value, a JSONPath query. That of a set selects its elements, as $.items[*] does.
	// Required.
	Path string `yaml:"path"`
	// Type is the type of the value. A set is what the thing holds: its elements are compared, in any order. Defaults
	// to [entity.KindText].
	Type entity.Kind `yaml:"type"`
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string `yaml:"currency"`
	// Optional allows the attribute to be missing in an event. In a result it is then read as not there,
	// and a value that appears later is a change. Without it a missing attribute is an error of the event, so
	// that no check passes. An attribute that was seen is required of
	// a checker, but for [Drift.Optional]. Defaults to false.
	Optional bool `yaml:"optional"`
	// LookedUp says that the tool looked the value up, although the arguments of the
	// call say it too. Without it a value that repeats an argument counts for nothing.
	// For rules over results, and over TOOL_COMPLETED. Defaults to false.
	LookedUp bool `yaml:"looked_up"`
}

// CountsOthers reports whether the names in a result count as a whole.
func (e Extract) CountsOthers() bool {
	return e.Others == OthersCount || e.Others == "" && e.Alternatives == ""
}

// Others says whether the names in a result count as a whole.
type Others string

const (
	// OthersCount compares all names in a result with those of the repeated call.
	OthersCount Others = "count"
	// OthersIgnore leaves others than those that count by themselves aside.
	OthersIgnore Others = "ignore"
)

// Alternatives is what a rule takes for one list of choices. In a file it may also be false, for none.
type Alternatives string

const (
	// AlternativesTrue takes each result for a list. A thing that the arguments of its call name is no choice.
	AlternativesTrue Alternatives = "true"
	// AlternativesSession takes all results of the rule in the session for one list: pages, several searches,
	// and looks at one thing each.
	AlternativesSession Alternatives = "session"
)

// UnmarshalJSON reads a text, or a boolean, which older journals have in the place of [AlternativesTrue] and none.
func (a *Alternatives) UnmarshalJSON(text []byte) error {
	if *a = Alternatives(strings.Trim(string(text), `"`)); *a == "false" {
		*a = ""
	}
	return nil
}

// In is the part of an event that a rule reads.
type In string

const (
	// InResult reads the result of the tool.
	InResult In = "result"
	// InArgs reads the arguments of the call.
	InArgs In = "args"
	// InAction reads the arguments of the call that is being approved.
	InAction In = "action"
	// InContent reads the content of the event.
	InContent In = "content"
)

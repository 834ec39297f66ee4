// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the sentence about an action.
const (
	maxActionArgs   = 6  // arguments
	maxActionParts  = 3  // elements of a list, and values of an element
	maxActionLength = 60 // characters of a value
)

// action says in a sentence what a yes lets happen, or what came of it.
func (a *Approval) action() string {
	switch {
	case a.Kind == kindInput:
		return "The agent asks for an input: answer it where the agent is used."
	case a.Kind != KindConfirmation:
		return fmt.Sprintf("The agent asks for a %s: answer it where the agent is used.", a.Kind)
	case a.Tool == "":
		return ""
	}
	begin := a.begins() + " " + a.Tool + " once, "
	args := members("", a.Args)
	if len(args) == 0 {
		return begin + "without arguments."
	}
	var said []string
	for _, m := range args[:min(len(args), maxActionArgs)] {
		said = append(said, a.phrase(m))
	}
	if more := len(args) - len(said); more > 0 {
		said = append(said, plural(more, "more argument", "more arguments"))
	}
	return begin + "with " + list(said) + "."
}

// begins is the sentence up to the name of the tool: a call that was blocked never ran.
func (a *Approval) begins() string {
	const unchanged = ", and nothing has changed, the agent runs"
	switch a.Status {
	case StatusExecuted:
		return "The agent ran"
	case StatusFailed, StatusInDoubt:
		return "The agent started"
	case StatusDrift, StatusRejected, StatusExpired, StatusSuperseded:
		return "The agent wanted to run"
	case StatusSafe:
		return "If nothing has changed, the agent runs"
	}
	later := "If you say yes"
	if more := a.Approvers - len(a.Consents) - 1; more > 0 {
		later = "If you and " + plural(more, "other person", "other people") + " say yes"
	}
	switch {
	case a.Overridden:
		return "The agent is about to run"
	case !a.Enforced:
		return "If you say yes, the agent runs"
	case a.Hopeless != "":
		return "This cannot run, even after a yes: the agent asks to run"
	case a.Unproven != "":
		return later + ", and a new check finds that nothing has changed, the agent runs"
	}
	return later + unchanged
}

// member is a member of a JSON object, or an element of a list, at a JSON Pointer.
type member struct {
	at, name string
	value    json.RawMessage
}

// members returns the members of an object in the order of their names; none for anything else.
func members(at string, object json.RawMessage) []member {
	var decoded map[string]json.RawMessage
	unmarshal(object, &decoded)
	out := make([]member, 0, len(decoded))
	for name, value := range decoded {
		out = append(out, member{at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), name, value})
	}
	slices.SortFunc(out, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return out
}

// phrase names a member and its value, in short.
func (a *Approval) phrase(m member) string {
	name := clip(strings.ReplaceAll(m.name, "_", " "), maxActionLength)
	if text, ok := a.scalar(m); ok {
		return name + " " + text
	}
	var elements []json.RawMessage
	if unmarshal(m.value, &elements); elements == nil {
		if values := a.scalars(m); values != "" {
			return name + " (" + values + ")"
		}
		return name
	}
	var said []string
	for i, e := range elements[:min(len(elements), maxActionParts)] {
		element := member{at: fmt.Sprintf("%s/%d", m.at, i), value: e}
		text, ok := a.scalar(element)
		if !ok {
			text = a.scalars(element)
		}
		if text != "" {
			said = append(said, text)
		}
	}
	if more := len(elements) - maxActionParts; more > 0 {
		said = append(said, fmt.Sprintf("%d more", more))
	}
	switch {
	case len(said) == 0:
		return fmt.Sprintf("%s (%d)", name, len(elements))
	case len(elements) == 1:
		return name + " " + said[0]
	}
	return fmt.Sprintf("%d %s (%s)", len(elements), name, strings.Join(said, ", "))
}

// scalar returns a JSON scalar as text, a text in quotes, and an amount as people write it; false for anything else.
func (a *Approval) scalar(m member) (string, bool) {
	v := bytes.TrimSpace(m.value)
	if len(v) == 0 || v[0] == '{' || v[0] == '[' {
		return "", false
	}
	if amount := a.Money[m.at]; amount != "" {
		return clip(amount, maxActionLength), true
	}
	var text string
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		return strconv.Quote(clip(text, maxActionLength)), true
	}
	return clip(string(v), maxActionLength), true
}

// scalars returns the first scalars of an object, "" if it has none.
func (a *Approval) scalars(object member) string {
	var said []string
	for _, m := range members(object.at, object.value) {
		if text, ok := a.scalar(m); ok && len(said) < maxActionParts {
			said = append(said, strings.Trim(text, `"`))
		}
	}
	return strings.Join(said, " ")
}

// list joins parts as a sentence does.
func list(parts []string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

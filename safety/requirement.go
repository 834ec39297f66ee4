// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
)

// ofAction reports whether e stands in the arguments of the action that asks at the node. An entity
// that only an earlier action named is claimed, no more.
func ofAction(e entity.Canonical, node string) bool {
	return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool { return saidBy(s, node) })
}

// saidBy reports whether s stands in the arguments of the action that asks at the node.
func saidBy(s entity.Entity, node string) bool {
	return node != "" && s.Source == entity.SourceAction && s.TechNode == node
}

// requires reports whether e has to be checked; action, whether it is of the action. Entities of the
// action always have to.
func (b rulebook) requires(e entity.Canonical, action bool) bool {
	switch b.Require {
	case config.RequireNamed:
		return action
	case config.RequireListed:
		of, isSet := entity.ElementOf(e.Type)
		return action || slices.Contains(b.Listed, e.Type) || isSet && slices.Contains(b.Listed, of)
	default:
		return true
	}
}

// required returns the entities that have to be checked for the decision.
func (b rulebook) required(entities []entity.Canonical, node string) []entity.Canonical {
	return slices.DeleteFunc(slices.Clone(entities), func(e entity.Canonical) bool {
		return !b.requires(e, ofAction(e, node))
	})
}

// noEntities says why there is nothing to check.
func (q *check) noEntities() Failure {
	switch {
	case q.policy.Require == config.RequireEverything:
		return fail(ReasonNoEntities, "there is no entity to check")
	case q.approval.DecisionNode == "":
		return fail(ReasonNoEntities, "there is no request, and so no arguments whose entities could be checked")
	case q.policy.Require == config.RequireNamed:
		return fail(ReasonNoEntities, "the arguments of %s name no entity: add a rule with in: action that finds it", q.approval.Tool)
	default:
		return fail(ReasonNoEntities, "the arguments of %s name no entity, and none of the listed types %q was found: add a rule with in: action, or list the types that count",
			q.approval.Tool, q.policy.Listed)
	}
}

// unlisted says which listed types have nothing to check.
func (q *check) unlisted() (failures []Failure) {
	for _, typ := range slices.Sorted(slices.Values(q.policy.Listed)) {
		if !slices.ContainsFunc(q.targets, func(t target) bool { return t.entity.Type == typ }) {
			failures = append(failures, fail(ReasonNoEntities, "%q is a listed type, and nothing of it was found", typ))
		}
	}
	return failures
}

// InputTool stands in the approval of an input that a node asks for, in the place of a tool. Such a request names
// nothing.
const InputTool = "adk_request_input"

// acting returns the failures of a call of which the arguments name nothing that has to be unchanged, or more than
// the rules read.
func (q *check) acting() (failures []Failure) {
	if q.approval.ID == "" || q.approval.Tool == InputTool {
		return nil
	}
	if q.policy.NamesThings(q.approval.Tool) && !slices.ContainsFunc(q.targets, func(t target) bool { return t.action }) {
		failures = append(failures, fail(ReasonActionNotRead, "no rule with in: action finds in the arguments of %s what it acts on: call it with what the rules read, "+
			"or, in the configuration, add such a rule; for a tool whose calls name nothing, write acts_on: nothing in guard.tools", q.approval.Tool))
	}
	for _, fault := range q.record.Arguments.Faults {
		failures = append(failures, fail(ReasonActionNotRead, "in the arguments of %s, %s", q.approval.Tool, fault))
	}
	if unread := q.notRead(); len(unread) > 0 && q.policy.settings(q.approval.Tool).Arguments == config.ArgumentsStrict {
		failures = append(failures, fail(ReasonActionNotRead, "no rule reads %s in the arguments of %s, and guard.tools says arguments: strict", strings.Join(unread, ", "), q.approval.Tool))
	}
	return failures
}

// notRead returns the arguments of the action that nothing reads: no rule, and no condition of the policy.
func (q *check) notRead() []string {
	if q.arguments == nil || q.approval.Tool == InputTool || len(q.approval.Args) == 0 {
		return nil
	}
	root, err := q.arguments()
	if err != nil {
		return []string{"anything"}
	}
	reader := paths.New(root)
	for _, t := range q.targets {
		for _, name := range q.policy.conditioned(t.entity.Type) {
			path := q.policy.rule(t.entity.Type, name).condition.path
			if path == nil {
				continue
			}
			starts := q.record.Places[t.entity.Key]
			if len(starts) == 0 {
				starts = []string{"$"}
			}
			for _, start := range starts {
				if from, err := jsonpath.Parse(start); err == nil {
					reader.Reads(from, path)
				}
			}
		}
	}
	return paths.Unread(root, append(reader.Read(), q.record.Arguments.Read...))
}

// money returns what rules read as an amount in the arguments, by JSON Pointer, as far as redact shows it.
func (q *check) money(redact func(args []byte) []byte) map[string]string {
	if redact == nil || len(q.record.Arguments.Money) == 0 {
		return nil
	}
	plain, _ := jsonenc.Decode(q.approval.Args)
	shown, _ := jsonenc.Decode(redact(q.approval.Args))
	out := maps.Clone(q.record.Arguments.Money)
	maps.DeleteFunc(out, func(at, _ string) bool {
		v, known := scalarAt(plain, at)
		w, same := scalarAt(shown, at)
		return !known || !same || v != w
	})
	return out
}

// scalarAt returns the scalar at a JSON Pointer; false if there is none.
func scalarAt(v any, pointer string) (any, bool) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	switch v.(type) {
	case nil, map[string]any, []any:
		return nil, false
	}
	return v, true
}

// failsHint says what is known to fail.
func (a Approval) failsHint() string {
	items := make([]string, len(a.Fails))
	for i, why := range a.Fails {
		items[i] = quoted(text.Clip(oneLine(why), maxFail))
	}
	return listed(hintFails+" ", items, len(items), maxFailsHint)
}

// maxNotChecked bounds how many arguments that nothing reads are shown.
const maxNotChecked = 50

// shownNotChecked returns them as [Approval.Shown] has them.
func shownNotChecked(names []string) (out []any) {
	for _, name := range names[:min(len(names), maxNotChecked)] {
		out = append(out, shownValue(name))
	}
	if more := len(names) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// notCheckedHint names arguments that nothing reads.
func (a Approval) notCheckedHint() string {
	items := make([]string, len(a.NotChecked))
	for i, name := range a.NotChecked {
		items[i] = word(name)
	}
	return listed(hintNotChecked+" ", items, len(items), maxNotCheckedHint)
}

// ownNotChosen returns a copy that shares nothing with n.
func ownNotChosen(n entity.NotChosen) entity.NotChosen {
	n.Entities = slices.Clone(n.Entities)
	for i := range n.Entities {
		a := &n.Entities[i]
		a.Seen, a.SeenAt = maps.Clone(a.Seen), writable(a.SeenAt)
	}
	return n
}

// NotChosenNames names the first five in one line: "Hotel Plaza, Hotel Ritz, and 3 more".
func NotChosenNames(n entity.NotChosen) string {
	var names []string
	for _, a := range n.Entities {
		names = append(names, oneLine(a.Type+" "+a.Value))
	}
	if len(names) == 0 && n.Total > 0 {
		return fmt.Sprint(n.Total)
	}
	return firstOf(names, n.Total)
}

// shownNotChosen returns n as a person sees it, with ages at a time.
func shownNotChosen(n entity.NotChosen, at time.Time) map[string]any {
	list := make([]any, 0, len(n.Entities))
	for _, a := range n.Entities {
		attributes := make(map[string]any, len(a.Seen))
		for name, v := range a.Seen {
			attributes[name] = show(name, v)
		}
		list = append(list, map[string]any{
			"type": a.Type, "value": a.Value, "attributes": attributes,
			"seen_at": stamp(a.SeenAt), "age": at.Sub(a.SeenAt).Round(time.Second).String(),
		})
	}
	return map[string]any{"total": n.Total, "entities": list}
}

// withoutTargets returns n without the targets. An entity that counted when the request was asked stays
// required, also if a later selection leaves it out.
func withoutTargets(n entity.NotChosen, targets []target) entity.NotChosen {
	n = ownNotChosen(n)
	n.Entities = slices.DeleteFunc(n.Entities, func(a entity.Alternative) bool {
		checked := slices.ContainsFunc(targets, func(t target) bool { return t.entity.Type == a.Type && t.entity.Value == a.Value })
		if checked {
			n.Total--
		}
		return checked
	})
	if len(n.Entities) == 0 {
		n.Entities = nil
	}
	return n
}

// advise adds a remedy to each alert and failure of an entity that the action does not name:
// how to make it an alternative that does not count, or why that does not help.
func (q *check) advise(x *entityCheck) {
	t := x.target
	if len(x.alerts) == 0 && len(x.failures) == 0 {
		return
	}
	for i := range x.alerts {
		x.alerts[i].LookUp = q.lookUp(t.entity.Type, x.alerts[i].Attribute)
	}
	remedy := q.remedy(t)
	if remedy == "" {
		return
	}
	for i := range x.alerts {
		if x.alerts[i].blocks() {
			x.alerts[i].Recommendation += " " + remedy
		}
	}
	for i := range x.failures {
		if f := &x.failures[i]; !f.Down() { // a choice would be as unknown as this
			f.Remedy = remedy
		}
	}
}

// remedy says in one sentence why an entity counts that the action does not name, and how to change
// that. It returns "" for an entity that the action names, and for one that no rule over results
// shows.
func (q *check) remedy(t target) string {
	e, tool := t.entity, quoted(text.Clip(oneLine(q.approval.Tool), maxWord))
	counted, known := q.record.Counted[e.Key]
	byRule := slices.ContainsFunc(e.Seen, func(s entity.Entity) bool { return s.Source == entity.SourceRule })
	if t.action || q.approval.DecisionNode == "" || !known && !byRule {
		return ""
	}
	rules := q.rulesOf(e.Type)
	if known {
		rules = ruleAt(counted.Rule, counted.Place)
	}
	write := fmt.Sprintf("write alternatives: true in %s.", rules)
	session := fmt.Sprintf("if all results of this rule are one choice, write alternatives: session in %s.", rules)
	switch {
	case !known && rules == "":
		return ""
	case !slices.ContainsFunc(q.targets, func(o target) bool { return o.action && o.entity.Type == e.Type }):
		advice := fmt.Sprintf("%s does not name it, nor any other %s: if these are only a choice, add a rule with in: action that finds the chosen one in the arguments", tool, text.Clip(oneLine(e.Type), maxWord))
		if known && (counted.Alternatives || !counted.Result) {
			return advice + "."
		}
		return advice + ", and " + write
	case !known:
		return fmt.Sprintf("%s does not name it: if these are only a choice, %s", tool, write)
	case counted.Asked:
		return fmt.Sprintf("%s does not name it, and it counts although %s says alternatives: the arguments of the look-up that ended in row %d name it; %s", tool, rules, counted.Row, session)
	case counted.Alternatives && counted.Session:
		return fmt.Sprintf("%s does not name it, and it counts although %s says alternatives: this rule shows nothing that %s names.", tool, rules, tool)
	case counted.Alternatives:
		return fmt.Sprintf("%s does not name it, and it counts although %s says alternatives: row %d shows nothing by this rule that %s names; %s", tool, rules, counted.Row, tool, session)
	case counted.Result:
		return fmt.Sprintf("%s does not name it, and it counts because of row %d: if these are only a choice, %s", tool, counted.Row, write)
	case counted.Rule != "":
		return fmt.Sprintf("%s does not name it, and it counts because %s names it in row %d.", tool, ruleAt(counted.Rule, counted.Place), counted.Row)
	default:
		return fmt.Sprintf("%s does not name it, and it counts because a tool declared it, or a model found it, in row %d.", tool, counted.Row)
	}
}

// rulesOf names the first two rules over results of tools that show a type, with their
// places, and counts the others.
func (q *check) rulesOf(typ string) string {
	var rules []string
	for _, x := range q.record.Expected {
		if rule := ruleAt(x.Rule, x.Place); x.Type == typ && x.Tool != "" && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	text := strings.Join(rules[:min(len(rules), 2)], " and ")
	if more := len(rules) - 2; more > 0 {
		text += fmt.Sprintf(" and %s", count(more, "more rule"))
	}
	return text
}

// ruleAt names a rule and its place.
func ruleAt(rule, place string) string {
	at := "rule " + quoted(text.Clip(oneLine(rule), maxWord))
	if place != "" {
		at += " (" + text.Clip(oneLine(place), 60) + ")"
	}
	return at
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// maxHinted is how many things a sentence names.
const maxHinted = 5

// Bounds of [Approval.Hint], in bytes.
const (
	maxHint           = 1600
	maxReplacesHint   = 230
	maxRestsHint      = 350
	maxCostHint       = 150
	maxTotalHint      = 150
	maxNotSeenHint    = 250
	maxNotMetHint     = 200
	maxNotChosenHint  = 150
	maxNotCheckedHint = 200
	maxNotYetHint     = 200
	maxFailsHint      = 300
	maxFail           = 130
	maxEntityHint     = 150
	maxSetHint        = 100
	maxWord           = 40
)

// The beginnings of the sentences of a hint.
const (
	hintSame       = "The same call"
	hintReplaces   = "Replaces the request of"
	hintRests      = "Rests on"
	hintCost       = "Planned cost:"
	hintTotal      = "Total of what is bought:"
	hintNotSeen    = "Not seen:"
	hintNotMet     = "Not met:"
	hintNotChosen  = "Not chosen:"
	hintFails      = "Will fail:"
	hintNotChecked = "Not checked:"
	hintNotYet     = "Not checked yet:"
	hintApprovers  = "Approvers needed:"
	hintRequester  = "Requester:"
)

// Hint returns the request as a text that stands alone in any client, in one line of at most 1,600
// bytes:
//
//	deploy v1.9.0 to eu-west. Rests on Version v1.9.0: passed, Cluster eu-west: 64 free (8 needed) (2 min old).
//
// own is the tool's own text. It comes first. These sentences follow it, if they have content:
//
//   - "Will fail:": why no check of the request will pass, as far as that is known.
//   - "Not checked yet:": what the check before asking could not look at, and why.
//   - "Not checked:": arguments that no rule and no condition reads.
//   - "The same call": that an equal call of the session ran, and when; and that the agent was not told.
//   - "Replaces the request of": when the replaced request was asked, and what changed since.
//   - "Rests on": up to five things: the shown keys of the state, and entities that results showed. Those that the action names come
//     first. A condition stands behind its value. An age stands behind an entity
//     from one minute on.
//   - "Total of what is bought:": what the call buys in all, see [Approval.Total].
//   - "Planned cost:": what the plan costs and may cost, where both are known.
//   - "Not seen:": entities that no result showed, that the record is incomplete, and how much of the
//     state could not be kept.
//   - "Not met:": conditions that a value that was read does not meet.
//   - "Not chosen:": see [Approval.NotChosen].
//   - "Approvers needed:": how many people have to approve, from two on.
//   - "Requester:": who asked, and that nothing authenticates them if so.
//
// If the text is too long, own is cut.
//
// A value that is not one plain word stands in quotes. So does own if it has the beginning of one
// of these sentences, or a quote that does not end.
func (a Approval) Hint(own string) string {
	rest := sentences(a.failsHint(), a.notYetHint(), a.notCheckedHint(), a.sameHint(), a.replacesHint(), a.restsHint(), a.totalHint(), a.costHint(), a.notSeenHint(), a.notMetHint(), a.notChosenHint(), a.peopleHint())
	return sentences(ownHint(own, maxHint-len(rest)-1), rest)
}

// sentences joins those that are not empty.
func sentences(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// ownHint returns what the tool says in at most limit bytes.
func ownHint(own string, limit int) string {
	own = strings.TrimSpace(text.Visible(own))
	if whole := text.Clip(own, limit-len(".")); !forges(own) && strings.Count(whole, `"`)%2 == 0 {
		if whole != "" && !strings.ContainsAny(whole[len(whole)-1:], ".!?") {
			whole += "."
		}
		return whole
	}
	return quoted(text.Clip(own, limit-len(`"".`))) + "."
}

// forges reports whether a text has the beginning of a sentence that only the hint may begin.
func forges(own string) bool {
	own = letters(own)
	return slices.ContainsFunc([]string{hintSame, hintReplaces, hintRests, hintCost, hintTotal, hintNotSeen, hintNotMet, hintNotChosen, hintNotChecked, hintNotYet, hintFails, hintApprovers, hintRequester}, func(begin string) bool {
		return strings.Contains(own, letters(begin))
	})
}

// letters returns the letters of a text in lower case. Characters between two letters may be
// invisible, or look like a blank.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// restsHint names what was seen of the entities.
func (a Approval) restsHint() string {
	entities := slices.DeleteFunc(slices.Clone(a.Entities), func(e entity.Canonical) bool { return !shown(e) })
	slices.SortStableFunc(entities, func(x, y entity.Canonical) int {
		return cmp.Compare(a.rank(x), a.rank(y))
	})
	items := a.Surroundings.hints()
	before := len(items)
	for _, e := range entities[:min(len(entities), maxHinted)] {
		items = append(items, a.entityHint(e))
	}
	return listed(hintRests+" ", items, before+len(entities), maxRestsHint)
}

// rank puts first what the action names, and sets last: they mostly hold what stands before them.
func (a Approval) rank(e entity.Canonical) int {
	if _, isSet := entity.ElementOf(e.Type); isSet {
		return 2
	}
	if ofAction(e, a.DecisionNode) {
		return 0
	}
	return 1
}

// entityHint names an entity with the values that were read: "Cluster eu-west: 64 free (8 needed); state up (2 min old)".
func (a Approval) entityHint(e entity.Canonical) string {
	text, sep := word(e.Type)+" "+word(e.Value), ": "
	of, isSet := entity.ElementOf(e.Type)
	if isSet {
		text, sep = word(of)+" in "+word(e.Value)+":", " "
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(e.Attributes)), func(name string) bool {
		values, _ := readings(e, name)
		return len(values) == 0
	})
	var seen time.Time // the oldest of what is shown
	for _, name := range names {
		if at := e.AttributeSeenAt[name]; seen.IsZero() || at.Before(seen) {
			seen = at
		}
		said := attributeHint(name, e.Attributes[name], len(names) == 1)
		if a.Each[e.Key] == name {
			said = word(e.Attributes[name].String()) + " each"
		}
		if isSet {
			said = setHint("only ", "", "none", e.Attributes[name].Elements())
		}
		if need := a.Needs[e.Key][name]; need.Condition != "" {
			said = strings.TrimSpace(said + " (" + clause(Needed(need.Condition)) + ")")
		}
		switch {
		case said == "":
		case len(text)+len(sep)+len(said) > maxEntityHint:
			text, sep = strings.TrimSuffix(text, " …")+" …", " "
		default:
			text, sep = text+sep+said, "; "
		}
	}
	if age := a.RequestedAt.Sub(seen); age >= time.Minute {
		text += " (" + ageHint(age) + " old)"
	}
	return text
}

// attributeHint writes an attribute as people do: "supplier PharmaDirect", "unavailable", "not ready", "64 free",
// "50 in stock", "price $40,000". alone says that it is the only one, so that a text needs no name. It returns "" for
// [Exists] if that is true.
func attributeHint(name string, v entity.Value, alone bool) string {
	is, isBool := v.AsBool()
	switch {
	case name == Exists && is:
		return ""
	case name == Exists && isBool:
		return "gone"
	case name == availability && isBool:
		return show(name, v)
	case is:
		return word(name)
	case isBool:
		return "not " + word(name)
	case v.Kind() == entity.KindSet:
		return setHint(word(name)+" [", "]", "no "+word(name), v.Elements())
	case v.Kind() == entity.KindText && (alone || v.String() == ""):
		return word(v.String())
	case v.Kind() == entity.KindText:
		return word(name) + " " + word(v.String())
	case v.Kind() == entity.KindNumber:
		return word(v.String()) + " " + unit(word(name))
	}
	return word(name) + " " + text.Clip(v.String(), maxWord)
}

// unit is the name of a number behind it: "50 in stock", "64 free".
func unit(name string) string {
	if name == "stock" {
		return "in stock"
	}
	return name
}

// setHint names as many elements of a set as there is room for, between begin and end: "only INC-1",
// "items [Chair, Desk, and 3 more]".
func setHint(begin, end, none string, elements []string) string {
	if len(elements) == 0 {
		return none
	}
	words := make([]string, min(len(elements), maxHinted))
	for i := range words {
		words[i] = word(elements[i])
	}
	return strings.TrimSuffix(listed(begin, words, len(elements), maxSetHint), ".") + end
}

// ageHint says roughly how long a time is, from one minute on.
func ageHint(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// notSeenHint says what nothing has shown.
func (a Approval) notSeenHint() string {
	var items []string
	if len(a.Entities) == 0 {
		items = append(items, "anything that it rests on")
	}
	if len(problems(a.Receipt, a.Gaps)) > 0 {
		items = append(items, "a part of the session, whose record is incomplete")
	}
	denied := len(items) > 0 // whatever the policy says of entities that no result shows
	for _, e := range a.Entities {
		name := word(e.Type) + " " + word(e.Value)
		if !shown(e) {
			items = append(items, name)
			continue
		}
		for _, attribute := range slices.Sorted(maps.Keys(e.Attributes)) {
			values, _ := readings(e, attribute)
			if _, bad := unreadable(values); len(values) == 0 || bad {
				items = append(items, word(attribute)+" of "+name)
			}
		}
	}
	if n := a.Surroundings.Unbound; n > 0 {
		items = append(items, unboundHint(n))
	}
	text := listed(hintNotSeen+" ", items, len(items), maxNotSeenHint)
	if denied {
		text += " It cannot be approved."
	}
	return text
}

// notMetHint names the conditions that will make the check fail.
func (a Approval) notMetHint() string {
	var items []string
	for _, e := range a.Entities {
		for _, name := range slices.Sorted(maps.Keys(a.Needs[e.Key])) {
			if need := a.Needs[e.Key][name]; need.Problem != "" {
				items = append(items, word(name)+" of "+word(e.Type)+" "+word(e.Value)+": "+clause(Needed(need.Condition)))
			}
		}
	}
	return listed(hintNotMet+" ", items, len(items), maxNotMetHint)
}

// notChosenHint names what there was to choose from and was not chosen.
func (a Approval) notChosenHint() string {
	var items []string
	for _, other := range a.NotChosen.Entities {
		items = append(items, word(other.Type)+" "+word(other.Value))
	}
	return listed(hintNotChosen+" ", items, a.NotChosen.Total, maxNotChosenHint)
}

// peopleHint says who asked and how many have to approve.
func (a Approval) peopleHint() string {
	if a.Requester == "" {
		return ""
	}
	asked := hintRequester + " " + word(a.Requester)
	if !a.RequesterAuthenticated {
		asked += " (not authenticated)"
	}
	if a.Approvers > 1 {
		return fmt.Sprintf("%s %d. %s.", hintApprovers, a.Approvers, asked)
	}
	return asked + "."
}

// replacesHint names the changes since the request that this one replaces.
func (a Approval) replacesHint() string {
	if a.Replaces == "" {
		return ""
	}
	d := a.Difference
	var items []string
	for _, who := range d.Consents {
		items = append(items, word(who)+" has to approve again")
	}
	if d.Tool {
		items = append(items, "the tool is declared otherwise")
	}
	for _, e := range d.Entities {
		switch e.Change {
		case addedEntity:
			items = append(items, "new "+word(e.Type)+" "+word(e.Value))
			continue
		case removedEntity:
			items = append(items, "without "+word(e.Type)+" "+word(e.Value))
			continue
		}
		for _, v := range e.Attributes {
			items = append(items, word(e.Value)+" "+v.hint())
		}
	}
	for _, v := range d.Arguments {
		items = append(items, "argument "+v.hint())
	}
	begin := hintReplaces + " " + a.clockHint(d.Since)
	if len(items) == 0 {
		return begin + "."
	}
	return listed(begin+": ", items, len(items)+d.Omitted, maxReplacesHint)
}

// clockHint returns a time of the day, with the date if it is not that of the request.
func (a Approval) clockHint(t time.Time) string {
	layout := "15:04 UTC"
	if t.UTC().Format(time.DateOnly) != a.RequestedAt.UTC().Format(time.DateOnly) {
		layout = "2006-01-02 15:04 UTC"
	}
	return t.UTC().Format(layout)
}

// sameHint says that an equal call was let run.
func (a Approval) sameHint() string {
	came := "began"
	switch a.Same.To {
	case "":
		return ""
	case StateExecuted:
		came = "ran"
	case StateFailed:
		came = "failed"
	}
	said := hintSame + " " + came + " at " + a.clockHint(a.Same.At)
	if a.Same.untold() {
		said += "; the agent was not told"
	}
	return said + "."
}

// hint says how a value differs: "price $40,000 → $52,000".
func (v ValueDifference) hint() string {
	return word(v.Name) + " " + cmp.Or(word(v.Was), "none") + " → " + cmp.Or(word(v.Now), "none")
}

// listed makes a sentence of the first items that fit in limit bytes, and says how many of
// total are left out; "" of none.
func listed(begin string, items []string, total, limit int) string {
	if total == 0 {
		return ""
	}
	n := min(len(items), maxHinted)
	for len(begin)+len(strings.Join(items[:n], ", ")) > limit {
		n-- // each limit is greater than its begin
	}
	return begin + firstOf(items[:n], total) + "."
}

// firstOf names the first five of items, and says how many of total it leaves out:
// "Hotel Plaza, Hotel Ritz, and 3 more".
func firstOf(items []string, total int) string {
	shown := items[:min(len(items), maxHinted)]
	text := strings.Join(shown, ", ")
	if more := total - len(shown); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// word returns a name or a value so that it cannot be taken for anything else: one plain word
// as it is, and anything else in quotes. A long one is cut.
func word(s string) string {
	s = text.Clip(joiners.Replace(strings.TrimSpace(text.Visible(s))), maxWord)
	if last, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".,:", last) || strings.Contains(s, " ") || strings.ContainsFunc(s, odd) {
		return quoted(s)
	}
	return s
}

// joiners shows the characters in a word that nobody sees.
var joiners = strings.NewReplacer("\u200c", `\u200c`)

// clause returns a few words so that they cannot be taken for anything else: plain words as
// they are, and anything else in quotes. A long text is cut.
func clause(s string) string {
	s = text.Clip(strings.Join(strings.Fields(text.Visible(s)), " "), maxWord)
	if strings.Contains(s, ". ") || strings.ContainsFunc(s, odd) {
		return quoted(s)
	}
	return s
}

// odd reports whether a character belongs to no plain word and is no blank.
func odd(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Sc, r) && !strings.ContainsRune(" -_/.,:+#@%…", r)
}

// quoted puts s in double quotes. Double quotes in s become single ones.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

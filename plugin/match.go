// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// held is the part of a history that the contents of a request hold.
type held struct {
	// responses and answers are indexes into the lists of the history.
	responses, answers map[int32]bool
	unmatched          int
	// foreign says that the contents show an answer that is none of the events, or was changed.
	foreign bool
	// odd says that the contents are more or less than what ADK makes of the events.
	odd bool
}

// shown is a result in a request.
type shown struct {
	valueKey
	// author is the author of a result that the request shows as a text, "" for a part of its own.
	author string
	// id is that of the call; "" where the request leaves it out.
	id string
}

// matcher finds the parts of a history that a request holds. A part that it is not sure of does not
// count. The gate then takes the model to know less than it does, so more values must hold.
type matcher struct {
	h   *history
	who reader
	held
	shown []shown
	// called counts the calls in the request, by tool and arguments; ids are theirs.
	called map[valueKey]int
	ids    []string
	// said counts possible answers by their hash, given counts content that somebody handed on.
	said  map[uint64]int
	given []uint64
}

// match returns the parts that the contents hold. It makes one pass over them. It encodes and
// hashes each result and each call once, and looks at the parts of the history with the same value.
func (h *history) match(contents []*genai.Content, who reader) held {
	m := &matcher{
		h: h, who: who, held: held{responses: make(map[int32]bool), answers: make(map[int32]bool)},
		called: make(map[valueKey]int), said: make(map[uint64]int),
	}
	for _, c := range contents {
		if c != nil {
			m.content(c)
		}
	}
	m.results()
	m.lacksResults()
	m.delegates()
	m.words()
	m.lacksAnswers()
	return m.held
}

// lacksResults notes whether the reader can see results that the contents lack, or whether they hold
// a result of a call that is not in the history.
func (m *matcher) lacksResults() {
	m.odd = m.odd || m.unmatched > 0
	for i := range m.h.responses {
		r := &m.h.responses[i]
		switch {
		case m.odd:
			return
		case m.responses[int32(i)]:
			m.odd = r.call != "" && len(m.h.asked[r.call]) == 0
		case r.tool != toolconfirmation.FunctionCallName && r.tool != credentialCallName:
			m.odd = r.visible(m.who.branch, m.who.scope) && m.isLast(int32(i))
		}
	}
}

// lacksAnswers notes whether the reader can see answers that the contents lack.
func (m *matcher) lacksAnswers() {
	for i := range m.h.answers {
		if m.odd {
			return
		}
		m.odd = !m.answers[int32(i)] && m.h.answers[i].visible(m.who.branch, m.who.scope)
	}
}

func (m *matcher) content(c *genai.Content) {
	asks, says, digests := false, false, m.h.enc.digests(nil, c)
	for i, part := range c.Parts {
		switch {
		case part == nil:
		case part.FunctionResponse != nil:
			fr := part.FunctionResponse
			m.shown = append(m.shown, shown{valueKey: valueKey{fr.Name, digests.of(i)}, id: fr.ID})
		case part.FunctionCall != nil:
			fc := part.FunctionCall
			asks, says = true, true
			m.called[valueKey{fc.Name, digests.of(i)}]++
			if fc.ID != "" {
				m.ids = append(m.ids, fc.ID)
			}
		case part.Text != "" && c.Role != genai.RoleModel:
			m.text(part.Text)
		case part.Text != "":
			says = true
		}
	}
	if asks || says {
		m.said[shape(c, digests)]++
	}
}

// toldContext stands before the words of another agent.
const toldContext = "For context:"

// text looks at a text that is not the model's own. ADK writes the words of other agents, and the
// results of their tools, as texts. A user may write the same.
func (m *matcher) text(text string) {
	if text == toldContext || m.h.user[hashOf("text", text)] {
		return // a user quotes an agent; the reader does not learn the results that the agent had read
	}
	if author, rest, ok := foreign(text); ok {
		if said, ok := strings.CutPrefix(rest, "said: "); ok {
			m.said[hashOf("said", author, said)]++
			return
		}
		if tool, args, ok := cutTool(rest, "called tool `", "` with parameters: "); ok {
			if v, ok := jsonenc.Decode([]byte(args)); ok {
				key := valueKey{tool, m.h.enc.digest(v)}
				m.called[key]++
				m.said[hashOf("called", author, tool, key.digest.String())]++
				return
			}
		}
		if tool, result, ok := cutTool(rest, "`", "` tool returned result: "); ok {
			if v, ok := jsonenc.Decode([]byte(result)); ok {
				m.shown = append(m.shown, shown{valueKey: valueKey{tool, m.h.enc.digest(v)}, author: author})
				return
			}
		}
	}
	m.handed(text)
}

// handed looks at a text that no user sent: the input of a node or a delegate.
func (m *matcher) handed(text string) {
	if m.odd = true; !m.h.whole {
		return
	}
	keys := m.h.forms(text)
	for _, key := range keys {
		if len(m.h.given[key]) > 0 {
			m.given = append(m.given, key)
			return
		}
	}
	v, _ := valueOf(text)
	members, _ := v.(map[string]any) // as of a node that joins others
	for _, member := range members {
		key := hashOf("value", m.h.enc.digest(member).String())
		if s, ok := member.(string); ok {
			key = hashOf("text", s)
		}
		m.given = append(m.given, key)
	}
}

// foreign splits "[author] rest".
func foreign(text string) (author, rest string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", "", false
	}
	return strings.Cut(text[1:], "] ")
}

// cutTool splits "<before>tool<between>rest".
func cutTool(text, before, between string) (tool, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, before)
	if !ok {
		return "", "", false
	}
	return strings.Cut(text, between)
}

// texts yields the texts of a content.
func texts(c *genai.Content) iter.Seq[string] {
	return func(yield func(string) bool) {
		if c == nil {
			return
		}
		for _, p := range c.Parts {
			if p != nil && p.Text != "" && !yield(p.Text) {
				return
			}
		}
	}
}

// results matches the results that the request shows.
func (m *matcher) results() {
	times := make(map[shown]int)
	var order []shown
	for _, s := range m.shown {
		if times[s]++; times[s] == 1 {
			order = append(order, s)
		}
	}
	for _, s := range order {
		found := m.candidates(s)
		if s.id != "" {
			found = found[max(0, len(found)-1):]
		} else if len(found) > times[s] {
			found = m.narrow(s, found, times[s])
		}
		for _, i := range found {
			m.responses[i] = true
		}
		if s.id != "" {
			if len(found) == 0 {
				m.unmatched += times[s]
			}
		} else if n := times[s] - len(found); n > 0 {
			m.unmatched += n
		}
	}
}

// candidates returns the responses that a shown result may be, in order, of each call the
// latest.
func (m *matcher) candidates(s shown) []int32 {
	list := m.h.byValue[s.valueKey]
	if s.id != "" {
		list = m.h.byCall[s.id] // which are few, where many calls gave the same
	}
	found, own := make(map[string]int32, len(list)), make(map[string]int32) // by call
	for _, i := range list {
		r := &m.h.responses[i]
		switch {
		case !r.visible(m.who.branch, m.who.scope):
		case (valueKey{r.tool, r.digest}) != s.valueKey:
		case s.author != "" && r.author != s.author:
		case s.author == "" && s.id == "" && !m.isLast(i):
			// Of several responses to one call ADK shows the last.
		default:
			found[r.call] = i
			if r.author == m.who.agent || r.author == genai.RoleUser {
				own[r.call] = i
			}
		}
	}
	if s.author == "" && len(own) > 0 {
		found = own // results of others ADK shows as texts
	}
	return slices.Sorted(maps.Values(found))
}

// isLast reports whether no later response to the same call can be seen.
func (m *matcher) isLast(i int32) bool {
	for _, j := range slices.Backward(m.h.byCall[m.h.responses[i].call]) {
		if j == i {
			return true
		}
		if r := &m.h.responses[j]; r.tool == m.h.responses[i].tool && r.visible(m.who.branch, m.who.scope) {
			return false
		}
	}
	return true
}

// narrow chooses among calls with the same result if there are more of them than the request shows.
// It takes those whose arguments the request shows. If these are still too many, they must have the
// same arguments, and the latest count; otherwise none does.
func (m *matcher) narrow(s shown, found []int32, times int) []int32 {
	args := func(i int32) valueKey { return valueKey{s.tool, m.h.args[m.h.responses[i].call]} }
	found = slices.DeleteFunc(found, func(i int32) bool { return m.called[args(i)] == 0 })
	if len(found) <= times {
		return found
	}
	for _, i := range found[1:] {
		if args(i) != args(found[0]) {
			return nil
		}
	}
	return found[len(found)-times:]
}

// words matches what the request holds of answers.
func (m *matcher) words() {
	for _, id := range m.ids {
		m.latest(m.h.asked[id], 1)
	}
	for key, times := range m.said {
		m.latest(m.h.said[key], times)
	}
	for _, key := range m.given {
		m.handedOn(m.h.given[key])
	}
}

// latest takes answers as held: all that can be seen, if the request holds that many, else
// the latest; of these only such as come behind a result that the request holds too, for a
// callback may have left out the later ones.
func (m *matcher) latest(list []int32, times int) {
	var found []int32
	for _, i := range list {
		if m.h.answers[i].visible(m.who.branch, m.who.scope) {
			found = append(found, i)
		}
	}
	all := len(found) <= times
	m.foreign = m.foreign || len(found) < times
	m.odd = m.odd || len(found) != times
	for _, i := range found[max(0, len(found)-times):] {
		if all || m.behindHeld(i) {
			m.answers[i] = true
		}
	}
}

// behindHeld reports whether the request holds the last result before an answer, or
// another to the same call, or there is none.
func (m *matcher) behindHeld(i int32) bool {
	all := m.h.responses
	at := m.h.answers[i].at
	for j := sort.Search(len(all), func(j int) bool { return all[j].at >= at }) - 1; j >= 0; j-- {
		if !all[j].visible(m.who.branch, m.who.scope) {
			continue
		}
		return slices.ContainsFunc(m.h.byCall[all[j].call], func(k int32) bool { return m.responses[k] })
	}
	return true
}

// handedOn counts an answer as held if its words are the input of a node or a delegate. It takes
// the latest such answer, unless several agents said the same.
func (m *matcher) handedOn(list []int32) {
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	for _, i := range list {
		if m.h.answers[i].author != m.h.answers[last].author {
			return
		}
	}
	m.answers[last] = true
}

// delegates counts the last answer of each delegate as held if the request holds the delegate's
// result. The record has no row for the result of a task: the delegate's answer stands for it.
func (m *matcher) delegates() {
	answers := m.h.answers
	for _, i := range slices.Sorted(maps.Keys(m.responses)) {
		r := &m.h.responses[i]
		asked := m.h.asked[r.call]
		if r.call == "" || len(asked) == 0 {
			continue
		}
		began := answers[asked[len(asked)-1]].at
		scoped, own := int32(-1), int32(-1)
		branches := make(map[string]bool)
		end := sort.Search(len(answers), func(j int) bool { return answers[j].at >= r.at })
		for j := int32(end) - 1; j >= 0 && answers[j].at > began; j-- {
			switch a := &answers[j]; {
			case a.scope == r.call:
				scoped = max(scoped, j)
			case a.author == r.tool && a.branch != r.branch && above(r.branch, a.branch):
				branches[a.branch] = true
				own = max(own, j)
			}
		}
		switch {
		case scoped >= 0:
			m.answers[scoped] = true
			if r.author == genai.RoleUser {
				delete(m.responses, i)
			}
		case len(branches) == 1:
			m.answers[own] = true
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strconv"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// history is an index of events of a session, from which the requests of models are made. It costs
// one pass over the events. It keeps about 150 bytes for each result and each answer. It holds no
// texts and no values, only their hashes.
type history struct {
	enc *encoder
	// whole says that it has all events. Only then it knows what nodes and delegates hand on.
	whole bool
	// began is the number of answers that there were when the run began.
	began     int32
	responses []pastResponse
	answers   []pastAnswer
	// byValue finds responses, byCall all with a call id; both in order.
	byValue map[valueKey][]int32
	byCall  map[string][]int32
	// said finds answers by the hash of their content in a request, asked by the ids of the calls
	// that they ask for. given finds them by another way into a request: the output of a node, the
	// input of a delegate. All are in order.
	said, given map[uint64][]int32
	asked       map[string][]int32
	// unseen counts the answers that ADK leaves out of requests, by the ids of the calls that they
	// ask for.
	unseen map[string]int
	// args are the digests of the arguments, by call id.
	args map[string]jsonenc.Digest
	// user has the hashes of the words of users. words has the hashes of the words of agents, with
	// their names, as nodes hand them on.
	user, words map[uint64]bool
}

// valueKey identifies the part of a result that a request shows.
type valueKey struct {
	tool   string
	digest jsonenc.Digest
}

// place is where in the session an event stands.
type place struct {
	at                    int32
	author, branch, scope string
}

// visible reports whether a request on the branch and in the scope is made of the event.
// It is ADK's rule.
func (p *place) visible(branch, scope string) bool {
	return p.scope == scope && (branch == "" || above(p.branch, branch))
}

// pastResponse is a function response in the session.
type pastResponse struct {
	place
	tool, call string
	digest     jsonenc.Digest
}

// pastAnswer is what an agent said.
type pastAnswer struct {
	place
	event string
	calls []string
	// row is the row of the model call that gave it, if this process recorded it.
	row rowID
}

var historySeed = newHashSeed()

func newHistory(enc *encoder, whole bool) *history {
	h := &history{
		enc: enc, whole: whole,
		byValue: make(map[valueKey][]int32), byCall: make(map[string][]int32),
		said: make(map[uint64][]int32), asked: make(map[string][]int32), unseen: make(map[string]int),
		args: make(map[string]jsonenc.Digest), user: make(map[uint64]bool),
	}
	if whole {
		h.given, h.words = make(map[uint64][]int32), make(map[uint64]bool)
	}
	return h
}

// add takes in the event at a place. row is the row of the model call with this answer.
func (h *history) add(at int32, ev *session.Event, of passed) {
	p := place{at: at, author: ev.Author, branch: ev.Branch, scope: ev.IsolationScope}
	for _, r := range responsesIn(ev, p, of.digests) {
		h.addResponse(r)
	}
	switch {
	case ev.Author == genai.RoleUser:
		for text := range texts(ev.Content) {
			h.user[hashOf("text", text)] = true
		}
	case ev.Content != nil && !excluded(ev.Content):
		h.addAnswer(p, ev, of)
	case ev.Content != nil:
		h.addUnseen(ev.Content)
	}
	if ev.Output != nil && h.whole {
		h.addOutput(ev, of.alone)
	}
}

// responsesIn returns the responses in an event. digests are those of its parts.
func responsesIn(ev *session.Event, at place, digests partDigests) (list []pastResponse) {
	if ev.Content == nil {
		return nil
	}
	for i, p := range ev.Content.Parts {
		if p != nil && p.FunctionResponse != nil {
			list = append(list, pastResponse{place: at, tool: p.FunctionResponse.Name, call: p.FunctionResponse.ID, digest: digests.of(i)})
		}
	}
	return list
}

func (h *history) addResponse(r pastResponse) {
	i, key := int32(len(h.responses)), valueKey{r.tool, r.digest}
	h.responses = append(h.responses, r)
	h.byValue[key] = append(h.byValue[key], i)
	h.byCall[r.call] = append(h.byCall[r.call], i)
}

// times returns how many responses before the i-th are equal to it and to the same call id:
// a model that uses an id again reads again.
func (h *history) times(i int32) (n int) {
	r := &h.responses[i]
	for _, j := range h.byCall[r.call] {
		if other := &h.responses[j]; j < i && other.tool == r.tool && other.digest == r.digest {
			n++
		}
	}
	return n
}

// addAnswer takes in the words of an agent in an event.
func (h *history) addAnswer(p place, ev *session.Event, of passed) {
	i := int32(len(h.answers))
	a := pastAnswer{place: p, event: ev.ID, row: of.row}
	var keys []uint64
	for n, part := range ev.Content.Parts {
		switch {
		case part == nil:
		case part.Text != "":
			keys = append(keys, hashOf("said", ev.Author, part.Text))
		case part.FunctionCall != nil:
			fc := part.FunctionCall
			digest := of.digests.of(n)
			a.calls = append(a.calls, fc.ID)
			h.args[fc.ID] = digest
			h.asked[fc.ID] = append(h.asked[fc.ID], i)
			keys = append(keys, hashOf("called", ev.Author, fc.Name, digest.String()))
			if len(fc.Args) > 0 && h.whole {
				// A delegate begins with the arguments of the call that made it one.
				index(h.given, hashOf("value", digest.String()), i)
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	h.answers = append(h.answers, a)
	for _, key := range append(keys, shape(ev.Content, of.digests)) {
		index(h.said, key, i)
	}
	if !h.whole {
		return
	}
	if text := answerText(ev.Content); text != "" {
		for _, key := range h.forms(text) {
			index(h.given, key, i)
		}
		h.addWords(ev.Author, text)
	}
}

// addUnseen takes in an answer that no request will hold: ADK runs what it asks for.
func (h *history) addUnseen(c *genai.Content) {
	for _, part := range c.Parts {
		if part != nil && part.FunctionCall != nil {
			h.unseen[part.FunctionCall.ID]++
		}
	}
}

// addOutput takes in the output of a node. The output of an agent that ended its task comes from
// the answer that asked for the end. If the steps came one after the other, the output of a node
// without a model comes from the last answer of the run.
func (h *history) addOutput(ev *session.Event, alone bool) {
	i := int32(len(h.answers)) - 1
	if i < h.began || !alone {
		i = -1
	}
	for _, fr := range Responses(ev.Content) {
		if asked := h.asked[fr.ID]; fr.Name == finishTask && len(asked) > 0 {
			i = asked[len(asked)-1]
			h.addWords(ev.Author, ev.Output)
		}
	}
	if i < 0 {
		return
	}
	keys := []uint64{hashOf("value", h.enc.digest(ev.Output).String())}
	if text, ok := ev.Output.(string); ok {
		keys = h.forms(text)
	}
	for _, key := range keys {
		index(h.given, key, i)
	}
}

// index adds i to a list in order, once.
func index(m map[uint64][]int32, key uint64, i int32) {
	if list := m[key]; len(list) == 0 || list[len(list)-1] != i {
		m[key] = append(list, i)
	}
}

// shape hashes what of an answer comes back in the model's own role, without the ids of
// calls, which may be left out there. digests are those of its parts.
func shape(c *genai.Content, digests partDigests) uint64 {
	var parts []string
	for i, part := range c.Parts {
		switch {
		case part == nil:
		case part.Text != "":
			parts = append(parts, "text", part.Text)
		case part.FunctionCall != nil:
			parts = append(parts, "call", part.FunctionCall.Name, digests.of(i).String())
		}
	}
	return hashOf("shape", parts...)
}

// forms returns the keys under which a text may come back: as it is, and as the JSON value
// that it is.
func (h *history) forms(text string) []uint64 {
	keys := []uint64{hashOf("text", text)}
	if v, ok := valueOf(text); ok {
		keys = append(keys, hashOf("value", h.enc.digest(v).String()))
	}
	return keys
}

// hashOf hashes texts of a kind. Two texts have the same hash by chance at odds of one to 2^64. A
// request would then count as having read a result that it did not hold.
func hashOf(kind string, parts ...string) uint64 {
	h := historySeed.hash(kind)
	for _, p := range parts {
		h = historySeed.mix(h, 0, historySeed.hash(p))
	}
	return h
}

// valueOf returns the JSON object or list that a text is.
func valueOf(text string) (v any, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	return jsonenc.Decode([]byte(text))
}

// answerText returns the text of an answer as nodes and delegates hand it on.
func answerText(c *genai.Content) string {
	if c == nil || c.Role == genai.RoleUser {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p != nil && p.Text != "" && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// excluded reports whether ADK leaves a content out of all requests, or whether it is the
// result of a tool.
func excluded(c *genai.Content) bool {
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			if name := p.FunctionCall.Name; name == toolconfirmation.FunctionCallName || name == credentialCallName {
				return true
			}
		case p.FunctionResponse != nil:
			return true
		}
	}
	return false
}

// answerOf returns the answer with a row among those that are held, -1 if it is not there.
func (h *history) answerOf(got held, row rowID) int32 {
	for i := range got.answers {
		if h.answers[i].row == row {
			return i
		}
	}
	return -1
}

// name returns what the record calls the model call of an answer by.
func (h *history) name(i int32) string { return h.nameOf(&h.answers[i]) }

// nameOf names the model call of an answer: by its row, where this process wrote it, else
// by the id of a call that no other answer asks for, else by the event.
func (h *history) nameOf(a *pastAnswer) string {
	if row := a.row.String(); row != "" {
		return "r:" + row
	}
	for _, id := range a.calls {
		if id != "" && len(h.asked[id])+h.unseen[id] == 1 {
			return "c:" + id
		}
	}
	return "e:" + a.event
}

// addWords takes in the words of an agent.
func (h *history) addWords(author string, said any) {
	for _, key := range h.wordKeys(author, said) {
		h.words[key] = true
	}
}

// wordKeys returns the keys under which what an agent said may come back with its name.
func (h *history) wordKeys(author string, said any) []uint64 {
	keys := []uint64{hashOf("value", h.enc.digest(said).String())}
	if text, ok := said.(string); ok {
		keys = h.forms(text)
	}
	for i, key := range keys {
		keys[i] = hashOf("by", author, strconv.FormatUint(key, 16))
	}
	return keys
}

// joined reports whether an output holds the words of an agent under the agent's name.
func (h *history) joined(output any) bool {
	members, _ := output.(map[string]any)
	for name, v := range members {
		for _, key := range h.wordKeys(name, v) {
			if h.words[key] {
				return true
			}
		}
		if h.joined(v) {
			return true
		}
	}
	return false
}

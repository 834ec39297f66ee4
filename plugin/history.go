// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"hash/maphash"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// history is an index of events of a session by value. It makes one pass over them, and encodes and
// hashes each result and each answer. It keeps about 150 bytes for each of them. It holds no texts
// and no values, only their hashes.
type history struct {
	enc *encoder

	// began is the number of answers that there were when the run began.
	began     int32
	responses []pastResponse
	answers   []place
	// byValue finds responses, byCall all with a call id; both in order.
	byValue map[valueKey][]int32
	byCall  map[string][]int32
	// said finds answers by the hash of their content in a request, asked by the ids of the calls
	// that they ask for. given finds them by another way into a request: the output of a node, the
	// input of a delegate. All are in order.
	said, given map[uint64][]int32
	asked       map[string][]int32
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

func placeOf(at int32, ev *session.Event) place {
	return place{at: at, author: ev.Author, branch: ev.Branch, scope: ev.IsolationScope}
}

// visible reports whether a request on the branch and in the scope is made of the event.
// It is ADK's rule.
func (p *place) visible(branch, scope string) bool {
	return p.scope == scope && (branch == "" || above(p.branch, branch))
}

// pastResponse is a function response in the session.
type pastResponse struct {
	place
	part       int32 // which response of the event it is
	tool, call string
	digest     jsonenc.Digest
}

var historySeed = maphash.MakeSeed()

func newHistory(enc *encoder) *history {
	return &history{
		enc:     enc,
		byValue: make(map[valueKey][]int32), byCall: make(map[string][]int32),
		said: make(map[uint64][]int32), given: make(map[uint64][]int32), asked: make(map[string][]int32),
		args: make(map[string]jsonenc.Digest), user: make(map[uint64]bool), words: make(map[uint64]bool),
	}
}

// responsesIn returns the responses in an event. digests are theirs, nil if they are not known.
func responsesIn(enc *encoder, at int32, ev *session.Event, digests []jsonenc.Digest) (list []pastResponse) {
	for i, fr := range Responses(ev.Content) {
		r := pastResponse{place: placeOf(at, ev), part: int32(i), tool: fr.Name, call: fr.ID}
		if i < len(digests) {
			r.digest = digests[i]
		} else {
			r.digest = enc.digest(fr.Response)
		}
		list = append(list, r)
	}
	return list
}

// add takes in the event at a place.
func (h *history) add(at int32, ev *session.Event, of runEvent) {
	p := placeOf(at, ev)
	for _, r := range responsesIn(h.enc, at, ev, of.digests) {
		h.addResponse(r)
	}
	switch {
	case ev.Author == genai.RoleUser:
		for text := range texts(ev.Content) {
			h.user[hashOf("text", text)] = true
		}
	case ev.Content != nil && !excluded(ev.Content):
		h.addAnswer(p, ev)
	}
	if ev.Output != nil {
		h.addOutput(ev, of.alone)
	}
}

func (h *history) addResponse(r pastResponse) {
	i, key := int32(len(h.responses)), valueKey{r.tool, r.digest}
	h.responses = append(h.responses, r)
	h.byValue[key] = append(h.byValue[key], i)
	h.byCall[r.call] = append(h.byCall[r.call], i)
}

// addAnswer takes in the words of an agent in an event.
func (h *history) addAnswer(p place, ev *session.Event) {
	i := int32(len(h.answers))
	var keys []uint64
	for _, part := range ev.Content.Parts {
		switch {
		case part == nil:
		case part.Text != "":
			keys = append(keys, hashOf("said", ev.Author, part.Text))
		case part.FunctionCall != nil:
			fc := part.FunctionCall
			digest := h.enc.digest(fc.Args)
			h.args[fc.ID] = digest
			h.asked[fc.ID] = append(h.asked[fc.ID], i)
			keys = append(keys, hashOf("called", ev.Author, fc.Name, digest.String()))
			if len(fc.Args) > 0 {
				// A delegate begins with the arguments of the call that made it one.
				index(h.given, hashOf("value", digest.String()), i)
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	h.answers = append(h.answers, p)
	for _, key := range append(keys, h.shape(ev.Content)) {
		index(h.said, key, i)
	}
	if text := answerText(ev.Content); text != "" {
		for _, key := range h.forms(text) {
			index(h.given, key, i)
		}
		h.addWords(ev.Author, text)
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
// calls, which may be left out there.
func (h *history) shape(c *genai.Content) uint64 {
	var parts []string
	for _, part := range c.Parts {
		switch {
		case part == nil:
		case part.Text != "":
			parts = append(parts, "text", part.Text)
		case part.FunctionCall != nil:
			parts = append(parts, "call", part.FunctionCall.Name, h.enc.digest(part.FunctionCall.Args).String())
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
	var m maphash.Hash
	m.SetSeed(historySeed)
	_, _ = m.WriteString(kind)
	var size [8]byte
	for _, p := range parts {
		for i, n := 0, len(p); i < len(size); i, n = i+1, n>>8 {
			size[i] = byte(n)
		}
		_, _ = m.Write(size[:])
		_, _ = m.WriteString(p)
	}
	return m.Sum64()
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

// Decided returns the id of the row of the model call whose answer asked for a call. If no model
// did, it returns the row after which the asking step began. own is the id of the event that asks
// by itself, "" if there is none.
func (r *Run) Decided(call, agent, branch, own string) (answer, after string) {
	if answer = r.past.decider(call, agent, branch, own); answer != "" {
		return answer, ""
	}
	return "", r.behind()
}

// behind returns the row after which the present step of the run began: the row of the last output
// of a node, if the steps came one after the other so far. Otherwise nobody can tell, and it is the
// start of the run.
func (r *Run) behind() string {
	output := r.output.Load()
	if output == nil || r.branched.Load() {
		return ""
	}
	return output.String()
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// past is the run's own copy of the session: the events of which ADK makes the requests of its
// models. A run never sees the events that another run adds to the session meanwhile, so neither
// does its past. The list of events is taken before the run begins, because later reading would race
// with the run. Then each event is added as it passes.
//
// What a request holds of the past is found in one of two ways. Mostly a request is made of the events
// and of nothing else: then follow goes along both, and looks closely only at what is new. Where a
// callback or a node made something else of them, match looks for values in an index of the whole
// past, which is made at the first need.
type past struct {
	enc *encoder

	mu     sync.Mutex
	events []*session.Event
	// began is the number of events that there were when the run began. run has what is known of
	// the others.
	began int
	run   []runEvent
	// before has the rows of the model calls that gave the latest answers before the run.
	before []answerRow
	// asked counts the answers that ask for a call, by its id, and index finds parts of events by their
	// values. Both are nil until they are needed.
	asked map[string]int
	index *history
}

// runEvent is what is known of an event of the run itself.
type runEvent struct {
	// digests are those of its responses as they were when it passed.
	digests []jsonenc.Digest
	// row is that of the model call with this answer.
	row rowID
	// alone says that the steps of the run came one after the other so far.
	alone bool
}

// maxPast bounds how many events of a session a past begins with, the latest ones.
const maxPast = 100_000

// newPast takes the events of a session. before has the rows of the model calls that gave its latest
// answers.
func newPast(enc *encoder, before []answerRow, events session.Events) *past {
	p := &past{enc: enc, before: before}
	if events == nil {
		return p
	}
	p.events = make([]*session.Event, 0, min(events.Len(), maxPast)+8)
	skip := events.Len() - maxPast
	for ev := range events.All() {
		if skip--; skip >= 0 || ev == nil || ev.LLMResponse.Partial {
			continue
		}
		p.events = append(p.events, ev)
	}
	p.began = len(p.events)
	return p
}

// add takes an event in. row is the row of the model call with this answer. alone says that the
// steps of the run came one after the other so far. add returns the responses in the event.
func (p *past) add(ev *session.Event, row rowID, alone bool) []pastResponse {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	responses := responsesIn(p.enc, int32(len(p.events)), ev, nil)
	of := runEvent{row: row, alone: alone}
	for _, r := range responses {
		of.digests = append(of.digests, r.digest)
	}
	p.events, p.run = append(p.events, ev), append(p.run, of)
	if p.asked != nil {
		p.countCalls(ev)
	}
	if p.index != nil {
		p.index.add(int32(len(p.events)-1), ev, of)
	}
	return responses
}

// of returns what is known of an event beyond what stands in it.
func (p *past) of(at int32) (of runEvent) {
	if i := int(at) - p.began; i >= 0 {
		return p.run[i]
	}
	return of
}

// all returns an index of the past.
func (p *past) all() *history {
	if p.index == nil {
		p.index = newHistory(p.enc)
		for at, ev := range p.events {
			p.index.add(int32(at), ev, p.of(int32(at)))
			if at < p.began {
				p.index.began = int32(len(p.index.answers))
			}
		}
	}
	return p.index
}

// response returns a response in an event, an empty one if a callback has removed it since.
func (p *past) response(at, part int32) *genai.FunctionResponse {
	if list := Responses(p.events[at].Content); int(part) < len(list) {
		return list[part]
	}
	return new(genai.FunctionResponse)
}

// digest returns the digest of a response, as it was when it passed.
func (p *past) digest(at, part int32) jsonenc.Digest {
	if of := p.of(at); int(part) < len(of.digests) {
		return of.digests[part]
	}
	return p.enc.digest(p.response(at, part).Response)
}

// rowOf returns the row of the model call whose answer asked for a call, "" if this process did not
// record it.
func (p *past) rowOf(call, agent, branch string) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.askedBy(call, agent, branch); at >= 0 {
		row := p.row(at)
		return row.String()
	}
	return ""
}

// decider returns the model call whose answer asked for a call: its row, or another name if this
// process did not record it. It returns "" if no model asked. An event that asks by itself, own, is
// the answer of a model only if it has a row.
func (p *past) decider(call, agent, branch, own string) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.askedBy(call, agent, branch)
	if at < 0 {
		return ""
	}
	if row := p.row(at); row != (rowID{}) {
		return row.String()
	}
	if p.events[at].ID == own {
		return ""
	}
	return p.name(at)
}

// joins reports whether the output of a node holds the words of an agent under the agent's name.
// ADK's node that joins the outputs of others has such an output.
func (p *past) joins(output any) bool {
	members, _ := output.(map[string]any)
	if p == nil || len(members) == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all().joined(members)
}

// row returns the row of the model call whose answer became an event, if it is known.
func (p *past) row(at int32) (row rowID) {
	if int(at) >= p.began {
		return p.of(at).row
	}
	hash := hashOf("event", p.events[at].ID)
	for i := len(p.before) - 1; i >= 0; i-- {
		if p.before[i].event == hash {
			return p.before[i].row
		}
	}
	return row
}

// answerIn returns the place of the answer that a row has, -1 if it is not known.
func (p *past) answerIn(row rowID) int32 {
	for i := len(p.run) - 1; i >= 0; i-- {
		if p.run[i].row == row {
			return int32(p.began + i)
		}
	}
	for i := len(p.before) - 1; i >= 0; i-- {
		if p.before[i].row != row {
			continue
		}
		for at := p.began - 1; at >= 0; at-- {
			if hashOf("event", p.events[at].ID) == p.before[i].event {
				return int32(at)
			}
		}
	}
	return -1
}

// name names the model call of an answer: by its row, where this process wrote it, else
// by the id of a call that no other answer asks for, else by the event.
func (p *past) name(at int32) string {
	if row := p.row(at); row != (rowID{}) {
		return "r:" + row.String()
	}
	ev := p.events[at]
	for _, part := range ev.Content.Parts {
		if part != nil && part.FunctionCall != nil && part.FunctionCall.ID != "" && p.asks(part.FunctionCall.ID) == 1 {
			return "c:" + part.FunctionCall.ID
		}
	}
	return "e:" + ev.ID
}

// asks returns how many answers ask for the call of an id.
func (p *past) asks(call string) int {
	if p.asked == nil {
		p.asked = make(map[string]int)
		for _, ev := range p.events {
			p.countCalls(ev)
		}
	}
	return p.asked[call]
}

func (p *past) countCalls(ev *session.Event) {
	if ev.Author == genai.RoleUser || ev.Content == nil {
		return
	}
	for _, part := range ev.Content.Parts {
		if part != nil && part.FunctionCall != nil {
			p.asked[part.FunctionCall.ID]++
		}
	}
}

// askedBy returns where the answer stands that asked for the call of an id: the latest one of the
// agent on the branch. It returns -1 if none did.
func (p *past) askedBy(call, agent, branch string) int32 {
	for at := len(p.events) - 1; at >= 0; at-- {
		ev := p.events[at]
		if ev.Author == agent && ev.Branch == branch && ev.Author != genai.RoleUser && asksFor(ev.Content, call) {
			return int32(at)
		}
	}
	return -1
}

// asksFor reports whether a content asks for the call of an id.
func asksFor(c *genai.Content, call string) bool {
	if c == nil {
		return false
	}
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil && p.FunctionCall.ID == call {
			return true
		}
	}
	return false
}

// identity returns a hash by which a later run knows a part of an event again.
func (p *past) identity(h heldPart) uint64 {
	ev, m := p.events[h.at], &p.enc.hashes
	id := uint64(h.at)
	if ev.ID != "" {
		id = m.mix(m.text(ev.ID), uint64(ev.Timestamp.Unix()))
	}
	return m.mix(id, uint64(h.part))
}

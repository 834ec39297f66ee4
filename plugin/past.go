// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"sort"
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// past is the run's own copy of the session. A run never sees the events that another run adds to
// the session meanwhile, so neither does its past. The list of the events is read once before the
// run begins, because later reading would race with the run. Then each event is added as it passes.
//
// An index of all events is made when it is first needed. Mostly a request begins as the one before
// it, and an index of the few events since then is enough: see lastRequest.
type past struct {
	enc     *encoder
	session record.Session
	rows    *answerRows // of the answers before the run

	mu     sync.Mutex
	events []*session.Event
	// began is the number of events that there were when the run began, run what is known of the
	// others.
	began   int
	run     []passed
	digests partDigests // of run
	index   *history    // of all events; nil until it is needed
}

// passed is what is known of an event of the run itself beyond what stands in it.
type passed struct {
	// digests are those of its parts when it passed: a callback may change them in place later.
	digests partDigests
	// row is that of the model call with this answer.
	row rowID
	// alone says that the steps of the run came one after the other so far.
	alone bool
}

// partDigests has the digests of the results and the arguments in a content, by the numbers of their
// parts.
type partDigests []jsonenc.Digest

// of returns the digest of a part, none if the content did not have the part then.
func (d partDigests) of(part int) (digest jsonenc.Digest) {
	if part < len(d) {
		digest = d[part]
	}
	return digest
}

// digests appends those of a content to list, nothing if it has neither results nor arguments.
func (enc *encoder) digests(list partDigests, c *genai.Content) partDigests {
	if c == nil {
		return list
	}
	from := len(list)
	for i, p := range c.Parts {
		if p == nil || p.FunctionResponse == nil && p.FunctionCall == nil {
			continue
		}
		if len(list) == from {
			list = append(list, make(partDigests, len(c.Parts))...)
		}
		if p.FunctionResponse != nil {
			list[from+i] = enc.digest(p.FunctionResponse.Response)
		} else {
			list[from+i] = enc.digest(p.FunctionCall.Args)
		}
	}
	return list
}

// maxPast bounds how many events of a session a past begins with, the latest ones.
const maxPast = 100_000

func (rec *Recorder) newPast(s record.Session, events session.Events) *past {
	p := &past{enc: &rec.encoder, session: s, rows: rec.answerRows}
	if events == nil {
		return p
	}
	skip := events.Len() - maxPast
	p.events = make([]*session.Event, 0, min(events.Len(), maxPast)+8)
	for ev := range events.All() {
		if skip--; skip < 0 && ev != nil {
			p.events = append(p.events, ev)
		}
	}
	p.began = len(p.events)
	return p
}

// add takes in an event that passes. row is the row of the model call with this answer. alone says
// that the steps of the run came one after the other so far. add returns the responses in the event.
func (p *past) add(ev *session.Event, row rowID, alone bool) (responses []pastResponse) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from := len(p.digests)
	p.digests = p.enc.digests(p.digests, ev.Content)
	of := passed{digests: slices.Clip(p.digests[from:]), row: row, alone: alone}
	responses = responsesIn(ev, place{}, of.digests)
	p.events, p.run = append(p.events, ev), append(p.run, of)
	if p.index != nil {
		p.index.add(int32(len(p.events)-1), ev, of)
	}
	return responses
}

// last returns the id of the last event, "" if there is none.
func (p *past) last() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) == 0 {
		return ""
	}
	return p.events[len(p.events)-1].ID
}

// after returns the place behind the event of an id, -1 if there is none.
func (p *past) after(id string) int {
	for at := len(p.events); at > 0 && id != ""; at-- {
		if p.events[at-1].ID == id {
			return at
		}
	}
	return -1
}

// since returns an index of the events from a place on.
func (p *past) since(from int) *history {
	h := newHistory(p.enc, from == 0)
	for at := from; at < len(p.events); at++ {
		ev := p.events[at]
		var of passed
		if at >= p.began {
			of = p.run[at-p.began]
		} else {
			of.digests = p.enc.digests(nil, ev.Content)
			if ev.Author != genai.RoleUser {
				of.row = p.row(at)
			}
		}
		if at == p.began {
			h.began = int32(len(h.answers))
		}
		h.add(int32(at), ev, of)
	}
	if p.began == len(p.events) {
		h.began = int32(len(h.answers))
	}
	return h
}

// all returns an index of all events.
func (p *past) all() *history {
	if p.index == nil {
		p.index = p.since(0)
	}
	return p.index
}

// row returns the row of the model call whose answer is the event at a place, if this process wrote
// it.
func (p *past) row(at int) rowID {
	if at >= p.began {
		return p.run[at-p.began].row
	}
	return p.rows.row(p.session, p.events[at].ID)
}

// askedBy returns the place of the answer that asked for the call of an id, the latest one of the
// agent on the branch; -1 if none did.
func (p *past) askedBy(call, agent, branch string) int {
	for at := len(p.events) - 1; at >= 0; at-- {
		ev := p.events[at]
		if ev.Author != agent || ev.Branch != branch || agent == genai.RoleUser || ev.Content == nil {
			continue
		}
		for _, part := range ev.Content.Parts {
			if part != nil && part.FunctionCall != nil && part.FunctionCall.ID == call {
				return at
			}
		}
	}
	return -1
}

// rowOf returns the row of the model call whose answer asked for a call, "" if this process did not
// record it.
func (p *past) rowOf(call, agent, branch string) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.askedBy(call, agent, branch)
	if at < 0 {
		return ""
	}
	row := p.row(at)
	return row.String()
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
	ev, row := p.events[at], p.row(at)
	switch {
	case row != (rowID{}):
		return row.String()
	case ev.ID == own:
		return ""
	}
	h := p.all()
	i := sort.Search(len(h.answers), func(i int) bool { return h.answers[i].at >= int32(at) })
	if i < len(h.answers) && h.answers[i].at == int32(at) {
		return h.name(int32(i))
	}
	return "e:" + ev.ID // ADK leaves it out of requests
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// past is the run's own copy of the session. A run never sees the events that another run adds to
// the session meanwhile, so neither does its past. The list of the events is read once before the
// run begins, because later reading would race with the run. Then each event is added as it passes.
//
// Events may be written by clients. So a past explains nothing: it says what users wrote, and finds
// the value of a result that a request shows.
type past struct {
	enc     *encoder
	isAgent func(name string) bool

	mu     sync.Mutex
	events []*session.Event // those before the run
	passed []*session.Event
	// users has hashes of what users' messages brought, results the responses in all events, calls the
	// calls by id; nil until they are needed. indexed is how many of passed are in the last two.
	users   map[uint64]bool
	results map[resultKey][]*genai.FunctionResponse
	calls   map[string]*genai.FunctionCall
	indexed int
}

// resultKey identifies a result in a request.
type resultKey struct {
	tool   string
	digest jsonenc.Digest
}

// maxPast bounds how many events of a session a past begins with, the latest ones.
const maxPast = 100_000

func (rec *Recorder) newPast(r *Run, events session.Events) *past {
	p := &past{enc: &rec.encoder, isAgent: r.isAgent}
	if events == nil {
		return p
	}
	skip := events.Len() - maxPast
	p.events = make([]*session.Event, 0, min(events.Len(), maxPast))
	for ev := range events.All() {
		if skip--; skip < 0 && ev != nil {
			p.events = append(p.events, ev)
		}
	}
	return p
}

// add takes in an event that passes.
func (p *past) add(ev *session.Event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed = append(p.passed, ev)
}

// isUsers reports whether a user wrote a text.
func (p *past) isUsers(text string) bool { return p.ofUsers(p.enc.schemas.seed.of("text", text)) }

// isClients reports whether a user's message brought a result.
func (p *past) isClients(tool, call string, digest jsonenc.Digest) bool {
	return p.ofUsers(p.enc.schemas.seed.of("result", tool, call, digest.String()))
}

func (p *past) ofUsers(hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == nil {
		p.users = make(map[uint64]bool)
		for _, ev := range p.events {
			if ev.Author != genai.RoleUser {
				continue
			}
			for text := range texts(ev.Content) {
				p.users[p.enc.schemas.seed.of("text", text)] = true
			}
			for _, fr := range Responses(ev.Content) {
				if !p.isAgent(fr.Name) { // else ADK wrote down what the agent said
					p.users[p.enc.schemas.seed.of("result", fr.Name, fr.ID, p.enc.digest(fr.Response).String())] = true
				}
			}
		}
	}
	return p.users[hash]
}

// result returns a response in the events, nil if there is none, and the arguments of its call, nil if no
// event has it. Of several it is one whose arguments have the digest.
func (p *past) result(key resultKey, digest jsonenc.Digest) (fr *genai.FunctionResponse, args map[string]any) {
	for _, one := range p.all(key) {
		of := p.argsOf(one)
		if fr == nil || of != nil && p.enc.digest(of) == digest {
			fr, args = one, of
		}
	}
	return fr, args
}

// all returns the responses in the events with a value.
func (p *past) all(key resultKey) []*genai.FunctionResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catchUp()
	return p.results[key]
}

// argsOf returns the arguments of the call of a response in the events, nil if none has it.
func (p *past) argsOf(fr *genai.FunctionResponse) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catchUp()
	if fc := p.calls[fr.ID]; fc != nil && fc.Name == fr.Name {
		return fc.Args
	}
	return nil
}

func (p *past) catchUp() {
	if p.results == nil {
		p.results, p.calls = make(map[resultKey][]*genai.FunctionResponse), make(map[string]*genai.FunctionCall)
		p.index(p.events)
	}
	p.index(p.passed[p.indexed:])
	p.indexed = len(p.passed)
}

func (p *past) index(events []*session.Event) {
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, part := range ev.Content.Parts {
			switch {
			case part == nil:
			case part.FunctionCall != nil:
				p.calls[part.FunctionCall.ID] = part.FunctionCall
			case part.FunctionResponse != nil:
				fr := part.FunctionResponse
				key := resultKey{fr.Name, p.enc.digest(fr.Response)}
				p.results[key] = append(p.results[key], fr)
			}
		}
	}
}

// asks reports whether an event of an agent on a branch, before the run, asks for the call of an id.
func (p *past) asks(call, agent, branch string) bool {
	if p == nil || call == "" || agent == genai.RoleUser {
		return false
	}
	for _, ev := range p.events { // which nobody changes
		if ev.Author != agent || ev.Branch != branch || ev.Content == nil {
			continue
		}
		for _, part := range ev.Content.Parts {
			if part != nil && part.FunctionCall != nil && part.FunctionCall.ID == call {
				return true
			}
		}
	}
	return false
}

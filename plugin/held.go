// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// heldPart is a result or an answer that a request holds.
type heldPart struct {
	// at is the place of the event.
	at int32
	// part is the number of a result among the results of the event; anAnswer of an answer.
	part int32
	// by is the place of the answer that asked for a result, -1 if it is not known.
	by int32
	// in is the number of the content that shows it, pos that of the part there.
	in, pos int32
	// known says that rows list it.
	known bool
}

const anAnswer = -1

// order is that of the session.
func (h heldPart) order(other heldPart) int {
	return cmp.Or(cmp.Compare(h.at, other.at), cmp.Compare(h.part, other.part))
}

func (h heldPart) same(other heldPart) bool { return h.order(other) == 0 }

// held is what a request holds of the past.
type held struct {
	parts     []heldPart // in the order of the session
	ids       []uint64   // their identities
	unmatched int
	// base is the place of the answer before in the conversation if the request holds it, else -1.
	base int32
}

// held returns what the contents of a request hold. before is the model call before in the
// conversation; nil if none is known.
func (p *past) held(contents []*genai.Content, who reader, before *conversation) held {
	parts, ok := p.follow(contents, who)
	h := held{parts: parts}
	if p.recognize(&h, before); !ok || !p.verified(h.parts, contents, who) {
		h.parts, h.unmatched = p.all().match(contents, who)
		p.recognize(&h, before)
	}
	if more, gone := p.delegates(h.parts); len(more)+len(gone) > 0 {
		h.parts = slices.DeleteFunc(h.parts, func(r heldPart) bool {
			return slices.ContainsFunc(gone, r.same) || slices.ContainsFunc(more, r.same)
		})
		h.parts = append(h.parts, more...)
		p.recognize(&h, before)
	}
	return h
}

// recognize puts the parts in order, and finds those that rows list already. If the request does not
// hold the answer before, that stands for nothing, and rows list none of the parts.
func (p *past) recognize(h *held, before *conversation) {
	if !slices.IsSortedFunc(h.parts, heldPart.order) {
		slices.SortFunc(h.parts, heldPart.order)
	}
	h.parts = slices.CompactFunc(h.parts, heldPart.same)
	h.base, h.ids = -1, make([]uint64, len(h.parts))
	for i := range h.parts {
		h.ids[i] = p.identity(h.parts[i])
	}
	if before == nil {
		return
	}
	at := p.answerIn(before.row)
	i, ok := slices.BinarySearchFunc(h.parts, heldPart{at: at, part: anAnswer}, heldPart.order)
	if !ok {
		return
	}
	h.base, h.parts[i].known = at, true
	list := identities{ids: before.shown}
	for i := range h.parts {
		h.parts[i].known = h.parts[i].known || list.has(h.ids[i])
	}
}

// identities is a list, of which mostly the next one is asked for.
type identities struct {
	ids  []uint64
	next int
	set  map[uint64]bool // all of them; nil until it is needed
}

func (l *identities) has(id uint64) bool {
	switch {
	case l.next == len(l.ids):
		if l.set == nil {
			return false // all of them were asked for
		}
	case l.ids[l.next] == id:
		l.next++
		return true
	case l.set == nil:
		l.set = make(map[uint64]bool, len(l.ids))
		for _, id := range l.ids {
			l.set[id] = true
		}
	}
	return l.set[id]
}

// verified reports whether the contents show what is new among the parts as it was when its event
// passed. A callback may have changed it since: in an object that the content and the event share, or
// in the text that tells of it.
func (p *past) verified(parts []heldPart, contents []*genai.Content, who reader) bool {
	for _, h := range parts {
		c, ev := contents[h.in], p.events[h.at]
		switch {
		case h.known:
		case h.by >= 0: // a result as a part of its own
			if int(h.at) >= p.began && p.enc.digest(c.Parts[h.pos].FunctionResponse.Response) != p.digest(h.at, h.part) {
				return false
			}
		case h.part >= 0: // a result in a text
			rest, _ := afterAuthor(c.Parts[h.pos].Text, ev.Author)
			if _, text, _ := cutTool(rest, toldResult, toldReturn); p.enc.digestOfText(text) != p.digest(h.at, h.part) {
				return false
			}
		case ev.Author != who.agent:
			if !p.tellsArgs(c, ev) {
				return false
			}
		}
	}
	return true
}

// tellsArgs reports whether a content tells of the calls of another agent with their arguments.
func (p *past) tellsArgs(c *genai.Content, ev *session.Event) bool {
	pos := nextPart(c.Parts, 0)
	for _, q := range ev.Content.Parts {
		if !matters(q) {
			continue
		}
		if pos = nextPart(c.Parts, pos+1); q.Text != "" || q.FunctionCall == nil {
			continue
		}
		rest, _ := afterAuthor(c.Parts[pos].Text, ev.Author)
		if _, text, _ := cutTool(rest, toldCall, toldArgs); p.enc.digestOfText(text) != p.enc.digest(q.FunctionCall.Args) {
			return false
		}
	}
	return true
}

// digestOfText returns the digest of the arguments or the result that a text is as JSON.
func (enc *encoder) digestOfText(text string) jsonenc.Digest {
	v, ok := jsonenc.Decode([]byte(text))
	if !ok {
		return jsonenc.Digest{}
	}
	if v == nil {
		return noResult
	}
	return enc.digest(v)
}

// delegates returns the last answers of delegates with a result among the parts: what a delegate had
// read stands behind its result. The record has no row for the result of a task. The delegate's
// answer stands for it, and the result is returned as gone.
func (p *past) delegates(parts []heldPart) (more, gone []heldPart) {
	for _, r := range parts {
		if r.known || r.part == anAnswer {
			continue
		}
		ev, fr := p.events[r.at], p.response(r.at, r.part)
		if fr.ID == "" {
			continue
		}
		if r.by < 0 {
			r.by = p.asker(r.at, fr.ID)
		}
		if r.by < 0 {
			continue
		}
		scoped, own, branch, several := int32(-1), int32(-1), "", false
		for at := r.by + 1; at < r.at; at++ {
			a := p.events[at]
			switch {
			case !isAnswer(a):
			case a.IsolationScope == fr.ID:
				scoped = at
			case a.Author == fr.Name && a.Branch != ev.Branch && above(ev.Branch, a.Branch):
				several = several || own >= 0 && a.Branch != branch
				own, branch = at, a.Branch
			}
		}
		switch {
		case scoped >= 0:
			more = append(more, heldPart{at: scoped, part: anAnswer, by: -1})
			if ev.Author == genai.RoleUser {
				gone = append(gone, r)
			}
		case own >= 0 && !several:
			more = append(more, heldPart{at: own, part: anAnswer, by: -1})
		}
	}
	return more, gone
}

// asker returns the place of the last answer before a place that asked for a call, -1 if there is none.
func (p *past) asker(at int32, call string) int32 {
	for at--; at >= 0; at-- {
		if ev := p.events[at]; isAnswer(ev) && asksFor(ev.Content, call) {
			return at
		}
	}
	return -1
}

// isAnswer reports whether an event is what an agent said, as requests hold it.
func isAnswer(ev *session.Event) bool {
	return ev.Author != genai.RoleUser && ev.Content != nil && slices.ContainsFunc(ev.Content.Parts, matters) && !excluded(ev.Content)
}

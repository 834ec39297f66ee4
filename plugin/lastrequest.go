// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	"google.golang.org/genai"
)

// lastRequest is what is remembered of the last request of a conversation. The next one mostly
// begins with the same contents, and only what follows them has to be found among the events since
// then.
type lastRequest struct {
	// contents is how many contents there were, hash that of all of them. If contents is 0 nothing is
	// remembered: there was no request, or rows do not tell all of what it showed.
	contents int
	hash     uint64
	// last is the id of the last event of which the request can have been made.
	last string
}

// maxValues is how many values of a result or of the arguments of a call are hashed one by one.
const maxValues = 100_000

// goOn lists what the model had read if its request begins with all contents of the request before,
// and if what follows is what ADK makes of the events since then: all that the reader can see of
// them, and nothing else. Otherwise it reports false, and lists nothing: then only an index of all
// events tells. The contents are looked at to the last value, because a callback may have changed
// an old one in place.
func (l *readList) goOn(p *past, contents []*genai.Content, who reader, before *conversation) bool {
	end := len(contents)
	if end > 0 && goesOn(contents[end-1]) {
		end--
	}
	h := valueHash{hashSeed: p.enc.schemas.seed}
	var from int
	var same bool
	if before != nil && before.request.contents <= end {
		from = before.request.contents
		l.request.hash = h.contents(p.enc, 0, contents[:from])
		same = from > 0 && l.request.hash == before.request.hash
	}
	l.request.contents, l.request.hash = end, h.contents(p.enc, l.request.hash, contents[from:end])
	if !same {
		return false
	}
	at := p.after(before.request.last)
	if at < 0 {
		return false
	}
	events := p.since(at)
	got := events.match(contents[from:end], who)
	base := events.answerOf(got, before.row)
	if got.odd || base < 0 {
		return false
	}
	for i := range got.answers {
		if events.answers[i].row == (rowID{}) {
			return false // its name depends on all events
		}
	}
	l.read = slices.Clip(before.read)
	l.list(events, got, base, nil)
	return true
}

// goesOn reports whether a content is the one that ADK adds where an agent spoke last.
func goesOn(c *genai.Content) bool {
	return c != nil && c.Role == genai.RoleUser && len(c.Parts) == 1 && c.Parts[0] != nil &&
		c.Parts[0].Text == "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."
}

// contents hashes what a request shows a reader of results and answers, behind the contents with the
// hash sum.
func (s *valueHash) contents(enc *encoder, sum uint64, contents []*genai.Content) uint64 {
	for _, c := range contents {
		var in uint64
		if c != nil {
			in = s.hash(c.Role)
			for _, p := range c.Parts {
				if p != nil {
					in = s.part(enc, in, p)
				}
			}
		}
		sum = s.mix(sum, 0, in)
	}
	return sum
}

func (s *valueHash) part(enc *encoder, h uint64, p *genai.Part) uint64 {
	if p.Text != "" {
		h = s.text(h, 2, p.Text)
	}
	if fc := p.FunctionCall; fc != nil {
		h = s.payload(enc, s.text(s.text(h, 3, fc.ID), 4, fc.Name), fc.Args)
	}
	if fr := p.FunctionResponse; fr != nil {
		h = s.payload(enc, s.text(s.text(h, 5, fr.ID), 6, fr.Name), fr.Response)
	}
	return h
}

// payload hashes arguments or a result. Where it holds a value of the host's own type, its digest
// counts.
func (s *valueHash) payload(enc *encoder, h uint64, v map[string]any) uint64 {
	s.begin(maxValues)
	in := s.value(v)
	if !s.whole() {
		in = s.text(0, 7, enc.digest(v).String())
	}
	return s.mix(h, 8, in)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import "google.golang.org/genai"

// lastRequest is what is remembered of the last request of a conversation. The next one mostly
// begins with the same contents, and only what follows them has to be listed.
type lastRequest struct {
	// contents is how many contents there were, hash that of all of them. If contents is 0 nothing is
	// remembered of it.
	contents int
	hash     uint64
}

// maxValues is how many values of a result or of the arguments of a call are hashed one by one.
const maxValues = 100_000

// goOn remembers a request. It returns how many contents stand first that are those of the request
// before, all of them; 0 if the request does not begin with them. The contents are looked at to the last
// value, because a callback may have changed an old one in place.
func (l *lastRequest) goOn(enc *encoder, contents []*genai.Content, before *conversation) (from int) {
	end := len(contents)
	if end > 0 && goesOn(contents[end-1]) {
		end--
	}
	h := valueHash{hashSeed: enc.schemas.seed}
	same := false
	if before != nil && before.request.contents <= end {
		from = before.request.contents
		l.hash = h.contents(enc, 0, contents[:from])
		same = from > 0 && l.hash == before.request.hash
	}
	l.contents, l.hash = end, h.contents(enc, l.hash, contents[from:end])
	if !same {
		return 0
	}
	return from
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

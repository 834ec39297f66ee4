// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// prompts remembers which messages of a conversation are on record, so that a
// request can refer to the row that holds them.
type prompts struct {
	seed hashSeed
	last *lru.Cache[promptKey, prompt]
}

// promptKey names a conversation with a model: the requests of one agent on one branch of a
// session.
type promptKey struct {
	session       record.Session
	agent, branch string
}

// prompt has the messages that a row of LLM_REQUEST and the rows that it refers to hold together.
type prompt struct {
	event    string   // the row
	messages []uint64 // a hash of each message
	lost     int      // rows of the session that were lost when it was written
}

func newPrompts(seed hashSeed) (*prompts, error) {
	last, err := lru.New[promptKey, prompt](knownSessions)
	return &prompts{seed: seed, last: last}, err
}

// messages returns the contents that are not nil. Mostly these are all.
func messages(contents []*genai.Content) []*genai.Content {
	for i, c := range contents {
		if c != nil {
			continue
		}
		kept := append([]*genai.Content(nil), contents[:i]...)
		for _, c := range contents[i:] {
			if c != nil {
				kept = append(kept, c)
			}
		}
		return kept
	}
	return contents
}

// base returns the row that holds the first keep of the messages, "" when there is
// none, and the hashes of all of them. lost is how many rows of the session were lost
// so far: a row that may be among them is no base.
func (ps *prompts) base(k promptKey, contents []*genai.Content, lost int) (event string, keep int, hashes []uint64) {
	hashes = make([]uint64, len(contents))
	for i, c := range contents {
		hashes[i] = ps.hash(c)
	}
	p, ok := ps.last.Get(k)
	if !ok || p.lost != lost {
		return "", 0, hashes
	}
	for keep < len(hashes) && keep < len(p.messages) && hashes[keep] == p.messages[keep] {
		keep++
	}
	if keep == 0 {
		return "", 0, hashes
	}
	return p.event, keep, hashes
}

// hash covers the part of a message that a row holds: its role and the content of its parts.
func (ps *prompts) hash(c *genai.Content) uint64 {
	h := ps.seed.hash(c.Role)
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.Text != "":
			h = ps.seed.mix(h, 1, ps.seed.hash(p.Text))
		case p.FunctionResponse != nil:
			h = ps.seed.mix(h, 2, ps.seed.hash(p.FunctionResponse.Name))
		default:
			if text := partSays(p); text != "" {
				h = ps.seed.mix(h, 3, ps.seed.hash(text))
			}
		}
	}
	return h
}

// lossCounter is a sink that knows which rows of a session it lost.
type lossCounter interface{ Lost(record.Session) int }

func (rec *Recorder) lostRows(s record.Session) int {
	if l, ok := rec.sink.(lossCounter); ok {
		return l.Lost(s)
	}
	return 0
}

// promptRow is the part of a row of LLM_REQUEST about its messages.
type promptRow struct {
	contents []*genai.Content
	base     string
	keep     int
	// cut is set when not all messages fitted into the row.
	cut bool
}

func (p *promptRow) content(d jsonenc.Doc, system *genai.Content) {
	d.Open('{')
	d.Key("prompt")
	d.Open('[')
	for _, c := range p.contents[p.keep:] {
		if d.Full() {
			p.cut = true
			break
		}
		d.Open('{')
		d.Str("role", c.Role)
		d.Key("content")
		summary(d, c)
		d.Close('}')
	}
	d.Close(']')
	if system != nil {
		d.Key("system_prompt")
		summary(d, system)
	}
	d.Close('}')
}

func (p *promptRow) adk(d jsonenc.Doc) {
	if p.base == "" {
		return
	}
	d.Key("prompt_base")
	d.Open('{')
	d.Str("event_id", p.base)
	d.Int("messages", int64(p.keep))
	d.Close('}')
}

// newMessages returns the messages that came after the model's last one: no earlier
// request of the conversation held them.
func newMessages(contents []*genai.Content) []*genai.Content {
	for i := len(contents) - 1; i >= 0; i-- {
		if contents[i].Role == genai.RoleModel {
			return contents[i+1:]
		}
	}
	return contents
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// knownAnswers bounds of how many answers of a session the recorder remembers the row.
const knownAnswers = 256

// answerRows remembers the rows of model calls by the events that their answers became, of
// each session the latest. A run that begins later knows by it what its history holds.
type answerRows struct {
	mu       sync.Mutex
	sessions *lru.Cache[record.Session, []answerRow]
}

type answerRow struct {
	event uint64 // a hash of its id
	row   rowID
}

func newAnswerRows() (*answerRows, error) {
	sessions, err := lru.New[record.Session, []answerRow](knownSessions)
	return &answerRows{sessions: sessions}, err
}

func (a *answerRows) add(s record.Session, event string, row rowID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, _ := a.sessions.Get(s)
	if len(rows) == knownAnswers {
		rows = append(rows[:0], rows[1:]...)
	}
	a.sessions.Add(s, append(rows, answerRow{hashOf("event", event), row}))
}

// row returns the row of the answer that became an event, the zero rowID if it is not remembered.
func (a *answerRows) row(s record.Session, event string) rowID {
	hash := hashOf("event", event)
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, _ := a.sessions.Get(s)
	for _, r := range slices.Backward(rows) {
		if r.event == hash {
			return r.row
		}
	}
	return rowID{}
}

// conversationKey names what one agent on one branch and in one scope of a session sends
// to its model.
type conversationKey struct {
	session              record.Session
	agent, branch, scope string
}

// conversation has the results that the last model call of a conversation has read, as far as rows
// list them. row ended the call; read has hashes of the results of this row and of the rows that it
// names. request is the request of the call. A conversation is never changed.
type conversation struct {
	row     rowID
	read    []uint64
	request lastRequest
}

// newConversations returns the memory of conversations, so that a row lists only new results. A
// forgotten conversation is listed once more.
func newConversations() (*lru.Cache[conversationKey, *conversation], error) {
	return lru.New[conversationKey, *conversation](knownSessions)
}

// readerOf returns whose request it is.
func readerOf(ctx agent.Context) reader {
	who := reader{agent: ctx.AgentName(), branch: ctx.Branch()}
	// The context of a callback hides the scope; what it wraps does not.
	if ic := ctx.WithICDelta(nil); ic != nil {
		who.scope = ic.IsolationScope()
	}
	return who
}

// readList is the list in a row of the results that a model call had read.
type readList struct {
	results map[string]string
	// base is the answer before in the conversation. It stands for the results that it lists; "" if
	// all are listed here. answers are others.
	base      string
	answers   []string
	unmatched int
	cut       bool

	key     conversationKey
	read    []uint64
	request lastRequest
}

// maxRead bounds what one row lists, in bytes.
const maxRead = 32 << 10

// read returns what the model had read when it gave the answer of l, nil where nothing is
// known. The request is looked at again, because callbacks may have changed it since it was
// recorded. Of several answers to one request those behind the first name the first.
func (rec *Recorder) read(r *Run, l *llmSpan) *readList {
	if l.first != nil && l.first.row != (rowID{}) {
		return &readList{base: "r:" + l.first.row.String()}
	}
	if l.request == nil || r.past == nil {
		return nil
	}
	p, contents := r.past, l.request.Contents
	l.request = nil
	out := &readList{key: conversationKey{r.Session, l.who.agent, l.who.branch, l.who.scope}}
	before, _ := rec.conversations.Get(out.key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if out.goOn(p, contents, l.who, before) {
		out.request.last = l.last
		return out
	}
	h := p.all()
	got := h.match(contents, l.who)
	base := int32(-1)
	known := make(map[uint64]bool)
	if before != nil {
		base = h.answerOf(got, before.row)
	}
	if base >= 0 {
		out.read = slices.Clip(before.read)
		for _, hash := range before.read {
			known[hash] = true
		}
	}
	out.request.last = l.last
	out.list(h, got, base, known)
	if got.foreign {
		out.request = lastRequest{}
	}
	return out
}

// entry is something that a call has read, at its place in the session.
type entry struct {
	at       int32
	hash     uint64
	call     string // of a result
	digest   string
	name     string // of an answer
	response bool
}

// list takes what is not known, the newest first, behind the answer that stands for the rest.
func (l *readList) list(h *history, got held, base int32, known map[uint64]bool) {
	l.unmatched = got.unmatched
	var entries []entry
	for i := range got.responses {
		r := &h.responses[i]
		digest := r.digest.String()
		e := entry{at: r.at, call: r.call, digest: digest, response: true}
		e.hash = hashOf("result", r.call, digest, strconv.Itoa(h.times(i)))
		entries = append(entries, e)
	}
	for i := range got.answers {
		if i != base {
			a := &h.answers[i]
			entries = append(entries, entry{at: a.at, hash: hashOf("answer", a.event), name: h.name(i)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.call, b.call), cmp.Compare(a.digest, b.digest))
	})
	size := 0
	if base >= 0 {
		a := &h.answers[base]
		l.base = h.name(base)
		l.read = append(l.read, hashOf("answer", a.event))
	}
	for _, e := range entries {
		if known[e.hash] {
			continue
		}
		if size += len(e.call) + len(e.digest) + len(e.name) + len(`"":"",`); size > maxRead {
			l.cut = true
			break
		}
		switch {
		case !e.response:
			l.answers = append(l.answers, e.name)
		case l.results[e.call] != "":
			l.unmatched++ // a row has one result for each id, the newest
			continue
		default:
			if l.results == nil {
				l.results = make(map[string]string)
			}
			l.results[e.call] = e.digest
		}
		l.read = append(l.read, e.hash)
	}
}

// write writes attributes.adk.read.
func (l *readList) write(d jsonenc.Doc) {
	if l == nil || len(l.results) == 0 && len(l.answers) == 0 && l.base == "" && l.unmatched == 0 {
		return
	}
	d.Key("read")
	d.Open('{')
	d.OptStr("base", l.base)
	if len(l.results) > 0 {
		d.Any("results", l.results)
	}
	if len(l.answers) > 0 {
		d.Any("answers", l.answers)
	}
	if l.unmatched > 0 {
		d.Int("unmatched", int64(l.unmatched))
	}
	if l.cut {
		d.Bool("cut", true)
	}
	d.Close('}')
}

// wrote remembers the row of an answer and its list. Later rows name it.
func (rec *Recorder) wrote(r *Run, l *llmSpan, list *readList, event string) {
	r.mu.Lock()
	l.row.set(event)
	l.agent.answered = l.row
	r.mu.Unlock()
	switch {
	case list == nil || list.key == conversationKey{}:
	case event == "":
		rec.conversations.Remove(list.key) // a row that is not there lists nothing
	default:
		if list.cut || list.unmatched > 0 {
			list.request = lastRequest{} // the next row may list more of the contents
		}
		rec.conversations.Add(list.key, &conversation{l.row, list.read, list.request})
	}
}

// answerOf returns the row of the model call whose answer an event is, and remembers it. It returns
// "" for any other event.
func (rec *Recorder) answerOf(r *Run, a *agentSpan, ev *session.Event) (row rowID) {
	if ev.Content == nil || !answers(ev.Content) {
		return row
	}
	r.mu.Lock()
	row, a.answered = a.answered, rowID{}
	r.mu.Unlock()
	if row != (rowID{}) {
		rec.answerRows.add(r.Session, ev.ID, row)
	}
	return row
}

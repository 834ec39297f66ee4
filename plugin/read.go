// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"
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

// of returns the rows of a session.
func (a *answerRows) of(s record.Session) []answerRow {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, _ := a.sessions.Get(s)
	return slices.Clone(rows)
}

// conversationKey names what one agent on one branch and in one scope of a session sends
// to its model.
type conversationKey struct {
	session              record.Session
	agent, branch, scope string
}

// conversation is the last model call of a conversation. row ended it. shown has the identities of what
// its request held, as far as this row and the rows that it names list it. It is never changed.
type conversation struct {
	row   rowID
	shown []uint64
}

// newConversations returns the memory of conversations, so that a row lists only what is new. A
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

	key conversationKey
	// shown has the identities of what the request held and rows list.
	shown []uint64
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
	p := r.past
	out := &readList{key: conversationKey{r.Session, l.who.agent, l.who.branch, l.who.scope}}
	before, _ := rec.conversations.Get(out.key)
	p.mu.Lock()
	defer p.mu.Unlock()
	out.list(p, p.held(l.request.Contents, l.who, before))
	l.request = nil
	return out
}

// entry is something that a call has read.
type entry struct {
	i      int    // its number among the parts
	call   string // of a result
	digest string
	name   string // of an answer
}

// list takes what is new, the newest first, behind the answer that stands for the rest.
func (l *readList) list(p *past, h held) {
	l.unmatched = h.unmatched
	if h.base >= 0 {
		l.base = p.name(h.base)
	}
	size := 0
	for end := len(h.parts); end > 0 && !l.cut; {
		begin := end - 1
		for begin > 0 && h.parts[begin-1].at == h.parts[end-1].at {
			begin--
		}
		for _, e := range p.entries(h.parts, begin, end) {
			if size += len(e.call) + len(e.digest) + len(e.name) + len(`"":"",`); size > maxRead {
				l.cut = true
				break
			}
			h.parts[e.i].known = l.take(e)
		}
		end = begin
	}
	l.shown = make([]uint64, 0, len(h.ids))
	for i, id := range h.ids {
		if h.parts[i].known {
			l.shown = append(l.shown, id)
		}
	}
}

// entries returns the entries of those parts of one event that rows do not list yet.
func (p *past) entries(parts []heldPart, begin, end int) (entries []entry) {
	for i := begin; i < end; i++ {
		switch h := &parts[i]; {
		case h.known:
		case h.part == anAnswer:
			entries = append(entries, entry{i: i, name: p.name(h.at)})
		default:
			digest := p.digest(h.at, h.part)
			entries = append(entries, entry{i: i, call: p.response(h.at, h.part).ID, digest: digest.String()})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.digest, b.digest)) })
	return entries
}

// take puts an entry on the list, and reports whether it stands there then.
func (l *readList) take(e entry) bool {
	switch {
	case e.name != "":
		l.answers = append(l.answers, e.name)
	case l.results[e.call] == e.digest:
	case l.results[e.call] != "":
		l.unmatched++ // a row has one result for each id, the newest
		return false
	default:
		if l.results == nil {
			l.results = make(map[string]string)
		}
		l.results[e.call] = e.digest
	}
	return true
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
	if list == nil || list.shown == nil {
		return
	}
	if event == "" {
		rec.conversations.Remove(list.key) // a row that is not there lists nothing
		return
	}
	rec.conversations.Add(list.key, &conversation{row: l.row, shown: list.shown})
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

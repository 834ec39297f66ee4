// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// shownResult is a result in a request, in its own form or as ADK's text for another agent.
type shownResult struct {
	tool, call   string
	by           string // the agent that called, in a text
	args, digest jsonenc.Digest
	client       bool // the user's message brought it
	agent        bool // the name is an agent's: it may be the agent's words
	value, input any  // the result, and the arguments of the call if the request shows them
}

// words are a text in a request that no user wrote: the words of an agent, or the output of a node.
type words struct {
	by     string // "" where the request does not say whose they are
	digest jsonenc.Digest
}

// shown is what the row of a model's answer lists: what its request showed.
type shown struct {
	// base is the answer before in the conversation: the request began with all that it lists.
	base    string
	results []shownResult
	words   []words

	key     conversationKey
	request lastRequest
}

// maxShown bounds each of the two lists of one row, in bytes. The newest are on it: what an agent looks up
// again must be there.
const maxShown = 32 << 10

// maxWords is how many of the words before it are looked at for one that is listed already.
const maxWords = 400

// conversationKey names what one agent on one branch and in one scope of a session sends
// to its model.
type conversationKey struct {
	session              record.Session
	agent, branch, scope string
	rewinds              int // what was left begins no conversation that goes on
}

// conversation is the last model call of a conversation: the row that ended it, and its request. It
// is never changed.
type conversation struct {
	row     rowID
	request lastRequest
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

// shown lists what the model was shown that gave the answer of l, nil where nothing is known. The
// request is looked at when the answer is there, because callbacks may have changed it since it was
// recorded. Of several answers to one request those behind the first name the first.
func (rec *Recorder) shown(r *Run, l *llmSpan) *shown {
	if l.first != nil && l.first.row != (rowID{}) {
		return &shown{base: l.first.row.String()}
	}
	if l.request == nil || r.past == nil {
		return nil
	}
	contents := l.request.Contents
	l.request = nil
	out := &shown{key: conversationKey{r.Session, l.who.agent, l.who.branch, l.who.scope, len(r.Rewinds)}}
	before, _ := rec.conversations.Get(out.key)
	from := out.request.goOn(&rec.encoder, contents, before)
	if from > 0 {
		out.base = before.row.String()
	}
	list := lister{shown: out, enc: &rec.encoder, past: r.past, agent: l.who.agent}
	for _, c := range contents[from:] {
		if c != nil {
			list.content(c)
		}
	}
	for _, open := range list.called {
		if len(open) > 0 { // the next row lists all anew, or it would not have the arguments of these calls
			out.request = lastRequest{}
		}
	}
	return out
}

// lister lists contents of a request.
type lister struct {
	*shown
	enc   *encoder
	past  *past
	agent string // whose request it is
	// called are the calls in the last content with calls, by author; "" stands for the reader.
	called map[string][]shownCall
}

// shownCall is a call whose result may follow.
type shownCall struct {
	tool, id string
	value    any
	args     jsonenc.Digest
}

// called is the output of a step that asks for a call.
func called(tool string, args jsonenc.Digest) any { return []any{"call", tool, args.String()} }

func (l *lister) content(c *genai.Content) {
	calls := false
	for _, part := range c.Parts {
		switch {
		case part == nil:
		case part.FunctionCall != nil:
			fc := part.FunctionCall
			l.call("", shownCall{fc.Name, fc.ID, fc.Args, l.enc.digest(fc.Args)}, !calls)
			calls = true
		case part.FunctionResponse != nil && c.Role != genai.RoleModel:
			fr := part.FunctionResponse
			if pauseOf(fr.Name).request == "" {
				l.result(shownResult{tool: fr.Name, call: fr.ID, digest: l.enc.digest(fr.Response), value: fr.Response})
			}
		case part.Text == "" || part.Thought:
		case c.Role == genai.RoleModel:
			l.output(l.agent, part.Text)
		default:
			l.text(part.Text, &calls)
		}
	}
}

// call notes a call of an author, "" for the reader. first says that it is the first one in its content.
func (l *lister) call(author string, c shownCall, first bool) {
	l.output(cmp.Or(author, l.agent), called(c.tool, c.args))
	if l.called == nil {
		l.called = make(map[string][]shownCall)
	}
	if first {
		l.called[author] = nil
	}
	l.called[author] = append(l.called[author], c)
}

// result adds a result, with the arguments of its call: the one with its id, or the next one of the
// tool. ADK shows results in the order of their calls.
func (l *lister) result(s shownResult) {
	calls := l.called[s.by]
	if i := slices.IndexFunc(calls, func(c shownCall) bool { return c.tool == s.tool && c.id == s.call }); i >= 0 {
		s.args, s.input = calls[i].args, calls[i].value
		l.called[s.by] = slices.Delete(calls, i, i+1)
	}
	s.client = s.by == "" && l.past.isClients(s.tool, s.call, s.digest)
	if s.agent = l.past.isAgent(s.tool); s.agent {
		l.output(s.tool, s.value)
		if members, _ := s.value.(map[string]any); len(members) == 1 {
			// As ADK writes the output of a task, and that of a single turn.
			if v := cmp.Or(members["output"], members["result"]); v != nil {
				l.output(s.tool, v)
			}
		}
	}
	l.results = append(l.results, s)
}

// toldContext stands before the words of another agent.
const toldContext = "For context:"

// text looks at a text that is not the model's own. ADK writes the words of other agents, and the
// results of their tools, as texts. A user may write the same: what users wrote is left out, or a
// reader who is told of a result would count as one who read it.
func (l *lister) text(text string, calls *bool) {
	if text == toldContext || l.past.isUsers(text) {
		return
	}
	if author, rest, ok := foreign(text); ok {
		if said, ok := strings.CutPrefix(rest, "said: "); ok {
			l.output(author, said)
			return
		}
		if tool, args, ok := cutTool(rest, "called tool `", "` with parameters: "); ok {
			if v, ok := decoded(args); ok {
				l.call(author, shownCall{tool: tool, value: v, args: l.enc.digest(v)}, !*calls)
				*calls = true
				return
			}
		}
		if tool, result, ok := cutTool(rest, "`", "` tool returned result: "); ok {
			if v, ok := decoded(result); ok {
				l.result(shownResult{tool: tool, by: author, digest: l.enc.digest(v), value: v})
				return
			}
		}
	}
	l.output("", text) // the input of a node or a delegate
	if v, ok := valueOf(text); ok {
		l.output("", v)
		members, _ := v.(map[string]any) // as of a node that joins others
		for name, member := range members {
			l.output(name, member)
		}
	}
}

// output adds the output of a step.
func (l *lister) output(by string, v any) {
	if w := (words{by, l.enc.digest(v)}); !slices.Contains(l.words[max(0, len(l.words)-maxWords):], w) {
		l.words = append(l.words, w)
	}
}

// foreign splits "[author] rest".
func foreign(text string) (author, rest string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", "", false
	}
	return strings.Cut(text[1:], "] ")
}

// cutTool splits "<before>tool<between>rest".
func cutTool(text, before, between string) (tool, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, before)
	if !ok {
		return "", "", false
	}
	return strings.Cut(text, between)
}

// decoded returns the arguments or the result in a text. ADK writes null for none, which rows have as {}.
func decoded(text string) (v any, ok bool) {
	if v, ok = jsonenc.Decode([]byte(text)); ok && v == nil {
		v = map[string]any{}
	}
	return v, ok
}

// valueOf returns the JSON object or list that a text is.
func valueOf(text string) (v any, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	return jsonenc.Decode([]byte(text))
}

// texts yields the texts of a content.
func texts(c *genai.Content) iter.Seq[string] {
	return func(yield func(string) bool) {
		if c == nil {
			return
		}
		for _, p := range c.Parts {
			if p != nil && p.Text != "" && !yield(p.Text) {
				return
			}
		}
	}
}

// newest returns the end of a list of which a row has room for all.
func newest[T interface{ size() int }](list []T) []T {
	from, size := len(list), 0
	for ; from > 0; from-- {
		if size += list[from-1].size(); size > maxShown {
			break
		}
	}
	return list[from:]
}

func (s shownResult) size() int {
	return len(s.tool) + len(s.call) + len(s.by) + len(`{"tool":"","call":"","by":"","args":"","result":""},`) + 2*len(s.digest)
}

func (w words) size() int { return len(w.by) + len(w.digest) + len(`{"by":"","said":""},`) }

// write writes attributes.adk.shown.
func (s *shown) write(d jsonenc.Doc) {
	if s == nil || len(s.results) == 0 && len(s.words) == 0 && s.base == "" {
		return
	}
	results, words := newest(s.results), newest(s.words)
	d.Key("shown")
	d.Open('{')
	d.OptStr("base", s.base)
	if len(results) > 0 {
		d.Key("results")
		d.Open('[')
		for i := range results {
			results[i].write(d)
		}
		d.Close(']')
	}
	if len(words) > 0 {
		d.Key("words")
		d.Open('[')
		for _, w := range words {
			d.Open('{')
			d.OptStr("by", w.by)
			d.ID("said", w.digest[:])
			d.Close('}')
		}
		d.Close(']')
	}
	if len(results) < len(s.results) || len(words) < len(s.words) {
		d.Bool("cut", true)
	}
	d.Close('}')
}

func (s shownResult) write(d jsonenc.Doc) {
	d.Open('{')
	d.Str("tool", s.tool)
	d.OptStr("call", s.call)
	d.OptStr("by", s.by)
	if s.args != (jsonenc.Digest{}) {
		d.ID("args", s.args[:])
	}
	d.ID("result", s.digest[:])
	if s.client {
		d.Bool("client", true)
	}
	if s.agent {
		d.Bool("agent", true)
	}
	d.Close('}')
}

// said writes attributes.adk.said: the digests under which an answer may come back as words. These are
// its texts, one by one and as a whole, the value that they are, and its calls.
func (rec *Recorder) said(d jsonenc.Doc, r *Run, c *genai.Content) {
	if c == nil || c.Role == genai.RoleUser {
		return
	}
	var list []jsonenc.Digest
	add := func(v any) {
		if digest := rec.digest(v); !slices.Contains(list, digest) {
			list = append(list, digest)
		}
	}
	var whole strings.Builder
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			fc := p.FunctionCall
			add(called(fc.Name, rec.digest(fc.Args)))
			if len(fc.Args) > 0 && r.isAgent(fc.Name) {
				add(fc.Args) // what the agent is told to do
			}
		case p.Text != "" && !p.Thought:
			add(p.Text)
			whole.WriteString(p.Text)
		}
	}
	if whole.Len() > 0 {
		add(whole.String())
		if v, ok := valueOf(whole.String()); ok {
			add(v)
		}
	}
	if len(list) == 0 {
		return
	}
	d.Key("said")
	d.Open('[')
	for _, digest := range list {
		d.Elem(digest.String())
	}
	d.Close(']')
}

// wrote remembers the row of an answer and its list. Later rows name it.
func (rec *Recorder) wrote(r *Run, l *llmSpan, list *shown, event string) {
	r.mu.Lock()
	l.row.set(event)
	l.agent.answered = l.row
	r.mu.Unlock()
	switch {
	case list == nil || list.key == conversationKey{}:
	case event == "":
		rec.conversations.Remove(list.key) // a row that is not there lists nothing
	default:
		rec.conversations.Add(list.key, &conversation{l.row, list.request})
	}
}

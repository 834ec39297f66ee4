// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// follower goes along the contents of a request and the events that ADK made them of. ADK makes a
// content of each event that the reader can see, in order, except that the results of calls stand
// behind the calls. A content copies the parts of its event, so the two have texts in one place in
// memory, and values inside of arguments and results too. It costs little to see that.
type follower struct {
	*past
	who   reader
	parts []heldPart
	// next is the first event that may still have a content, used has the places behind it that
	// have one.
	next int
	used []bool
	// asking is the place of the event of the last content if that is one of the reader, else -1.
	asking int
}

// reach bounds how far behind next an event is looked for. ADK moves only results, and mostly by a
// few places.
const reach = 256

// follow returns the results and answers that the contents hold, if they are all that the reader can
// see of the past, each once, and nothing else. Otherwise it is not ok, and only match can tell: if
// something was left out, one event may look like another.
func (p *past) follow(contents []*genai.Content, who reader) (parts []heldPart, ok bool) {
	f := follower{past: p, who: who, asking: -1, used: make([]bool, len(p.events)), parts: make([]heldPart, 0, len(contents))}
	for i, c := range contents {
		if c == nil || i == len(contents)-1 && goesOn(c) {
			continue
		}
		switch calls, results := countParts(c); {
		case results > 0:
			ok = calls == 0 && !says(c) && f.results(c, int32(i), results)
		case calls > 0 || says(c):
			ok = f.event(c, int32(i))
		default:
			continue // nothing that was read
		}
		if !ok {
			return nil, false
		}
	}
	for at := f.next; at < len(p.events); at++ {

	}
	return f.parts, true
}

// goesOn reports whether a content is the one that ADK adds if a model spoke last.
func goesOn(c *genai.Content) bool {
	return len(c.Parts) == 1 && c.Parts[0] != nil && c.Role == genai.RoleUser &&
		c.Parts[0].Text == "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs are needed."
}

// countParts counts the calls and the results in a content.
func countParts(c *genai.Content) (calls, results int) {
	for _, p := range c.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil:
			calls++
		case p.FunctionResponse != nil:
			results++
		}
	}
	return calls, results
}

// says reports whether a content has a text.
func says(c *genai.Content) bool {
	for _, p := range c.Parts {
		if p != nil && p.Text != "" {
			return true
		}
	}
	return false
}

// matters reports whether a part counts for what a model has read.
func matters(p *genai.Part) bool {
	return p != nil && (p.Text != "" || p.FunctionCall != nil || p.FunctionResponse != nil)
}

// shows reports whether ADK makes a content of an event for the reader.
func (f *follower) shows(ev *session.Event) bool {
	c := ev.Content
	if c == nil || c.Role == "" {
		return false
	}
	if p := placeOf(0, ev); !p.visible(f.who.branch, f.who.scope) {
		return false
	}
	any := false
	for _, p := range c.Parts {
		if !matters(p) {
			continue
		}
		any = true
		name := ""
		switch {
		case p.FunctionCall != nil:
			name = p.FunctionCall.Name
		case p.FunctionResponse != nil:
			name = p.FunctionResponse.Name
		}
		if name == toolconfirmation.FunctionCallName || name == credentialCallName {
			return false
		}
	}
	return any
}

// use notes that the event at a place has a content, or that none is to be expected.
func (f *follower) use(at int) {
	f.used[at] = true
	for f.next < len(f.events) && f.used[f.next] {
		f.next++
	}
}

// event finds the event of a content without results.
func (f *follower) event(c *genai.Content, in int32) bool {
	f.asking = -1
	for at := f.next; at < min(f.next+reach, len(f.events)); at++ {
		if f.used[at] {
			continue
		}
		ev := f.events[at]
		if !f.shows(ev) {
			f.use(at)
			continue
		}
		switch {
		case ev.Author != f.who.agent && ev.Author != genai.RoleUser:
			if !f.told(c, at, in) {
				continue
			}
		case sameContent(c, ev):
			f.asking = at
		default:
			continue
		}
		f.use(at)
		if ev.Author != genai.RoleUser && !excluded(ev.Content) {
			f.parts = append(f.parts, heldPart{at: int32(at), part: anAnswer, by: -1, in: in})
		}
		return true
	}
	return false
}

// results finds the n results in a content, which ADK places behind the content with their calls. It
// takes the results of several events together, and of several results of one call the last.
func (f *follower) results(c *genai.Content, in int32, n int) bool {
	by := f.asking
	f.asking = -1
	if by < 0 || len(c.Parts) > 64 {
		return false
	}
	calls := make([]string, 0, 16)
	for _, p := range f.events[by].Content.Parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		if slices.Contains(calls, p.FunctionCall.ID) || len(calls) == 64 {
			return false
		}
		calls = append(calls, p.FunctionCall.ID)
	}
	if n != len(calls) {
		return false // of calls with equal results nobody can tell which one is shown
	}
	var answered, found uint64 // the sets of calls with a result, and of parts with one, by their numbers
	for at := by + 1; n > 0; at++ {
		if at >= min(by+reach, len(f.events)) {
			return false
		}
		ev := f.events[at]
		if f.used[at] || ev.Author != f.who.agent && ev.Author != genai.RoleUser || ev.Content == nil || ev.Content.Role != c.Role || !f.shows(ev) {
			continue
		}
		only, part := true, int32(-1)
		for _, q := range ev.Content.Parts {
			if !matters(q) {
				continue
			}
			if q.FunctionResponse == nil {
				only = false
				continue
			}
			part++
			call := slices.Index(calls, q.FunctionResponse.ID)
			if call < 0 {
				only = false
				continue
			}
			for i, p := range c.Parts {
				if p == nil || p.FunctionResponse == nil || (found>>i|answered>>call)&1 != 0 || !sameResponse(p.FunctionResponse, q.FunctionResponse) {
					continue
				}
				found, answered = found|1<<i, answered|1<<call
				f.parts = append(f.parts, heldPart{at: int32(at), part: part, by: int32(by), in: in, pos: int32(i)})
				n--
			}
		}
		if only {
			f.use(at)
		}
	}
	return true
}

// sameContent reports whether a content is a copy of that of an event.
func sameContent(c *genai.Content, ev *session.Event) bool {
	if c.Role != ev.Content.Role || ev.Author != genai.RoleUser && c.Role != genai.RoleModel {
		return false
	}
	parts := ev.Content.Parts
	for _, p := range c.Parts {
		if !matters(p) {
			continue
		}
		for len(parts) > 0 && !matters(parts[0]) {
			parts = parts[1:]
		}
		if len(parts) == 0 || !samePart(p, parts[0]) {
			return false
		}
		parts = parts[1:]
	}
	return !slices.ContainsFunc(parts, matters)
}

func samePart(p, q *genai.Part) bool {
	if p.Text != q.Text || p.FunctionResponse != nil || q.FunctionResponse != nil {
		return false
	}
	a, b := p.FunctionCall, q.FunctionCall
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && sameID(a.ID, b.ID) && sameMap(a.Args, b.Args)
}

func sameResponse(a, b *genai.FunctionResponse) bool {
	return a.Name == b.Name && sameID(a.ID, b.ID) && sameMap(a.Response, b.Response)
}

// sameID reports whether a request shows the id of a call as shown. ADK leaves out those that it gave
// itself.
func sameID(shown, id string) bool {
	return shown == id || shown == "" && strings.HasPrefix(id, "adk-")
}

func sameMap(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !sameValue(v, w) {
			return false
		}
	}
	return true
}

// sameValue reports whether two values are equal. If they are one value it does not look into it.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case int:
		b, ok := b.(int)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && (reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() || sameMap(a, b))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, sameValue)
	}
	return reflect.DeepEqual(a, b)
}

// told reports whether a content tells what another agent said in the event at a place, as ADK has it,
// and takes the results that it tells of. It looks at the names of tools: what stands behind them is
// compared where it is new.
func (f *follower) told(c *genai.Content, at int, in int32) bool {
	ev, before, part := f.events[at], len(f.parts), int32(0)
	pos := nextPart(c.Parts, 0)
	ok := c.Role == genai.RoleUser && pos < len(c.Parts) && c.Parts[pos].Text == "For context:"
	for _, p := range ev.Content.Parts {
		if !ok {
			break
		}
		if !matters(p) {
			continue
		}
		pos = nextPart(c.Parts, pos+1)
		ok = pos < len(c.Parts) && tells(c.Parts[pos].Text, p, ev.Author)
		if p.FunctionResponse != nil {
			if p.Text == "" {
				f.parts = append(f.parts, heldPart{at: int32(at), part: part, by: -1, in: in, pos: int32(pos)})
			}
			part++
		}
	}
	if ok && nextPart(c.Parts, pos+1) == len(c.Parts) {
		return true
	}
	f.parts = f.parts[:before]
	return false
}

// nextPart returns the number of the first part that matters, not before i.
func nextPart(parts []*genai.Part, i int) int {
	for i < len(parts) && !matters(parts[i]) {
		i++
	}
	return i
}

// How ADK tells of the parts of what another agent said, behind the agent's name in brackets.
const (
	toldText               = "said: "
	toldCall, toldArgs     = "called tool `", "` with parameters: "
	toldResult, toldReturn = "`", "` tool returned result: "
)

// tells reports whether a text tells of a part, as far as the name of a tool.
func tells(text string, p *genai.Part, author string) bool {
	rest, ok := afterAuthor(text, author)
	if !ok {
		return false
	}
	var name string
	switch {
	case p.Text != "":
		rest, ok = strings.CutPrefix(rest, toldText)
		return ok && rest == p.Text
	case p.FunctionCall != nil:
		name, _, ok = cutTool(rest, toldCall, toldArgs)
		return ok && name == p.FunctionCall.Name
	}
	name, _, ok = cutTool(rest, toldResult, toldReturn)
	return ok && name == p.FunctionResponse.Name
}

// afterAuthor returns what stands behind the name of an agent in a text.
func afterAuthor(text, author string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, "["); ok {
		if rest, ok = strings.CutPrefix(rest, author); ok {
			rest, ok = strings.CutPrefix(rest, "] ")
		}
	}
	return rest, ok
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// maxAnswer bounds the payloads in one answer, in bytes: a page asks again for the rest. The first
	// row is in it at any size.
	maxAnswer = 4 << 20
	// keptFor is how long the rows of a session are kept for a page that opens their payloads.
	keptFor = time.Minute
)

// readings are the rows of the sessions that pages have read last. A page asks for payloads step by
// step, and a source has to read the whole session to answer: a dataset is asked and paid for once.
type readings struct {
	mu   sync.Mutex
	list []reading // the newest first
}

type reading struct {
	session record.Session
	rows    []inspect.Row
	at      time.Time
	bytes   int
}

// keep takes over the rows of a session, and forgets what is too old or too much.
func (r *readings) keep(s *inspect.Session, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := reading{session: s.Session, rows: s.Rows, at: at}
	for i := range s.Rows {
		n.bytes += rowBytes(&s.Rows[i])
	}
	total := n.bytes
	r.list = append([]reading{n}, slices.DeleteFunc(r.list, func(old reading) bool {
		if old.session == n.session || at.Sub(old.at) >= keptFor || total+old.bytes > MaxBytes {
			return true
		}
		total += old.bytes
		return false
	})...)
}

// rows returns the rows of a session that was read within the last minute.
func (r *readings) rows(s record.Session, now time.Time) []inspect.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.session == s && now.Sub(x.at) < keptFor {
			return x.rows
		}
	}
	return nil
}

// forget removes a session that the source does not have any more.
func (r *readings) forget(s record.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(x reading) bool { return x.session == s })
}

// look reads a session, and keeps its rows.
func (h *handler) look(ctx context.Context, s record.Session) (*inspect.Session, error) {
	seen, err := inspect.Look(ctx, h.Source, s, h.Now())
	if errors.Is(err, inspect.ErrNotFound) {
		h.readings.forget(s)
	}
	if err != nil {
		return nil, err
	}
	h.readings.keep(seen, time.Now())
	return seen, nil
}

// payloads answers with the payloads of the rows from one place to another, or with the first of them.
// The page compares the ids of the events: places may have changed.
func (h *handler) payloads(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	from, to, err := places(v)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s := sessionOf(v)
	rows := h.readings.rows(s, time.Now())
	if len(rows) < to {
		seen, err := h.look(r.Context(), s)
		if err != nil {
			h.unseen(w, r, s, err)
			return
		}
		rows = seen.Rows
	}
	out, size := []inspect.Row{}, 0
	for i := from; i < min(to, len(rows)); i++ {
		if size += rowBytes(&rows[i]); size > maxAnswer && len(out) > 0 {
			break
		}
		out = append(out, rows[i])
	}
	replyLong(w, r, map[string]any{"rows": out})
}

// places reads from and to: 0 <= from < to.
func places(v url.Values) (from, to int, err error) {
	from, err = strconv.Atoi(v.Get("from"))
	if err == nil {
		to, err = strconv.Atoi(v.Get("to"))
	}
	if err != nil || from < 0 || to <= from {
		return 0, 0, errors.New("from=" + strconv.Quote(v.Get("from")) + " to=" + strconv.Quote(v.Get("to")) + ": use the places of rows, counted from 0, such as from=0 and to=10")
	}
	return from, to, nil
}

func sessionOf(v url.Values) record.Session {
	return record.Session{App: v.Get("app"), User: v.Get("user"), ID: v.Get("id")}
}

// unseen answers that a session could not be read.
func (h *handler) unseen(w http.ResponseWriter, r *http.Request, s record.Session, err error) {
	if errors.Is(err, inspect.ErrNotFound) {
		fail(w, http.StatusNotFound, "there is no session "+strconv.Quote(s.ID)+" of this application and user")
		return
	}
	h.failed(w, r, err)
}

func rowBytes(r *inspect.Row) int { return len(r.Content) + len(r.ContentParts) + len(r.Attributes) }

// maxSaid is how much of a message the graph shows, in bytes.
const maxSaid = 240

// gist is what the views need of the payload of a row before anybody opens it.
type gist struct {
	// Said is the beginning of a message of the user.
	Said string `json:"said,omitempty"`
	// Calls are the names of the tools that a model called for. Answers says that it answered instead.
	Calls   []string `json:"calls,omitempty"`
	Answers bool     `json:"answers,omitempty"`
	// Again says that the system prompt of a request, or the instruction of an agent, is as before.
	Again bool `json:"again,omitempty"`
	// Before is how many messages of a request were in the request before.
	Before int `json:"before,omitempty"`
}

// gistsOf reads the payloads of all rows of a session. A payload that cannot be read gives an empty gist.
func gistsOf(rows []inspect.Row) []gist {
	type request struct {
		system json.RawMessage
		prompt []json.RawMessage
	}
	out := make([]gist, len(rows))
	last := make(map[string]request) // by agent
	instructions := make(map[string]bool)
	for i := range rows {
		r, g := &rows[i], &out[i]
		switch r.EventType {
		case record.UserMessageReceived:
			g.Said = text.Clip(unquoted(field(r.Content, "text_summary")), maxSaid)
		case record.AgentStarting:
			key := r.Agent + "\n" + string(r.Content)
			g.Again = instructions[key]
			instructions[key] = true
		case record.LLMRequest:
			if len(r.Content) == 0 {
				continue
			}
			now := request{system: field(r.Content, "system_prompt"), prompt: messages(r.Content)}
			if before, ok := last[r.Agent]; ok {
				g.Again = len(now.system) > 0 && bytes.Equal(now.system, before.system)
				for g.Before < min(len(now.prompt), len(before.prompt)) && bytes.Equal(now.prompt[g.Before], before.prompt[g.Before]) {
					g.Before++
				}
			}
			last[r.Agent] = now
		case record.LLMResponse:
			g.Calls = calls(r)
			g.Answers = len(g.Calls) == 0 && len(field(r.Content, "response")) > 0
		}
	}
	return out
}

// calls are the names of the tools that a model called for, "" for one without a name.
func calls(r *inspect.Row) (names []string) {
	var list []struct {
		Name any `json:"name"`
	}
	if json.Unmarshal(field(r.Attributes, "function_calls"), &list) != nil {
		return nil
	}
	for _, c := range list {
		name, _ := c.Name.(string)
		names = append(names, name)
	}
	return names
}

// messages are those of a request: its prompt may be a list, or one message.
func messages(content json.RawMessage) []json.RawMessage {
	prompt := field(content, "prompt")
	var list []json.RawMessage
	if json.Unmarshal(prompt, &list) == nil || len(prompt) == 0 {
		return list
	}
	return []json.RawMessage{prompt}
}

// called is the text of the call that a row begins, or of what came of it: JSON in one line.
func called(r *inspect.Row) string {
	name := map[string]string{record.ToolStarting: "args", record.ToolCompleted: "result"}[r.EventType]
	var b bytes.Buffer
	if json.Compact(&b, field(r.Content, name)) != nil {
		return ""
	}
	return b.String()
}

// field returns a field of an object; nil if it is missing, null or empty.
func field(object json.RawMessage, name string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	if v := fields[name]; string(v) != "null" && string(v) != `""` {
		return v
	}
	return nil
}

// unquoted returns the text that JSON stands for, or JSON that is no text as it is.
func unquoted(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	return s
}

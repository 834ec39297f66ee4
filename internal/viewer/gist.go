// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// maxSaid is how many characters of a message the graph shows.
const maxSaid = 120

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
			g.Said = shortened(unquoted(field(r.Content, "text_summary")), maxSaid)
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

// shortened returns a text of so many characters at most: its first ones.
func shortened(s string, most int) string {
	n := 0
	cut := len(s)
	for i := range s {
		switch n++; n {
		case most:
			cut = i
		case most + 1:
			return s[:cut] + "…"
		}
	}
	return s
}

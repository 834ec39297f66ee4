// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"iter"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
)

// MetadataKey is the key of an event's metadata under which the package writes.
const MetadataKey = "flow"

// Keys below [MetadataKey].
const (
	keyRun     = "run"     // the id of the run, on all its events
	keyGraph   = "graph"   // the graph, on the first event
	keyInput   = "input"   // what the run began with, on the first event
	keyAuthor  = "author"  // who asked; the author of a question is the agent of the flow
	keyDone    = "done"    // the node has ended without an output of its own
	keyN       = "n"       // the number of the step in a graph
	keyEdge    = "edge"    // the edge that was taken
	keyTo      = "to"      // the node that it leads to
	keyRead    = "read"    // the values that its conditions read
	keyAtCap   = "at_cap"  // the edge was taken because no iterations were left
	keyRefused = "refused" // why a call of the node was refused
	keyError   = "error"   // with what error the node ended the run
	keyEnd     = "end"     // how the run was ended from outside
	keyAgain   = "again"   // the node begins anew: what it did before is void
)

// meta returns what the package wrote on an event, nil for nothing.
func meta(ev *session.Event) map[string]any {
	m, _ := ev.CustomMetadata[MetadataKey].(map[string]any)
	return m
}

// note writes on an event.
func note(ev *session.Event, key string, value any) {
	m := meta(ev)
	if m == nil {
		m = make(map[string]any, 8)
		if ev.CustomMetadata == nil {
			ev.CustomMetadata = make(map[string]any, 1)
		}
		ev.CustomMetadata[MetadataKey] = m
	}
	m[key] = value
}

// noted returns a text that stands on the event, "" for none.
func noted(ev *session.Event, key string) string {
	s, _ := meta(ev)[key].(string)
	return s
}

// pathOf returns the path of the node that emitted the event.
func pathOf(ev *session.Event) string {
	if ev.NodeInfo == nil {
		return ""
	}
	return ev.NodeInfo.Path
}

// below says whether a path is that of a node under another one, or the same.
func below(path, parent string) bool {
	return strings.HasPrefix(path, parent) && (len(path) == len(parent) || path[len(parent)] == '/')
}

// child returns the name of the node of a level that the path leads to, and whether the path ends there.
func child(path, level string) (name string, ends bool) {
	if len(path) <= len(level) || !below(path, level) {
		return "", false
	}
	first, _, deeper := strings.Cut(path[len(level)+1:], "/")
	name, _, _ = strings.Cut(first, "@")
	return name, !deeper
}

// fromUser says whether a client sent the event.
func fromUser(ev *session.Event) bool { return ev.Author == "user" && ev.NodeInfo == nil }

// outputOf returns the output that an event carries.
func outputOf(ev *session.Event) (any, bool) {
	if ev.Output != nil {
		return ev.Output, true
	}
	if ev.NodeInfo != nil && ev.NodeInfo.MessageAsOutput && ev.Content != nil {
		return textOf(ev.Content), true
	}
	return nil, false
}

// textOf returns what a content says, without thoughts.
func textOf(c *genai.Content) string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p != nil && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// responses are the function responses of a content that have an id.
func responses(c *genai.Content) iter.Seq[*genai.FunctionResponse] {
	return func(yield func(*genai.FunctionResponse) bool) {
		if c == nil {
			return
		}
		for _, p := range c.Parts {
			if p != nil && p.FunctionResponse != nil && p.FunctionResponse.ID != "" && !yield(p.FunctionResponse) {
				return
			}
		}
	}
}

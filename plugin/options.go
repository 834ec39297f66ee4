// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Options select the parts of a run that are written, and their form. The zero value
// writes everything in the shape of the row contract.
type Options struct {
	// Allow names the event types that are written; empty means all. Deny names
	// types that are not, and wins. Neither applies to the types that tell whether the
	// record of a run and of an approval is complete, see [Required] and IsApproval.
	Allow, Deny []string
	// IsApproval reports whether rows of a type are part of the record of an approval.
	// These are always written, whole. Default none.
	IsApproval func(eventType string) bool
	// Content says by event type how much of the payload is written: of content,
	// content_parts, and of what stands in their place under attributes; the policy of
	// STATE_DELTA also holds for the state of the session. Error messages, entities that
	// a tool declares and what Metadata lists stay.
	Content map[string]config.ContentPolicy
	// Format changes the content of a row. It gets the event type and the JSON of the
	// content, and returns the JSON that is written instead, within the same limits and
	// redaction. It must not keep what it gets. Where it fails or panics the content is
	// "[FORMATTER_FAILED]". It also gets the state of a session and its changes, as
	// STATE_DELTA. Other copies of the content as text are left out: text and code in
	// content_parts, also in the store, plain answers, arguments of function_calls,
	// messages of remote agents. Error messages, and entries that code or Metadata
	// names, stay. PromptDelta has no effect beside it. It runs on the callback's
	// goroutine, for several runs at once.
	Format func(eventType string, content []byte) ([]byte, error)
	// Classify looks at a tool's result. An error it returns makes the call a
	// TOOL_ERROR with that message; nil leaves it what it is. A panic is contained.
	// It runs on the callback's goroutine, for several calls at once.
	Classify func(t tool.Tool, args, result map[string]any) error
	// ArgsAtEnd reports whether the rows that end calls of a tool well hold the arguments
	// too, as they were at the end. A rule reads there what a result lacks. Default none.
	// It runs on the callback's goroutine, for several calls at once.
	ArgsAtEnd func(tool string) bool
	// PromptDelta writes only the messages of a prompt that the earlier request of
	// the same session, agent and branch did not hold, and a reference to its row.
	PromptDelta bool
	// Chunks writes an LLM_RESPONSE, marked as partial, for each chunk of a
	// streamed answer, beside the one with the whole answer.
	Chunks bool
	// NoSessionState leaves the session's state out. By default it is written once
	// per session, and what changed since at the start of each later run.
	NoSessionState bool
	// Tags stand under attributes.custom_tags of every row.
	Tags map[string]string
	// Metadata lists the keys of an event's CustomMetadata that are written under
	// attributes.custom_metadata: exact, or as a prefix ending in *.
	Metadata []string
	// FinalTools names tools whose arguments are the agent's final answer.
	FinalTools []string
	// Redaction adds secret keys and patterns to the built-in ones.
	Redaction jsonenc.Redaction
	// Offload stores large and binary parts. Nil leaves them out of the record.
	Offload Offloader
	// RunEnded is called at the end of each run that ADK ends, after its last row, and
	// the run waits for it. It is not called for an agent that runs as a tool. A panic is
	// contained. Default nil.
	RunEnded func(ctx context.Context)
	// ObjectAuthorizer is the connection that object_ref of a stored part names.
	ObjectAuthorizer string
}

// Offloader stores a part outside of the row.
type Offloader interface {
	// Put takes a copy of data without blocking and without I/O and returns where
	// it will stand, or false when it cannot take it, which it counts.
	Put(name, contentType string, data []byte) (uri string, ok bool)
}

// Required reports whether rows of the type are always written, whole, besides those of
// Options.IsApproval: without them nobody could tell whether the record of a run is complete,
// or whether a result is the one that models read.
func Required(eventType string) bool {
	switch eventType {
	case record.InvocationStarting, record.InvocationCompleted, record.InvocationError, record.ToolResultRewritten:
		return true
	}
	return false
}

// policy is what the options say about one event type.
type policy struct {
	skip    bool
	content config.ContentPolicy
}

// policies resolves the options by event type. Types without an entry are written
// whole. gaps says what the record lacks for an approval.
func (o *Options) policies() (m map[string]policy, gaps []string, err error) {
	m = make(map[string]policy)
	types := record.EventTypes()
	for _, t := range slices.Concat(o.Allow, o.Deny, slices.Sorted(maps.Keys(o.Content))) {
		if !slices.Contains(types, t) {
			return nil, nil, fmt.Errorf("contextgraph: %q is not an event type; they are %s", t, strings.Join(types, ", "))
		}
	}
	for _, t := range types {
		p := policy{
			skip:    slices.Contains(o.Deny, t) || len(o.Allow) > 0 && !slices.Contains(o.Allow, t),
			content: o.Content[t],
		}
		switch p.content {
		case "", config.ContentFull:
			p.content = ""
		case config.ContentDigest, config.ContentNone:
		default:
			return nil, nil, fmt.Errorf("contextgraph: content of %s: %q is not a policy; use full, digest or none", t, p.content)
		}
		if Required(t) || o.IsApproval != nil && o.IsApproval(t) {
			if slices.Contains(o.Deny, t) || p.content != "" {
				return nil, nil, fmt.Errorf("contextgraph: %s cannot be left out or reduced: it tells whether the record of a run and of an approval is complete; remove it from Deny and Content", t)
			}
			continue
		}
		if p == (policy{}) {
			continue
		}
		m[t] = p
		rows, payload := schema.Evidence(t)
		if rows && p.skip {
			gaps = append(gaps, fmt.Sprintf("the configuration leaves %s out of the record: record it", t))
		} else if payload && p.content != "" {
			gaps = append(gaps, fmt.Sprintf("the configuration leaves the content of %s out of the record: record it in full", t))
		}
	}
	return m, gaps, nil
}

// listed reports whether a key is on an allowlist of exact keys and prefixes.
func listed(allow []string, key string) bool {
	for _, a := range allow {
		if prefix, ok := strings.CutSuffix(a, "*"); ok && strings.HasPrefix(key, prefix) || a == key {
			return true
		}
	}
	return false
}

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
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Options hold the settings of a recorder that only code can give. The zero value gives none.
type Options struct {
	// IsApproval reports whether rows of a type are part of the record of an approval.
	// These are always written, whole, as those are that tell whether the record of a run is
	// complete. Default none.
	IsApproval func(eventType string) bool
	// Format changes the content of a row. It gets the event type and the JSON of the content, and
	// returns the JSON that is written instead, within the same limits and redaction. It must not
	// keep its arguments. If it fails or panics, the content is "[FORMATTER_FAILED]". It also gets
	// the state of a session and its changes, as STATE_DELTA.
	//
	// Other copies of the content as text are left out of the row: text and code in content_parts,
	// also in the store, plain answers, arguments of function_calls, messages of remote agents.
	// Error messages stay, and so do entries that code or Metadata names. [config.PromptDelta] has
	// no effect beside Format. Format runs on the callback's goroutine, for several runs at once.
	Format func(eventType string, content []byte) ([]byte, error)
	// Classify looks at a tool's result. An error it returns makes the call a
	// TOOL_ERROR with that message; nil leaves it what it is. A panic is contained.
	// It runs on the callback's goroutine, for several calls at once.
	Classify func(t tool.Tool, args, result map[string]any) error
	// ArgsAtEnd reports whether the rows that end calls of a tool well hold the arguments
	// too, as they were at the end. A rule reads there what a result lacks. Default none.
	// It runs on the callback's goroutine, for several calls at once.
	ArgsAtEnd func(tool string) bool
	// Offload stores large and binary parts. Nil leaves them out of the record.
	Offload Offloader
	// RunEnded is called at the end of each run that ADK ends, after its last row, and
	// the run waits for it. It is not called for an agent that runs as a tool. A panic is
	// contained. Default nil.
	RunEnded func(ctx context.Context)
}

// Offloader stores a part outside of the row.
type Offloader interface {
	// Put takes a copy of data without blocking and without I/O and returns where
	// it will stand, or false when it cannot take it, which it counts.
	Put(name, contentType string, data []byte) (uri string, ok bool)
}

// Required reports whether rows of the type are always written, whole, in addition to those of
// Options.IsApproval. Without them nobody could tell whether the record of a run is complete, or
// whether models read the result as it is recorded.
func Required(eventType string) bool {
	switch eventType {
	case record.InvocationStarting, record.InvocationCompleted, record.InvocationError, record.ToolResultRewritten:
		return true
	}
	return false
}

// policy is the configuration of one event type.
type policy struct {
	skip bool
	// content is empty where the payload is written.
	content config.ContentPolicy
}

// policies resolves a configuration by event type. Types without an entry are written whole. gaps
// has the parts that an approval needs and the record lacks.
func (o *Options) policies(c config.Record) (m map[string]policy, gaps []string, err error) {
	m = make(map[string]policy)
	types := record.EventTypes()
	for _, t := range slices.Concat(c.Allow, c.Deny, slices.Sorted(maps.Keys(c.Content))) {
		if !slices.Contains(types, t) {
			return nil, nil, fmt.Errorf("contextgraph: %q is not an event type; they are %s", t, strings.Join(types, ", "))
		}
	}
	for _, t := range types {
		p := policy{
			skip:    slices.Contains(c.Deny, t) || len(c.Allow) > 0 && !slices.Contains(c.Allow, t),
			content: c.Content[t],
		}
		switch p.content {
		case "", config.ContentFull:
			p.content = ""
		case config.ContentDigest, config.ContentNone:
		default:
			return nil, nil, fmt.Errorf("contextgraph: content of %s: %q is not a policy; use full, digest or none", t, p.content)
		}
		if Required(t) || o.IsApproval != nil && o.IsApproval(t) {
			if slices.Contains(c.Deny, t) || p.content != "" {
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

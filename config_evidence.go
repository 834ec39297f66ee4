// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The record and the gate meet here: what is left out of the record can be neither
// evidence of an approval nor found by a rule.

// gate names the key by which the configuration enforces approvals, or returns "".
// Tools that code protects are judged when they run.
func (c Config) gate() string {
	if c.Guard.Mode == ModeObserve {
		return ""
	}
	if len(c.Guard.Tools) > 0 {
		return "guard.tools"
	}
	for i, e := range c.Extract {
		if e.In == graphsync.InAction && e.Tool != "" {
			return fmt.Sprintf("extract[%d].in", i)
		}
	}
	return ""
}

// checkGate reports what the record leaves out although the configuration enforces
// approvals that rest on it.
func (c Config) checkGate(p *problems, root keyPath) {
	gate := c.gate()
	if gate == "" {
		return
	}
	at := root.field("record")
	var missing []string
	for _, t := range record.EventTypes() {
		rows, content := schema.Evidence(t)
		if !rows {
			continue
		}
		if i := slices.Index(c.Record.Deny, t); i >= 0 {
			p.add(at.field("deny").index(i), quote(t)+" cannot be denied while "+gate+" sets a gate: approvals rest on it",
				"remove it from record.deny, or remove the gate ("+gate+")")
		}
		if len(c.Record.Allow) > 0 && !slices.Contains(c.Record.Allow, t) {
			missing = append(missing, t)
		}
		if policy := c.Record.Content[t]; content && policy != "" && policy != cgplugin.ContentFull {
			p.add(at.field("content").entry(t), quote(string(policy))+" is not possible while "+gate+" sets a gate: approvals rest on the content of "+t,
				"write full, or remove the gate ("+gate+")")
		}
	}
	if len(missing) > 0 {
		p.add(at.field("allow"), "leaves out "+strings.Join(missing, ", ")+", which cannot be while "+gate+" sets a gate: approvals rest on them",
			"add them to record.allow, or remove the gate ("+gate+")")
	}
}

// hides says which key keeps the content of an event type out of the record, or
// returns "".
func (c *RecordConfig) hides(eventType string) string {
	switch policy := c.Content[eventType]; {
	case required(eventType):
		return ""
	case slices.Contains(c.Deny, eventType):
		return "record.deny"
	case len(c.Allow) > 0 && !slices.Contains(c.Allow, eventType):
		return "record.allow"
	case policy != "" && policy != cgplugin.ContentFull:
		return "record.content"
	}
	return ""
}

// unread says which rules can never find anything.
func (c Config) unread() []string {
	types := record.EventTypes()
	var out []string
	for _, e := range c.Extract {
		event := e.Event
		switch {
		case event != "":
		case e.In == graphsync.InResult:
			event = record.ToolCompleted
		default:
			event = record.ToolStarting
		}
		if !slices.Contains(types, event) {
			w := fmt.Sprintf("rule %q reads events of type %q, which are never recorded: it finds nothing", e.Name, event)
			if near := closest(strings.ToUpper(event), types); near != "" {
				w += fmt.Sprintf("; did you mean %q?", near)
			}
			out = append(out, w)
		} else if key := c.Record.hides(event); key != "" {
			out = append(out, fmt.Sprintf("rule %q reads the content of %s, which %s leaves out: it finds nothing", e.Name, event, key))
		}
	}
	return out
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// checkRecord reports event types that are not known or cannot be left out, and evidence of
// approvals that the record leaves out.
func checkRecord(c *config.Config) (out []config.Problem) {
	for i, t := range c.Record.Allow {
		out = append(out, eventType(config.Index("record.allow", i), t)...)
	}
	for i, t := range c.Record.Deny {
		path := config.Index("record.deny", i)
		out = append(out, eventType(path, t)...)
		if required(t) {
			out = append(out, config.Problem{Path: path, Text: config.Quote(t) + " is always recorded: an approval and its completeness are judged by it", Remedy: "remove it from record.deny"})
		}
	}
	for _, t := range slices.Sorted(maps.Keys(c.Record.Content)) {
		path := config.Entry("record.content", t)
		out = append(out, eventType(path, t)...)
		if required(t) {
			out = append(out, config.Problem{Path: path, Text: config.Quote(t) + " is always recorded whole: an approval and its completeness are judged by it", Remedy: "remove it from record.content"})
		}
	}
	return append(out, checkGate(c)...)
}

// eventType reports a text that is not the type of an event.
func eventType(path, s string) []config.Problem {
	types := record.EventTypes()
	if slices.Contains(types, s) {
		return nil
	}
	remedy := "known types: " + strings.Join(types, ", ")
	if meant := text.Nearest(strings.ToUpper(s), types); meant != "" {
		remedy = "did you mean " + config.Quote(meant) + "?"
	}
	return []config.Problem{{Path: path, Text: config.Quote(s) + " is not an event type", Remedy: remedy}}
}

// required reports whether rows of the type are always written, whole.
func required(eventType string) bool {
	return plugin.Required(eventType) || schema.IsApproval(eventType)
}

// gateKey names the key by which the configuration enforces approvals, or returns "". Tools that
// code protects are judged when they run.
func gateKey(c *config.Config) string {
	if c.Guard.Mode == config.ModeObserve {
		return ""
	}
	if len(c.Guard.Tools) > 0 {
		return "guard.tools"
	}
	for i, e := range c.Extract {
		if e.In == config.InAction && e.Tool != "" {
			return fmt.Sprintf("extract[%d].in", i)
		}
	}
	return ""
}

// checkGate reports what the record leaves out although the configuration enforces
// approvals that rest on it.
func checkGate(c *config.Config) (out []config.Problem) {
	gate := gateKey(c)
	if gate == "" {
		return nil
	}
	var missing []string
	for _, t := range record.EventTypes() {
		rows, content := schema.Evidence(t)
		if !rows {
			continue
		}
		if i := slices.Index(c.Record.Deny, t); i >= 0 {
			out = append(out, config.Problem{
				Path:   config.Index("record.deny", i),
				Text:   config.Quote(t) + " cannot be denied while " + gate + " sets a gate: approvals rest on it",
				Remedy: "remove it from record.deny, or remove the gate (" + gate + ")",
			})
		}
		if len(c.Record.Allow) > 0 && !slices.Contains(c.Record.Allow, t) {
			missing = append(missing, t)
		}
		if policy := c.Record.Content[t]; content && policy != "" && policy != config.ContentFull {
			out = append(out, config.Problem{
				Path:   config.Entry("record.content", t),
				Text:   config.Quote(string(policy)) + " is not possible while " + gate + " sets a gate: approvals rest on the content of " + t,
				Remedy: "write full, or remove the gate (" + gate + ")",
			})
		}
	}
	if len(missing) > 0 {
		out = append(out, config.Problem{
			Path:   "record.allow",
			Text:   "leaves out " + strings.Join(missing, ", ") + ", which cannot be while " + gate + " sets a gate: approvals rest on them",
			Remedy: "add them to record.allow, or remove the gate (" + gate + ")",
		})
	}
	return out
}

// checkAction reports a policy about the arguments of actions that no rule reads.
func checkAction(c *config.Config) (out []config.Problem) {
	reads := func(typ, tool string) bool {
		return slices.ContainsFunc(c.Extract, func(e config.Extract) bool {
			return e.In == config.InAction && (typ == "" || e.Type == typ) && (tool == "" || text.MatchName(tool, e.Tool))
		})
	}
	if c.Guard.Require == config.RequireNamed && !reads("", "") {
		out = append(out, config.Problem{
			Path: "guard.require", Text: "named needs a rule with in: action; without one nothing can be checked",
			Remedy: "add such a rule for each guarded tool, or write everything or listed",
		})
	}
	for i, b := range c.Guard.Budgets {
		if b.Cost.Type != "" && !b.Everything && !reads(b.Cost.Type, b.Tool) {
			out = append(out, config.Problem{
				Path: config.Index("guard.budgets", i) + ".cost.type", Text: "no rule with in: action finds a " + config.Quote(b.Cost.Type) + ", so no plan has a cost",
				Remedy: "add one for the tool that spends, or write everything: true",
			})
		}
	}
	return out
}

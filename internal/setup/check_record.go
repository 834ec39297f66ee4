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
func checkRecord(c *config.Config) []config.Problem {
	var p problems
	for i, t := range c.Record.Allow {
		p.eventType(config.Index("record.allow", i), t)
	}
	for i, t := range c.Record.Deny {
		path := config.Index("record.deny", i)
		p.eventType(path, t)
		if required(t) {
			p.add(path, "remove it from record.deny", "%s is always recorded: an approval and its completeness are judged by it", config.Quote(t))
		}
	}
	for _, t := range slices.Sorted(maps.Keys(c.Record.Content)) {
		path := config.Entry("record.content", t)
		p.eventType(path, t)
		if required(t) {
			p.add(path, "remove it from record.content", "%s is always recorded whole: an approval and its completeness are judged by it", config.Quote(t))
		}
	}
	p.gate(c)
	return p
}

// eventType reports a text that is not the type of an event.
func (p *problems) eventType(path, s string) {
	types := record.EventTypes()
	if slices.Contains(types, s) {
		return
	}
	remedy := "known types: " + strings.Join(types, ", ")
	if meant := text.Nearest(strings.ToUpper(s), types); meant != "" {
		remedy = "did you mean " + config.Quote(meant) + "?"
	}
	p.add(path, remedy, "%s is not an event type", config.Quote(s))
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

// gate reports what the record leaves out although the configuration enforces approvals that rest on
// it.
func (p *problems) gate(c *config.Config) {
	gate := gateKey(c)
	if gate == "" {
		return
	}
	remove := "remove the gate (" + gate + ")"
	var missing []string
	for _, t := range record.EventTypes() {
		rows, content := schema.Evidence(t)
		if !rows {
			continue
		}
		if i := slices.Index(c.Record.Deny, t); i >= 0 {
			p.add(config.Index("record.deny", i), "remove it from record.deny, or "+remove, "%s cannot be denied while %s sets a gate: approvals rest on it", config.Quote(t), gate)
		}
		if len(c.Record.Allow) > 0 && !slices.Contains(c.Record.Allow, t) {
			missing = append(missing, t)
		}
		if policy := c.Record.Content[t]; content && policy != "" && policy != config.ContentFull {
			p.add(config.Entry("record.content", t), "write full, or "+remove,
				"%s is not possible while %s sets a gate: approvals rest on the content of %s", config.Quote(string(policy)), gate, t)
		}
	}
	if len(missing) > 0 {
		p.add("record.allow", "add them to record.allow, or "+remove,
			"leaves out %s, which cannot be while %s sets a gate: approvals rest on them", strings.Join(missing, ", "), gate)
	}
}

// checkAction reports a policy about the arguments of actions that no rule reads.
func checkAction(c *config.Config) []config.Problem {
	var p problems
	reads := func(typ, tool string) bool {
		return slices.ContainsFunc(c.Extract, func(e config.Extract) bool {
			return e.In == config.InAction && (typ == "" || e.Type == typ) && (tool == "" || text.MatchName(tool, e.Tool))
		})
	}
	if c.Guard.Require == config.RequireNamed && !reads("", "") {
		p.add("guard.require", "add such a rule for each guarded tool, or write everything or listed", "named needs a rule with in: action; without one nothing can be checked")
	}
	for i, b := range c.Guard.Budgets {
		if b.Cost.Type != "" && !b.Everything && !reads(b.Cost.Type, b.Tool) {
			p.add(config.Index("guard.budgets", i)+".cost.type", "add one for the tool that spends, or write everything: true",
				"no rule with in: action finds a %s, so no plan has a cost", config.Quote(b.Cost.Type))
		}
	}
	return p
}

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
func checkRecord(k config.Key, c *config.Config) {
	for _, list := range []*[]string{&c.Record.Allow, &c.Record.Deny} {
		for i, t := range *list {
			at := k.Of(list).Index(i)
			eventType(at, t)
			if list == &c.Record.Deny && required(t) {
				at.Wrong(config.Quote(t)+" is always recorded: an approval and its completeness are judged by it", "remove it from record.deny")
			}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(c.Record.Content)) {
		at := k.Of(&c.Record.Content).Entry(t, nil)
		eventType(at, t)
		if required(t) {
			at.Wrong(config.Quote(t)+" is always recorded whole: an approval and its completeness are judged by it", "remove it from record.content")
		}
	}
	checkGate(k, c)
}

// eventType reports a text that is not the type of an event.
func eventType(k config.Key, s string) {
	types := record.EventTypes()
	if slices.Contains(types, s) {
		return
	}
	remedy := "known types: " + strings.Join(types, ", ")
	if meant := text.Nearest(strings.ToUpper(s), types); meant != "" {
		remedy = "did you mean " + config.Quote(meant) + "?"
	}
	k.Wrong(config.Quote(s)+" is not an event type", remedy)
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
func checkGate(root config.Key, c *config.Config) {
	gate := gateKey(c)
	if gate == "" {
		return
	}
	var missing []string
	for _, t := range record.EventTypes() {
		rows, content := schema.Evidence(t)
		if !rows {
			continue
		}
		if i := slices.Index(c.Record.Deny, t); i >= 0 {
			root.Of(&c.Record.Deny).Index(i).Wrong(config.Quote(t)+" cannot be denied while "+gate+" sets a gate: approvals rest on it",
				"remove it from record.deny, or remove the gate ("+gate+")")
		}
		if len(c.Record.Allow) > 0 && !slices.Contains(c.Record.Allow, t) {
			missing = append(missing, t)
		}
		if policy := c.Record.Content[t]; content && policy != "" && policy != config.ContentFull {
			root.Of(&c.Record.Content).Entry(t, nil).Wrong(config.Quote(string(policy))+" is not possible while "+gate+" sets a gate: approvals rest on the content of "+t,
				"write full, or remove the gate ("+gate+")")
		}
	}
	if len(missing) > 0 {
		root.Of(&c.Record.Allow).Wrong("leaves out "+strings.Join(missing, ", ")+", which cannot be while "+gate+" sets a gate: approvals rest on them",
			"add them to record.allow, or remove the gate ("+gate+")")
	}
}

// checkAction reports a policy about the arguments of actions that no rule reads.
func checkAction(root config.Key, c *config.Config) {
	reads := func(typ, tool string) bool {
		return slices.ContainsFunc(c.Extract, func(e config.Extract) bool {
			return e.In == config.InAction && (typ == "" || e.Type == typ) && (tool == "" || text.MatchName(tool, e.Tool))
		})
	}
	if c.Guard.Require == config.RequireNamed && !reads("", "") {
		root.Of(&c.Guard.Require).Wrong("named needs a rule with in: action; without one nothing can be checked",
			"add such a rule for each guarded tool, or write everything or listed")
	}
	for i := range c.Guard.Budgets {
		b := &c.Guard.Budgets[i]
		k := root.Of(&c.Guard.Budgets).Index(i).Of(&b.Cost.Type)
		if b.Cost.Type != "" && !b.Everything && !reads(b.Cost.Type, b.Tool) {
			k.Wrong("no rule with in: action finds a "+config.Quote(b.Cost.Type)+", so no plan has a cost",
				"add one for the tool that spends, or write everything: true")
		}
	}
}

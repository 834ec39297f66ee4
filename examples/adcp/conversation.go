// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genai"
)

// conversation is the part of the messages that the scripted model understands: the latest brief,
// and the results of the tools since. The zero value is an empty conversation.
type conversation struct {
	brief      brief
	hasBrief   bool
	results    []toolResult
	handedBack bool // the planner was asked and has transferred back
}

type toolResult struct {
	tool string
	data map[string]any
}

// foreign matches how the framework shows a model what another agent's tool answered: as text.
var foreign = regexp.MustCompile("(?s)^\\[(\\w+)\\] `(\\w+)` tool returned result: (.*)$")

// readConversation reads the messages in order. A new brief starts the work over.
func readConversation(contents []*genai.Content) conversation {
	var talk conversation
	for _, content := range contents {
		for _, part := range content.Parts {
			talk.read(part)
		}
	}
	return talk
}

func (c *conversation) read(part *genai.Part) {
	if part.FunctionResponse != nil {
		c.results = append(c.results, toolResult{part.FunctionResponse.Name, part.FunctionResponse.Response})
		return
	}
	if b, ok := findBrief(part.Text); ok {
		*c = conversation{brief: b, hasBrief: true}
		return
	}
	said := foreign.FindStringSubmatch(part.Text)
	if said == nil {
		return
	}
	author, tool := said[1], said[2]
	var data map[string]any
	if err := json.Unmarshal([]byte(said[3]), &data); err != nil {
		data = map[string]any{"error": "the answer of " + tool + " cannot be read: " + err.Error()}
	}
	c.results = append(c.results, toolResult{tool, data})
	if author == agentPlanner && tool == toolTransfer {
		c.handedBack = true
	}
}

// result returns the latest answer of a tool.
func (c *conversation) result(tool string) (map[string]any, bool) {
	for i := len(c.results) - 1; i >= 0; i-- {
		if c.results[i].tool == tool {
			return c.results[i].data, true
		}
	}
	return nil, false
}

// trouble says which tool failed and why; empty when none did.
func (c *conversation) trouble() string {
	for _, r := range c.results {
		if message, ok := r.data["error"]; ok {
			return strings.TrimSuffix(fmt.Sprintf("%s: %v", r.tool, message), ".")
		}
	}
	return ""
}

// available names the placements of the inventory that can be bought.
func (c *conversation) available() []string {
	inventory, _ := c.result(toolInventory)
	names := []string{}
	for _, p := range list(inventory["placements"]) {
		if name, ok := p["name"].(string); ok && p["available"] == true {
			names = append(names, name)
		}
	}
	return names
}

// plan is the planner's plan.
type plan struct {
	lines      []any // as the budget tool gave them
	audiences  []any // names
	campaignID string
}

// args are the arguments with which the plan is provisioned.
func (p plan) args(b brief) map[string]any {
	args := map[string]any{"account": b.Account, "lines": p.lines}
	if len(p.audiences) > 0 {
		args["audiences"] = p.audiences
	}
	if p.campaignID != "" {
		args["campaign_id"] = p.campaignID
	}
	return args
}

// plan returns the plan, once the budget is allocated.
func (c *conversation) plan() (plan, bool) {
	budget, ok := c.result(toolBudget)
	if !ok {
		return plan{}, false
	}
	lines, ok := budget["lines"].([]any)
	if !ok {
		return plan{}, false
	}
	p := plan{lines: lines}
	matched, _ := c.result(toolAudience)
	for _, a := range list(matched["audiences"]) {
		p.audiences = append(p.audiences, a["name"])
	}
	draft, _ := c.result(toolDraft)
	p.campaignID, _ = draft["campaign_id"].(string)
	return p, true
}

// list returns the objects of a JSON array; nil when v is none.
func list(v any) []map[string]any {
	switch items := v.(type) {
	case []map[string]any: // as a Go caller builds it
		return items
	case []any: // as JSON is decoded
		var objects []map[string]any
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				objects = append(objects, object)
			}
		}
		return objects
	}
	return nil
}

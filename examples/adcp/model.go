// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
)

// scriptedModel stands in for a language model, so that the demo needs no key and always ends the
// same way. It decides from the request alone, as a model does: from the offered tools and from the
// conversation so far. It has no state and is safe for concurrent use.
type scriptedModel struct{}

// Name is the model name that shows up in the record.
func (scriptedModel) Name() string { return "scripted-media-buyer" }

// GenerateContent answers with the next step.
func (m scriptedModel) GenerateContent(ctx context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		talk := readConversation(req.Contents)
		var thought string
		var next *genai.Part
		switch tools := offered(req); {
		case slices.Contains(tools, toolProvision):
			thought, next = rootStep(talk)
		case slices.Contains(tools, toolInventory):
			thought, next = plannerStep(talk, slices.Contains(tools, toolTransfer))
		default:
			yield(nil, fmt.Errorf("scripted model: it plays %s and %s, neither has the tools %v", agentRoot, agentPlanner, tools))
			return
		}
		answer := []*genai.Part{next}
		if thought != "" {
			answer = []*genai.Part{{Text: thought, Thought: true}, next}
		}
		yield(&model.LLMResponse{
			Content:       genai.NewContentFromParts(answer, genai.RoleModel),
			UsageMetadata: tokens(req, next),
			ModelVersion:  m.Name(),
			FinishReason:  genai.FinishReasonStop,
			TurnComplete:  true,
		}, nil)
	}
}

// rootStep is the policy of root_agent: have it planned, have it approved, report. It returns a
// thought and the next step.
func rootStep(talk conversation) (string, *genai.Part) {
	if !talk.hasBrief {
		return "", genai.NewPartFromText("Send me a campaign brief: advertiser, account, category and budget.")
	}
	if outcome, ok := talk.result(toolProvision); ok {
		return "", genai.NewPartFromText(report(talk.brief, outcome, "The approval stays open: approve again when the cause is gone."))
	}
	if plan, ok := talk.plan(); ok {
		return fmt.Sprintf("The plan for %s has %d lines and stays within %s. Provisioning spends the money, so a person decides first.",
			talk.brief.Advertiser, len(plan.lines), talk.brief.Budget), genai.NewPartFromFunctionCall(toolProvision, plan.args(talk.brief))
	}
	if talk.handedBack {
		return "", genai.NewPartFromText("There is no plan for " + talk.brief.Advertiser + ": " + talk.trouble() + ".")
	}
	return fmt.Sprintf("%s wants a campaign in %s for %s. The media planner knows the inventory, so it plans.",
		talk.brief.Advertiser, talk.brief.Category, talk.brief.Budget), genai.NewPartFromFunctionCall(toolTransfer, map[string]any{"agent_name": agentPlanner})
}

// plannerStep is the policy of media_planner: the first thing that is still missing, then back to root_agent; in a
// flow, which has no transfers, the plan. It returns a thought and the next step.
func plannerStep(talk conversation, transfers bool) (string, *genai.Part) {
	handBack := planned(talk)
	if transfers {
		handBack = genai.NewPartFromFunctionCall(toolTransfer, map[string]any{"agent_name": agentRoot})
	}
	if !talk.hasBrief || talk.trouble() != "" {
		return "Something is missing, so the root agent has to tell the buyer.", handBack
	}
	category := map[string]any{"category": talk.brief.Category}
	if _, ok := talk.result(toolInventory); !ok {
		return "First I need to know which placements are for sale in " + talk.brief.Category + ", and what they cost.", genai.NewPartFromFunctionCall(toolInventory, category)
	}
	if _, ok := talk.result(toolAudience); !ok && talk.brief.Audience != "" {
		return "The brief names an audience: " + talk.brief.Audience + ". Which segments reach it?", genai.NewPartFromFunctionCall(toolAudience, category)
	}
	if _, ok := talk.result(toolBudget); !ok {
		return fmt.Sprintf("%d placements can be bought. Split %s over them at their prices of now.", len(talk.available()), talk.brief.Budget), genai.NewPartFromFunctionCall(toolBudget, map[string]any{
			"account": talk.brief.Account, "budget": talk.brief.Budget, "placements": talk.available(),
		})
	}
	plan, _ := talk.plan()
	if talk.brief.Draft && plan.campaignID == "" {
		return "The brief asks for a draft, so the ad server keeps the plan.", genai.NewPartFromFunctionCall(toolDraft, map[string]any{
			"account": talk.brief.Account, "lines": plan.lines, "audiences": plan.audiences,
		})
	}
	return "The plan is complete. The root agent asks for the approval.", handBack
}

// report puts the outcome of provisioning into words. A blocked plan is not tried again: what was approved is gone.
// Again says what to do where it could not be checked.
func report(b brief, outcome map[string]any, again string) string {
	if id, ok := outcome["campaign_id"].(string); ok && outcome["status"] == string(adserver.StatusLive) {
		return fmt.Sprintf("The campaign for %s is live: %s, within %s.", b.Advertiser, id, b.Budget)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "The campaign for %s was not provisioned.", b.Advertiser)
	if outcome["status"] != "blocked" {
		fmt.Fprintf(&text, " %v", outcome["error"])
		return text.String()
	}
	if message, ok := outcome["message"].(string); ok {
		text.WriteString(" " + message)
	}
	for _, item := range list(outcome["alerts"]) {
		fmt.Fprintf(&text, "\n- %v %v: %v -> %v", item["entity_type"], item["entity"], item["before"], item["after"])
		if advice, ok := item["recommendation"].(string); ok && advice != "" {
			text.WriteString(". " + advice)
		}
	}
	said := make(map[string]bool)
	for _, item := range list(outcome["failures"]) {
		line := fmt.Sprintf("\n- %v %v could not be checked", item["entity_type"], item["entity"])
		if item["entity"] == "" { // it is about the whole plan
			line = fmt.Sprintf("\n- %v", item["detail"])
		}
		if !said[line] {
			text.WriteString(line)
			said[line] = true
		}
	}
	if outcome["reason"] == "check_failed" {
		text.WriteString("\n" + again)
	} else {
		text.WriteString("\nA new plan needs a new approval.")
	}
	return text.String()
}

// offered lists the names of the functions a request lets the model call.
func offered(req *model.LLMRequest) []string {
	if req.Config == nil {
		return nil
	}
	var names []string
	for _, t := range req.Config.Tools {
		for _, f := range t.FunctionDeclarations {
			names = append(names, f.Name)
		}
	}
	return names
}

// tokens estimates tokens as every provider does it when nobody counts: four bytes each.
func tokens(req *model.LLMRequest, answer *genai.Part) *genai.GenerateContentResponseUsageMetadata {
	size := func(v any) int32 {
		data, err := json.Marshal(v)
		if err != nil {
			return 0
		}
		return int32(len(data)+3) / 4
	}
	in, out := size(req.Contents), size(answer)
	return &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: in, CandidatesTokenCount: out, TotalTokenCount: in + out}
}

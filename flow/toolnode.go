// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"
)

// ToolNode returns a node that calls a tool with the input of the node as its arguments: a map, a struct, or a text
// that is a JSON object. The result of the tool is the output.
//
// It is an agent of one tool whose model is Go, so plugins see the call: a guarded tool is asked for, explained and
// checked as any other. ADK calls no plugin around the nodes of workflow.NewToolNode.
func ToolNode(t tool.Tool, opts ...AgentOption) workflow.Node {
	if t == nil {
		return broken("", errors.New("ToolNode has no tool"))
	}
	a, err := llmagent.New(llmagent.Config{
		Name: t.Name(), Description: t.Description(), Model: caller(t.Name()), Tools: []tool.Tool{t},
		DisallowTransferToParent: true, DisallowTransferToPeers: true,
	})
	if err != nil {
		return broken(t.Name(), err)
	}
	n := AgentNode(a, opts...).(*agentNode)
	n.tool = t.Name()
	return n
}

// A caller is the model of a tool node: it calls the tool with the last message, and ends when there is a result.
type caller string

// Name implements [model.LLM].
func (c caller) Name() string { return "flow.ToolNode" }

// GenerateContent implements [model.LLM].
func (c caller) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		parts := req.Contents[len(req.Contents)-1].Parts
		answer := &genai.Part{Text: string(c) + " has ended."}
		if last := parts[len(parts)-1]; last.FunctionResponse == nil {
			args := make(map[string]any)
			if err := json.Unmarshal([]byte(last.Text), &args); err != nil {
				yield(nil, fmt.Errorf("flow: the input of a tool node has to be the arguments of %s: %w", c, err))
				return
			}
			answer = &genai.Part{FunctionCall: &genai.FunctionCall{Name: string(c), Args: args}}
		}
		yield(&model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{answer}}}, nil)
	}
}

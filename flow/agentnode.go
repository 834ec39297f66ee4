// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"
)

// An AgentOption changes an [AgentNode].
type AgentOption func(*agentNode)

// InputOnly shows the agent the input of its node alone, and not what earlier nodes of the run did.
//
// It has a price where a tool of the agent is guarded: of what others had read, only that counts as seen which the
// node had read whose output is the input.
func InputOnly() AgentOption { return func(n *agentNode) { n.inputOnly = true } }

// AgentNode returns a node that runs the agent. It takes the place of workflow.NewAgentNode, which changes the agent
// for good and cannot go on after a confirmation.
//
// The agent sees what earlier nodes of the run did, in the form in which ADK shows what other agents did; then the
// input of the node as a message; then its own calls, their results and the answers to them. Its last words are the
// output of the node. The name of the node is that of the agent; in a [Graph] it is that of the graph.
func AgentNode(a agent.Agent, opts ...AgentOption) workflow.Node {
	if a == nil {
		return broken("", errors.New("AgentNode has no agent"))
	}
	n := &agentNode{agent: a}
	for _, opt := range opts {
		opt(n)
	}
	_, n.llm = a.(interface {
		RunNode(agent.Context, any) seq
	})
	n.Node = workflow.NewDynamicNode(a.Name(), n.body, workflow.NodeConfig{EmitsOwnSpan: true})
	return n
}

type agentNode struct {
	workflow.Node
	agent     agent.Agent
	llm       bool // the agent is ADK's own: its last words end it
	inputOnly bool
	tool      string // whose result is the output in the place of the last words
}

// body runs the agent over its view of the session.
func (n *agentNode) body(ctx agent.Context, input any, emit func(*session.Event) error) (any, error) {
	t := turnOf(ctx)
	if t == nil { // a workflow of ADK
		t = &turn{session: ctx.Session(), invoked: ctx.InvocationID()}
	}
	v, err := t.view(ctx, n, input)
	if err != nil {
		return nil, err
	}
	asked, ended := false, false
	var last any
	for ev, err := range n.agent.Run(v.context(ctx)) {
		if err != nil {
			return nil, err
		}
		if v.again && !v.begun && !ev.Partial {
			note(ev, keyAgain, true)
			v.begun = true
		}
		asked = asked || len(ev.LongRunningToolIDs) > 0
		if words, ok := lastWords(ev); ok && !asked && !v.waits {
			last = words
			if n.llm && ev.Author == n.agent.Name() && !ended {
				ended = true
				n.end(ev, v, last)
			}
		}
		if err := emit(ev); err != nil {
			return nil, err
		}
	}
	switch {
	case asked:
		return nil, workflow.ErrNodeInterrupted
	case v.waits:
		return nil, workflow.ErrNodeWaitingForOutput
	case !ended:
		ev := session.NewEvent(ctx, ctx.InvocationID())
		n.end(ev, v, last)
		return nil, emit(ev)
	}
	return nil, nil
}

// end makes the event the one that ends the node.
func (n *agentNode) end(ev *session.Event, v *view, words any) {
	results := v.results()
	if ev.Output = words; n.tool != "" {
		ev.Output = results[n.tool]
	}
	if ev.Output == nil {
		note(ev, keyDone, true)
	}
	for _, result := range results {
		if why := refused(result); why != "" {
			note(ev, keyRefused, why)
		}
	}
}

// lastWords returns the text of an event with which an agent ends.
func lastWords(ev *session.Event) (string, bool) {
	if ev.Partial || len(ev.LongRunningToolIDs) > 0 || !ev.IsFinalResponse() || ev.Content == nil || ev.Content.Role != genai.RoleModel {
		return "", false
	}
	s := textOf(ev.Content)
	return s, s != "" || len(ev.Content.Parts) == 0
}

// refused returns why a call was not run: the reason that contextgraph gives, or that a person said no.
func refused(result map[string]any) string {
	_, told := result["next"]
	why, _ := result["reason"].(string)
	if result["status"] == "blocked" && told && why != "" {
		return why
	}
	if s := fmt.Sprint(result["error"]); strings.Contains(s, tool.ErrConfirmationRejected.Error()) {
		return "rejected"
	}
	return ""
}

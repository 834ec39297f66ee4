// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"fmt"
	"strings"

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
	// result, when set, is the output in the place of the last words.
	result func(*view) any
}

// body runs the agent over its view of the session.
func (n *agentNode) body(ctx agent.Context, input any, emit func(*session.Event) error) (any, error) {
	t := turnOf(ctx)
	if t == nil { // a workflow of ADK, or a dynamic node of one
		t = &turn{session: ctx.Session(), invoked: ctx.InvocationID()}
	}
	v, err := t.view(ctx, n, input)
	if err != nil {
		return nil, err
	}
	refusals := v.refusals()
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
		refusals.add(ev)
		asked = asked || len(ev.LongRunningToolIDs) > 0
		if words, ok := lastWords(ev); ok && !asked && !v.waits {
			last = words
			if n.llm && ev.Author == n.agent.Name() && !ended {
				ended = true
				n.end(ev, v, last, refusals)
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
	case !ended && (last != nil || n.result != nil || len(refusals.why) > 0):
		ev := session.NewEvent(ctx, ctx.InvocationID())
		n.end(ev, v, last, refusals)
		return nil, emit(ev)
	}
	return nil, nil
}

// end makes the event the one that ends the node.
func (n *agentNode) end(ev *session.Event, v *view, words any, r *refusals) {
	ev.Output = words
	if n.result != nil {
		ev.Output = n.result(v)
	}
	if ev.Output == nil {
		note(ev, keyDone, true)
	}
	for _, why := range r.why {
		note(ev, keyRefused, why)
	}
}

// lastWords returns the text of an event with which an agent ends.
func lastWords(ev *session.Event) (string, bool) {
	if ev.Partial || len(ev.LongRunningToolIDs) > 0 || !ev.IsFinalResponse() || ev.Content == nil {
		return "", false
	}
	s, ok := textOf(ev)
	return s, ok && (s != "" || len(ev.Content.Parts) == 0)
}

// refusals are the tools of an activation whose last call was refused.
type refusals struct{ why map[string]string }

// add looks for the results of tools. A call that ran afterwards takes a refusal back.
func (r *refusals) add(ev *session.Event) {
	if ev.Author == "user" {
		return
	}
	for fr := range responses(ev.Content) {
		if why := refused(fr.Response); why != "" {
			r.why[fr.Name] = why
		} else {
			delete(r.why, fr.Name)
		}
	}
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

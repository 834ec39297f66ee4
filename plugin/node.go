// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// nodeRow returns a row of the node that emitted the event: on a span of its own, or
// on the agent's when the node is an agent or the event comes from no node.
func (s *source) nodeRow(typ string) row {
	x := s.row(typ)
	if n := s.node(); n != nil {
		x.span, x.parent = n.id, n.parent
	}
	return x
}

// node returns the activation of the node that emitted the event, opening it if this
// is the first row that it gets; nil when it has none.
func (s *source) node() *nodeSpan {
	path := s.path()
	if path == "" {
		return nil
	}
	r := s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.nodes[path]; n != nil {
		return n
	}
	if r.nodeAgent(path, s.Branch) != nil {
		return nil
	}
	if r.nodes == nil {
		r.nodes = make(map[string]*nodeSpan)
	}
	n := &nodeSpan{id: newSpanID(), parent: s.outer(path)}
	r.nodes[path] = n
	return n
}

// around returns the span that a step of the event's node stands in, which has a row.
func (s *source) around() string {
	path := s.path()
	if path == "" {
		return s.span
	}
	r := s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.nodes[path]; n != nil {
		return n.id
	}
	if r.nodeAgent(path, s.Branch) != nil {
		return s.span
	}
	return s.outer(path)
}

// outer returns the span around a node: that of the innermost node around it that has a row
// already, or else that of the agent that runs the workflow. A node without a row cannot serve,
// because it may never get one.
func (s *source) outer(path string) string {
	r := s.run
	for p := parseNode(path).parent; p != ""; p = parseNode(p).parent {
		if n := r.nodes[p]; n != nil {
			return n.id
		}
		if a := r.nodeAgent(p, s.Branch); a != nil {
			return a.id
		}
	}
	return s.span
}

// nodeAgent returns the activation of the agent that the node at path is.
func (r *Run) nodeAgent(path, branch string) *agentSpan {
	return r.openOrClosed(parseNode(path).name, branch)
}

// endNode makes the next event of the path one of another activation: a workflow
// runs a node of a loop again under the same path, and each run has at most one
// output.
func (r *Run) endNode(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, path)
}

// nodeRows writes what a workflow node came to. An agent's message that counts as
// the output of its node is no output of its own: it is on record as the answer.
func (rec *Recorder) nodeRows(ctx context.Context, s *source) {
	if s.path() == "" {
		return
	}
	if s.silentStep() {
		s.run.endNode(s.path())
	}
	if s.Output != nil && !s.NodeInfo.MessageAsOutput {
		out := rec.emitFrom(ctx, s, s.nodeRow(record.NodeOutput), body{
			content: func(d jsonenc.Doc) { d.Value(s.Output) },
			adk: func(d jsonenc.Doc) {
				if s.run.joins(s.Output) {
					d.Bool("joins", true)
				}
				digest := rec.digest(s.Output)
				d.ID("result", digest[:])
				d.OptStr("answer_of", s.taskAnswer())
			},
		})
		row := new(rowID)
		row.set(out.event)
		s.run.output.Store(row)
		if tool := s.toolOf(); tool != "" { // which no model asked for
			x := s.nodeRow(record.NodeOutput)
			rec.give(ctx, s.run, given{
				by: givenByEvent, tool: tool, value: s.Output, digest: rec.digest(s.Output),
				agent: x.agent, branch: x.branch, span: x.span, parent: x.parent,
			})
		}
		s.run.endNode(s.path())
	}
	if s.ErrorCode != "" && !modelReason(s.ErrorCode) {
		x := s.nodeRow(record.NodeError)
		x.failed, x.message = true, cmp.Or(s.ErrorMessage, s.ErrorCode)
		rec.emitFrom(ctx, s, x, body{content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("error_code", s.ErrorCode)
			d.Close('}')
		}})
		s.run.endNode(s.path())
	}
}

// taskAnswer returns the row of the answer that asked for the end of a task, if the event is that end.
func (s *source) taskAnswer() string {
	for _, fr := range Responses(s.Content) {
		if fr.Name == finishTask {
			asked, _ := s.run.askedFor(fr.ID, s.Author, s.Branch)
			return asked.row.String()
		}
	}
	return ""
}

// toolOf returns the tool that the node of an event runs, "" if it runs none.
func (s *source) toolOf() string { return s.run.parts().nodes[parseNode(s.path()).name] }

// joins reports whether an output has a member with the name of an agent, at any depth. ADK's node that
// joins the outputs of others has such an output: it holds the words of agents.
func (r *Run) joins(output any) bool {
	members, _ := output.(map[string]any)
	for name, v := range members {
		if r.isAgent(name) || r.joins(v) {
			return true
		}
	}
	return false
}

// finishTask is the name of ADK's tool with which an agent ends the task it was given.
const finishTask = "finish_task"

// taskRows ends the activation of an agent that ended its task: with the result of that
// tool, which is the output of its node then. ADK fires no callback.
func (rec *Recorder) taskRows(ctx context.Context, s *source) {
	if s.Output == nil || s.Content == nil || !slices.ContainsFunc(s.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionResponse != nil && p.FunctionResponse.Name == finishTask
	}) {
		return
	}
	a, inside := s.run.endTask(s.Author, s.Branch)
	for _, x := range inside {
		rec.endAgent(ctx, s.run, x, ending{err: s.run.errorOf(x)})
	}
	if a != nil {
		rec.endAgent(ctx, s.run, a, ending{err: s.run.errorOf(a)})
	}
}

// modelReason reports whether an error code is a reason for which a model ended or refused its
// answer. The row of that answer has it already.
func modelReason(code string) bool {
	switch genai.FinishReason(code) {
	case genai.FinishReasonUnspecified, genai.FinishReasonStop, genai.FinishReasonMaxTokens, genai.FinishReasonSafety,
		genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonOther, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonMalformedFunctionCall,
		genai.FinishReasonImageSafety, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonImageProhibitedContent,
		genai.FinishReasonNoImage, genai.FinishReasonImageRecitation, genai.FinishReasonImageOther:
		return true
	}
	switch genai.BlockedReason(code) {
	case genai.BlockedReasonUnspecified, genai.BlockedReasonModelArmor, genai.BlockedReasonJailbreak:
		return true
	}
	return false
}

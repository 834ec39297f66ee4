// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// onUserMessage opens the run. It is the first callback of a run and the only
// one that sees who answers an approval, and when.
func (rec *Recorder) onUserMessage(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	var r *run
	defer rec.rescue("OnUserMessage", &r)
	r = rec.open(ctx)
	rec.emit(ctx, r, row{
		typ: schema.UserMessageReceived, agent: r.rootAgent, span: r.rootSpan, at: r.started,
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Key("text_summary")
			summary(d, msg)
			d.Close('}')
		},
		parts: func(d jsonenc.Doc) { contentParts(d, msg) },
	})
	rec.answers(ctx, r, msg)
	r.rest(rec.now())
	return nil, nil
}

// open starts the record of a run and closes those that were abandoned.
func (rec *Recorder) open(ctx agent.InvocationContext) *run {
	r := newRun(ctx, rec.now())
	r.rootAgent = rec.rootName(ctx, r)
	r.common = rec.commonAttributes(r)
	for _, old := range rec.runs.add(r, r.started) {
		rec.emit(ctx, old, row{
			typ: schema.InvocationCompleted, agent: old.rootAgent, span: old.rootSpan, at: r.started,
			timed: true, total: r.started.Sub(old.started),
			failed: true, message: "the run ended before it began: its user message was refused, or it could not be live",
		})
	}
	return r
}

func (rec *Recorder) beforeRun(ctx agent.InvocationContext) (*genai.Content, error) {
	var r *run
	defer rec.rescue("BeforeRun", &r)
	r = rec.runs.get(keyOf(ctx))
	if r == nil {
		// A live run has no user message.
		r = rec.open(ctx)
	}
	if r.live {
		// It may still fail to start, and no callback would tell.
		r.rest(rec.now())
	} else {
		r.begin()
	}
	rec.emit(ctx, r, row{typ: schema.InvocationStarting, agent: r.rootAgent, span: r.rootSpan})
	return nil, nil
}

// afterRun closes the run and every span that is still open, because ADK skips
// the callbacks that would close them when the caller stops early or a model
// fails.
func (rec *Recorder) afterRun(ctx agent.InvocationContext) {
	var r *run
	defer rec.rescue("AfterRun", &r)
	r = rec.runs.get(keyOf(ctx))
	if r == nil {
		return
	}
	now := rec.now()
	r.mu.Lock()
	calls := make([]*call, 0, len(r.calls))
	for _, c := range r.calls {
		if !c.done {
			calls = append(calls, c)
		}
	}
	agents := r.agents
	r.agents = nil
	clear(r.calls)
	r.mu.Unlock()

	for _, c := range calls {
		rec.endTool(ctx, r, c, nil, nil, errUnfinished)
	}
	for i := len(agents) - 1; i >= 0; i-- {
		rec.endAgent(ctx, r, agents[i], true)
	}
	rec.emit(ctx, r, row{
		typ: schema.InvocationCompleted, agent: r.rootAgent, span: r.rootSpan, at: now,
		timed: true, total: now.Sub(r.started),
	})
	rec.runs.end(r, now)
}

func (rec *Recorder) beforeAgent(ctx agent.Context) (*genai.Content, error) {
	var r *run
	defer rec.rescue("BeforeAgent", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		a, skipped := r.openAgent(ctx.WithICDelta(nil).Agent(), agentKey{ctx.AgentName(), ctx.Branch()}, rec.now())
		for _, x := range skipped {
			rec.endAgent(ctx, r, x, false)
		}
		rec.emit(ctx, r, row{
			typ: schema.AgentStarting, agent: a.name, branch: a.branch, span: a.id, parent: a.parent, at: a.started,
			// An agent's instruction cannot be read from a plugin; the system
			// prompt of the first LLM_REQUEST holds it.
			content: func(d jsonenc.Doc) { d.Elem("") },
		})
	}
	return nil, nil
}

func (rec *Recorder) afterAgent(ctx agent.Context) (*genai.Content, error) {
	var r *run
	defer rec.rescue("AfterAgent", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		if a := r.closeAgent(ctx.AgentName(), ctx.Branch()); a != nil {
			rec.endAgent(ctx, r, a, false)
		}
	}
	return nil, nil
}

// endAgent writes the end of an activation, and of the model call that is still
// open in it.
func (rec *Recorder) endAgent(ctx context.Context, r *run, a *agentSpan, unfinished bool) {
	rec.endLLM(ctx, r, a)
	now := rec.now()
	rec.emit(ctx, r, row{
		typ: schema.AgentCompleted, agent: a.name, branch: a.branch, span: a.id, parent: a.parent, at: now,
		timed: true, total: now.Sub(a.started),
		adk: func(d jsonenc.Doc) {
			if unfinished {
				d.Bool("unfinished", true)
			}
		},
	})
}

// onEvent sees what no callback does: state changes, final answers, the
// confirmation request with its id, and model answers that a callback gave.
func (rec *Recorder) onEvent(ctx agent.InvocationContext, ev *session.Event) (*session.Event, error) {
	var r *run
	defer rec.rescue("OnEvent", &r)
	if r = rec.runs.get(keyOf(ctx)); r == nil && ctx.RunConfig() == nil {
		// A live run that was given up for not starting has started after all.
		r = rec.open(ctx)
	}
	if r == nil || ev == nil {
		return nil, nil
	}
	r.begin()
	if ev.LLMResponse.Partial {
		return nil, nil
	}
	span, parent := r.rootSpan, ""
	a := r.agent(ev.Author, ev.Branch)
	if a != nil {
		span, parent = a.id, a.parent
		rec.shortCircuited(ctx, r, a, ev)
	}
	at := row{agent: ev.Author, branch: ev.Branch, span: span, parent: parent}
	if len(ev.Actions.StateDelta) > 0 {
		x := at
		x.typ = schema.StateDelta
		x.adk = func(d jsonenc.Doc) { d.OptStr("source_event_id", ev.ID) }
		x.attrs = func(d jsonenc.Doc) { d.Any("state_delta", ev.Actions.StateDelta) }
		rec.emit(ctx, r, x)
	}
	rec.confirmationRequests(ctx, r, ev)
	if text := finalText(ev); text != "" {
		x := at
		x.typ = schema.AgentResponse
		x.content = func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("response", "text: '"+text+"'")
			d.Close('}')
		}
		x.adk = func(d jsonenc.Doc) { d.OptStr("source_event_id", ev.ID) }
		x.attrs = func(d jsonenc.Doc) {
			d.Str("response_text", text)
			d.OptStr("source_event_id", ev.ID)
			d.OptStr("source_event_author", ev.Author)
			d.OptStr("source_event_branch", ev.Branch)
		}
		rec.emit(ctx, r, x)
	}
	return nil, nil
}

// finalText returns the text of an agent's final answer, "" for other events.
func finalText(ev *session.Event) string {
	if ev.Content == nil || ev.Author == genai.RoleUser || len(ev.LongRunningToolIDs) > 0 || !ev.IsFinalResponse() {
		return ""
	}
	var texts []string
	for _, p := range ev.Content.Parts {
		switch {
		case p == nil:
		case p.FunctionCall != nil, p.FunctionResponse != nil:
			return ""
		case p.Text != "" && !p.Thought:
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "")
}

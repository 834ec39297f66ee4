// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

func (rec *Recorder) beforeModel(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	var r *Run
	defer rec.Rescue("BeforeModel", &r)
	r = rec.runs.lookup(ctx)
	if r == nil {
		return nil, nil
	}
	name, branch := ctx.AgentName(), ctx.Branch()
	a := r.agent(name, branch)
	if a == nil {
		// A model call of an agent that did not announce itself.
		a = &agentSpan{agentKey: agentKey{name, branch}, id: r.RootSpan}
	}
	rec.endLLM(ctx, r, a)
	l := &llmSpan{id: newSpanID(), agent: a, started: rec.now(), request: req, who: readerOf(ctx)}
	l.cached = req.Config != nil && req.Config.CachedContent != ""
	if !r.startLLM(l) {
		return nil, nil
	}

	p := promptRow{contents: messages(req.Contents)}
	var system *genai.Content
	if req.Config != nil {
		system = req.Config.SystemInstruction
	}
	delta := rec.record.PromptHistory == config.PromptDelta && rec.Whole(record.LLMRequest)
	key, lost := promptKey{r.Session, name, branch}, 0
	var hashes []uint64
	if delta {
		lost = rec.lostRows(r.Session)
		p.base, p.keep, hashes = rec.prompts.base(key, p.contents, lost)
	}
	out := rec.emit(ctx, r, row{
		typ: record.LLMRequest, agent: name, branch: branch, span: l.id, parent: a.id, at: l.started,
	}, body{
		content: func(d jsonenc.Doc) { p.content(d, system) },
		parts: func(d jsonenc.Doc) {
			for _, c := range newMessages(p.contents) {
				rec.parts(d, r, l.id, c, attachments)
			}
		},
		adk: func(d jsonenc.Doc) { p.adk(d) },
		attrs: func(d jsonenc.Doc) {
			d.OptStr("model", req.Model)
			rec.modelConfig(d, req.Config)
		},
	})
	if delta && out.event != "" && !p.cut {
		rec.prompts.last.Add(key, prompt{event: out.event, messages: hashes, lost: lost})
	}
	return nil, nil
}

func (rec *Recorder) afterModel(ctx agent.Context, resp *model.LLMResponse, llmErr error) (*model.LLMResponse, error) {
	var r *Run
	defer rec.Rescue("AfterModel", &r)
	r = rec.runs.lookup(ctx)
	if r == nil {
		return nil, nil
	}
	now := rec.now()
	a := r.agent(ctx.AgentName(), ctx.Branch())
	if a == nil || resp == nil || llmErr != nil {
		return nil, nil
	}
	r.mu.Lock()
	l := a.llm
	switch {
	case l != nil && l.firstToken.IsZero():
		l.firstToken = now
	case l == nil && a.lastLLM != nil && !resp.Partial:
		// A model that gives several answers to one request. Each is a row, and
		// only the first one ends the span of the request.
		l = &llmSpan{id: newSpanID(), agent: a, started: a.lastLLM.started, first: a.lastLLM}
	}
	if !resp.Partial {
		a.llm = nil
	}
	r.mu.Unlock()
	if l != nil && (!resp.Partial || rec.record.Chunks) {
		rec.llmResponse(ctx, r, l, resp, now, false)
	}
	return nil, nil
}

// shortCircuited writes the answer that a callback gave in the place of the
// model: AfterModel does not fire then, only the event passes.
func (rec *Recorder) shortCircuited(ctx agent.InvocationContext, r *Run, a *agentSpan, ev *session.Event) {
	switch {
	case ev.Content != nil && !answers(ev.Content):
		return // a tool's result
	case ev.Content == nil && ev.ErrorCode == "" && ev.ErrorMessage == "":
		return // a change of state
	}
	if l := r.takeLLM(a); l != nil {
		rec.llmResponse(ctx, r, l, &ev.LLMResponse, rec.now(), true)
	}
}

// endLLM ends the model call that is still open in a: the model failed, or it gave
// no answer.
func (rec *Recorder) endLLM(ctx context.Context, r *Run, a *agentSpan) {
	l := r.takeLLM(a)
	if l == nil {
		return
	}
	if l.err == nil {
		l.err, l.failed = errUnfinished, rec.now()
	}
	if l.around.IsValid() {
		// Where a run ends nobody knows any more what its model failed in.
		ctx = trace.ContextWithSpanContext(ctx, l.around)
	}
	rec.emit(ctx, r, row{
		typ: record.LLMError, agent: a.name, branch: a.branch, span: l.id, parent: a.id, at: l.failed,
		timed: true, total: l.failed.Sub(l.started), failed: true, message: l.err.Error(), model: l.span,
	}, body{})
}

// onModelError remembers the error. A plugin or a callback behind this one may
// still answer in the place of the model; if none does, the call ends with it.
func (rec *Recorder) onModelError(ctx agent.Context, _ *model.LLMRequest, err error) (*model.LLMResponse, error) {
	rec.ModelFailed(ctx, err)
	return nil, nil
}

// ModelFailed notes that the open model call failed with err. ADK tells nobody of a plugin
// that refuses a request; whoever does so calls this.
func (rec *Recorder) ModelFailed(ctx agent.Context, err error) {
	var r *Run
	defer rec.Rescue("OnModelError", &r)
	r = rec.runs.lookup(ctx)
	if r == nil || err == nil {
		return
	}
	if a := r.agent(ctx.AgentName(), ctx.Branch()); a != nil {
		now, around, over := rec.now(), trace.SpanContextFromContext(ctx), ctx.Err()
		r.mu.Lock()
		defer r.mu.Unlock()
		if l := a.llm; l != nil {
			l.err, l.failed, l.around = err, now, around
			r.failedLocked(l, over)
		}
	}
}

func (rec *Recorder) llmResponse(ctx context.Context, r *Run, l *llmSpan, resp *model.LLMResponse, now time.Time, short bool) {
	x := row{
		typ: record.LLMResponse, agent: l.agent.name, branch: l.agent.branch, span: l.id, parent: l.agent.id, at: now,
		timed: true, total: now.Sub(l.started), message: resp.ErrorMessage, model: l.span,
	}
	var list *shown
	if !resp.Partial {
		list = rec.shown(r, l)
		rec.unexplained(ctx, r, l, list)
	}
	b := body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("response", decorated(resp.Content))
			// A chunk's usage is part of the whole answer's and would be counted twice.
			if u := resp.UsageMetadata; u != nil && !resp.Partial {
				d.Key("usage")
				d.Open('{')
				d.Int("prompt", int64(u.PromptTokenCount))
				d.Int("completion", int64(u.CandidatesTokenCount))
				d.Int("total", int64(u.TotalTokenCount))
				d.Close('}')
			}
			d.Close('}')
		},
		adk: func(d jsonenc.Doc) {
			if short {
				d.Bool("short_circuited", true)
			}
			d.OptStr(sourceEventID, l.span.eventID())
			if resp.Partial {
				d.Bool("partial", true)
			}
			list.write(d)
			if !resp.Partial {
				rec.said(d, r, resp.Content)
			}
		},
		parts: func(d jsonenc.Doc) { rec.parts(d, r, l.id, resp.Content, outputs) },
		attrs: func(d jsonenc.Doc) { responseAttributes(d, l, resp, rec.Whole(record.LLMResponse)) },
	}
	if !l.firstToken.IsZero() {
		x.firstToken = l.firstToken.Sub(l.started)
	}
	if x.message == "" {
		x.message = resp.ErrorCode
	}
	if x.message == "" && l.err != nil {
		x.message = l.err.Error() // a callback answered after the model failed
	}
	if l.err != nil {
		r.recovered(l)
	}
	if out := rec.emit(ctx, r, x, b); !resp.Partial {
		rec.wrote(r, l, list, out.event)
	}
}

// responseAttributes writes what the contract's content of an answer lacks. full
// says whether the arguments of its calls may be written.
func responseAttributes(d jsonenc.Doc, l *llmSpan, resp *model.LLMResponse, full bool) {
	d.OptStr("model_version", resp.ModelVersion)
	if resp.Partial {
		return
	}
	d.OptStr("finish_reason", string(resp.FinishReason))
	if u := resp.UsageMetadata; u != nil {
		d.Key("usage_metadata")
		d.Open('{')
		for _, c := range [...]struct {
			name  string
			count int32
		}{
			{"prompt_token_count", u.PromptTokenCount},
			{"candidates_token_count", u.CandidatesTokenCount},
			{"total_token_count", u.TotalTokenCount},
			{"cached_content_token_count", u.CachedContentTokenCount},
			{"thoughts_token_count", u.ThoughtsTokenCount},
			{"tool_use_prompt_token_count", u.ToolUsePromptTokenCount},
		} {
			if c.count != 0 {
				d.Int(c.name, int64(c.count))
			}
		}
		d.Close('}')
		cache := "none"
		if u.CachedContentTokenCount > 0 {
			cache = "implicit"
			if l.cached {
				cache = "explicit"
			}
		}
		d.Str("cache_type", cache)
	}
	// The contract's content names the called tools and leaves out their arguments and call ids.
	// Without these, no call can be traced to the answer that asked for it.
	if resp.Content == nil {
		return
	}
	open := false
	for _, p := range resp.Content.Parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		if d.Full() {
			break
		}
		if !open {
			d.Key("function_calls")
			d.Open('[')
			open = true
		}
		d.Open('{')
		d.Str("id", p.FunctionCall.ID)
		d.Str("name", p.FunctionCall.Name)
		if full {
			d.Any("args", p.FunctionCall.Args)
		}
		d.Close('}')
	}
	if open {
		d.Close(']')
	}
}

// decorated renders a response the way the contract's content.response reads:
// text: '…' | call: name | resp: name | other.
func decorated(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" | ")
		}
		switch {
		case p.Text != "":
			b.WriteString("text: '")
			b.WriteString(p.Text)
			b.WriteByte('\'')
		case p.FunctionCall != nil:
			b.WriteString("call: ")
			b.WriteString(p.FunctionCall.Name)
		case p.FunctionResponse != nil:
			b.WriteString("resp: ")
			b.WriteString(p.FunctionResponse.Name)
		default:
			b.WriteString("other")
		}
	}
	return b.String()
}

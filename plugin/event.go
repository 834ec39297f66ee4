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
	"github.com/adk-contextgraph/contextgraph/record"
)

func (rec *Recorder) onEvent(ctx agent.InvocationContext, ev *session.Event) (*session.Event, error) {
	rec.OnEvent(ctx, ev)
	return nil, nil
}

// OnEvent records an event before it is stored and before anybody sees it. It sees what no
// callback does: changes of state, transfers, pauses with their ids, outputs of workflow
// nodes, final answers, and model answers that a callback gave. It returns the requests for
// an input that the event makes.
func (rec *Recorder) OnEvent(ctx agent.InvocationContext, ev *session.Event) (inputs []InputRequest) {
	var r *Run
	defer rec.Rescue("OnEvent", &r)
	if r = rec.runs.get(keyOf(ctx)); r == nil && ctx.RunConfig() == nil {
		// A live run that was given up for not starting has started after all.
		rec.open(ctx, &r)
	}
	if r == nil || ev == nil {
		return nil
	}
	r.begun.Store(true)
	if ev.LLMResponse.Partial {
		return nil
	}
	s := source{Event: ev, run: r, span: r.RootSpan}
	if ev.Branch != "" || strings.Count(s.path(), "/") > 1 { // a node inside of another
		r.branched.Store(true)
	}
	if a := r.agent(ev.Author, ev.Branch); a != nil {
		s.span, s.parent = a.id, a.parent
		rec.shortCircuited(ctx, r, a, ev)
		s.answer = r.answerOf(a, ev)
		r.passed(a, ev)
	} else {
		r.passed(nil, ev)
	}
	r.answered(ev, s.answer, rec.now)
	r.past.add(ev)
	rec.responses(ctx, &s)
	rec.stateDelta(ctx, &s)
	rec.savedByEvent(ctx, &s)
	rec.transfer(ctx, &s)
	rec.pauses(ctx, &s)
	rec.completions(ctx, &s)
	rec.interaction(ctx, &s)
	rec.nodeRows(ctx, &s)
	rec.finalAnswer(ctx, &s)
	rec.taskRows(ctx, &s)
	return s.inputs
}

func (rec *Recorder) stateDelta(ctx context.Context, s *source) {
	delta := s.Actions.StateDelta
	if len(delta) == 0 && !s.silentStep() {
		return
	}
	out := rec.emitFrom(ctx, s, s.nodeRow(record.StateDelta), body{attrs: func(d jsonenc.Doc) {
		if v, ok := rec.payload(record.StateDelta, delta); ok && len(delta) > 0 {
			d.Any("state_delta", v)
		}
	}})
	if out.event != "" {
		rec.noteState(s.run.Session, delta)
	}
}

func (rec *Recorder) transfer(ctx context.Context, s *source) {
	if s.Actions.TransferToAgent == "" {
		return
	}
	rec.emitFrom(ctx, s, s.row(record.AgentTransfer), body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("from_agent", s.Author)
			d.Str("to_agent", s.Actions.TransferToAgent)
			d.Close('}')
		},
		attrs: func(d jsonenc.Doc) { d.OptStr("source_event_id", s.ID) },
	})
}

func (rec *Recorder) finalAnswer(ctx context.Context, s *source) {
	text := finalText(s.Event)
	if text == "" {
		return
	}
	rec.emitFrom(ctx, s, s.row(record.AgentResponse), body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("response", "text: '"+text+"'")
			d.Close('}')
		},
		adk: func(d jsonenc.Doc) { d.OptStr("answer_of", s.answer.String()) },
		attrs: func(d jsonenc.Doc) {
			if rec.Whole(record.AgentResponse) {
				d.Str("response_text", text)
			}
			d.OptStr("source_event_id", s.ID)
			d.OptStr("source_event_author", s.Author)
			d.OptStr("source_event_branch", s.Branch)
		},
	})
}

// finalText returns the text of an agent's final answer, "" for other events. An
// event is final as [session.Event.IsFinalResponse] has it, which cannot be asked: it
// panics where a part is nil.
func finalText(ev *session.Event) string {
	if ev.Content == nil || ev.Author == genai.RoleUser || len(ev.LongRunningToolIDs) > 0 {
		return ""
	}
	var texts []string
	ran := false
	for _, p := range ev.Content.Parts {
		if p == nil {
			continue
		}
		if p.FunctionCall != nil || p.FunctionResponse != nil {
			return ""
		}
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
		ran = p.CodeExecutionResult != nil
	}
	if ran && !ev.Actions.SkipSummarization {
		return "" // the model has yet to read what its code gave
	}
	return strings.Join(texts, "")
}

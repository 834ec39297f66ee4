// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// resultDigest returns the digest of a response. It costs a pass over it where writing it
// did not give the digest.
func (rec *Recorder) resultDigest(response map[string]any, sum digestOf) jsonenc.Digest {
	switch {
	case len(response) == 0:
		return rec.noResult
	case sum.known:
		return sum.digest
	}
	return rec.digest(response)
}

// asks reports whether the call asks for a confirmation.
func (c *Call) asks(ctx context.Context) bool {
	tc, ok := ctx.(agent.Context)
	if !ok {
		return false // the run ended before the call did
	}
	actions := tc.Actions()
	if actions == nil {
		return false
	}
	_, ok = actions.RequestedToolConfirmations[c.ID]
	return ok
}

// argsAtEnd writes the arguments that the call ended with: where the options say so, and
// where it asks for a confirmation with other arguments than the row has that began it. The
// approval is about those that it ended with, so rules must read these.
func (rec *Recorder) argsAtEnd(d jsonenc.Doc, c *Call, args map[string]any, asks, completed bool) {
	changed := asks && rec.Whole(record.ToolStarting) && (!c.args.known || c.atEnd != c.args.digest)
	if !changed && !(completed && rec.options.ArgsAtEnd != nil && rec.options.ArgsAtEnd(c.Name)) {
		return
	}
	if v, ok := rec.payload(record.ToolStarting, args); ok {
		d.Any("args", v)
	}
	if changed {
		d.Bool("args_changed", true)
	}
}

// argsOfRead writes the arguments of a call into a row that has its result as models read it, where a rule
// reads there what a result lacks.
func (rec *Recorder) argsOfRead(d jsonenc.Doc, tool string, args any) {
	if rec.options.ArgsAtEnd == nil || !rec.options.ArgsAtEnd(tool) {
		return
	}
	if v, ok := rec.payload(record.ToolStarting, args); ok {
		d.Any("args", v)
	}
}

// maxFinished bounds how many calls of one id wait for the event with their responses.
const maxFinished = 16

// finish remembers the row that ended the call until the event with the response passes.
func (r *Run) finish(c *Call, event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.endRow.set(event)
	if c.tracked {
		return
	}
	c.tracked = true
	if r.finished == nil {
		r.finished = make(map[string][]*Call)
	}
	list := r.finished[c.ID]
	if len(list) == maxFinished {
		copy(list, list[1:])
		list = list[:len(list)-1]
	}
	r.finished[c.ID] = append(list, c)
}

// responses writes what the responses in an event say beyond the rows of their calls. Models read the
// event. A callback behind the recorder may have changed a result, or made an error good: then a row has
// the result as they read it. A response that no callback told of is a result too if a model asked for
// it; otherwise it was given by whoever made the event.
func (rec *Recorder) responses(ctx context.Context, s *source) {
	list := Responses(s.Content)
	if len(list) == 0 {
		return
	}
	digests := make([]jsonenc.Digest, len(list))
	calls := make([]*Call, len(list))
	for i, fr := range list {
		digests[i] = rec.digest(fr.Response)
	}
	r := s.run
	r.mu.Lock()
	// Two calls of one answer may have one id. Those that fit are taken first.
	for i, fr := range list {
		calls[i] = r.takeFinished(fr.ID, func(c *Call) bool { return c.Name == fr.Name && c.result == digests[i] })
	}
	for i, fr := range list {
		if calls[i] != nil {
			list[i] = nil
		} else {
			calls[i] = r.takeFinished(fr.ID, func(c *Call) bool { return c.Name == fr.Name })
		}
	}
	r.mu.Unlock()
	for i, fr := range list {
		switch {
		case fr == nil || pauseOf(fr.Name).request != "":
		case calls[i] != nil:
			rec.rewritten(ctx, s, calls[i], fr, digests[i])
		case r.isAgent(fr.Name): // these are words
		default:
			rec.passed(ctx, s, fr, digests[i])
		}
	}
}

// rewritten writes the row of a result as models read it.
func (rec *Recorder) rewritten(ctx context.Context, s *source, c *Call, fr *genai.FunctionResponse, digest jsonenc.Digest) {
	out := rec.emitFrom(ctx, s, row{
		typ: record.ToolResultRewritten, agent: c.Agent, branch: c.Branch, span: c.Span, parent: c.Parent,
	}, body{
		content: func(d jsonenc.Doc) { toolContent(d, c.Name, c.origin, "result", fr.Response) },
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.ID)
			d.OptStr("of", c.endRow.String())
			d.OptStr("started", c.startRow.String())
			resultKeys(d, digest, c.atEnd)
			if asked, found := s.run.askedFor(c.ID, c.Agent, c.Branch); found {
				rec.argsOfRead(d, c.Name, asked.call.Args)
			}
		},
	})
	rec.explain(s.run.Session, fr.Name, digest, out)
}

// resultKeys writes the digests of a result and of the arguments of its call, as requests of models
// list them.
func resultKeys(d jsonenc.Doc, result, args jsonenc.Digest) {
	d.ID("result", result[:])
	if args != (jsonenc.Digest{}) {
		d.ID("args_digest", args[:])
	}
}

// passed writes the rows of a response that no callback told of.
func (rec *Recorder) passed(ctx context.Context, s *source, fr *genai.FunctionResponse, digest jsonenc.Digest) {
	asked, found := s.run.askedFor(fr.ID, s.Author, s.Branch)
	if !found || asked.call.Name != fr.Name {
		rec.give(ctx, s.run, given{
			by: givenByEvent, tool: fr.Name, call: fr.ID, value: fr.Response, digest: digest,
			agent: s.Author, branch: s.Branch, span: s.span, parent: s.parent,
		})
		return
	}
	args := rec.digest(asked.call.Args)
	start := s.row(record.ToolStarting)
	start.span, start.parent = newSpanID(), s.span
	began := rec.emitFrom(ctx, s, start, body{
		content: func(d jsonenc.Doc) { toolContent(d, fr.Name, adkreflect.OriginUnknown, "args", asked.call.Args) },
		adk:     func(d jsonenc.Doc) { d.OptStr("call_id", fr.ID) },
	})
	end := start
	end.typ = record.ToolCompleted
	end.timed, end.total = true, rec.now().Sub(asked.at)
	content := func(d jsonenc.Doc) { toolContent(d, fr.Name, adkreflect.OriginUnknown, "result", fr.Response) }
	if message, failed := onlyError(fr.Response); failed {
		end.typ, end.failed, end.message = record.ToolError, true, message
		content = func(d jsonenc.Doc) { toolContent(d, fr.Name, adkreflect.OriginUnknown, "args", asked.call.Args) }
	}
	out := rec.emitFrom(ctx, s, end, body{
		content: content,
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", fr.ID)
			d.OptStr("started", began.event)
			d.OptStr("asked", asked.row.String())
			resultKeys(d, digest, args)
			rec.argsOfRead(d, fr.Name, asked.call.Args)
		},
	})
	rec.explain(s.run.Session, fr.Name, digest, out)
}

// onlyError returns the error that is all of a response.
func onlyError(response map[string]any) (message string, failed bool) {
	v, failed := response["error"]
	if !failed || len(response) > 1 {
		return "", false
	}
	message, ok := v.(string)
	if !ok {
		message = "the tool's result is an error"
	}
	return message, true
}

// takeFinished takes a call with the id off those that wait for their response.
func (r *Run) takeFinished(id string, fits func(*Call) bool) *Call {
	list := r.finished[id]
	for i, c := range list {
		if !fits(c) {
			continue
		}
		if len(list) == 1 {
			delete(r.finished, id)
		} else {
			r.finished[id] = append(list[:i:i], list[i+1:]...)
		}
		return c
	}
	return nil
}

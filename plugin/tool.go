// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// errUnfinished closes a span whose end never came.
var errUnfinished = errors.New("the run ended before this step did")

func (rec *Recorder) beforeTool(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
	var r *run
	defer rec.rescue("BeforeTool", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		rec.startTool(ctx, r, t, args)
	}
	return nil, nil
}

func (rec *Recorder) startTool(ctx agent.Context, r *run, t tool.Tool, args map[string]any) *call {
	c := r.newCall(ctx, t, rec.now())
	c.origin = originOf(bare(t), args)
	var note string
	note, c.replay = rec.replayNote(t, args)
	out := rec.emit(ctx, r, row{
		typ: schema.ToolStarting, agent: c.agent, branch: c.branch, parent: c.parent, at: c.started,
	}, body{
		content: func(d jsonenc.Doc) { c.args = digestedContent(d, c, "args", args) },
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.id)
			d.OptStr("replay", note)
		},
	})
	c.span = out.span
	c.startRow.set(out.event)
	if !r.startCall(ctx, c) {
		rec.endTool(ctx, r, c, nil, nil, errUnfinished)
	}
	return c
}

func toolContent(d jsonenc.Doc, c *call, key string, payload map[string]any) {
	d.Open('{')
	d.Str("tool", c.name)
	d.Any(key, payload)
	d.Str("tool_origin", c.origin)
	d.Close('}')
}

// digestedContent is toolContent, and returns the digest of the payload.
func digestedContent(d jsonenc.Doc, c *call, key string, payload map[string]any) (sum digestOf) {
	d.Open('{')
	d.Str("tool", c.name)
	sum.digest, sum.known = d.Digested(key, payload)
	d.Str("tool_origin", c.origin)
	d.Close('}')
	return sum
}

// onToolError records a call of a tool that does not exist, which fires only this
// callback. For any other call AfterTool follows and writes the one row that ends it; what
// the tool failed with is remembered, because another plugin may answer in its place.
func (rec *Recorder) onToolError(ctx agent.Context, t tool.Tool, args map[string]any, err error) (map[string]any, error) {
	var r *run
	defer rec.rescue("OnToolError", &r)
	if r = rec.runs.lookup(ctx); r == nil {
		return nil, nil
	}
	c := r.call(ctx)
	if c != nil {
		c.failed = err
		return nil, nil
	}
	c = rec.startTool(ctx, r, t, args)
	rec.endTool(ctx, r, c, args, nil, err)
	r.endCall(ctx)
	return nil, nil
}

// afterTool records the end of a call and, when the call asked for an approval,
// the request. The two stand apart: a failure to write the row must not let a
// request through that nobody recorded.
func (rec *Recorder) afterTool(ctx agent.Context, t tool.Tool, args, result map[string]any, err error) (map[string]any, error) {
	r, c := rec.ended(ctx, t, args, result, err)
	refusal := rec.asked(ctx, r, c, t.Name(), args)
	if r != nil {
		r.endCall(ctx)
	}
	return refusal, nil
}

func (rec *Recorder) ended(ctx agent.Context, t tool.Tool, args, result map[string]any, err error) (r *run, c *call) {
	defer rec.rescue("AfterTool", &r)
	if r = rec.runs.lookup(ctx); r == nil {
		return nil, nil
	}
	if c = r.call(ctx); c == nil {
		if r.over.Load() {
			return r, nil // the end of the run has closed the call
		}
		c = rec.startTool(ctx, r, t, args)
	}
	if c.permit != nil && !c.inner {
		rec.endPermit(ctx, c, args, err)
	}
	rec.endTool(ctx, r, c, args, result, err)
	r.noteRefusal(c, args, err)
	if actions := ctx.Actions(); actions != nil {
		// ADK keeps the artifacts of one call only when it merges those of several.
		rec.savedByTool(ctx, r, c, actions.ArtifactDelta)
	}
	return r, c
}

// endTool writes the one row that ends a tool call.
func (rec *Recorder) endTool(ctx context.Context, r *run, c *call, args, result map[string]any, err error) {
	r.mu.Lock()
	if c.done {
		r.mu.Unlock()
		return
	}
	c.done = true
	entities, declared, child, state := c.entities, c.declared, c.child, c.state // the call reads no more
	r.mu.Unlock()
	drift := false
	if c.refusal != nil && !c.repeated {
		entities, drift = rec.drifted(entities, c.refusal.Report)
	}

	now := rec.now()
	kind := "" // of the error in a result
	completed := false
	note := ""
	unfinished := errors.Is(err, errUnfinished)
	if !unfinished {
		note = c.replayEnd(args)
	}
	response := c.response(result, err)
	var sum digestOf
	asks := c.asks(ctx)
	x := row{
		typ: schema.ToolCompleted, agent: c.agent, branch: c.branch, span: c.span, parent: c.parent, at: now,
		timed: true, total: now.Sub(c.started),
	}
	b := body{
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.id)
			if drift {
				d.Bool("drift", true)
				if declared > 0 {
					d.Int("declared", declared)
				}
			}
			if c.startRow != (rowID{}) {
				id := c.startRow.digits()
				d.ID("started", id[:])
			}
			if !unfinished {
				c.result = rec.resultDigest(response, sum)
				d.ID("result", c.result[:])
			}
			d.OptStr("replay", note)
			child.link(d)
			rec.argsAtEnd(d, c, args, asks, completed)
			if completed && len(state) > 0 {
				d.Any("state", state)
			}
		},
		attrs: func(d jsonenc.Doc) {
			if len(entities) > 0 {
				d.Key("entities")
				d.Open('[')
				d.Raw(entities)
				d.Close(']')
			}
			d.OptStr("error_type", kind)
		},
	}
	switch {
	case !unfinished && c.refused != "": // an unfinished call may still write it
		x.typ, x.failed, x.message = schema.ToolError, true, c.refused
		b.content = func(d jsonenc.Doc) { toolContent(d, c, "args", args) }
	case errors.Is(err, tool.ErrConfirmationRequired), errors.Is(err, tool.ErrConfirmationRejected):
		// Asking and being told no are not failures; the Python plugin writes
		// both as results.
		b.content = func(d jsonenc.Doc) { sum = digestedContent(d, c, "result", response) }
	case err != nil:
		x.typ, x.failed, x.message = schema.ToolError, true, err.Error()
		b.content = func(d jsonenc.Doc) { toolContent(d, c, "args", args) }
	default:
		if f, ok := rec.resultError(c.tool, args, result); ok {
			x.typ, x.failed, x.message, kind = schema.ToolError, true, f.message, f.kind
			b.content = func(d jsonenc.Doc) { toolContent(d, c, "args", args) }
			break
		}
		b.content = func(d jsonenc.Doc) { sum = digestedContent(d, c, "result", response) }
		completed = true
	}
	out := rec.emit(ctx, r, x, b)
	if !unfinished {
		r.finish(c, out.event)
	}
	if completed {
		rec.answeredBy(ctx, r, c, args)
	}
}

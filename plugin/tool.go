// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

func (rec *Recorder) beforeTool(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
	rec.BeforeTool(ctx, t, args, "")
	return nil, nil
}

// BeforeTool records that a call of a tool begins. It returns the run and the call, nil where
// there is no run. replay says that the call can be repeated from the row, or why it cannot; ""
// leaves it out.
func (rec *Recorder) BeforeTool(ctx agent.Context, t tool.Tool, args map[string]any, replay string) (r *Run, c *Call) {
	defer rec.Rescue("BeforeTool", &r)
	if r = rec.runs.lookup(ctx); r != nil {
		c = rec.startTool(ctx, r, t, args, replay)
	}
	return r, c
}

func (rec *Recorder) startTool(ctx agent.Context, r *Run, t tool.Tool, args map[string]any, replay string) *Call {
	c := r.newCall(ctx, t, rec.now())
	c.origin = adkreflect.Origin(t, args)
	out := rec.emit(ctx, r, row{
		typ: record.ToolStarting, agent: c.Agent, branch: c.Branch, parent: c.Parent, at: c.started,
	}, body{
		content: func(d jsonenc.Doc) { c.args = digestedContent(d, c, "args", args) },
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.ID)
			d.OptStr("replay", replay)
		},
	})
	if len(args) == 0 {
		c.args.digest = rec.noResult
	}
	c.Span = out.span
	c.startRow.set(out.event)
	if !r.startCall(ctx, c) {
		rec.endTool(ctx, r, c, nil, nil, errUnfinished, End{})
	}
	return c
}

func toolContent(d jsonenc.Doc, name, origin, key string, payload map[string]any) {
	d.Open('{')
	d.Str("tool", name)
	d.Any(key, payload)
	d.OptStr("tool_origin", origin)
	d.Close('}')
}

// digestedContent is toolContent, and returns the digest of the payload.
func digestedContent(d jsonenc.Doc, c *Call, key string, payload map[string]any) (sum digestOf) {
	d.Open('{')
	d.Str("tool", c.Name)
	sum.digest, sum.known = d.Digested(key, payload)
	d.Str("tool_origin", c.origin)
	d.Close('}')
	return sum
}

// onToolError records a call of a tool that does not exist; ADK calls only this callback for it.
// For any other call AfterTool follows and writes the one row that ends it. The error of the tool
// is remembered, because another plugin may answer in its place.
func (rec *Recorder) onToolError(ctx agent.Context, t tool.Tool, args map[string]any, err error) (map[string]any, error) {
	var r *Run
	defer rec.Rescue("OnToolError", &r)
	if r = rec.runs.lookup(ctx); r == nil {
		return nil, nil
	}
	c := r.call(ctx)
	if c != nil {
		c.failed = err
		return nil, nil
	}
	c = rec.startTool(ctx, r, t, args, "")
	rec.endTool(ctx, r, c, args, nil, err, End{})
	r.endCall(ctx)
	return nil, nil
}

// End holds another package's facts about the end of a call, for the row that ends it. The zero
// value stands for a call that ran.
type End struct {
	// Refused says why the call did not run. Told are the entities in the refusal: by it the model
	// has read their values.
	Refused string
	Told    []entity.Entity
	// Approval is the id of the approval by which the call ran to its end, "" for none.
	Approval string
	// Replay says why the call cannot be repeated from its row after all. State holds what
	// the call read of the state of the session.
	Replay string
	State  map[string]json.RawMessage
}

func (rec *Recorder) afterTool(ctx agent.Context, t tool.Tool, args, result map[string]any, err error) (_ map[string]any, _ error) {
	var r *Run
	defer rec.Rescue("AfterTool", &r)
	r, c := rec.LookupCall(ctx)
	if r != nil {
		rec.EndTool(ctx, r, c, t, args, result, err, End{})
	}
	return nil, nil
}

// EndTool records the end of a call, which [Recorder.LookupCall] gave, and returns the call. A
// nil call is recorded too, unless the run is over: then the result is nil. ADK merges the
// results of calls made at once and keeps the artifacts of only one, so EndTool records the
// artifacts that the tool saved. It may panic; the caller defers [Recorder.Rescue].
func (rec *Recorder) EndTool(ctx agent.Context, r *Run, c *Call, t tool.Tool, args, result map[string]any, err error, end End) *Call {
	defer r.endCall(ctx)
	if c == nil {
		if r.over.Load() {
			return nil // the end of the run has closed the call
		}
		c = rec.startTool(ctx, r, t, args, "")
	}
	rec.endTool(ctx, r, c, args, result, err, end)
	if actions := ctx.Actions(); actions != nil {
		rec.savedByTool(ctx, r, c, actions.ArtifactDelta)
	}
	return c
}

// endTool writes the one row that ends a tool call.
func (rec *Recorder) endTool(ctx context.Context, r *Run, c *Call, args, result map[string]any, err error, end End) {
	c.declaring.Lock()
	r.mu.Lock()
	done, child := c.done, c.child
	c.done = true
	r.mu.Unlock()
	c.declaring.Unlock()
	if done {
		return
	}
	told := rec.told(end.Told)

	now := rec.now()
	kind := "" // of the error in a result
	completed := false
	unfinished := errors.Is(err, errUnfinished)
	response := result
	if err != nil {
		response = map[string]any{"error": err.Error()} // which ADK makes of it
	}
	var sum digestOf
	asks := c.asks(ctx)
	c.atEnd = rec.digest(args)
	x := row{
		typ: record.ToolCompleted, agent: c.Agent, branch: c.Branch, span: c.Span, parent: c.Parent, at: now,
		timed: true, total: now.Sub(c.started),
	}
	b := body{
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.ID)
			if len(told) > 0 {
				d.Bool("drift", true)
			}
			if c.startRow != (rowID{}) {
				id := c.startRow.digits()
				d.ID("started", id[:])
			}
			if !unfinished {
				c.result = rec.resultDigest(response, sum)
				resultKeys(d, c.result, c.atEnd)
			}
			d.OptStr("replay", end.Replay)
			if completed {
				d.OptStr("approval_id", end.Approval)
			}
			child.link(d)
			rec.argsAtEnd(d, c, args, asks, completed)
			if completed && len(end.State) > 0 {
				d.Any("state", end.State)
			}
		},
		attrs: func(d jsonenc.Doc) {
			if len(told) > 0 {
				writeEntities(d, told)
			}
			d.OptStr("error_type", kind)
		},
	}
	switch {
	case end.Refused != "":
		x.typ, x.failed, x.message = record.ToolError, true, end.Refused
		b.content = func(d jsonenc.Doc) { toolContent(d, c.Name, c.origin, "args", args) }
	case errors.Is(err, tool.ErrConfirmationRequired), errors.Is(err, tool.ErrConfirmationRejected):
		// Asking and being told no are not failures; the Python plugin writes
		// both as results.
		b.content = func(d jsonenc.Doc) { sum = digestedContent(d, c, "result", response) }
	case err != nil:
		x.typ, x.failed, x.message = record.ToolError, true, err.Error()
		b.content = func(d jsonenc.Doc) { toolContent(d, c.Name, c.origin, "args", args) }
	default:
		if f, ok := rec.resultError(c.Tool, args, result); ok {
			x.typ, x.failed, x.message, kind = record.ToolError, true, f.message, f.kind
			b.content = func(d jsonenc.Doc) { toolContent(d, c.Name, c.origin, "args", args) }
			break
		}
		b.content = func(d jsonenc.Doc) { sum = digestedContent(d, c, "result", response) }
		completed = true
	}
	out := rec.emit(ctx, r, x, b)
	if !unfinished {
		r.finish(c, out.event)
		rec.explain(r.Session, c.Name, c.result, out)
	}
	if completed {
		rec.answeredBy(ctx, r, c, args)
	}
}

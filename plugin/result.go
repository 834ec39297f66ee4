// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// resultDigest returns the digest of a response. It costs a pass over it where writing it
// did not give the digest.
func (rec *Recorder) resultDigest(response map[string]any, sum digestOf) jsonenc.Digest {
	switch {
	case len(response) == 0:
		return noResult
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
	changed := asks && rec.Whole(record.ToolStarting) && (!c.args.known || rec.digest(args) != rec.argsDigest(c))
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

// argsDigest returns the digest of the arguments that the call began with.
func (rec *Recorder) argsDigest(c *Call) jsonenc.Digest {
	if c.args.digest == nilDigest {
		return noResult
	}
	return c.args.digest
}

// maxFinished bounds how many calls of one id wait for the event with their responses.
const maxFinished = 16

// finish remembers the row that ended the call until the event with the response passes.
func (r *Run) finish(c *Call, event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.endRow.set(event)
	if c.tracked || event == "" {
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

// rewritten writes a row for each response in the event that is another one than the row
// tells of that ended its call: a callback behind the recorder changed it. The models read
// the event. past are the responses in the event.
func (rec *Recorder) rewritten(ctx context.Context, s *source, past []pastResponse) {
	if len(past) == 0 {
		return
	}
	type change struct {
		of     *Call
		digest jsonenc.Digest
	}
	var changes []change
	r := s.run
	r.mu.Lock()
	// Two calls of one answer may have one id. Those that fit are taken first.
	others := past[:0]
	for _, p := range past {
		if r.takeFinished(p.call, func(c *Call) bool { return c.Name == p.tool && c.result == p.digest }) == nil {
			others = append(others, p)
		}
	}
	for _, p := range others {
		if c := r.takeFinished(p.call, func(c *Call) bool { return c.Name == p.tool }); c != nil {
			changes = append(changes, change{c, p.digest})
		}
	}
	r.mu.Unlock()
	for _, x := range changes {
		rec.emitFrom(ctx, s, row{
			typ: record.ToolResultRewritten, agent: x.of.Agent, branch: x.of.Branch, span: x.of.Span, parent: x.of.Parent,
		}, body{
			content: func(d jsonenc.Doc) {
				d.Open('{')
				d.Str("tool", x.of.Name)
				d.Close('}')
			},
			adk: func(d jsonenc.Doc) {
				d.OptStr("call_id", x.of.ID)
				d.Str("of", x.of.endRow.String())
				d.Str("result", x.digest.String())
			},
		})
	}
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

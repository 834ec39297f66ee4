// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// streamable is a tool that gives its result in chunks. ADK prefers RunStream to Run
// and fires no tool callback around it. In a run it joins the chunks to the result of
// the call; in a live session it tells the model that the call goes on and sends each
// chunk as a message of the user. A request for a confirmation counts in a run only.
type streamable interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	RunStream(ctx agent.Context, args any) iter.Seq2[string, error]
}

// protectedStream is a streaming tool behind the gate. As no callback fires, it takes
// the call through all of the gate by itself, and records it.
type protectedStream struct {
	guarded
	stream streamable
}

// ProcessRequest puts the tool into the model's request.
func (p *protectedStream) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	return p.process(ctx, req, p)
}

// errStreamLeft ends a call whose consumer took no further chunk.
var errStreamLeft = errors.New("whoever read the stream stopped before its end")

// RunStream streams what the tool inside does, once, if there is a permit for exactly
// this call, which is consumed before the first chunk. A refusal is an error that holds
// it as JSON. ADK does not show errors to the model of a live session; a chunk in its
// place would be sent at the same time as ADK's own answer to the call, which the
// connection does not allow.
func (p *protectedStream) RunStream(ctx agent.Context, args any) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		g := p.gate
		if r, _ := g.rec.LookupCall(ctx); r != nil {
			own := g.of(r)
			if !own.claim(ctx) {
				yield("", errors.New(refusalText(g.deny(nil, p.Name(), CodeUnsupported, "its stream is being read already, and a call is carried out once"))))
				return
			}
			defer own.release(ctx)
		}
		c, frozen, refusal, err := p.begin(ctx, args)
		switch {
		case refusal != nil:
			yield("", errors.New(refusalText(refusal)))
			return
		case c == nil:
			yield("", err)
			return
		}
		defer c.unlock()
		var text strings.Builder
		left := false
		take := func(chunk string, err error) bool {
			text.WriteString(chunk)
			left = left || !yield(chunk, err)
			return !left || ctx.Err() != nil // the effect goes on without a caller
		}
		ended, err := g.carryOut(ctx, c, take, func(ctx agent.Context, hand func(string, error) bool) (err error) {
			for chunk, cerr := range p.stream.RunStream(ctx, frozen) {
				if cerr != nil {
					err = cerr
				}
				if !hand(chunk, cerr) {
					return cmp.Or(err, errStreamLeft)
				}
			}
			return err
		})
		result := map[string]any{"result": text.String()}
		if ended != nil {
			result = streamed(ended)
		}
		if refusal, _ = g.toolEnds(ctx, p, frozen, result, err); refusal == nil {
			refusal = ended
		}
		if refusal != nil && !left {
			yield("", errors.New(refusalText(refusal)))
		}
	}
}

// claim takes the call for one reader of its stream; false while another has it.
func (r *run) claim(ctx agent.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	actions := ctx.Actions()
	if r.streaming[actions] {
		return false
	}
	if r.streaming == nil {
		r.streaming = make(map[*session.EventActions]bool)
	}
	r.streaming[actions] = true
	return true
}

func (r *run) release(ctx agent.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.streaming, ctx.Actions())
}

// begin does the work of the callbacks before a tool, and of Protect's Run. If the call does
// not run, it also does the work of the callbacks after a tool.
func (p *protectedStream) begin(ctx agent.Context, args any) (c *call, frozen, refusal map[string]any, err error) {
	g, name := p.gate, p.Name()
	defer func() {
		if v := recover(); v != nil {
			g.panics.Add(1)
			g.log.Error("contextgraph: the gate recovered from a panic and denies", "tool", name, "panic", v)
			c, refusal, err = nil, g.deny(nil, name, safety.CodeInternal, internalError), nil
		}
	}()
	m, ok := args.(map[string]any)
	if !ok {
		return nil, nil, g.deny(nil, name, CodeUnsupported, fmt.Sprintf("its arguments are a %T, which cannot be compared with those that were approved", args)), nil
	}
	if r, known := g.rec.LookupCall(ctx); r != nil {
		switch {
		case known != nil:
			return nil, nil, g.deny(nil, name, CodeUnsupported, "Protect must be the outermost wrapper of a tool, and its RunStream must not be called by another tool"), nil
		case !r.Live && ctx.ToolConfirmation() == nil && g.of(r).calledTool(ctx.FunctionCallID()) != name:
			return nil, nil, g.deny(nil, name, CodeCannotAsk, "no model called it: it runs where no approval can be asked, as in a node of a workflow"), nil
		}
	}
	_, _ = g.toolBegins(ctx, p, m)
	refusal, err = g.beforeTool(ctx, p, m)
	if refusal == nil && err == nil {
		c, frozen, refusal, err = p.enter(ctx, p, m)
	}
	if c == nil {
		result := refusal
		if refusal != nil {
			result = streamed(refusal)
		}
		if withdrawn, _ := g.toolEnds(ctx, p, m, result, err); withdrawn != nil {
			refusal, err = withdrawn, nil
		}
	}
	return c, frozen, refusal, err
}

// refusalText is a refusal as text: of a stream ADK takes nothing else.
func refusalText(refusal map[string]any) string {
	text, err := json.Marshal(refusal)
	if err != nil {
		return fmt.Sprintf("%v: %v", refusal["reason"], refusal["message"])
	}
	return string(text)
}

// streamed is the response that ADK makes of a refusal of a stream.
func streamed(refusal map[string]any) map[string]any {
	return map[string]any{"error": refusalText(refusal)}
}

func isStream(t tool.Tool) bool {
	_, is := t.(*protectedStream)
	return is
}

// calledTool returns the name of the guarded tool that a model called under the id, ""
// for none.
func (r *run) calledTool(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.called[id]
}

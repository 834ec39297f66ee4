// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// source is an event that rows come from.
type source struct {
	*session.Event
	run *Run
	// span is the span of the activation of the event's author, or the root span.
	span, parent string
	// answer is the row of the model call that gave the event as its answer.
	answer rowID
	// inputs are the requests for an input that are on record.
	inputs []InputRequest
}

// row returns a row of the event's author.
func (s *source) row(typ string) row {
	return row{typ: typ, agent: s.Author, branch: s.Branch, span: s.span, parent: s.parent}
}

// path is the path of the workflow node that emitted the event, "" for none.
func (s *source) path() string {
	if s.NodeInfo == nil {
		return ""
	}
	return s.NodeInfo.Path
}

// emitFrom writes a row that comes from an event, with the attributes that all such
// rows have.
func (rw *rows) emitFrom(ctx context.Context, s *source, x row, b body) written {
	adk, attrs := b.adk, b.attrs
	b.adk = func(d jsonenc.Doc) {
		s.attributes(d)
		if adk != nil {
			adk(d)
		}
	}
	b.attrs = func(d jsonenc.Doc) {
		if attrs != nil {
			attrs(d)
		}
		rw.customMetadata(d, s.CustomMetadata, rw.Whole(x.typ))
	}
	return rw.emit(ctx, s.run, x, b)
}

// attributes writes where in the run the event came from, into attributes.adk.
func (s *source) attributes(d jsonenc.Doc) {
	d.OptStr("source_event_id", s.ID)
	if path := s.path(); path != "" {
		n := parseNode(path)
		d.Key("node")
		d.Open('{')
		d.Str("path", path)
		d.OptStr("run_id", n.run)
		d.OptStr("parent_run_id", n.parentRun)
		d.Close('}')
	}
	if s.IsolationScope != "" {
		d.Key("scope")
		d.Open('{')
		d.Str("id", s.IsolationScope)
		d.Str("kind", scopeKind(s.IsolationScope))
		d.Close('}')
	}
	switch len(s.Routes) {
	case 0:
	case 1:
		d.Str("route", s.Routes[0])
	default:
		d.Any("route", s.Routes)
	}
}

// flowKey is the key under which the package flow writes what a step of a graph did.
const flowKey = "flow"

// silentStep says whether the event ends a step of a flow and holds nothing else: its row has the step alone.
func (s *source) silentStep() bool {
	return s.CustomMetadata[flowKey] != nil && s.path() != "" && s.Output == nil && s.Content == nil
}

// customMetadata writes the entries of an event's metadata that the options list, and those of the package flow. Of
// these, what the run began with stands in the message, and the values that an edge read are payload.
func (rw *rows) customMetadata(d jsonenc.Doc, metadata map[string]any, whole bool) {
	step, _ := metadata[flowKey].(map[string]any)
	if len(rw.record.Metadata) == 0 && step == nil {
		return
	}
	chosen := make(map[string]any)
	if step != nil {
		step = maps.Clone(step)
		delete(step, "input")
		if !whole {
			delete(step, "read")
		}
		chosen[flowKey] = step
	}
	for k, v := range metadata {
		if listed(rw.record.Metadata, k) {
			chosen[k] = v
		}
	}
	if len(chosen) > 0 {
		d.Any("custom_metadata", chosen)
	}
}

// InputRequest is a request for an input that is on record.
type InputRequest struct {
	// Call is the call by which the event asks. A node of the host's own may ask without one: then
	// Call is a copy, and a change of it has no effect.
	Call *genai.FunctionCall
	// Span is that of the request.
	Span string
}

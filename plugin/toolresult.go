// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// reflectResponse marks a result that ADK's retry-and-reflect plugin gave in the
// place of an error.
const reflectResponse = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"

// resultError is the error that a tool's result holds.
type resultError struct {
	message string
	// kind is the type of the error, "" when it is not known.
	kind string
}

// resultError reports whether a result is an error although the tool returned none.
func (rec *Recorder) resultError(t tool.Tool, args, result map[string]any) (f resultError, failed bool) {
	if marker, _ := result["response_type"].(string); marker == reflectResponse {
		details, _ := result["error_details"].(string)
		f.kind, _ = result["error_type"].(string)
		f.message = cmp.Or(details, f.kind, "the tool failed")
		return f, true
	}
	if message, failed := rec.classified(t, args, result); failed {
		return resultError{message: cmp.Or(message, "the tool's result is an error")}, true
	}
	for _, key := range [...]string{"isError", "is_error"} {
		if result[key] == true {
			return resultError{message: "the tool's result says that it is an error: " + key + " is true"}, true
		}
	}
	return resultError{}, false
}

// classified asks the host's classifier. A result that it cannot classify is no error.
func (rec *Recorder) classified(t tool.Tool, args, result map[string]any) (message string, failed bool) {
	if rec.options.Classify == nil {
		return "", false
	}
	defer func() {
		if p := recover(); p != nil {
			rec.counters.classifierFailed.Add(1)
			rec.often.Warn("contextgraph: the classifier of tool results panicked; the result counts as none that it knows",
				"tool", t.Name(), "panic", fmt.Sprint(p))
			message, failed = "", false
		}
	}()
	if err := rec.options.Classify(t, args, result); err != nil {
		return err.Error(), true
	}
	return "", false
}

// answeredBy writes the agent's answer when the tool that completed is the one that
// the agent gives it with.
func (rec *Recorder) answeredBy(ctx context.Context, r *Run, c *Call, args map[string]any) {
	if !slices.Contains(rec.record.FinalResponseTools, c.Name) {
		return
	}
	x := row{typ: record.AgentResponse, agent: c.Agent, branch: c.Branch, span: r.RootSpan}
	if a := r.agent(c.Agent, c.Branch); a != nil {
		x.span, x.parent = a.id, a.parent
	}
	asked, _ := r.askedFor(c.ID, c.Agent, c.Branch)
	rec.emit(ctx, r, x, body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Any("response", args)
			d.Close('}')
		},
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", c.ID)
			d.OptStr("answer_of", asked.row.String())
		},
		attrs: func(d jsonenc.Doc) { d.Str("source_tool", c.Name) },
	})
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"cmp"
	"iter"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolutils"
)

// runnable is a tool as ADK calls it.
type runnable interface {
	declaring
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// streaming is a streaming tool as ADK calls it.
type streaming interface {
	declaring
	RunStream(ctx agent.Context, args any) iter.Seq2[string, error]
}

type declaring interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
}

// described is a tool whose declaration a step changes.
type described struct {
	declaring
	run  *run
	name string
}

func (d described) look() *look {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return d.run.looks[d.name]
}

// Description implements [tool.Tool].
func (d described) Description() string {
	return cmp.Or(d.look().Description, d.declaring.Description())
}

// Declaration is what the model is told of the tool.
func (d described) Declaration() *genai.FunctionDeclaration {
	out := *d.declaring.Declaration()
	out.Description = d.Description()
	if arguments := d.look().Arguments; arguments != nil {
		properties := make(map[string]*jsonschema.Schema)
		for _, name := range arguments {
			properties[name] = &jsonschema.Schema{}
		}
		out.ParametersJsonSchema = &jsonschema.Schema{Type: "object", Properties: properties}
	}
	return &out
}

type describedRun struct {
	described
	runs runnable
}

// Run runs the tool.
func (d describedRun) Run(ctx agent.Context, args any) (map[string]any, error) {
	return d.runs.Run(ctx, args)
}

// ProcessRequest puts the tool into a request of a model.
func (d describedRun) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, d)
}

type describedStream struct {
	described
	streams streaming
}

// RunStream runs the tool.
func (d describedStream) RunStream(ctx agent.Context, args any) iter.Seq2[string, error] {
	return d.streams.RunStream(ctx, args)
}

// ProcessRequest puts the tool into a request of a model.
func (d describedStream) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, d)
}

// redeclares reports whether the flow or a step of it says what the declaration of a tool is.
func (f *Flow) redeclares(name string) bool {
	return f.Tools[name].Arguments != nil || slices.ContainsFunc(f.Steps, func(s step) bool { return s.Tools[name] != nil && s.Tools[name].isDeclaration() })
}

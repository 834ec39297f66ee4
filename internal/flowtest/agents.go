// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/agent/workflowagents/loopagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// rootName is the agent that a flow has if it names none.
const rootName = "root"

// runnable is a tool as ADK calls it.
type runnable interface {
	tool.Tool
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// streaming is a streaming tool as ADK calls it.
type streaming interface {
	tool.Tool
	RunStream(ctx agent.Context, args any) iter.Seq2[string, error]
}

// makeTools makes tools of the flow, or makes them anew.
func (r *run) makeTools(names ...string) error {
	slices.Sort(names)
	for _, name := range names {
		t, err := r.makeTool(name, r.looks[name])
		if err != nil {
			return fmt.Errorf("tools.%s: %w", name, err)
		}
		r.tools[name] = t
	}
	return nil
}

func (r *run) makeTool(name string, l *look) (t tool.Tool, err error) {
	cfg := functiontool.Config{
		Name: name, Description: l.Description, IsLongRunning: l.LongRunning, RequireConfirmation: l.Guard == "confirm",
	}
	if cfg.Description == "" {
		cfg.Description = name
	}
	if l.Arguments != nil {
		cfg.InputSchema = &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema)}
		for _, argument := range l.Arguments {
			cfg.InputSchema.Properties[argument] = &jsonschema.Schema{}
		}
	}
	switch {
	case l.Streams:
		t, err = functiontool.NewStreaming(cfg, func(ctx agent.Context, args map[string]any) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				text, err := r.callText(ctx, name, args)
				if half := len(text) / 2; err == nil && yield(text[:half], nil) {
					yield(text[half:], nil)
				} else if err != nil {
					yield("", err)
				}
			}
		})
	case l.Text:
		t, err = functiontool.New(cfg, func(ctx agent.Context, args map[string]any) (string, error) { return r.callText(ctx, name, args) })
	default:
		t, err = functiontool.New(cfg, func(ctx agent.Context, args map[string]any) (any, error) { return r.call(ctx, name, args) })
	}
	if err != nil {
		return nil, err
	}
	if l.Replayable {
		if t, err = r.cg.Replayable(t); err != nil {
			return nil, err
		}
	}
	switch l.Guard {
	case "protect":
		t = r.cg.Protect(t)
	case "twin":
		r.cg.Protect(t) // which no agent has
	}
	return t, nil
}

func (r *run) callText(ctx agent.Context, name string, args map[string]any) (string, error) {
	result, err := r.call(ctx, name, args)
	if err != nil {
		return "", err
	}
	if text, ok := result.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(result)
	return string(text), err
}

// call is what a tool does.
func (r *run) call(ctx agent.Context, name string, args map[string]any) (any, error) {
	r.mu.Lock()
	l := r.looks[name]
	r.calls[name]++
	r.mu.Unlock()
	c := ctx.ToolConfirmation()
	if l.Guard == "asks" && c == nil {
		return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Shall I?", nil)
	}
	if l.Leaves {
		r.leave()
	}
	for _, other := range l.Runs {
		r.runTool(ctx, other, args)
	}
	for _, a := range l.Agents {
		if _, err := r.runAgent(ctx, a, args); err != nil {
			return nil, err
		}
	}
	state, artifact, err := l.read(ctx, args)
	if err != nil {
		return nil, err
	}
	s := r.place.scopeOf(args, state, artifact)
	if c != nil {
		s["answer"] = c.Payload
	}
	if err := r.declare(ctx, s, l.Declares); err != nil {
		return nil, err
	}
	result, err := l.answer(s, args)
	if wrong := (*slip)(nil); errors.As(err, &wrong) {
		r.mistaken(fmt.Errorf("tools.%s: %w", name, wrong))
	}
	if err != nil {
		return nil, err
	}
	if l.Panics != "" {
		panic(l.Panics)
	}
	if r.flow.isGuarded(name) {
		r.effect(name, args)
	}
	if l.World != nil {
		r.place.change(s.fill(l.World).(map[string]any))
	}
	for key, value := range l.State {
		if err := ctx.State().Set(key, s.fill(value)); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// read returns what a call reads of the state, and the text of the artifact that it loads. An error about a
// key is no value.
func (l *look) read(ctx agent.Context, args map[string]any) (state map[string]any, artifact string, err error) {
	state = make(map[string]any)
	if l.Reading == "derived" {
		derived, cancel := ctx.WithAgentCancel()
		defer cancel()
		ctx = derived.WithDelta(&agent.CommonContextDelta{})
	}
	from := session.ReadonlyState(ctx.State())
	switch l.Reading {
	case "readonly":
		from = ctx.ReadonlyState()
	case "derived":
		from = ctx.WithICDelta(nil).Session().State()
	}
	get := func() {
		if l.Reading == "all" {
			maps.Insert(state, from.All())
		} else {
			for _, key := range l.Reads {
				if value, err := from.Get(key); err == nil {
					state[key] = value
				}
			}
		}
		if l.Loads == "" {
			return
		}
		if loaded, failed := ctx.Artifacts().Load(ctx, fmt.Sprint(args[l.Loads])); failed != nil {
			err = failed
		} else {
			artifact = loaded.Part.Text
		}
	}
	if l.Reading != "aside" {
		get()
		return state, artifact, err
	}
	var aside sync.WaitGroup
	aside.Go(get)
	aside.Wait()
	return state, artifact, err
}

// declare declares what a tool says that it declares.
func (r *run) declare(ctx agent.Context, s scope, things []declared) error {
	if len(things) == 0 {
		return nil
	}
	es := make([]entity.Entity, len(things))
	for i, d := range things {
		var err error
		if es[i], err = entityOf(s, d, attributesOf(r.flow.cfg.Extract, d.Type)); err != nil {
			return err
		}
	}
	return r.cg.RecordEntity(ctx, es...)
}

// runTool calls a tool as another tool or a node may, past ADK.
func (r *run) runTool(ctx agent.Context, name string, args map[string]any) {
	var result map[string]any
	var err error
	switch t := r.tools[name].(type) {
	case runnable:
		result, err = t.Run(ctx, args)
	case streaming:
		for _, err = range t.RunStream(ctx, args) {
		}
	}
	r.note("INSIDE  %s %s %v", name, jsonOf(result), err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words.Result = append(r.words.Result, fmt.Sprint(jsonOf(result), err))
}

// answer returns what the table of the tool says about the arguments.
func (l *look) answer(s scope, args map[string]any) (any, error) {
	result, text := l.Result, l.Error
	for _, c := range l.Cases {
		if covers(args, c.Args) {
			result, text = c.Result, c.Error
			break
		}
	}
	if text != "" {
		return nil, errors.New(text)
	}
	for _, path := range references(result) {
		_, name, ok := strings.Cut(path, "{")
		if name, _, _ = strings.Cut(name, "}"); ok && args[name] == nil {
			return nil, &slip{fmt.Errorf("=%s: the call has no argument %s", path, name)}
		}
	}
	if result = s.fill(result); result == nil {
		result = map[string]any{"found": false}
	}
	return result, nil
}

// slip is a mistake of whoever wrote the flow.
type slip struct{ error }

// covers reports whether args have all of want.
func covers(args, want map[string]any) bool {
	for key, value := range want {
		if fmt.Sprint(args[key]) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

func entityOf(s scope, d declared, attributes map[string]config.Attribute) (e entity.Entity, err error) {
	e = entity.Entity{Type: d.Type, Value: fmt.Sprint(s.fill(d.Value)), Attributes: make(map[string]entity.Value)}
	for name, v := range d.Attributes {
		if e.Attributes[name], err = valueOf(s.fill(v), attributes[name]); err != nil {
			return e, err
		}
	}
	return e, nil
}

// makeAgent makes an agent and those below it.
func (r *run) makeAgent(s shape) (agent.Agent, error) {
	if s.Kind == "workflow" {
		return r.makeWorkflow(s)
	}
	var below []agent.Agent
	for _, o := range s.Of {
		a, err := r.makeAgent(o)
		if err != nil {
			return nil, err
		}
		below = append(below, a)
	}
	cfg := agent.Config{Name: s.Name, Description: s.Name, SubAgents: below}
	switch s.Kind {
	case "", "llm":
		return r.makeLLM(s, below)
	case "sequential":
		return sequentialagent.New(sequentialagent.Config{AgentConfig: cfg})
	case "parallel":
		return parallelagent.New(parallelagent.Config{AgentConfig: cfg})
	case "loop":
		return loopagent.New(loopagent.Config{AgentConfig: cfg, MaxIterations: s.Times})
	}
	return nil, fmt.Errorf("agent %s: kind is %q: use llm, sequential, parallel, loop or workflow", s.Name, s.Kind)
}

func (r *run) makeLLM(s shape, below []agent.Agent) (agent.Agent, error) {
	cfg := llmagent.Config{
		Name: s.Name, Description: s.Name, Instruction: "Do what the user wants.", Model: &actor{r, s.Name}, SubAgents: below,
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{r.showElse}, AfterToolCallbacks: []llmagent.AfterToolCallback{r.rewrite},
		BeforeToolCallbacks: []llmagent.BeforeToolCallback{r.changeArgs}, Mode: llmagent.ModeChat,
	}
	switch s.Mode {
	case "task":
		cfg.Mode = llmagent.ModeTask
	case "single_turn":
		cfg.Mode = llmagent.ModeSingleTurn
	}
	if s.Alone {
		cfg.IncludeContents = llmagent.IncludeContentsNone
	}
	for _, name := range s.Tools {
		t, ok := r.tools[name]
		if a := r.agents[name]; !ok && a != nil {
			t, ok = r.cg.AgentTool(a, nil), true
		}
		if !ok {
			return nil, fmt.Errorf("agent %s: the flow has no tool %q", s.Name, name)
		}
		cfg.Tools = append(cfg.Tools, t)
	}
	a, err := llmagent.New(cfg)
	r.agents[s.Name] = a
	return a, err
}

// makeWorkflow makes a workflow of nodes, one after the other. Those of a fork stand side by side.
func (r *run) makeWorkflow(s shape) (agent.Agent, error) {
	var edges []workflow.Edge
	last := []workflow.Node{workflow.Start}
	follow := func(n workflow.Node) {
		for _, from := range last {
			edges = append(edges, workflow.Edge{From: from, To: n})
		}
	}
	for _, o := range s.Of {
		side := []shape{o}
		if o.Kind == "fork" {
			side = o.Of
		}
		var nodes []workflow.Node
		for _, b := range side {
			n, err := r.makeNode(b)
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", b.Name, err)
			}
			follow(n)
			nodes = append(nodes, n)
		}
		if last = nodes; o.Kind == "fork" {
			join := workflow.NewJoinNode(o.Name)
			follow(join)
			last = []workflow.Node{join}
		}
	}
	return workflowagent.New(workflowagent.Config{Name: s.Name, Edges: edges})
}

func (r *run) makeNode(s shape) (workflow.Node, error) {
	switch s.Kind {
	case "tool":
		t, ok := r.tools[s.Name]
		if !ok {
			return nil, errors.New("the flow has no tool of this name")
		}
		return workflow.NewToolNode(t, workflow.NodeConfig{})
	case "output":
		return workflow.NewFunctionNode(s.Name, func(ctx agent.Context, in any) (any, error) {
			for _, t := range s.Tools {
				r.runTool(ctx, t, nil)
			}
			return r.place.scopeOf(map[string]any{"input": in}, nil, "").fill(s.Result), nil
		}, workflow.NodeConfig{}), nil
	case "ask":
		return workflow.NewEmittingFunctionNode(s.Name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
			request := session.RequestInput{InterruptID: r.newID(s.Name), Message: s.Name, Payload: r.place.scopeOf(nil, nil, "").fill(s.Result)}
			if s.Wants != "" {
				request.ResponseSchema = &jsonschema.Schema{Type: s.Wants}
			}
			if err := emit(workflow.NewRequestInputEvent(ctx, request)); err != nil {
				return nil, err
			}
			return nil, workflow.ErrNodeInterrupted
		}, workflow.NodeConfig{}), nil
	case "effect": // what the answer yes to an input leads to
		return workflow.NewFunctionNode(s.Name, func(_ agent.Context, in any) (any, error) {
			if in == false {
				return "not done", nil
			}
			r.effect(s.Name, nil)
			return "done", nil
		}, workflow.NodeConfig{}), nil
	}
	a, err := r.makeAgent(s)
	if err != nil {
		return nil, err
	}
	return workflow.NewAgentNode(a, workflow.NodeConfig{})
}

// runAgent runs another agent of the flow in a call of a tool, as an agent tool of the host does.
func (r *run) runAgent(ctx agent.Context, name string, args map[string]any) (any, error) {
	a, ok := r.agents[name]
	if !ok {
		return nil, fmt.Errorf("the flow has no agent %q", name)
	}
	t, ok := r.cg.AgentTool(a, nil).(runnable)
	if !ok {
		return nil, errors.New("an agent tool cannot be run")
	}
	return t.Run(ctx, map[string]any{"request": fmt.Sprint(args)})
}

// changeArgs is the callback of the agents that changes arguments, in place, or answers for the tool.
func (r *run) changeArgs(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.looks[t.Name()]; l != nil {
		maps.Copy(args, asJSON(l.Args))
		if c := ctx.ToolConfirmation(); c != nil {
			if l.Payload != nil {
				c.Payload = l.Payload
			}
			return l.Instead, nil
		}
	}
	return nil, nil
}

// rewrite is the callback of the agents that changes what tools answered.
func (r *run) rewrite(_ agent.Context, t tool.Tool, args, result map[string]any, err error) (map[string]any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.looks[t.Name()]
	if l == nil || l.Rewrite == nil {
		return nil, nil
	}
	out, _ := r.place.scopeOf(args, nil, "").fill(l.Rewrite).(map[string]any)
	return out, nil
}

// showElse is the callback of the agents that changes results in a request of a model, in place.
func (r *run) showElse(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if fr := p.FunctionResponse; fr != nil && r.looks[fr.Name] != nil {
				maps.Copy(fr.Response, r.looks[fr.Name].Shown)
			}
		}
	}
	return nil, nil
}

// actor is the model of an agent. It makes the next move of the script, and says "Done." when there
// is none.
type actor struct {
	run   *run
	agent string
}

// Name implements [model.LLM].
func (*actor) Name() string { return "script" }

// GenerateContent implements [model.LLM].
func (a *actor) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		mv := a.run.nextMove(a.agent)
		a.run.note("model %s is shown %s", a.agent, shownTo(req))
		parts := []*genai.Part{}
		for _, c := range mv.calls {
			name, args := c.tool, asJSON(scope{}.fill(c.args).(map[string]any))
			if name == "transfer" {
				name, args = "transfer_to_agent", map[string]any{"agent_name": args["to"]}
			}
			if req.Tools[name] == nil && !strings.HasPrefix(name, "adk_") { // a model can make up a request of ADK
				a.run.mistaken(fmt.Errorf("the model of %s calls %s, which it does not have", a.agent, name))
			}
			parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: c.id, Name: name, Args: args}})
		}
		if len(parts) == 0 {
			parts = append(parts, &genai.Part{Text: mv.text})
		}
		a.run.note("model %s answers %s", a.agent, textOf(parts))
		yield(&model.LLMResponse{
			Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, ModelVersion: "script", FinishReason: genai.FinishReasonStop,
		}, nil)
	}
}

// shownTo says what the last contents of a request are.
func shownTo(req *model.LLMRequest) string {
	if len(req.Contents) == 0 {
		return "nothing"
	}
	return textOf(req.Contents[len(req.Contents)-1].Parts)
}

// textOf says in one line what parts hold.
func textOf(parts []*genai.Part) string {
	var out []string
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			out = append(out, p.FunctionCall.Name+" "+jsonOf(p.FunctionCall.Args))
		case p.FunctionResponse != nil:
			out = append(out, p.FunctionResponse.Name+" = "+jsonOf(p.FunctionResponse.Response))
		case p.Text != "":
			out = append(out, fmt.Sprintf("%q", p.Text))
		}
	}
	return strings.Join(out, "; ")
}

// asJSON returns arguments as a model service sends them: each number is a float64.
func asJSON(args map[string]any) (out map[string]any) {
	if json.Unmarshal([]byte(jsonOf(args)), &out) != nil {
		return args
	}
	return out
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

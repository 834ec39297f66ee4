// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
)

// agentTool runs an agent as a tool, as ADK's agenttool does, in a runner with plugins.
type agentTool struct {
	rec     *Recorder
	plugins runner.PluginConfig
	agent   agent.Agent
	skip    bool
	decl    runnable // ADK's tool, which declares this one
	// input and output are the schemas of an LLM agent; nil is none.
	input, output *genai.Schema
}

// AgentTool returns a tool that runs the agent, in the place of agenttool.New(a, cfg). The tool has
// the same declaration and answers alike. It also records the steps of the agent, in the same
// trace, below the tool call.
//
// The runner inside has these plugins and no others; the plugin of [Recorder.Observer] must be
// among them. Nobody can be asked inside of a tool call: [Run] is Nested there. As with ADK's tool,
// nested agent tools need AgentTool too, and a confirmation that a tool inside asks for is lost.
//
// The schemas of an LLM agent are read from fields that ADK does not export. If ADK renames them,
// the agent counts as one without schemas.
func (rec *Recorder) AgentTool(a agent.Agent, cfg *agenttool.Config, plugins runner.PluginConfig) tool.Tool {
	t := &agentTool{rec: rec, plugins: plugins, agent: a, skip: cfg != nil && cfg.SkipSummarization}
	t.decl, _ = agenttool.New(a, cfg).(runnable)
	t.input, t.output = adkreflect.Configured[*genai.Schema](a, "InputSchema"), adkreflect.Configured[*genai.Schema](a, "OutputSchema")
	return t
}

// RunsAgent implements [adkreflect.AgentRunner].
func (t *agentTool) RunsAgent() agent.Agent { return t.agent }

// runnable is the part of a tool that ADK calls: a declaration and a Run.
type runnable interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// Name implements [tool.Tool].
func (t *agentTool) Name() string { return t.agent.Name() }

// Description implements [tool.Tool].
func (t *agentTool) Description() string { return t.agent.Description() }

// IsLongRunning implements [tool.Tool].
func (t *agentTool) IsLongRunning() bool { return false }

// Declaration returns what ADK declares for the agent.
func (t *agentTool) Declaration() *genai.FunctionDeclaration { return t.decl.Declaration() }

// ProcessRequest puts the tool into the model's request.
func (t *agentTool) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, t)
}

// Run runs the agent in a session of its own, which begins with the caller's state,
// and returns its last answer.
func (t *agentTool) Run(ctx agent.Context, args any) (map[string]any, error) {
	margs, ok := args.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("agentTool expects map[string]any arguments, got %T", args)
	}
	if actions := ctx.Actions(); t.skip && actions != nil {
		actions.SkipSummarization = true
	}
	msg, err := t.message(margs)
	if err != nil {
		return nil, err
	}
	last, err := t.last(ctx, msg)
	if err != nil {
		return nil, err
	}
	return t.result(last)
}

// message makes the user message of the run from the arguments of the call.
func (t *agentTool) message(args map[string]any) (*genai.Content, error) {
	if t.input != nil {
		if err := checkObject(args, t.input, "input"); err != nil {
			return nil, fmt.Errorf("argument validation failed for agent %s: %w", t.Name(), err)
		}
		data, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("error serializing tool arguments for agent %s: %w", t.Name(), err)
		}
		return genai.NewContentFromText(string(data), genai.RoleUser), nil
	}
	request, ok := args["request"]
	if !ok {
		return nil, fmt.Errorf("missing required argument 'request' for agent %s", t.Name())
	}
	text, ok := request.(string)
	if !ok {
		text = fmt.Sprint(request)
	}
	return genai.NewContentFromText(text, genai.RoleUser), nil
}

// last runs the agent and returns the last content it gave, nil for none.
func (t *agentTool) last(ctx agent.Context, msg *genai.Content) (*genai.Content, error) {
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{
		AppName: t.Name(), Agent: t.agent, SessionService: sessions,
		ArtifactService: artifact.InMemoryService(), MemoryService: memory.InMemoryService(),
		PluginConfig: t.plugins,
	})
	if err != nil {
		t.rec.log.Error("contextgraph: an agent cannot run as a tool", "tool", t.Name(), "error", err)
		return nil, errors.New("failed to create runner")
	}
	state := make(map[string]any)
	for k, v := range ctx.State().All() {
		if !strings.HasPrefix(k, "_adk") { // ADK's own
			state[k] = v
		}
	}
	created, err := sessions.Create(ctx, &session.CreateRequest{AppName: t.Name(), UserID: ctx.UserID(), State: state})
	if err != nil {
		return nil, fmt.Errorf("failed to create session for sub-agent %s: %w", t.Name(), err)
	}
	l := &launch{
		rec: t.rec, user: created.Session.UserID(), session: created.Session.ID(),
		nested: true, parent: t.rec.parentOf(ctx),
	}
	var last *genai.Content
	for ev, err := range t.rec.run(ctx, l, r, msg, agent.RunConfig{StreamingMode: agent.StreamingModeSSE}, nil) {
		if err != nil {
			return nil, fmt.Errorf("error during execution of sub-agent %s: %w", t.Name(), err)
		}
		if ev.ErrorCode != "" || ev.ErrorMessage != "" {
			err := fmt.Errorf("error from sub-agent %q (code: %q, message: %q)", t.Name(), ev.ErrorCode, ev.ErrorMessage)
			l.tell(err, true)
			return nil, err
		}
		if ev.Content != nil {
			last = ev.Content
		}
	}
	return last, nil
}

// result makes the result of the call from the agent's last content.
func (t *agentTool) result(last *genai.Content) (map[string]any, error) {
	var texts []string
	if last != nil {
		for _, p := range last.Parts {
			if p != nil && p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	text := strings.Join(texts, "\n")
	switch {
	case text == "":
		return map[string]any{}, nil
	case t.output == nil:
		return map[string]any{"result": text}, nil
	}
	var out map[string]any
	err := json.Unmarshal([]byte(text), &out)
	if err != nil {
		err = fmt.Errorf("failed to parse output JSON: %w", err)
	} else {
		err = checkObject(out, t.output, "output")
	}
	if err != nil {
		return nil, fmt.Errorf("output validation failed for sub-agent %s: %w", t.Name(), err)
	}
	return out, nil
}

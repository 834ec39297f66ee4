// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect

import (
	"reflect"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
)

// IsAgentTool reports whether t was made by ADK's agenttool.New, or is a [Wrapper] around such a
// tool.
func IsAgentTool(t tool.Tool) bool {
	if w, ok := t.(Wrapper); ok {
		t = w.WrappedTool()
	}
	typ := reflect.TypeOf(t)
	return typ != nil && typ.Kind() == reflect.Pointer && strings.HasSuffix(typ.Elem().PkgPath(), "/tool/agenttool")
}

// IsTaskTool reports whether t is ADK's tool for an agent that is given tasks. ADK never
// runs it: the agent is started by the call itself.
func IsTaskTool(t tool.Tool) bool {
	typ := reflect.TypeOf(t)
	return typ != nil && typ.Kind() == reflect.Pointer && typ.Elem().Name() == "TaskAgentTool" &&
		strings.HasSuffix(typ.Elem().PkgPath(), "/internal/workflowinternal")
}

// AgentOf returns the agent that runs as the tool if ADK's agenttool made it, else nil. It
// is nil too where ADK keeps the agent in another field.
func AgentOf(t tool.Tool) agent.Agent {
	if !IsAgentTool(t) {
		return nil
	}
	v := reflect.ValueOf(t)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	v = v.Elem()
	if v = v.FieldByName("agent"); v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	a, _ := exported(v).(agent.Agent)
	return a
}

// Tools returns the tools of an LLM agent, of its sub-agents, and of agents that it runs as
// tools of ADK's own. Toolsets are not asked.
func Tools(a agent.Agent) []tool.Tool { return toolsOf(nil, a, make(map[agent.Agent]bool)) }

func toolsOf(tools []tool.Tool, a agent.Agent, seen map[agent.Agent]bool) []tool.Tool {
	if reflect.TypeOf(a).Kind() != reflect.Pointer || seen[a] {
		return tools
	}
	seen[a] = true
	for _, t := range Configured[[]tool.Tool](a, "Tools") {
		if t == nil {
			continue
		}
		tools = append(tools, t)
		if b := AgentOf(t); b != nil {
			tools = toolsOf(tools, b, seen)
		}
	}
	for _, b := range a.SubAgents() {
		tools = toolsOf(tools, b, seen)
	}
	return tools
}

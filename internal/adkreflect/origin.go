// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect

import (
	"reflect"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
)

// Values of content.tool_origin.
const (
	OriginLocal         = "LOCAL"
	OriginMCP           = "MCP"
	OriginSubAgent      = "SUB_AGENT"
	OriginA2A           = "A2A"
	OriginTransferAgent = "TRANSFER_AGENT"
	OriginTransferA2A   = "TRANSFER_A2A"
	OriginUnknown       = "UNKNOWN"
)

// Wrapper is a tool of ours around another one, which it names.
type Wrapper interface{ WrappedTool() tool.Tool }

// AgentRunner is a tool of ours that runs an agent, which it names. ADK's own do not; see
// [AgentOf].
type AgentRunner interface{ RunsAgent() agent.Agent }

var (
	wrapperType     = reflect.TypeFor[Wrapper]()
	agentRunnerType = reflect.TypeFor[AgentRunner]()
)

// Origin names the origin of a tool, with the contract's values. args choose the agent of a
// transfer. ADK exports neither the kinds nor the agents of its tools, so both are read from their
// types and fields. If ADK changes those, an A2A falls back to SUB_AGENT and a TRANSFER_A2A to
// TRANSFER_AGENT.
func Origin(t tool.Tool, args map[string]any) string {
	switch t := t.(type) {
	case Wrapper:
		return Origin(t.WrappedTool(), args)
	case AgentRunner:
		return runnerOrigin(t)
	}
	return origin(reflect.ValueOf(t), args)
}

func origin(v reflect.Value, args map[string]any) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			switch typ := v.Type(); {
			case typ.Implements(wrapperType):
				return Origin(exported(v).(Wrapper).WrappedTool(), args)
			case typ.Implements(agentRunnerType):
				return runnerOrigin(exported(v).(AgentRunner))
			}
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return OriginUnknown
	}
	typ := v.Type()
	pkg, ok := strings.CutPrefix(typ.PkgPath(), adkPath)
	if !ok || v.Kind() != reflect.Struct {
		return OriginLocal
	}
	switch pkg {
	case "tool":
		if typ.Name() == "confirmationTool" {
			return origin(fieldOf(v, "runnableTool"), args)
		}
	case "tool/mcptoolset":
		return OriginMCP
	case "tool/agenttool":
		return agentOrigin(fieldOf(v, "agent"))
	case "internal/workflowinternal":
		switch typ.Name() {
		case "TaskAgentTool", "SingleTurnTool":
			return agentOrigin(fieldOf(v, "agent"))
		}
	case "internal/llminternal":
		switch typ.Name() {
		case "fakeTool": // stands for a tool that does not exist
			return OriginUnknown
		case "TransferToAgentTool":
			return transferOrigin(v, args)
		}
	}
	return OriginLocal
}

func runnerOrigin(r AgentRunner) string { return agentOrigin(reflect.ValueOf(r.RunsAgent())) }

// agentOrigin is the origin of a tool that runs the agent.
func agentOrigin(a reflect.Value) string {
	if _, remote := agentFields(a); remote {
		return OriginA2A
	}
	return OriginSubAgent
}

func transferOrigin(v reflect.Value, args map[string]any) string {
	target, _ := args["agent_name"].(string)
	agents := fieldOf(v, "supportedAgents")
	if target == "" || agents.Kind() != reflect.Slice {
		return OriginTransferAgent
	}
	for i := range agents.Len() {
		if name, remote := agentFields(agents.Index(i)); name == target && remote {
			return OriginTransferA2A
		}
	}
	return OriginTransferAgent
}

// agentFields reads the name of an agent and whether it is a remote one. An agent of
// the host's own embeds one of ADK's.
func agentFields(v reflect.Value) (name string, remote bool) {
	for range 8 {
		if v = pointee(v); v.Kind() != reflect.Struct {
			break
		}
		typ := fieldOf(v, "AgentType")
		if typ.Kind() == reflect.String {
			if n := fieldOf(v, "name"); n.Kind() == reflect.String {
				name = n.String()
			}
			return name, typ.String() == "RemoteAgent"
		}
		v = fieldOf(v, "Agent")
	}
	return "", false
}

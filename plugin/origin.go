// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"reflect"
	"strings"

	"google.golang.org/adk/v2/tool"
)

// Values of content.tool_origin.
const (
	originLocal         = "LOCAL"
	originMCP           = "MCP"
	originSubAgent      = "SUB_AGENT"
	originA2A           = "A2A"
	originTransferAgent = "TRANSFER_AGENT"
	originTransferA2A   = "TRANSFER_A2A"
	originUnknown       = "UNKNOWN"
)

// adkPath is where the packages of ADK begin.
const adkPath = "google.golang.org/adk/v2/"

var (
	protectedType = reflect.TypeFor[protected]()
	agentToolType = reflect.TypeFor[agentTool]()
)

// originOf names where a tool comes from, with the contract's values. A transfer is
// named by the agent that args choose. ADK's tools tell neither their kind nor their
// agents, so both are read from their types and fields; where ADK changes those, an
// A2A falls back to SUB_AGENT and a TRANSFER_A2A to TRANSFER_AGENT.
func originOf(t tool.Tool, args map[string]any) string {
	return origin(reflect.ValueOf(t), args)
}

func origin(v reflect.Value, args map[string]any) string {
	v = pointee(v)
	if !v.IsValid() {
		return originUnknown
	}
	typ := v.Type()
	if typ == protectedType {
		return origin(fieldOf(v, "inner"), args)
	}
	if typ == agentToolType {
		return agentOrigin(v)
	}
	pkg, ok := strings.CutPrefix(typ.PkgPath(), adkPath)
	if !ok || v.Kind() != reflect.Struct {
		return originLocal
	}
	switch pkg {
	case "tool":
		if typ.Name() == "confirmationTool" {
			return origin(fieldOf(v, "runnableTool"), args)
		}
	case "tool/mcptoolset":
		return originMCP
	case "tool/agenttool":
		return agentOrigin(v)
	case "internal/workflowinternal":
		switch typ.Name() {
		case "TaskAgentTool", "SingleTurnTool":
			return agentOrigin(v)
		}
	case "internal/llminternal":
		switch typ.Name() {
		case "fakeTool": // stands for a tool that does not exist
			return originUnknown
		case "TransferToAgentTool":
			return transferOrigin(v, args)
		}
	}
	return originLocal
}

// agentOrigin is the origin of a tool that runs its field agent.
func agentOrigin(v reflect.Value) string {
	if _, remote := agentFields(fieldOf(v, "agent")); remote {
		return originA2A
	}
	return originSubAgent
}

func transferOrigin(v reflect.Value, args map[string]any) string {
	target, _ := args["agent_name"].(string)
	agents := fieldOf(v, "supportedAgents")
	if target == "" || agents.Kind() != reflect.Slice {
		return originTransferAgent
	}
	for i := range agents.Len() {
		if name, remote := agentFields(agents.Index(i)); name == target && remote {
			return originTransferA2A
		}
	}
	return originTransferAgent
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

// fieldOf returns the field of that name, also of a struct embedded in v; the zero Value
// where v has none, or where a nil pointer leads to it.
func fieldOf(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	sf, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	f, err := v.FieldByIndexErr(sf.Index)
	if err != nil {
		return reflect.Value{}
	}
	return f
}

// pointee follows pointers and interfaces.
func pointee(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

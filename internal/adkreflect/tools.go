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
	a, _ := interfaceIn(fieldOf(pointee(reflect.ValueOf(t)), "agent")).(agent.Agent)
	return a
}

// Asks reports whether a tool of ADK's own was told to ask for a confirmation, always or where a
// function decides it. A tool may also ask without being told: its code calls RequestConfirmation.
func Asks(t tool.Tool) bool {
	v := pointee(reflect.ValueOf(t))
	for range 8 { // a confirmation around a tool around a tool
		if v.Kind() != reflect.Struct {
			return false
		}
		if always := fieldOf(v, "requireConfirmation"); always.Kind() == reflect.Bool && always.Bool() {
			return true
		}
		for _, name := range []string{"requireConfirmationProvider", "provider"} {
			if decides := fieldOf(v, name); decides.Kind() == reflect.Func && !decides.IsNil() {
				return true
			}
		}
		inner := fieldOf(v, "Tool") // embedded by a wrapper of the host's
		if !inner.IsValid() {
			inner = fieldOf(v, "runnableTool")
		}
		v = pointee(inner)
	}
	return false
}

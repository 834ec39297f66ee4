// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect

import (
	"reflect"

	"google.golang.org/adk/v2/agent"
)

// Find returns the agent of that name at or below a, nil when there is none. A callback
// gets only the part of an agent that all kinds share.
func Find(a agent.Agent, name string) agent.Agent {
	if a == nil || a.Name() == name {
		return a
	}
	for _, sub := range a.SubAgents() {
		if found := Find(sub, name); found != nil {
			return found
		}
	}
	return nil
}

// Instruction returns the instruction of an agent with a model, as it was written: references to
// the session's state are filled in for each request. ADK does not export it, so it is read from
// the agent's fields. It is empty for any other agent, for an instruction that a function gives,
// and if ADK changes its fields. The system prompt of the agent's model requests holds it in each
// case.
func Instruction(a agent.Agent) string {
	v := reflect.ValueOf(a)
	for range 8 { // an agent of the host's own embeds one of ADK's
		if v = pointee(v); v.Kind() != reflect.Struct {
			return ""
		}
		if f := fieldOf(v, "State"); f.Kind() == reflect.Struct {
			if in := fieldOf(f, "Instruction"); in.Kind() == reflect.String {
				return in.String()
			}
		}
		v = fieldOf(v, "Agent")
	}
	return ""
}

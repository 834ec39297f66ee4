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

// Instruction returns the instruction of an agent with a model, as it was written: what
// it says about the session's state is filled in for each request. ADK's agents do not
// tell it, so it is read from their fields. It is empty for any other agent, for one
// whose instruction a function gives, and where ADK changes its fields; the system
// prompt of the agent's model requests holds it in each case.
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

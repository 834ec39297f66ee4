// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/record"
)

// toolName is the name of the tool with which an agent names a position.
const toolName = "create_checkpoint"

// Tool returns a tool with which an agent names the position at the end of its turn, as before a risky step. Only a
// person takes the session back there.
func (c *Checkpoints) Tool() (tool.Tool, error) {
	type args struct {
		Name string `json:"name" jsonschema:"a short name that says what comes next, such as: before booking"`
	}
	return functiontool.New(functiontool.Config{
		Name: toolName, Description: "Names the present position of the conversation, so that a person can go back to it later.",
	}, func(ctx agent.Context, a args) (map[string]any, error) {
		cp, err := c.Create(ctx, record.Session{App: ctx.AppName(), User: ctx.UserID(), ID: ctx.SessionID()}, a.Name)
		if err != nil {
			return nil, err
		}
		return map[string]any{"checkpoint": cp.ID, "name": cp.Name}, nil
	})
}

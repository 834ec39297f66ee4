// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// buyer is the other side of the conversation: an agent that hands over a brief, and the person behind it who is
// asked to approve. It knows nothing of the seller's agents but their messages.
type buyer struct {
	runner *runner.Runner
	user   string
}

// reply is the result of one turn: the words of the agents, and their requests for a confirmation.
type reply struct {
	text string
	asks []ask
}

// ask is one request for confirmation.
type ask struct {
	id   string // of the request, which an answer names
	tool string // the tool that wants to run
}

// brief hands over a campaign brief.
func (b *buyer) brief(ctx context.Context, sessionID string, what brief) (reply, error) {
	text, err := what.text()
	if err != nil {
		return reply{}, err
	}
	return b.send(ctx, sessionID, genai.NewContentFromText(text, genai.RoleUser))
}

// answer confirms or rejects a request.
func (b *buyer) answer(ctx context.Context, sessionID string, request ask, confirmed bool) (reply, error) {
	part := genai.NewPartFromFunctionResponse(toolconfirmation.FunctionCallName, map[string]any{"confirmed": confirmed})
	part.FunctionResponse.ID = request.id
	return b.send(ctx, sessionID, genai.NewContentFromParts([]*genai.Part{part}, genai.RoleUser))
}

func (b *buyer) send(ctx context.Context, sessionID string, message *genai.Content) (reply, error) {
	var got reply
	for event, err := range b.runner.Run(ctx, b.user, sessionID, message, agent.RunConfig{}) {
		if err != nil {
			return reply{}, fmt.Errorf("session %s: %w", sessionID, err)
		}
		if event.ErrorMessage != "" {
			return reply{}, fmt.Errorf("session %s: the model answered %s: %s", sessionID, event.ErrorCode, event.ErrorMessage)
		}
		if err := got.add(event); err != nil {
			return reply{}, fmt.Errorf("session %s: %w", sessionID, err)
		}
	}
	return got, nil
}

func (r *reply) add(event *session.Event) error {
	if event.Content == nil {
		return nil
	}
	for _, part := range event.Content.Parts {
		switch call := part.FunctionCall; {
		case part.Text != "" && !part.Thought:
			r.text = strings.TrimSpace(r.text + "\n" + part.Text)
		case call != nil && call.Name == toolconfirmation.FunctionCallName && slices.Contains(event.LongRunningToolIDs, call.ID):
			original, err := toolconfirmation.OriginalCallFrom(call)
			if err != nil {
				return fmt.Errorf("a request for confirmation cannot be read: %w", err)
			}
			r.asks = append(r.asks, ask{id: call.ID, tool: original.Name})
		}
	}
	return nil
}

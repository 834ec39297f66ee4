// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/record"
)

// visit is a guest who wants a coffee, is asked, and says yes after a while. It prints what the guest sees.
func visit(ctx context.Context, out io.Writer, cg *contextgraph.Instance, r *runner.Runner, meanwhile func()) error {
	s := record.Session{App: "cafe", User: "guest", ID: rand.Text()}
	say := func(part *genai.Part) error {
		for event, err := range r.Run(ctx, s.User, s.ID, genai.NewContentFromParts([]*genai.Part{part}, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				return err
			}
			if event.Content != nil && len(event.Content.Parts) > 0 && event.Content.Parts[0].Text != "" {
				fmt.Fprintf(out, "said     %s\n", event.Content.Parts[0].Text)
			}
		}
		return nil
	}
	if err := say(genai.NewPartFromText("A flat white, please.")); err != nil {
		return err
	}
	asked, err := cg.Approvals(ctx, s)
	if err != nil {
		return err
	}
	if len(asked) == 0 {
		return errors.New("the agent did not try to order")
	}
	fmt.Fprintf(out, "asked    %s? %s\n", asked[0].Tool, asked[0].Hint(""))
	meanwhile()
	yes := genai.NewPartFromFunctionResponse(toolconfirmation.FunctionCallName, map[string]any{"confirmed": true})
	yes.FunctionResponse.ID = asked[0].ConfirmationID
	if err := say(yes); err != nil {
		return err
	}
	answered, err := cg.Approvals(ctx, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "verdict  %s: %s\n\n", answered[0].Verdict, answered[0].State)
	return err
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// callerKey is the key of who calls, as a host's middleware sets it.
type callerKey struct{}

// known names the people of the tests, approvers of them have to approve, and eva, tom and ann may
// override.
func known(approvers int) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.Identity = func(ctx context.Context) (string, error) {
			who, _ := ctx.Value(callerKey{}).(string)
			if who == "" {
				return "", errors.New("no token")
			}
			return who, nil
		}
		o.Config.Guard.Tools = map[string]config.ToolSettings{"b*": {Approvers: approvers, Override: []string{"eva", "tom", "ann"}}}
	}
}

// turn lets somebody send a message, and returns the events of the run.
func turn(h *cgtest.Harness, who string, msg *genai.Content) []*session.Event {
	h.T.Helper()
	events, err := adktest.TryRun(context.WithValue(h.T.Context(), callerKey{}, who), h.Runner, cgtest.User, cgtest.SessionID, msg)
	if err != nil {
		h.T.Logf("the run ended with: %v", err)
	}
	return events
}

// asks lets somebody ask for an approval.
func asks(h *cgtest.Harness, who string) (id string, events []*session.Event) {
	h.T.Helper()
	events = turn(h, who, adktest.UserText("buy a route"))
	return cgtest.OnlyRequest(h.T, adktest.Confirmations(events)).ID, events
}

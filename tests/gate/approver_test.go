// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// naming has an Authorizer say who answers.
func naming(who string) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.Authorize = safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { return who, nil })
	}
}

// The log says at the start whether approvers are authenticated, and the record of each approval does.
func TestUnauthenticatedApproverIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		opts []cgtest.Option
		said bool
	}{
		"without an authorizer": {nil, true},
		"with one":              {[]cgtest.Option{naming("carol")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := cgtest.New(t, append(tt.opts, func(o *cgtest.Options) { o.Config.Logger = slog.New(slog.NewTextHandler(&log, nil)) })...)
			if said := strings.Contains(log.String(), `approvers="not authenticated`); said != tt.said {
				t.Errorf("said at the start: %t, want %t\n%s", said, tt.said, log.String())
			}
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(1)
			steps, err := h.Journal().Ledger().History(t.Context(), h.Approvals(cgtest.SessionID)[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(steps[1].Note, "nothing authenticated them"); said != tt.said {
				t.Errorf("the history says %q", steps[1].Note)
			}
			for _, e := range h.Rows(cgtest.SessionID) {
				if e.EventType == record.HITLConfirmationRequestCompleted {
					if said := strings.Contains(string(e.Attributes), `"authenticated":false`); said != tt.said {
						t.Errorf("the row says %s", e.Attributes)
					}
				}
			}
		})
	}
}

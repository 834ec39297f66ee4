// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The results name the route by its id, the arguments by its name, and its price rises.
func TestActionNamesWhatNobodySaw(t *testing.T) {
	for _, require := range []config.Requirement{config.RequireNamed, config.RequireEverything} {
		t.Run(string(require), func(t *testing.T) {
			h := cgtest.New(t, cgtest.Covered, func(o *cgtest.Options) {
				o.Config.Guard.Require = require
				o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
					return map[string]any{"items": []any{map[string]any{"name": "p-17", "title": cgtest.Item, "price": "$40,000", "available": true}}}, nil
				}
			})
			id, _ := h.Ask(cgtest.SessionID)
			h.Shop.Set("$52,000", true)
			got := h.Answer(cgtest.SessionID, id, true)
			h.WantBought(0)
			reason := safety.CodeDrift // of what the results name
			if require == config.RequireNamed {
				reason = safety.CodeCheckFailed
			}
			failures := fmt.Sprint(got["failures"])
			if got["reason"] != reason || !strings.Contains(failures, nothingSeen) || !strings.Contains(failures, "nothing on record shows it") {
				t.Errorf("buy answered %v, want %s, and that nothing shows what the arguments name", got, reason)
			}
		})
	}
}

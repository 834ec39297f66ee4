// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// The results name the route by its id, the arguments by its name, and its price rises.
func TestActionNamesWhatNobodySaw(t *testing.T) {
	for _, require := range []safety.Requirement{safety.RequireArguments, safety.RequireEvaluated} {
		t.Run(require.String(), func(t *testing.T) {
			h := newHarness(t, covered, func(o *options) {
				o.cfg.Guard.Require = require
				o.search = func(agent.Context, searchArgs) (map[string]any, error) {
					return map[string]any{"items": []any{map[string]any{"name": "p-17", "title": item, "price": "$40,000", "available": true}}}, nil
				}
			})
			id, _ := h.ask(sess)
			h.world.set("$52,000", true)
			got := h.answer(sess, id, true)
			h.wantBought(0)
			reason, says := safety.CodeDrift, ""
			if require == safety.RequireArguments {
				reason, says = safety.CodeCheckFailed, "only the arguments name it"
			}
			if got["reason"] != reason || !strings.Contains(fmt.Sprint(got["failures"]), says) {
				t.Errorf("buy answered %v, want %s", got, reason)
			}
		})
	}
}

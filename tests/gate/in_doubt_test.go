// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A person resolves a call in doubt by an answer. Nothing runs because of it, the model is told, and a yes that comes
// later runs nothing either. Who asked may not resolve it, and while it runs nobody may.
func TestResolveByAnAnswer(t *testing.T) {
	for resolve, want := range map[string]struct {
		state safety.ApprovalState
		told  string
	}{
		safety.CodeHappened:     {safety.StateExecuted, "tom looked and says that it took effect: the shop has it"},
		safety.CodeDidNotHappen: {safety.StateFailed, "tom looked and says that it did not take effect: the shop has it"},
	} {
		t.Run(resolve, func(t *testing.T) {
			h := cgtest.New(t, known(1), func(o *cgtest.Options) { o.Config.Guard.EffectTimeout = 20 * time.Millisecond })
			var id string
			says := func(who, words string) string {
				msg := adktest.Answer(id, false)
				msg.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"contextgraph": map[string]any{"resolve": words, "reason": "the shop has it"}}
				return fmt.Sprint(adktest.Responses(turn(h, who, msg), "buy"))
			}
			h.Effect = func(ctx agent.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
			id, _ = asks(h, "bob")
			turn(h, "eva", adktest.Answer(id, true))
			if a := h.Approvals(cgtest.SessionID)[0]; a.State != safety.StateExecuting {
				t.Fatalf("the approval is %s", a.State)
			}
			if told := says("bob", resolve); !strings.Contains(told, "not allowed") || h.Approvals(cgtest.SessionID)[0].State != safety.StateExecuting {
				t.Errorf("who asked resolved it: %s", told)
			}
			if told := says("tom", resolve); !strings.Contains(told, want.told) || !strings.Contains(told, "Do not repeat this call") {
				t.Errorf("the model is told %s", told)
			}
			steps, err := h.CG.History(t.Context(), cgtest.Key(cgtest.SessionID), h.Approvals(cgtest.SessionID)[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if last := steps[len(steps)-1]; last.To != want.state || !last.Resolved || !last.Authenticated || last.Actor != "tom" || !strings.HasPrefix(last.Note, `resolved ("the shop has it")`) {
				t.Errorf("the history ends with %+v", last)
			}
			if told := says("tom", resolve); !strings.Contains(told, "not in doubt") {
				t.Errorf("resolved again: %s", told)
			}
			h.Effect = nil
			turn(h, "eva", adktest.Answer(id, true))
			h.WantBought(1) // by the call in doubt
		})
	}
}

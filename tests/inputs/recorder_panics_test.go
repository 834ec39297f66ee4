// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// Wherever the recorder breaks down while it looks at a message, no answer to a guarded
// input gets past it. The world has changed here, so none may.
func TestInputWhileTheRecorderPanics(t *testing.T) {
	panics := 0
	for n := int64(1); ; n++ {
		w := cgtest.NewWorkflow(t)
		sessions := &cgtest.BrittleSessions{Service: w.Sessions}
		w.Sessions = sessions
		w.Build()
		askInput(w)
		w.Shop.Set("$90,000", true)
		sessions.Countdown.Store(n)
		if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err == nil {
			t.Errorf("panic %d: the run began", n)
		}
		w.WantBought(0)
		if sessions.Countdown.Load() <= 0 {
			w.Shop.Set("$40,000", true)
			if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err != nil {
				t.Errorf("after panic %d: %v", n, err)
			}
			w.WantBought(1)
		}
		w.Rows(cgtest.SessionID)
		if gaps := cgtest.Gaps(t, w.Store(), cgtest.Key(cgtest.SessionID)); len(gaps) > 0 {
			t.Errorf("after panic %d a refused message leaves gaps: %v", n, gaps)
		}
		if sessions.Countdown.Load() > 0 {
			break
		}
		panics++
	}
	if panics < 2 {
		t.Errorf("%d panics, want one before the gate and one in it", panics)
	}
}

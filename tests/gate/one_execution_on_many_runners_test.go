// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestOneExecutionOnManyRunners answers one request in many runs of four runners that
// share the sessions, all at the same time: the tool runs once, each other run is refused,
// and the record has all of them from beginning to end.
func TestOneExecutionOnManyRunners(t *testing.T) {
	const runners = 4
	runs := testsize.Rounds(t, 48, 1000)
	for name, way := range map[string]cgtest.Option{"covered": cgtest.Covered, "listed": cgtest.Listed, "protected": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg runner.Config
			h := cgtest.New(t, way, func(o *cgtest.Options) {
				o.ChangeRunner = func(rc *runner.Config) { cfg = *rc }
				// As long as a loaded machine may take.
				o.Config.Guard.CheckAge, o.Config.Guard.CheckTimeout, o.Config.Guard.CheckDeadline = time.Hour, 30*time.Minute, 30*time.Minute
			})
			id, _ := h.Ask(cgtest.SessionID)
			all := []*runner.Runner{h.Runner}
			for len(all) < runners {
				cfg.PluginConfig = h.CG.PluginConfig()
				r, err := runner.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			told := make(map[string]int)
			start := make(chan struct{})
			for n := range runs {
				wg.Go(func() {
					<-start
					events, err := adktest.TryRun(context.WithoutCancel(t.Context()), all[n%runners], cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					for _, r := range adktest.Responses(events, "buy") {
						r = cgtest.Unstreamed(r)
						told[fmt.Sprint(r["status"], " ", r["reason"])]++
					}
				})
			}
			close(start)
			wg.Wait()
			h.WantBought(1)
			if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed", got)
			}
			want := map[string]int{"bought <nil>": 1, "blocked already_used": runs - 1}
			if d := cmp.Diff(want, told); d != "" {
				t.Errorf("what the calls came to (-want +got):\n%s", d)
			}
			rows := h.Rows(cgtest.SessionID)
			if n := len(graphsync.Fold(nil, rows).Runs()); n != runs+1 {
				t.Errorf("%d runs on record, want %d: the one that asked, and all that answered", n, runs+1)
			}
			if gaps := cgtest.Gaps(t, h.Store(), cgtest.Key(cgtest.SessionID)); len(gaps) > 0 {
				t.Errorf("the record lacks %v", gaps)
			}
			if err := h.CG.Stats().Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

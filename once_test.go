// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// onceRuns is how many runs answer one request at the same time. Each reads what all
// before it recorded, so that ten times as many take a hundred times as long.
var onceRuns = flag.Int("once", map[bool]int{true: 24, false: 64}[raceEnabled],
	"number of runs that answer one request at the same time")

// TestOneExecutionOnManyRunners answers one request in many runs of four runners that
// share the sessions, all at the same time: the tool runs once.
func TestOneExecutionOnManyRunners(t *testing.T) {
	const runners = 4
	for _, w := range []way{{"covered", covered, false}, {"listed", listed, false}, {"protected", func(*options) {}, true}} {
		t.Run(w.name, func(t *testing.T) {
			var cfg runner.Config
			h := newHarness(t, w.opt, func(o *options) {
				o.wrapRunnerCfg = func(rc *runner.Config) { cfg = *rc }
				// As long as a loaded machine may take.
				o.cfg.Guard.CheckAge, o.cfg.Guard.CheckTimeout, o.cfg.Guard.CheckDeadline = time.Hour, 30*time.Minute, 30*time.Minute
			})
			id, _ := h.ask(sess)
			all := []*runner.Runner{h.runner}
			for len(all) < runners {
				cfg.PluginConfig = h.cg.PluginConfig()
				r, err := runner.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			var wg sync.WaitGroup
			start := make(chan struct{})
			for n := range *onceRuns {
				wg.Go(func() {
					<-start
					_, _ = adktest.TryRun(context.WithoutCancel(t.Context()), all[n%runners], user, sess, adktest.Answer(id, true))
				})
			}
			close(start)
			wg.Wait()
			h.wantBought(1)
			if got := h.approvals(sess)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed", got)
			}
		})
	}
}

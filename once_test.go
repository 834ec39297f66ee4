// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// onceRuns is how many runs answer one request at the same time.
var onceRuns = flag.Int("once", map[bool]int{true: 48, false: 1000}[raceEnabled],
	"number of runs that answer one request at the same time")

// TestOneExecutionOnManyRunners answers one request in many runs of four runners that
// share the sessions, all at the same time: the tool runs once, each other run is refused,
// and the record has all of them from beginning to end.
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
			var mu sync.Mutex
			told := make(map[string]int)
			start := make(chan struct{})
			for n := range *onceRuns {
				wg.Go(func() {
					<-start
					events, err := adktest.TryRun(context.WithoutCancel(t.Context()), all[n%runners], user, sess, adktest.Answer(id, true))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					for _, r := range adktest.Responses(events, "buy") {
						r = unstreamed(r)
						told[fmt.Sprint(r["status"], " ", r["reason"])]++
					}
				})
			}
			close(start)
			wg.Wait()
			h.wantBought(1)
			if got := h.approvals(sess)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed", got)
			}
			want := map[string]int{"bought <nil>": 1, "blocked already_used": *onceRuns - 1}
			if d := cmp.Diff(want, told); d != "" {
				t.Errorf("what the calls came to (-want +got):\n%s", d)
			}
			h.rows(sess) // a barrier
			gaps, err := h.cg.Journal().Gaps(t.Context(), key(sess), nil)
			if err != nil || len(gaps) > 0 {
				t.Errorf("the record lacks %v, %v", gaps, err)
			}
			if g, err := h.cg.Graph(t.Context(), key(sess)); err != nil || len(g.Runs()) != *onceRuns+1 {
				t.Errorf("%d runs on record, want %d: the one that asked, and all that answered; %v", len(g.Runs()), *onceRuns+1, err)
			}
			if err := h.cg.Stats().Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A run that is under way has no end yet. It is not taken for a broken turn, and nobody closes it.
func TestRunUnderWayIsNotBroken(t *testing.T) {
	began, goOn := make(chan bool, 1), make(chan bool)
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	script := adktest.Script(looking("slow"), looking("routes"), buying(), adktest.Text("Done."), adktest.Text("There."))
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = script.Answer
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			if a.Query == "slow" {
				began <- true
				<-goOn
			}
			return search(ctx, a)
		}
	})
	over := make(chan bool)
	go func() {
		defer close(over)
		h.Say("what is there?")
	}()
	<-began
	id, _ := h.Ask(cgtest.SessionID)
	got := h.Answer(cgtest.SessionID, id, true)
	closed := rowtest.Of(h.Rows(cgtest.SessionID), record.TurnClosed)
	release()
	<-over
	if h.Bought.Load() != 1 || len(closed) > 0 {
		t.Errorf("%d turns were closed; buy answered %v\n%s", len(closed), got, reasons(got))
	}
}

// What the configuration leaves out of the record is a gap, also where no tool is guarded.
func TestRecordThatLeavesSomethingOut(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Protect, o.Confirm = false, false
		o.Config.Record.Content = map[string]config.ContentPolicy{record.ToolStarting: config.ContentDigest}
	})
	h.Say("buy a route")
	report, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if why := fmt.Sprint(report.Failures()); err != nil || !strings.Contains(why, "the configuration leaves the content of TOOL_STARTING out of the record") {
		t.Errorf("the check fails for %s, %v", why, err)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// A request, its answer and the call are at most six transactions. Four of them wait for the disk:
// the request with its confirmation, the answer, the begin of the call and its end. The permit of a
// protected tool is one more, because callbacks of the agent run before the tool. The least of many
// counts is taken, because the background commits too, and so does the timer of a slow machine.
func TestTransactionsOfAnApproval(t *testing.T) {
	for _, test := range []struct {
		name                 string
		opt                  cgtest.Option
		transactions, synced uint64
	}{
		{"covered", cgtest.Covered, 6, 4},
		{"protected", func(o *cgtest.Options) { o.Protect = true }, 7, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, test.opt, func(o *cgtest.Options) { o.Config.Journal.CommitInterval = time.Second })
			least := [2]uint64{100, 100}
			for n := 0; n < 20 && (least[0] > test.transactions || least[1] > test.synced); n++ {
				session := fmt.Sprint("session-", n)
				before := h.CG.Stats().Journal
				id, _ := h.Ask(session)
				if got := h.Answer(session, id, true); got["status"] != "bought" {
					t.Fatal(got)
				}
				after := h.CG.Stats().Journal
				least[0] = min(least[0], after.Transactions-before.Transactions)
				least[1] = min(least[1], after.Synced-before.Synced)
			}
			t.Logf("%d transactions, %d of them synced", least[0], least[1])
			if least[0] > test.transactions || least[1] > test.synced {
				t.Errorf("%d transactions, %d of them synced; want at most %d and %d", least[0], least[1], test.transactions, test.synced)
			}
		})
	}
}

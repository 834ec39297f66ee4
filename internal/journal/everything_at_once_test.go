// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestEverythingAtOnce appends, flushes, fails commits and closes at the same time, and
// looks at the books all the while. In the end each row is where they say, and Flush
// has said nil of no row that is neither stored nor counted as lost.
func TestEverythingAtOnce(t *testing.T) {
	for _, onFull := range []config.OnFull{config.DropOldest, config.Block} {
		for _, locked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, locked in the end: %v", onFull, locked), func(t *testing.T) {
				everythingAtOnce(t, onFull, locked)
			})
		}
	}
}

func everythingAtOnce(t *testing.T, onFull config.OnFull, locked bool) {
	rows := int64(testsize.Rounds(t, 200, 3000))
	j := openImpatientUnclosed(t, journal.Config{
		QueueRows: 50, Journal: config.Journal{OnFull: onFull, CommitInterval: time.Millisecond}, BlockTimeout: time.Millisecond,
	})
	stop := make(chan struct{})
	var offered atomic.Uint64
	var background, appenders sync.WaitGroup
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	until := func(fn func()) {
		background.Go(func() {
			for !stopped() {
				fn()
			}
		})
	}
	wait := func(cond func() bool) {
		for !cond() && !stopped() {
			time.Sleep(100 * time.Microsecond)
		}
	}
	until(func() { balance(t, j) })
	until(func() { // commits fail now and then
		unlock := lockFile(t, j.Path())
		wait(func() bool { return j.Stats().LastError != nil })
		unlock()
		wait(func() bool { return j.Stats().LastError == nil })
	})
	for g := range 4 {
		s := named(fmt.Sprint("s-", g))
		appenders.Go(func() {
			for n := int64(1); n <= rows; n++ {
				e := event(s, "r", n, record.ToolStarting)
				if n%40 == 0 {
					e.EventType = record.HITLConfirmationRequest
				}
				j.Append(e)
				offered.Add(1)
				if n%20 != 0 {
					continue
				}
				if err := j.Flush(t.Context()); err != nil {
					continue // the rows are kept
				}
				got, err := j.Events(t.Context(), s)
				if err != nil {
					t.Error(err)
				}
				if found := int64(len(got) + j.Lost(s)); found != n {
					t.Errorf("after Flush %d rows of %d are stored or lost", found, n)
				}
			}
		})
	}
	appenders.Wait()
	close(stop)
	background.Wait()
	if locked {
		defer lockFile(t, j.Path())()
		for n := range int64(20) {
			j.Append(event(named("s-0"), "r", rows+1+n, "X"))
			offered.Add(1)
		}
	}
	j.SetCloseGrace(patience)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if locked {
		cancel()
	}
	var late sync.WaitGroup
	for n := range int64(50) {
		late.Go(func() {
			j.Append(event(named("late"), "r", n+1, "X"))
			offered.Add(1)
		})
	}
	if err := j.Close(ctx); (err != nil) != locked {
		t.Errorf("Close() = %v", err)
	}
	late.Wait()
	s := j.Stats()
	if s.Accepted+s.Refused() != offered.Load() || s.Unaccounted() != 0 || s.QueuedRows != 0 {
		t.Errorf("%d rows offered, stats %+v", offered.Load(), s)
	}
	if locked != (s.Lost[store.LostUnwritten] > 0) {
		t.Errorf("%d rows lost unwritten", s.Lost[store.LostUnwritten])
	}
	conn := connect(t, j.Path())
	if n := selectInt(t, conn, "SELECT count(*) FROM agent_events"); uint64(n) != s.Stored {
		t.Errorf("%d rows are in the file, %d counted as stored", n, s.Stored)
	}
	if n := selectInt(t, conn, `SELECT count(*) FROM (SELECT run_seq, lag(run_seq) OVER (PARTITION BY session_id ORDER BY seq) AS before
		FROM agent_events WHERE session_id <> 'late') WHERE before >= run_seq`); n != 0 {
		t.Errorf("%d rows stand before an older one", n)
	}
}

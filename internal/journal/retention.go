// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// MinIdle is the shortest time without a row after which retention removes a session, whatever the
// age and the size say: a run may be under way.
const MinIdle = 10 * time.Minute

const (
	// lowWater is the percentage of MaxSize down to which retention brings a file that is too
	// large, so that not every sweep has work to do.
	lowWater = 90
	// spare is the percentage of the pages of the file that may be free: the next
	// rows go there.
	spare = 5
	// minRest and maxRest bound the pause after each step. It is as long as the
	// step, so that others who want to write have at least half of the time.
	minRest = time.Millisecond
	maxRest = 100 * time.Millisecond
	// logSteps is after how many steps the log is copied to the file: some megabytes of it, before
	// the writer comes to copy the 64 MB that it leaves there, and keeps rows waiting meanwhile.
	logSteps = 32
)

// retention removes sessions in the background. It owns one goroutine and writes through the writer
// only, in steps of some milliseconds.
//
// [store.Store] says what it may remove. A session with an approval that has expired stays for as long as
// a row of that time would have kept it, and one that was active within MinIdle stays too.
//
// Beyond MaxSize, the sessions idle for longest are removed until nine tenths are in use. If
// replication keeps the file larger, Stats.RetentionError is an [ErrNotReplicated]. The WAL file is
// not counted.
type retention struct {
	config.Retention
	interval time.Duration // between two looks
	journal  *Journal
	cancel   context.CancelFunc
	done     chan struct{}
}

// startRetention returns nil when everything is to be kept.
func startRetention(j *Journal, cfg Config) *retention {
	if cfg.Retention == (config.Retention{}) {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &retention{Retention: cfg.Retention, interval: cfg.SweepInterval, journal: j, cancel: cancel, done: make(chan struct{})}
	go r.run(ctx)
	return r
}

// stop returns when the goroutine has ended. That takes no longer than to notice: a
// step in progress is left to the writer.
func (r *retention) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

func (r *retention) run(ctx context.Context) {
	defer close(r.done)
	// The first look is at once: some processes live shorter than an interval.
	for wait := time.Duration(0); pause(ctx, wait); wait = r.interval {
		r.tell(ctx, r.guard(ctx))
	}
}

// guard sweeps and turns a panic into an error: nothing here may end the host.
func (r *retention) guard(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w := r.journal.w
			w.mu.Lock()
			w.stats.Panics++
			w.mu.Unlock()
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.sweep(ctx, r.journal.w.now())
}

// pause reports whether d passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// sweep removes what is due at the time now and gives free pages back.
func (r *retention) sweep(ctx context.Context, now time.Time) error {
	var sessions, rows uint64
	defer func() {
		if rows+sessions > 0 {
			r.journal.w.log.Info("contextgraph: journal: sessions were removed by retention", "sessions", sessions, "rows", rows)
		}
	}()
	shrink := false
	// from is how far the sessions were looked through, again is whether one was removed meanwhile:
	// it may have kept others.
	from, again := int64(sinceEver), false
	for n := 1; ; n++ {
		var next removal
		var due bool
		var h held
		var u usage
		before := cutoff{begun: now.Add(-MinIdle)}
		// Most looks find nothing and should not cost the write lock.
		err := r.journal.read(ctx, "look for sessions to remove", func(conn *sqlite.Conn) (err error) {
			if u, err = readUsage(conn); err != nil {
				return err
			}
			if r.exceeded(u, shrink) != shrink {
				shrink, from = !shrink, sinceEver // other sessions are due
			}
			before.untouched = r.cutoff(now, shrink)
			if next, due, err = nextRemoval(conn, before, from); err == nil && !due {
				h, err = readHeld(conn, before)
			}
			return err
		})
		if err != nil {
			return err
		}
		if !due && again {
			from, again = sinceEver, false
			continue
		}
		if !due {
			r.countHeld(h)
			if err := r.giveBack(ctx); err != nil || !r.exceeded(u, false) {
				return err
			}
			return h.explain(u.used(), int64(r.MaxSize))
		}
		if !next.begun {
			from = next.last
		}
		var step removalStep
		err = r.work(ctx, func(conn *sqlite.Conn) (err error) {
			if step, err = removeStep(conn, before, from); step.finished {
				r.journal.w.rows.forget()
			}
			return err
		})
		if err == nil && n%logSteps == 0 {
			err = r.copyLog(ctx)
		}
		if err != nil {
			return fmt.Errorf("journal: remove sessions: %w", err)
		}
		rows += step.rows
		if step.finished {
			sessions++
			again = true
		}
		r.count(step)
	}
}

// exceeded reports whether the file must become smaller; shrink says that the sweep has tried
// already.
func (r *retention) exceeded(u usage, shrink bool) bool {
	limit := int64(r.MaxSize)
	if shrink {
		limit -= limit / 100 * (100 - lowWater)
	}
	return r.MaxSize > 0 && u.used() > limit
}

// cutoff returns the time before which the last row of a session has to be for the
// session to be removed.
func (r *retention) cutoff(now time.Time, shrink bool) time.Time {
	switch {
	case shrink:
		return now.Add(-MinIdle)
	case r.MaxAge > 0:
		return now.Add(-max(r.MaxAge, MinIdle))
	}
	return time.Time{}
}

// work runs one step on the write connection and lets others have their turn. The step does not wait
// for the disk: what a power loss brings back is removed again.
func (r *retention) work(ctx context.Context, fn func(*sqlite.Conn) error) error {
	begin := time.Now()
	if err := r.journal.w.doAt(ctx, syncNormal, fn); err != nil {
		return err
	}
	pause(ctx, min(max(time.Since(begin), minRest), maxRest))
	return nil
}

// copyLog copies what is in the log to the file, on a connection of a reader: neither the writer nor
// other readers wait for it.
func (r *retention) copyLog(ctx context.Context) error {
	return r.journal.read(ctx, "copy the log to the file", func(conn *sqlite.Conn) error {
		return execAll(conn, "PRAGMA wal_checkpoint(PASSIVE)")
	})
}

// giveBack returns free pages to the file system.
func (r *retention) giveBack(ctx context.Context) error {
	for last := int64(-1); ; {
		var u usage
		err := r.journal.read(ctx, "look for free pages", func(conn *sqlite.Conn) (err error) {
			u, err = readUsage(conn)
			return err
		})
		if err != nil || u.free <= u.pages*spare/100 || u.free == last {
			return err
		}
		last = u.free
		if err := r.work(ctx, func(conn *sqlite.Conn) error { return exec(conn, giveBackSQL, func(*binder) {}) }); err != nil {
			return fmt.Errorf("journal: give free pages back: %w", err)
		}
	}
}

// count adds a step to the statistics.
func (r *retention) count(step removalStep) {
	w := r.journal.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.RemovedRows += step.rows
	if step.finished {
		w.stats.RemovedSessions++
	}
}

// countHeld notes what waits for replication.
func (r *retention) countHeld(h held) {
	w := r.journal.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.HeldSessions = h.sessions
}

// tell notes how a sweep ended. The log hears of an outage once.
func (r *retention) tell(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
		return // Close cut the sweep short
	}
	w := r.journal.w
	w.mu.Lock()
	first := err != nil && w.stats.RetentionError == nil
	w.stats.RetentionError = err
	w.mu.Unlock()
	if first {
		w.log.Warn("contextgraph: journal: retention fails; it tries again", "error", err)
	}
}

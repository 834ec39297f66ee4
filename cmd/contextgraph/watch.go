// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// watchEvery is how often the journal is asked whether it has new rows.
const watchEvery = time.Second

// watch prints open requests and each change of their status, until ctx ends.
func (a *app) watch(ctx context.Context, f listFlags) error {
	q, err := f.query(a.now())
	switch {
	case err != nil:
		return err
	case a.output == outputJSON:
		return usageError{errors.New("--watch prints line by line: use --output ndjson")}
	case a.from != fromJournal:
		return usageError{errors.New("--watch goes with the journal: leave --from out")}
	}
	src, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer src.close()
	tick, stop := a.ticks(watchEvery)
	defer stop()
	var w inspect.Watcher
	for last := int64(-1); ; {
		seq, err := src.journal.LastSeq(ctx)
		if err == nil && (seq != last || w.Due(a.now())) {
			last = seq
			err = a.tellChanges(ctx, &w, src, q)
		}
		if ctx.Err() != nil {
			return nil // who watches ends it
		}
		if err != nil {
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
	}
}

// tellChanges prints what changed since w looked last.
func (a *app) tellChanges(ctx context.Context, w *inspect.Watcher, src opened, q inspect.Query) error {
	changed, err := w.Look(ctx, src.Source, record.Session{App: q.App, User: q.User}, a.now())
	if err != nil {
		return err
	}
	changed = slices.DeleteFunc(changed, func(p inspect.Approval) bool { return !q.SelectsRequest(&p) })
	return a.print(changed, func(t *table) {
		ids := make([]string, len(changed))
		for i := range changed {
			ids[i] = changed[i].ShownID()
		}
		for i, id := range inspect.ShortIDs(ids) {
			p := &changed[i]
			t.clipped(a.now().UTC().Format("15:04:05Z"), "  ", statusOf(p), "  ", id, "  ", cell{p.Tool, bold}, "  ", sessionID(p.Session.ID), "  ", cell{p.Action, dim})
		}
	})
}

// ticks returns a channel that ticks, and what ends that.
func (a *app) ticks(every time.Duration) (<-chan time.Time, func()) {
	if a.tick != nil {
		return a.tick, func() {}
	}
	t := time.NewTicker(every)
	return t.C, t.Stop
}

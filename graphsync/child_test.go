// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Agents cannot run inside of each other. A record that says so is an error for all that ask,
// and none of them waits for another.
func TestSessionsThatNameEachOther(t *testing.T) {
	source := rowsOf{rows: make(map[record.Session][]record.Event)}
	session := func(i int) record.Session { return record.Session{App: "ads", User: "u", ID: fmt.Sprint("s", i%2)} }
	for i := range 2 {
		r := &recorder{t: t}
		r.turn("r", "root")
		child := session(i + 1)
		r.start("T", "root", "c=planner", m{})
		r.end("T", "root", "c=planner", m{}, m{"adk.child_session": m{"app_name": child.App, "user_id": child.User, "session_id": child.ID}})
		for j := range r.rows {
			r.rows[j].SessionID, r.rows[j].UserID = session(i).ID, session(i).User
		}
		source.rows[session(i)] = r.rows
	}
	ev := graphsync.NewEvidence(graphsync.NewRecorded(source), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := ev.CatchUp(t.Context(), session(i)); err == nil || !strings.Contains(err.Error(), "deep") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	wg.Wait()
}

// Whoever extracts before anybody asks gives way to other rules, and whoever asks does not.
func TestFollowGivesWayToOtherRules(t *testing.T) {
	r := &recorder{t: t}
	r.turn("r", "root")
	store := graphsync.NewRecorded(rowsOf{rows: map[record.Session][]record.Event{testSession: r.rows}})
	rules, others := compile(t, adRules()), compile(t, priceRules())
	version := func() (v string) {
		err := store.View(t.Context(), testSession, func(r graphsync.EvidenceReader) error {
			p, err := r.Progress()
			v = p.Version
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, step := range []struct {
		by   *graphsync.Extractor
		do   func(*graphsync.Evidence) error
		want *graphsync.Extractor
	}{
		{rules, func(ev *graphsync.Evidence) error { return ev.Follow(t.Context(), testSession) }, rules},
		{others, func(ev *graphsync.Evidence) error { return ev.Follow(t.Context(), testSession) }, rules},
		{others, func(ev *graphsync.Evidence) error { return ev.CatchUp(t.Context(), testSession) }, others},
		{rules, func(ev *graphsync.Evidence) error { return ev.Follow(t.Context(), testSession) }, others},
	} {
		if err := step.do(graphsync.NewEvidence(store, step.by)); err != nil {
			t.Fatal(err)
		}
		if got := version(); got != step.want.Version() {
			t.Errorf("the rules that extracted are %s, want %s", got, step.want.Version())
		}
	}
}

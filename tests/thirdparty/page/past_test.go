// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// past is the journal of the demo as it was while people were asked: no request has an answer. An
// answer to one of the sessions brings back what came of it.
type past struct {
	inspect.Source
	seq atomic.Int64

	mu       sync.Mutex
	answered map[string]bool
	sent     []answer.Decision
	// turn is the end of the turn that an answer starts; hold keeps what comes of it out of the record.
	turn error
	hold bool
	// needs are the types that only the agent can check; a check waits for slow.
	needs map[string]string
	slow  chan struct{}
	// edit changes the record of a session.
	edit map[string]func(*inspect.Record)
}

// servePast serves the demo while people are asked, with answers and checks, and returns its address.
func servePast(t *testing.T) (*past, string) {
	t.Helper()
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: suite.journal}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	d := &past{Source: inspect.NewJournal(j), answered: map[string]bool{}}
	return d, serveSource(t, viewer.Options{Source: d, Changes: func(context.Context) (int64, error) { return d.seq.Load(), nil }, Decide: d, Check: d})
}

// Record has nothing after the request, and what the test edits.
func (d *past) Record(ctx context.Context, s record.Session) (inspect.Record, error) {
	r, err := d.Source.Record(ctx, s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		return r, err
	}
	if !d.answered[s.ID] {
		cut(&r)
	}
	if edit := d.edit[s.ID]; edit != nil {
		edit(&r)
	}
	return r, nil
}

// cut leaves out what came after the request, and the check before it.
func cut(r *inspect.Record) {
	run := r.Rows[0].RunID
	r.Rows = slices.DeleteFunc(r.Rows, func(e record.Event) bool { return e.RunID != run || e.EventType == record.WorldChangeCheck })
	for i := range r.Rows {
		r.Rows[i].RunSeq = int64(i + 1) // the check before anybody was asked is no gap
	}
	r.Fold = graphsync.Fold(r.Fold.Extractor(), r.Rows)
	for i := range r.Approvals {
		a := &r.Approvals[i]
		a.State, a.Verdict, a.Report, a.Consents, a.Approver, a.UpdatedAt = safety.StatePending, "", nil, nil, "", a.RequestedAt
		a.PermitNonce, a.PermitRun, a.PermitExpiresAt = "", "", time.Time{}
		r.History[a.ID] = r.History[a.ID][:1]
	}
}

// Sessions has the status that the cut record has.
func (d *past) Sessions(ctx context.Context, q inspect.Query) (inspect.Page, error) {
	page, err := d.Source.Sessions(ctx, q)
	for i := range page.Sessions {
		s, err := inspect.Look(ctx, d, page.Sessions[i].Session, time.Now())
		if err != nil {
			return page, err
		}
		page.Sessions[i] = s.Summary
	}
	return page, err
}

// Waiting names every session: the inbox leaves out those without an open request.
func (d *past) Waiting(ctx context.Context, _ time.Time, _ int) (keys []record.Session, err error) {
	page, err := d.Source.Sessions(ctx, inspect.Query{})
	for _, s := range page.Sessions {
		keys = append(keys, s.Session)
	}
	return keys, err
}

// Check finds what the real check found when the request was answered.
func (d *past) Check(ctx context.Context, s record.Session, _ string) ([]byte, map[string]string, error) {
	if d.slow != nil {
		<-d.slow
	}
	r, err := d.Source.Record(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range r.Rows {
		if e.EventType == record.WorldChangeCheck && bytes.Contains(e.Attributes, []byte(`"stage":"answer"`)) {
			d.mu.Lock()
			defer d.mu.Unlock()
			var report map[string]any
			if err := json.Unmarshal(e.Content, &report); err != nil {
				return nil, nil, err
			}
			report["id"], report["checked_at"] = "on demand", time.Now()
			b, err := json.Marshal(report)
			return b, d.needs, err
		}
	}
	return nil, nil, errors.New("the checker is away")
}

// Send starts the turn that the demo had.
func (d *past) Send(_ context.Context, x answer.Decision) (<-chan error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, x)
	end := make(chan error, 1)
	end <- d.turn
	if d.turn == nil && !d.hold {
		d.answered[x.Session.ID] = true
		d.seq.Add(1)
	}
	return end, nil
}

// set changes what the agent does.
func (d *past) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	d.seq.Add(1)
}

// editedDemo writes the page of the demo with other data, and returns its address.
func editedDemo(t *testing.T, edit func(data m)) string {
	t.Helper()
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	b, err := os.ReadFile(suite.demo)
	if err != nil {
		t.Fatal(err)
	}
	var data m
	if err := json.Unmarshal(viewertest.Data(t, string(b)), &data); err != nil {
		t.Fatal(err)
	}
	edit(data)
	path := t.TempDir() + "/page.html"
	if err := os.WriteFile(path, []byte(viewertest.WithData(t, string(b), encode(data))), 0o644); err != nil {
		t.Fatal(err)
	}
	return fileURL(t, path)
}

// approvalIn is the request of a session in the data of a page.
func approvalIn(t *testing.T, data m, id string) m {
	t.Helper()
	for _, s := range data["sessions"].([]any) {
		if s := s.(m); s["session"].(m)["id"] == id {
			return s["approvals"].([]any)[0].(m)
		}
	}
	t.Fatalf("the page has no session %q", id)
	return nil
}

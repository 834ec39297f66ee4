// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// memory is a Store that follows the contract of Publication.
type memory struct {
	mu        sync.Mutex
	rows      []record.Event
	entities  []entity.Entity
	published []graphsync.Publication
	calls     []string
	fail      string
	// events, when set, is called in Events.
	events func()
}

func (s *memory) call(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	if s.fail == name {
		return errors.New("disk on fire")
	}
	return nil
}

func (s *memory) Flush(context.Context) error { return s.call("flush") }

func (s *memory) Events(context.Context, record.Session) ([]record.Event, error) {
	if s.events != nil {
		s.events()
	}
	return s.rows, s.call("events")
}

func (s *memory) Entities(context.Context, record.Session) ([]entity.Entity, error) {
	err := s.call("entities")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entities), err
}

func (s *memory) Publish(_ context.Context, p graphsync.Publication) error {
	if err := s.call("publish"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	given := func(e entity.Entity) bool {
		return slices.ContainsFunc(p.Entities, func(o entity.Entity) bool {
			return o.TechNode == e.TechNode && o.Type == e.Type && o.Value == e.Value
		})
	}
	s.entities = slices.DeleteFunc(s.entities, func(e entity.Entity) bool {
		outdated := slices.Contains(p.Extracted, e.EventID) && !slices.Contains(p.Failed, e.TechNode) && e.Source != entity.SourceModel
		return given(e) || outdated
	})
	s.entities = append(s.entities, p.Entities...)
	s.published = append(s.published, p)
	return nil
}

func TestSync(t *testing.T) {
	r := delegate(t)
	bad := r.add(record.ToolCompleted, "root", "B", "A", m{"tool": "query_audience", "result": m{"audience": nil}}, nil)
	bad.IsTruncated = true
	badID := bad.EventID
	model := entity.Entity{Type: "Product", Value: "From Model", Source: entity.SourceModel, Confidence: 0.7, TechNode: r.key("T1"), EventID: r.rows[0].EventID, SeenAt: time.UnixMicro(baseTime)}
	kept := entity.Entity{Type: "Targeting", Value: "Kept", Source: entity.SourceRule, Confidence: 1, TechNode: r.key("T2"), EventID: badID, SeenAt: time.UnixMicro(baseTime)}
	stale := entity.Entity{Type: "Product", Value: "Stale", Source: entity.SourceRule, Confidence: 1, TechNode: r.key("T1"), EventID: r.rows[1].EventID, SeenAt: time.UnixMicro(baseTime)}
	store := &memory{rows: r.rows, entities: []entity.Entity{model, kept, stale}}
	x := compile(t, adRules())

	g, receipt, err := graphsync.NewSyncer(store, x).Sync(t.Context(), testSession)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "calls", []string{"flush", "events", "publish", "entities"}, store.calls)
	if len(receipt.Errors) != 1 || !strings.Contains(receipt.Errors[0], badID) {
		t.Errorf("errors %q", receipt.Errors)
	}
	receipt.Errors = nil
	want := graphsync.Receipt{Watermark: int64(len(r.rows)), RowsRead: len(r.rows), Failed: 1, Truncated: 1, Version: x.Version()}
	diff(t, "receipt", want, receipt)

	p := store.published[0]
	if p.Session != testSession || len(p.Nodes) != len(g.Nodes()) || len(p.Edges) != len(g.Edges()) || slices.Contains(p.Extracted, badID) || p.At.IsZero() || p.At.Location() != time.UTC || !slices.Equal(p.Failed, []string{r.key("B")}) {
		t.Errorf("publication of %d nodes, %d edges, failed %v, at %s", len(p.Nodes), len(p.Edges), p.Failed, p.At)
	}
	var values []string
	reasons, err := g.Why(r.key("H"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range reasons {
		values = append(values, reason.Entity.Value)
	}
	diff(t, "reasons", []string{"$50,000", "From Model", "Instagram Reels", "Strava Routes", "Runners"}, values)
	var all []string
	for _, e := range g.Entities() {
		all = append(all, e.Value)
	}
	slices.Sort(all)
	diff(t, "entities", []string{"$50,000", "From Model", "Instagram Reels", "Kept", "Runners", "Strava Routes"}, all)
}

func TestSyncErrors(t *testing.T) {
	for step, want := range map[string]string{"flush": "flush", "events": "read events", "publish": "publish", "entities": "read entities"} {
		store := &memory{fail: step}
		g, _, err := graphsync.NewSyncer(store, nil).Sync(t.Context(), testSession)
		if g != nil || err == nil || !strings.Contains(err.Error(), "sync session s1: "+want+": disk on fire") {
			t.Errorf("%s: %v", step, err)
		}
		if step != "entities" && len(store.published) != 0 {
			t.Errorf("%s: published all the same", step)
		}
	}
}

func TestReceiptErrorsAreBounded(t *testing.T) {
	r := &recorder{t: t}
	for range 30 {
		r.end("T", "", "c=query_audience", m{}, nil)
	}
	_, receipt, err := graphsync.NewSyncer(&memory{rows: r.rows}, compile(t, adRules())).Sync(t.Context(), testSession)
	if err != nil || receipt.Failed != 30 || len(receipt.Errors) != 10 {
		t.Errorf("failed %d, %d errors, %v", receipt.Failed, len(receipt.Errors), err)
	}
}

func TestSyncOfOneSessionIsSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var inside, most int
		gate := make(chan struct{})
		store := &memory{events: func() {
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			<-gate
			mu.Lock()
			inside--
			mu.Unlock()
		}}
		s := graphsync.NewSyncer(store, nil)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, _, err := s.Sync(t.Context(), testSession); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := s.Sync(ctx, testSession); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled wait: %v", err)
		}
		// Another session does not wait.
		wg.Go(func() {
			if _, _, err := s.Sync(t.Context(), record.Session{ID: "other"}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		mu.Lock()
		if inside != 2 {
			t.Errorf("%d calls at work, want one for each session", inside)
		}
		mu.Unlock()
		close(gate)
		wg.Wait()
		if most != 2 {
			t.Errorf("up to %d calls at work, want 2", most)
		}
	})
}

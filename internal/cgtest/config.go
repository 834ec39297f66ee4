// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Config is a configuration with what code gives beside it, so that an option of a test can
// change either.
type Config struct {
	contextgraph.Config
	CheckFuncs    map[string]safety.Checker
	Databases     map[string]contextgraph.Querier
	Identity      func(context.Context) (string, error)
	Authorize     safety.Authorizer
	Format        func(eventType string, content []byte) ([]byte, error)
	Classify      func(t tool.Tool, args, result map[string]any) error
	MeterProvider metric.MeterProvider
	Logger        *slog.Logger
	Now           func() time.Time
	Part          contextgraph.Part
	// Memory, if not nil, is in the place of the journal.
	Memory *store.Memory
}

// Open opens an instance of the configuration.
func (c Config) Open(ctx context.Context) (*contextgraph.Instance, error) {
	var opts []contextgraph.Option
	for typ, checker := range c.CheckFuncs {
		opts = append(opts, contextgraph.WithChecker(typ, checker))
	}
	for name, db := range c.Databases {
		opts = append(opts, contextgraph.WithDatabase(name, db))
	}
	if c.Identity != nil {
		opts = append(opts, contextgraph.WithIdentity(c.Identity))
	}
	if c.Authorize != nil {
		opts = append(opts, contextgraph.WithAuthorizer(c.Authorize))
	}
	if c.Part != nil {
		opts = append(opts, contextgraph.WithPart(c.Part))
	}
	opts = append(opts,
		contextgraph.WithFormatter(c.Format), contextgraph.WithClassifier(c.Classify), contextgraph.WithMeterProvider(c.MeterProvider),
		contextgraph.WithLogger(c.Logger), contextgraph.WithClock(c.Now),
	)
	if c.Memory != nil {
		ctx = store.With(ctx, c.Memory.Open())
	}
	return contextgraph.Open(ctx, c.Config, opts...)
}

// JournalOf opens the journal of an instance a second time, until the test ends: the instance
// does not give it away. What the instance has recorded has to be flushed.
func JournalOf(t testing.TB, cg *contextgraph.Instance) *journal.Journal {
	t.Helper()
	j, err := journal.Open(context.Background(), journal.Config{Journal: config.Journal{Path: cg.JournalPath()}, Logger: Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return j
}

// Gaps returns what is missing in the record of a session in a store, where no run is under way.
func Gaps(t testing.TB, j store.Store, s record.Session) []string {
	t.Helper()
	rows, err := store.Events(context.Background(), j, s)
	if err != nil {
		t.Fatal(err)
	}
	losses, err := j.Losses(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return append(graphsync.RunGaps(graphsync.Fold(nil, rows).Runs(), nil), store.LossSentences(losses)...)
}

// Store returns the store of the harness, opened a second time.
func (h *Harness) Store() store.Store {
	h.T.Helper()
	if h.Memory != nil {
		return h.Memory.Open()
	}
	return h.Journal()
}

// Journal returns the journal of the harness, opened a second time; it has one with the option [OnFile].
func (h *Harness) Journal() *journal.Journal {
	h.T.Helper()
	if h.Memory != nil {
		h.T.Fatal("the harness has no journal: see OnFile")
	}
	if h.journalOf != h.T { // which a test may change
		h.journal, h.journalOf = JournalOf(h.T, h.CG), h.T
	}
	return h.journal
}

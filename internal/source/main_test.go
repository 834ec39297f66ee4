// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	epoch  = time.Date(2026, 1, 19, 11, 0, 13, 0, time.UTC)
	fine   = values{"price": usd("$40,000"), "availability": entity.Bool(true)}
	strava = thing("Product", "Strava Sponsored Routes", fine)
)

type values = map[string]entity.Value

func must(v entity.Value, err error) entity.Value {
	if err != nil {
		panic(err)
	}
	return v
}

func usd(s string) entity.Value { return must(entity.ParseMoney(s, "USD")) }

func number[T int | int64 | float64](x T) entity.Value { return must(entity.Number(x)) }

// thing is one entity as the record has it: ten seconds ago a tool showed it, and the model that
// asks had read it.
func thing(typ, value string, attributes values) entity.Canonical {
	seen := entity.Entity{
		Type: typ, Value: value, Attributes: attributes, Source: entity.SourceRule, Confidence: 0.95,
		SeenAt: epoch.Add(-10 * time.Second), Read: true,
	}
	c := entity.Canonicalize([]entity.Entity{seen})[0]
	c.Key, c.Attributes = seen.Identity(), attributes
	return c
}

// record is the evidence of a session that rests on some entities.
type recorded []entity.Canonical

func (r recorded) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return safety.Snapshot{Evidence: entity.Evidence{Entities: r}, Receipt: record.Receipt{Watermark: 12, RowsRead: 10, Version: "rules"}}, nil
}

// check is the report of a session that rests on strava, about which c is asked.
func check(t *testing.T, c safety.Checker) safety.Report {
	t.Helper()
	g, err := safety.NewGuard(safety.GuardConfig{
		Ledger: new(store.Memory).Open().Ledger(), Evidence: recorded{strava}, Checkers: map[string]safety.Checker{"Product": c},
		Now: func() time.Time { return epoch },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Check(t.Context(), record.Session{App: "adcp", User: "ana", ID: "sess-nike-summer"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantFailure checks that a report denies for the reason.
func wantFailure(t *testing.T, r safety.Report, reason string) {
	t.Helper()
	is := func(f safety.Failure) bool { return f.Reason == reason }
	if r.IsSafeToApprove() || !r.CheckFailed() || !slices.ContainsFunc(r.Failures(), is) {
		t.Errorf("safe %t; want %q among the failures\n%s", r.IsSafeToApprove(), reason, r.Summary())
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
)

// ours is a database as the suite of stores uses it.
var ours = storetest.Harness{
	Open: func(t *testing.T) func() store.Store {
		url := pgtest.Database(t)
		return func() store.Store { return opened(t, url) }
	},
	Remove: func(t *testing.T, s store.Store, now time.Time, age time.Duration) {
		if err := s.(*db).sweep(t.Context(), now, age); err != nil {
			t.Fatal(err)
		}
	},
}

func TestStore(t *testing.T)  { storetest.Run(t, ours) }
func TestOutbox(t *testing.T) { storetest.RunOutbox(t, ours) }

// TestPooled runs the suites behind PgBouncer, where a connection is another one in each transaction.
func TestPooled(t *testing.T) {
	pooled := ours
	pooled.Open = func(t *testing.T) func() store.Store {
		url := pgtest.Pooled(t, pgtest.Database(t))
		return func() store.Store { return opened(t, url) }
	}
	storetest.Run(t, pooled)
	storetest.RunOutbox(t, pooled)
	replicas := make([]*db, 3)
	open := pooled.Open(t)
	for i := range replicas {
		replicas[i] = open().(*db)
	}
	raceForPermits(t, replicas, 20)
}

func TestRandomWork(t *testing.T) { storetest.Compare(t, ours.Open) }

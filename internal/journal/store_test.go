// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
)

// ours is the journal as the suite of stores uses it.
var ours = storetest.Harness{
	Open: func(t *testing.T) func() store.Store {
		path := journaltest.Path(t)
		return func() store.Store { return reopen(t, journal.Config{Journal: config.Journal{Path: path}}) }
	},
	Remove: func(t *testing.T, s store.Store, now time.Time, age time.Duration) {
		if err := s.(*journal.Journal).Sweep(t.Context(), config.Retention{MaxAge: age}, now); err != nil {
			t.Fatal(err)
		}
	},
}

func TestStore(t *testing.T)  { storetest.Run(t, ours) }
func TestOutbox(t *testing.T) { storetest.RunOutbox(t, ours) }

func TestRandomWork(t *testing.T) { storetest.Compare(t, ours.Open) }

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, openStore) }

func TestRandomWork(t *testing.T) { storetest.Compare(t, openStore) }

// openStore returns a function that opens one more handle on a new journal.
func openStore(t *testing.T) func() store.Store {
	path := journaltest.Path(t)
	return func() store.Store { return reopen(t, journal.Config{Journal: config.Journal{Path: path}}) }
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
)

// A panic that somebody recovers must not keep the connection it was on: the next read
// would wait for it.
func TestPanicGivesTheConnectionBack(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	var lent *sqlite.Conn
	func() {
		defer func() { _ = recover() }()
		_ = j.Read(t.Context(), func(conn *sqlite.Conn) error {
			lent = conn
			panic("a bug")
		})
	}()
	err = j.Read(t.Context(), func(conn *sqlite.Conn) error {
		if conn != lent {
			t.Error("the second read has another connection than the first one")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

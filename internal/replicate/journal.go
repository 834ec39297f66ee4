// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"context"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// FromJournal returns the journal as a Source of the rows for one destination, named as
// in [journal.Journal.Outbox]. It costs nothing and does not touch the file.
func FromJournal(j *journal.Journal, destination string) Source {
	return outbox{Outbox: j.Outbox(destination), journal: j}
}

// outbox is an Outbox that also knows what its journal knows.
type outbox struct {
	*journal.Outbox
	journal *journal.Journal
}

func (o outbox) LastSeq(ctx context.Context) (int64, error) { return o.journal.LastSeq(ctx) }

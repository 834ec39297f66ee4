// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Bounds of the rows that wait to be stored at a time.
const (
	importRows  = 1000
	importBytes = 16 << 20
)

// Import stores rows that were recorded elsewhere, in their order. When it fails, those before are
// stored. A row that the journal has is a duplicate, so Import may be repeated.
func (j *Journal) Import(ctx context.Context, rows []record.Event) error {
	waiting, size := 0, 0
	before := j.Stats().Lost
	for i := range rows {
		e := &rows[i]
		if !j.Append(*e) {
			if isClosed(j.w.closing) {
				return fmt.Errorf("journal: import row %s: %w", e.EventID, store.ErrClosed)
			}
			return fmt.Errorf("the journal did not take row %s: import again when it has room", e.EventID)
		}
		waiting, size = waiting+1, size+len(e.Content)+len(e.ContentParts)+len(e.Attributes)
		if waiting < importRows && size < importBytes && i < len(rows)-1 {
			continue
		}
		if err := j.Flush(ctx); err != nil {
			return fmt.Errorf("after %d of %d rows: %w", i+1, len(rows), err)
		}
		waiting, size = 0, 0
	}
	for reason, n := range j.Stats().Lost {
		if n > before[reason] {
			return fmt.Errorf("%d rows were not stored: %s", n-before[reason], reason)
		}
	}
	return nil
}

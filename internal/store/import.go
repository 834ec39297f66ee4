// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Bounds of the rows that wait to be stored at a time.
const (
	importRows  = 1000
	importBytes = 16 << 20
)

// Import stores rows that were recorded elsewhere, in their order. When it fails, those before are
// stored. A row whose event id is stored is not stored again, so Import may be repeated.
func Import(ctx context.Context, s Store, rows []record.Event) error {
	waiting, size := 0, 0
	before := s.Stats().Lost
	for i := range rows {
		e := &rows[i]
		if !s.Append(*e) {
			if err := s.Flush(ctx); errors.Is(err, ErrClosed) {
				return fmt.Errorf("import row %s: %w", e.EventID, err)
			}
			return fmt.Errorf("%s did not take row %s: import again when it has room", s.Name(), e.EventID)
		}
		waiting, size = waiting+1, size+len(e.Content)+len(e.ContentParts)+len(e.Attributes)
		if waiting < importRows && size < importBytes && i < len(rows)-1 {
			continue
		}
		if err := s.Flush(ctx); err != nil {
			return fmt.Errorf("after %d of %d rows: %w", i+1, len(rows), err)
		}
		waiting, size = 0, 0
	}
	for reason, n := range s.Stats().Lost {
		if n > before[reason] {
			return fmt.Errorf("%d rows were not stored: %s", n-before[reason], reason)
		}
	}
	return nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Losses says, in sentences for people, how many rows of s retention removed, and how many were
// dropped, by this process or, as far as the file knows, by any other.
func (j *Journal) Losses(ctx context.Context, s record.Session) ([]string, error) {
	var losses []string
	var saved int
	err := j.read(ctx, "look for losses", func(conn *sqlite.Conn) error {
		removed, _, err := removedRows(conn, s)
		if removed > 0 {
			losses = append(losses, fmt.Sprintf("%d rows of this session were removed by retention", removed))
		}
		if err != nil {
			return err
		}
		saved, err = savedLosses(conn, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	// A number that is saved between the two looks is still in the first one.
	lost, unsaved := j.queue.lostOf(s)
	if n := max(lost, saved+unsaved); n > 0 {
		losses = append(losses, fmt.Sprintf("%d rows were dropped before they could be stored", n))
	}
	return losses, nil
}

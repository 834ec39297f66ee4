// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// SetUpgrade replaces what a Target does to upgrade its table.
func SetUpgrade(t replicate.Target, upgrade func(context.Context) error) {
	t.(*target).upgrade = upgrade
}

// WithPauses is With that waits for the table, and when it has stopped, as long as this.
func WithPauses(o DatasetOptions, table, recheck time.Duration) warehouse.Opener {
	return with(o, pauses{table, recheck, 5 * time.Millisecond})
}

// ErrGraph is the error of a graph that cannot be made.
var ErrGraph = errGraph

// EncodeGraph returns the rows of a graph as they are sent.
func EncodeGraph(g warehouse.SessionGraph) ([][]byte, error) {
	parts, err := g.Parts(maxPart)
	if err != nil {
		return nil, err
	}
	return encodeRows(warehouse.SessionGraphsTable(), parts)
}

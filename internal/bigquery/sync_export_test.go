// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// SyncSessionPausing is SyncSession with another way to wait before a step is repeated.
func (d *Dataset) SyncSessionPausing(ctx context.Context, g warehouse.SessionGraph, pause func(context.Context, time.Duration) error) (SyncReport, error) {
	return d.syncSession(ctx, g, newRetrier(pause))
}

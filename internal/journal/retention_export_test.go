// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

// Sweep does once, at the time now, what retention does in the background.
func (j *Journal) Sweep(ctx context.Context, cfg config.Retention, now time.Time) error {
	return (&retention{Retention: cfg, journal: j}).sweep(ctx, now)
}

// SelectRemovableSQL is the statement that chooses what to remove.
func SelectRemovableSQL() string { return selectRemovableSQL }

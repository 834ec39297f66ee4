// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// Read runs fn on a reading connection.
func (j *Journal) Read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return j.read(ctx, "read", fn)
}

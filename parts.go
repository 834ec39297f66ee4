// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/offload/gcs"
)

// openParts opens the store for large and binary parts, nil when it is off.
func (c Config) openParts(ctx context.Context, log *slog.Logger) (*offload.Uploader, error) {
	c = c.withDefaults()
	store, err := c.openStore(ctx)
	if store == nil || err != nil {
		return nil, err
	}
	a := c.Record.Artifacts
	parts, err := offload.New(offload.Config{Store: store, MaxBytes: a.MaxBytes, QueueBytes: a.QueueBytes, Logger: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return parts, nil
}

// openStore needs a c with its defaults.
func (c Config) openStore(ctx context.Context) (offload.Store, error) {
	switch store := c.Record.Artifacts.Store; {
	case store == StoreOff:
		return nil, nil
	case strings.HasPrefix(store, "gs://"):
		return gcs.Open(ctx, store)
	default:
		return offload.OpenDir(store, &offload.DirOptions{Sync: c.Journal.Durability == journal.DurabilitySync})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"log/slog"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/offload/gcs"
)

// OpenParts opens the store for large and binary parts, nil when it is off.
func OpenParts(ctx context.Context, c config.Config, log *slog.Logger) (*offload.Uploader, error) {
	c = c.WithDefaults()
	store, err := openStore(ctx, c)
	if store == nil || err != nil {
		return nil, err
	}
	return offload.New(offload.Config{
		Store: store, QueueBytes: int64(config.MaxPart), MaxBytes: int64(c.Record.Artifacts.MaxBytes), Logger: log,
	}), nil
}

// openStore needs a c with its defaults.
func openStore(ctx context.Context, c config.Config) (offload.Store, error) {
	switch store := c.Record.Artifacts.Store; {
	case store == config.StoreOff:
		return nil, nil
	case strings.HasPrefix(store, "gs://"):
		return gcs.Open(ctx, store)
	default:
		return offload.OpenDir(store, c.Journal.Durability == config.DurabilitySync)
	}
}

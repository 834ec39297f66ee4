// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package instance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// The connection to the dataset gets the artifact store of the instance, and none where it is off.
func TestTheDatasetGetsTheStore(t *testing.T) {
	for _, store := range []string{t.TempDir() + "/parts", config.StoreOff} {
		cfg := contextgraph.Config{BigQuery: config.BigQuery{Project: "my-project", Dataset: "agents"}}
		cfg.Journal.Path, cfg.Record.Artifacts.Store = t.TempDir()+"/journal.db", store
		enough := errors.New("enough")
		var got warehouse.Host
		part := contextgraph.WithPart(warehouse.Opener(func(_ context.Context, _ config.BigQuery, host warehouse.Host) (warehouse.Connection, error) {
			got = host
			return nil, enough
		}))
		if _, err := contextgraph.Open(t.Context(), cfg, contextgraph.WithLogger(cgtest.Quiet()), part); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		if has := got.Parts.Store != nil; has != (store != config.StoreOff) {
			t.Errorf("store %q: the connection has one: %t", store, has)
		}
	}
}

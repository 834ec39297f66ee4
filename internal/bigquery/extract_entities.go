// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// maxStoreEntities bounds what is read of one session for a store.
const maxStoreEntities = 100_000

// ModelEntities returns what models found in a session, by time: what a journal takes
// with AddEntities. Its bounds and errors are those of [Dataset.ReadEntities].
func (d *Dataset) ModelEntities(ctx context.Context, s ask.Scope) ([]entity.Entity, error) {
	es, err := d.ReadEntities(ctx, s)
	return slices.DeleteFunc(es, func(e entity.Entity) bool { return e.Source != entity.SourceModel }), err
}

// store gives the store of the request what models found in the sessions of this
// extraction.
func (x *extraction) store(ctx context.Context) error {
	if x.request.Store == nil {
		return nil
	}
	if x.statement.Session {
		x.touched[x.request.Session] = true
	}
	for _, s := range slices.SortedFunc(maps.Keys(x.touched), bySession) {
		es, err := x.ModelEntities(ctx, ask.Scope{
			Session: s, From: x.request.From.Add(-matchMargin), To: x.request.To.Add(matchMargin), Limit: maxStoreEntities,
		})
		if err == nil && len(es) > 0 {
			err = x.request.Store.AddEntities(ctx, s, es)
		}
		if err != nil {
			return fmt.Errorf("the entities that a model found in session %q of user %q: %w", s.ID, s.User, err)
		}
	}
	return nil
}

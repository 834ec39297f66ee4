// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// StoreFound stores in a store the rows of those given that say what models found in rows that it has. Others
// are left out, and one that it has is not stored again. It returns the number of those that it has.
func StoreFound(ctx context.Context, j store.Store, rows []record.Event) (n int, err error) {
	var own []record.Event
	for _, e := range rows {
		var attrs schema.Attributes
		if e.EventType != record.EntitiesFound || attrs.Read(e.Attributes) != nil {
			continue
		}
		about, stored, err := j.Row(ctx, attrs.ADK.Of)
		if err != nil {
			return 0, err
		}
		if stored && about.Session() == e.Session() {
			e.Seq = 0
			own = append(own, e)
		}
	}
	return len(own), store.Import(ctx, j, own)
}

// declaration is an entity in the column attributes of a row.
type declaration struct {
	Type        string                  `json:"type"`
	Value       string                  `json:"value"`
	Norm        *entity.Value           `json:"norm,omitempty"`
	Attributes  map[string]entity.Value `json:"attributes,omitempty"`
	ArtifactURI string                  `json:"artifact_uri,omitempty"`
	Confidence  float64                 `json:"confidence"`
}

// foundRows returns the rows that say what models found in the rows about, by their event ids: one for
// each of them. The same entities make the same row.
func foundRows(about map[string]record.Event, found []entity.Entity) (rows []record.Event, err error) {
	of := make(map[string][]declaration)
	for _, e := range found {
		d := declaration{Type: e.Type, Value: e.Value, Attributes: e.Attributes, ArtifactURI: e.ArtifactURI, Confidence: e.Confidence}
		if !e.Norm.IsZero() {
			d.Norm = &e.Norm
		}
		of[e.EventID] = append(of[e.EventID], d)
	}
	for id, list := range of {
		row := about[id]
		attributes, err := json.Marshal(map[string]any{
			"adk": map[string]any{"app_name": row.AppName, "of": id}, "entities": list,
		})
		if err != nil {
			return nil, fmt.Errorf("the entities that a model found in row %s: %w", id, err)
		}
		sum := sha256.Sum256(slices.Concat([]byte(record.EntitiesFound), attributes))
		rows = append(rows, record.Event{
			Timestamp: row.Timestamp, EventID: hex.EncodeToString(sum[:16]), EventType: record.EntitiesFound, Agent: row.Agent,
			SessionID: row.SessionID, InvocationID: row.InvocationID, UserID: row.UserID, AppName: row.AppName,
			TraceID: row.TraceID, SpanID: row.SpanID, ParentSpanID: row.ParentSpanID, Attributes: attributes, Status: record.StatusOK,
		})
	}
	slices.SortFunc(rows, func(a, b record.Event) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.EventID, b.EventID))
	})
	return rows, nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// declaration is one element of attributes.entities.
type declaration struct {
	Type        string                  `json:"type"`
	Value       string                  `json:"value"`
	Norm        entity.Value            `json:"norm"`
	Attributes  map[string]entity.Value `json:"attributes"`
	ArtifactURI string                  `json:"artifact_uri"`
	Confidence  *float64                `json:"confidence"`
}

// declaredEntities reads what a tool declared in the attributes of its row, and what the
// recorder says of the present in the row of a call that it refused for drift. What a tool
// declared before it failed is no reading.
func declaredEntities(e *schema.Event) ([]entity.Entity, error) {
	if e.Attributes == nil {
		return nil, nil
	}
	var row struct {
		Entities json.RawMessage `json:"entities"`
		ADK      struct {
			Drift bool `json:"drift"`
		} `json:"adk"`
	}
	if err := json.Unmarshal(e.Attributes, &row); err != nil {
		return nil, fmt.Errorf("attributes are not a JSON object: %w", err)
	}
	if row.Entities == nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(row.Entities))
	dec.DisallowUnknownFields()
	var list []declaration
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("declared entities: %w", err)
	}
	source := entity.SourceDeclared
	if e.EventType == schema.ToolError && !row.ADK.Drift {
		source = entity.SourceClaim
	}
	out, first := make([]entity.Entity, len(list)), make(map[thing]entity.Entity)
	for i, d := range list {
		out[i] = entity.Entity{
			Type: d.Type, Value: d.Value, Norm: d.Norm, Attributes: d.Attributes, ArtifactURI: d.ArtifactURI,
			Confidence: 1, Source: source,
		}
		if d.Confidence != nil {
			out[i].Confidence = *d.Confidence
		}
		if err := cmp.Or(out[i].Validate(), agree(first, out[i])); err != nil {
			return nil, fmt.Errorf("declared entity %d: %w", i+1, err)
		}
	}
	return out, nil
}

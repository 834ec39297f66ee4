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

// declaredEntities reads what a tool declared in the attributes of its row. refused is true if
// the row is that of a call refused for drift: then the recorder wrote the present values
// there. What a tool declared before it failed is no reading.
func declaredEntities(e *schema.Event) (list []entity.Entity, refused bool, err error) {
	if e.Attributes == nil {
		return nil, false, nil
	}
	var row struct {
		Entities json.RawMessage `json:"entities"`
		ADK      struct {
			Drift bool `json:"drift"`
		} `json:"adk"`
	}
	if err := json.Unmarshal(e.Attributes, &row); err != nil {
		return nil, false, fmt.Errorf("attributes are not a JSON object: %w", err)
	}
	if row.Entities == nil {
		return nil, false, nil
	}
	dec := json.NewDecoder(bytes.NewReader(row.Entities))
	dec.DisallowUnknownFields()
	var declared []declaration
	if err := dec.Decode(&declared); err != nil {
		return nil, false, fmt.Errorf("declared entities: %w", err)
	}
	source := entity.SourceDeclared
	if e.EventType == schema.ToolError {
		if refused = row.ADK.Drift; !refused {
			source = entity.SourceClaim
		}
	}
	list = make([]entity.Entity, len(declared))
	first := make(map[thing]entity.Entity)
	for i, d := range declared {
		list[i] = entity.Entity{
			Type: d.Type, Value: d.Value, Norm: d.Norm, Attributes: d.Attributes, ArtifactURI: d.ArtifactURI,
			Confidence: 1, Source: source,
		}
		if d.Confidence != nil {
			list[i].Confidence = *d.Confidence
		}
		if err := cmp.Or(list[i].Validate(), agree(first, list[i])); err != nil {
			return nil, false, fmt.Errorf("declared entity %d: %w", i+1, err)
		}
	}
	return list, refused, nil
}

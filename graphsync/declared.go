// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/entity"
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

// declaredEntities reads what a tool declared in the attributes of its row.
func declaredEntities(attributes []byte) ([]entity.Entity, error) {
	if attributes == nil {
		return nil, nil
	}
	var row struct {
		Entities json.RawMessage `json:"entities"`
	}
	if err := json.Unmarshal(attributes, &row); err != nil {
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
	out, first := make([]entity.Entity, len(list)), make(map[thing]entity.Entity)
	for i, d := range list {
		out[i] = entity.Entity{
			Type: d.Type, Value: d.Value, Norm: d.Norm, Attributes: d.Attributes, ArtifactURI: d.ArtifactURI,
			Confidence: 1, Source: entity.SourceDeclared,
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

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
	"github.com/adk-contextgraph/contextgraph/record"
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

// declaredEntities reads the entities that a tool declared in the attributes of its row. told are
// the present values that the recorder wrote there when it refused a call for drift. An entity that
// was declared before the tool failed, or before its call was refused, is no reading, because it
// need not agree with the present.
func declaredEntities(e *record.Event) (declared, told []entity.Entity, err error) {
	var row schema.Attributes
	if err := row.Read(e.Attributes); err != nil {
		return nil, nil, err
	}
	if row.Entities == nil {
		return nil, nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(row.Entities))
	dec.DisallowUnknownFields()
	var all []declaration
	if err := dec.Decode(&all); err != nil {
		return nil, nil, fmt.Errorf("declared entities: %w", err)
	}
	source, n := entity.SourceDeclared, len(all)
	if e.EventType == record.ToolError {
		if source = entity.SourceClaim; row.ADK.Drift {
			n = min(max(row.ADK.Declared, 0), n)
		}
	}
	if declared, err = entitiesOf(all[:n], 0, source); err == nil {
		told, err = entitiesOf(all[n:], n, entity.SourceDeclared)
	}
	return declared, told, err
}

// entitiesOf returns the entities of declarations that stand behind so many others.
func entitiesOf(all []declaration, behind int, source entity.Source) ([]entity.Entity, error) {
	list := make([]entity.Entity, len(all))
	first := make(map[thing]entity.Entity)
	for i, d := range all {
		list[i] = entity.Entity{
			Type: d.Type, Value: d.Value, Norm: d.Norm, Attributes: d.Attributes, ArtifactURI: d.ArtifactURI,
			Confidence: 1, Source: source,
		}
		if d.Confidence != nil {
			list[i].Confidence = *d.Confidence
		}
		if err := cmp.Or(list[i].Validate(), agree(first, list[i])); err != nil {
			return nil, fmt.Errorf("declared entity %d: %w", behind+i+1, err)
		}
	}
	return list, nil
}

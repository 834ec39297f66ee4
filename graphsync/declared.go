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

// declarations has what the tools of calls under way declared: attributes.entities of each of their rows, in
// order.
type declarations struct {
	byKey map[string][]json.RawMessage
	// byCall has the same by the id of the call, also of calls that ended.
	byCall map[string][]json.RawMessage
}

func newDeclarations() declarations {
	return declarations{make(map[string][]json.RawMessage), make(map[string][]json.RawMessage)}
}

// add keeps the entities of a row of type ENTITIES_DECLARED until the row that ends its call.
func (d declarations) add(e *record.Event, attrs *schema.Attributes) {
	if attrs.Entities != nil {
		call, id := callKey(e, attrs.ADK.Of), attrs.ADK.CallID()
		d.byKey[call] = append(d.byKey[call], attrs.Entities)
		if id != "" {
			d.byCall[id] = append(d.byCall[id], attrs.Entities)
		}
	}
}

// take returns what the call has declared that e ends, once.
func (d declarations) take(e *record.Event, attrs *schema.Attributes) []json.RawMessage {
	call := callKey(e, attrs.ADK.Started)
	list := d.byKey[call]
	delete(d.byKey, call)
	return list
}

// callKey names the call that a row is of: by the row that began it, or by the span if e does not
// name that row.
func callKey(e *record.Event, began string) string { return cmp.Or(began, RowNodeKey(e)) }

// declared reads the entities that a tool declared in the call that end ends. pending has
// attributes.entities of their rows. They are readings if the call ended well. An entity that was
// declared before the tool failed, or before its call was refused, is none, because it need not
// agree with the present.
//
// told are the entities in end itself: the present values that the recorder wrote there when it
// refused a call for drift, or what a tool declared in a repeated call, which has one row alone.
func declared(end *record.Event, pending []json.RawMessage) (declared, told []entity.Entity, err error) {
	var row schema.Attributes
	if err := row.Read(end.Attributes); err != nil {
		return nil, nil, err
	}
	source := entity.SourceDeclared
	if end.EventType == record.ToolError {
		source = entity.SourceClaim
	}
	if declared, err = readEntities(pending, source); err != nil || row.Entities == nil {
		return declared, nil, err
	}
	if row.ADK.Drift {
		source = entity.SourceDeclared
	}
	told, err = readEntities([]json.RawMessage{row.Entities}, source)
	return declared, told, err
}

// readEntities reads lists of declarations, which must not contradict each other.
func readEntities(lists []json.RawMessage, source entity.Source) (out []entity.Entity, err error) {
	first := make(map[thing]entity.Entity)
	for _, list := range lists {
		dec := json.NewDecoder(bytes.NewReader(list))
		dec.DisallowUnknownFields()
		var all []declaration
		if err := dec.Decode(&all); err != nil {
			return nil, fmt.Errorf("declared entities: %w", err)
		}
		for _, d := range all {
			e := entity.Entity{
				Type: d.Type, Value: d.Value, Norm: d.Norm, Attributes: d.Attributes, ArtifactURI: d.ArtifactURI,
				Confidence: 1, Source: source,
			}
			if d.Confidence != nil {
				e.Confidence = *d.Confidence
			}
			if err := cmp.Or(e.Validate(), agree(first, e)); err != nil {
				return nil, fmt.Errorf("declared entity %d: %w", len(out)+1, err)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package contract holds the row contract as data, and checks rows against it.
//
// shapes.json says for each event type what a row of it must hold, may hold and may
// not: what the BigQuery Agent Analytics plugin for Python writes ("need") and, where
// that differs, what this module writes ("ours"), each difference with the name of
// the deviation that stands in the list at its top. The list is closed: a key that is
// in neither is a finding. views.json holds the columns of the views that the Python
// plugin creates, and consumers.json the paths that the analytics SDK reads.
//
// Paths are JSONPath (RFC 9535) with names and, in shapes.json, [*] only.
package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed shapes.json
var shapesJSON []byte

//go:embed views.json
var viewsJSON []byte

//go:embed consumers.json
var consumersJSON []byte

// Shapes says what rows hold.
type Shapes struct {
	// Deviations is the closed list of what this module does unlike the Python plugin.
	Deviations []Deviation `json:"deviations"`
	// Common are the members of the attributes of every row.
	Common []Member `json:"common"`
	// ContentParts are the members of content_parts.
	ContentParts []Member `json:"content_parts"`
	Events       []Event  `json:"events"`
}

// Deviation is one entry of the list of deviations.
type Deviation struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Behaviour marks a deviation that no path, status or event shows.
	Behaviour bool `json:"behaviour,omitempty"`
}

// Event says what rows of one event type hold.
type Event struct {
	Type string `json:"type"`
	// Own names the deviation by which the type is ours; empty for the types of the
	// Python plugin.
	Own string `json:"own,omitempty"`
	// Unproduced says why ADK for Go gives no cause for such a row; empty when it does.
	Unproduced string `json:"unproduced,omitempty"`
	// Forms are the forms that a row can have. The first whose condition holds applies.
	Forms []Form `json:"forms"`
}

// Form is one form of the rows of an event type.
type Form struct {
	Name string `json:"name,omitempty"`
	// When holds where the place has a value other than null; nil always holds.
	When         *Place   `json:"when,omitempty"`
	Content      []Member `json:"content"`
	Attributes   []Member `json:"attributes,omitempty"`
	Latency      []Member `json:"latency"`
	Status       Choice   `json:"status"`
	ErrorMessage Rule     `json:"error_message"`
	ContentParts Rule     `json:"content_parts"`
}

// Place is a path in one of the JSON columns.
type Place struct {
	From string `json:"from"`
	Path string `json:"path"`
}

// Need says whether something is in a row.
type Need string

// The needs. What is needed always is so wherever the object around it is there.
const (
	Always   Need = "always"
	Optional Need = "optional"
	Never    Need = "never"
)

// Rule is a need that the two producers may see differently.
type Rule struct {
	Need      Need   `json:"need"`
	Ours      Need   `json:"ours,omitempty"`
	Deviation string `json:"deviation,omitempty"`
}

// Choice is a set of values that the two producers may see differently.
type Choice struct {
	Need      []string `json:"need"`
	Ours      []string `json:"ours,omitempty"`
	Deviation string   `json:"deviation,omitempty"`
}

// Member is a value in a JSON column.
type Member struct {
	Path string `json:"path"`
	// Type is one of string, int, number, bool, object, array, null, any, jsontext (a
	// string that holds a JSON object) and, for a whole column, NULL; several stand
	// between bars.
	Type string `json:"type"`
	Rule
	// Values are the strings that it may be; empty is any.
	Values []string `json:"values,omitempty"`
	// Open says that anything may stand below it.
	Open bool `json:"open,omitempty"`
}

// Views are the views of the Python plugin over the table of rows.
type Views struct {
	// Common are the columns that every view has first.
	Common []string `json:"common"`
	Views  []View   `json:"views"`
}

// View is one view: the rows of one event type.
type View struct {
	// Suffix follows the prefix of the views and an underscore in the name.
	Suffix    string   `json:"suffix"`
	EventType string   `json:"event_type"`
	Columns   []Column `json:"columns"`
}

// Consumer is a path that the analytics SDK reads.
type Consumer struct {
	// Events are the types whose rows have it; "*" is all.
	Events []string `json:"events"`
	Column
}

// LoadShapes returns the shapes.
func LoadShapes() (*Shapes, error) { return load[Shapes]("shapes.json", shapesJSON) }

// LoadViews returns the views.
func LoadViews() (*Views, error) { return load[Views]("views.json", viewsJSON) }

// LoadConsumers returns the paths that the analytics SDK reads.
func LoadConsumers() ([]Consumer, error) {
	c, err := load[struct {
		Paths []Consumer `json:"paths"`
	}]("consumers.json", consumersJSON)
	if err != nil {
		return nil, err
	}
	return c.Paths, nil
}

func load[T any](name string, data []byte) (*T, error) {
	v := new(T)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, fmt.Errorf("contract: %s: %w", name, err)
	}
	return v, nil
}

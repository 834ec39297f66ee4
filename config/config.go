// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package config holds the configuration of contextgraph: a struct for each part, with its keys,
// their defaults and bounds, and the reader of the file.
//
// A file is one YAML document. Its keys have the names of the yaml tags here, and nothing
// else repeats them: the environment variables, the example file, the table in
// docs/configuration.md and the errors follow from the tags.
package config

// Config configures the record, the gate and the checks of the world. The zero Config is valid: it
// records into contextgraph.db, gates the tools that code protects, and has no rules and no
// checkers, so that every gated action is refused.
//
// A Config is written in Go or read from a file by [Load]; both are checked by the same rules. A
// field left zero means its default. A Config must not be changed while it is in use.
type Config struct {
	// Enabled turns the recorder on. False does not open a gate: a protected tool that
	// cannot be recorded is refused. Defaults to true.
	Enabled *bool `yaml:"enabled"`
	// Journal says where the events are written, and which of them may be lost.
	Journal Journal `yaml:"journal"`
	// Store keeps the events and the approvals in a database that several replicas share, in place of the
	// journal. Defaults to none.
	Store Store `yaml:"store"`
	// Record says which parts of the events are written.
	Record Record `yaml:"record"`
	// Guard is the approval gate.
	Guard Guard `yaml:"guard"`
	// Extract holds the rules that find business entities in recorded events.
	// Defaults to none: only entities that tools declare with RecordEntity count.
	Extract []Extract `yaml:"extract"`
	// Checkers ask the outside world for the present state of entities, one per
	// entity type. Defaults to none.
	Checkers []Checker `yaml:"checkers"`
	// BigQuery is the dataset that the events and the graph are streamed to, by package
	// bqstream. Defaults to none: everything stays in the journal.
	BigQuery BigQuery `yaml:"bigquery"`
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// schemaOf returns the columns as the API has them.
func schemaOf(columns []warehouse.Column) bq.Schema {
	out := make(bq.Schema, len(columns))
	for i, c := range columns {
		out[i] = fieldOf(c)
	}
	return out
}

func fieldOf(c warehouse.Column) *bq.FieldSchema {
	f := &bq.FieldSchema{
		Name:        c.Name,
		Description: c.Description,
		Type:        bq.FieldType(apiType(c.Type)),
		Required:    c.Mode == "REQUIRED",
		Repeated:    c.Mode == "REPEATED",
	}
	if len(c.Fields) > 0 {
		f.Schema = schemaOf(c.Fields)
	}
	return f
}

// apiType returns the name that the API gives a type of SQL; it answers with these
// names whichever of the two it was given.
func apiType(sql string) string {
	switch sql {
	case "BOOL":
		return "BOOLEAN"
	case "INT64":
		return "INTEGER"
	case "FLOAT64":
		return "FLOAT"
	case "STRUCT":
		return "RECORD"
	}
	return sql
}

// merged is a schema that was brought up to date.
type merged struct {
	table  string
	schema bq.Schema
	// columns are the missing columns, fields the missing fields of columns that are
	// there, with their path.
	columns []warehouse.Column
	fields  []string
	// added are the paths of both.
	added     []string
	conflicts []error
}

// mergeSchema adds to the schema of a table what t has and it lacks. Columns that are
// there keep their place and all that others set on them: policy tags, descriptions,
// default values, collation. Those that t does not have stay.
//
// BigQuery adds no REQUIRED columns to a table that exists, so they become NULLABLE; one
// that is NULLABLE where t has REQUIRED is therefore no conflict. A column that is
// REQUIRED and that rows do not always have is one: it would refuse them. All conflicts
// are reported at once, as [ConflictError].
func mergeSchema(have bq.Schema, t warehouse.Table) (merged, error) {
	m := merged{table: t.Name}
	m.schema = m.merge(have, t.Columns, "")
	return m, errors.Join(m.conflicts...)
}

func (m *merged) merge(have bq.Schema, want []warehouse.Column, path string) bq.Schema {
	out := slices.Clone(have)
	for _, c := range want {
		at := slices.IndexFunc(out, func(f *bq.FieldSchema) bool { return strings.EqualFold(f.Name, c.Name) })
		if at < 0 {
			c.Mode = nullable(c.Mode)
			out = append(out, fieldOf(c))
			m.added = append(m.added, path+c.Name)
			if path == "" {
				m.columns = append(m.columns, c)
			} else {
				m.fields = append(m.fields, path+c.Name)
			}
			continue
		}
		f := out[at]
		if !m.check(f, c, path) || len(c.Fields) == 0 {
			continue
		}
		copied := *f
		copied.Schema = m.merge(f.Schema, c.Fields, path+f.Name+".")
		out[at] = &copied
	}
	for _, f := range have {
		if f.Required && !slices.ContainsFunc(want, func(c warehouse.Column) bool { return strings.EqualFold(f.Name, c.Name) }) {
			m.conflict(f, path, "a column that rows may lack", m.dropNotNull(f, path))
		}
	}
	return out
}

func nullable(mode string) string {
	if mode == "REQUIRED" {
		return "NULLABLE"
	}
	return mode
}

// check reports whether rows with c fit into f.
func (m *merged) check(f *bq.FieldSchema, c warehouse.Column, path string) bool {
	wanted := c.Mode + " " + c.Type
	const other = "rename or drop the column, or let contextgraph write to another table (bigquery.table)"
	switch {
	case apiType(string(f.Type)) != apiType(c.Type):
		m.conflict(f, path, wanted, other)
	case f.Repeated != (c.Mode == "REPEATED"):
		m.conflict(f, path, wanted, other)
	case f.Required && c.Mode != "REQUIRED":
		m.conflict(f, path, wanted, m.dropNotNull(f, path))
	default:
		return true
	}
	return false
}

func (m *merged) dropNotNull(f *bq.FieldSchema, path string) string {
	return fmt.Sprintf("run ALTER TABLE … ALTER COLUMN %s%s DROP NOT NULL", path, f.Name)
}

func (m *merged) conflict(f *bq.FieldSchema, path, want, remedy string) {
	mode := "NULLABLE"
	if f.Repeated {
		mode = "REPEATED"
	} else if f.Required {
		mode = "REQUIRED"
	}
	m.conflicts = append(m.conflicts, &ConflictError{
		Object: m.table, Column: path + f.Name, Found: mode + " " + string(f.Type), Want: want, Remedy: remedy,
	})
}

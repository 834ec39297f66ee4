// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	api "google.golang.org/api/bigquery/v2"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Result returns rows as the REST API of BigQuery answers them. Each is a value that encoding/json encodes with
// a member for each column that is not NULL. It panics at a value that does not fit its column.
func Result[T any](columns []schema.Column, rows []T) (*api.TableSchema, []*api.TableRow) {
	var out []*api.TableRow
	for _, r := range rows {
		text, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		out = append(out, &api.TableRow{F: cells(columns, text)})
	}
	return &api.TableSchema{Fields: schemaFields(columns)}, out
}

func schemaFields(columns []schema.Column) (out []*api.TableFieldSchema) {
	for _, c := range columns {
		f := &api.TableFieldSchema{Name: c.Name, Type: c.Type, Mode: c.Mode, Fields: schemaFields(c.Fields)}
		if name, other := map[string]string{schema.Int64: "INTEGER", schema.Float64: "FLOAT", schema.Bool: "BOOLEAN", schema.Struct: "RECORD"}[c.Type]; other {
			f.Type = name
		}
		out = append(out, f)
	}
	return out
}

func cells(columns []schema.Column, row json.RawMessage) (out []*api.TableCell) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(row, &members); err != nil {
		panic(err)
	}
	for _, c := range columns {
		v := members[c.Name]
		if c.Mode != "REPEATED" {
			out = append(out, &api.TableCell{V: cell(c, v)})
			continue
		}
		var list []json.RawMessage
		if v != nil {
			if err := json.Unmarshal(v, &list); err != nil {
				panic(err)
			}
		}
		values := make([]*api.TableCell, len(list))
		for i, element := range list {
			values[i] = &api.TableCell{V: cell(c, element)}
		}
		out = append(out, &api.TableCell{V: values})
	}
	return out
}

func cell(c schema.Column, v json.RawMessage) any {
	switch {
	case v == nil:
		return nil
	case len(c.Fields) > 0:
		return map[string]any{"f": cells(c.Fields, v)}
	case c.Type == "JSON":
		return string(v)
	}
	var value any
	if err := json.Unmarshal(v, &value); err != nil {
		panic(err)
	}
	if text, ok := value.(string); ok && c.Type == "TIMESTAMP" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err)
		}
		return strconv.FormatInt(at.UnixMicro(), 10)
	}
	return fmt.Sprint(value)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Column is one column of a view: what it is called, where its value stands, and when
// it has one.
type Column struct {
	Name string `json:"name"`
	// From is the column of the table, content, attributes or latency_ms.
	From string `json:"from"`
	// Path is empty when As is column.
	Path string `json:"path,omitempty"`
	// As says how the value is taken: value (a scalar, cast to Type), query (a JSON
	// value), column (all of From), json_type (the JSON type of the value), seconds (a
	// number of seconds as a time) and ratio (divided by what stands at Over, NULL when
	// that is zero or NULL).
	As   string `json:"as"`
	Over *Place `json:"over,omitempty"`
	// Else is the path of the same column of the table under which other rows have the
	// value; for texts, taken as value.
	Else string `json:"else,omitempty"`
	// Type is the SQL type.
	Type string `json:"type"`
	// Present is always, sometimes or never.
	Present string `json:"present"`
	// If makes a column that is present sometimes required where the place has a
	// value; Unless makes one that is present always NULL where it has.
	If     *Place `json:"if,omitempty"`
	Unless *Place `json:"unless,omitempty"`
	// Why says for people when the column is NULL.
	Why string `json:"why,omitempty"`
}

// Check evaluates the column over the row and reports whether it is NULL there. The
// error says that it is NULL where it must not be, has a value where it must be NULL,
// or cannot be cast, which fails a whole query.
func (c Column) Check(e *record.Event) (null bool, err error) {
	want, err := c.want(e)
	if err != nil {
		return false, fmt.Errorf("column %s: %w", c.Name, err)
	}
	v, err := c.Value(e)
	switch {
	case errors.Is(err, errNoScalar) && want == Never:
		return true, nil // as in a query
	case err != nil:
		return false, fmt.Errorf("column %s: %w", c.Name, err)
	case v == nil && want == Always:
		return true, fmt.Errorf("column %s: %s of %s is NULL", c.Name, c.Path, c.From)
	case v != nil && want == Never:
		return false, fmt.Errorf("column %s: %s of %s = %v, want NULL", c.Name, c.Path, c.From, v)
	}
	return v == nil, nil
}

// want says what Present, If and Unless come to for the row.
func (c Column) want(e *record.Event) (Need, error) {
	switch c.Present {
	case "never":
		return Never, nil
	case "always":
		if c.Unless == nil {
			return Always, nil
		}
		holds, err := c.Unless.holds(e)
		if holds {
			return Never, err
		}
		return Always, err
	}
	if c.If == nil {
		return Optional, nil
	}
	holds, err := c.If.holds(e)
	if holds {
		return Always, err
	}
	return Optional, err
}

// errNoScalar says that an object or array stands where a scalar is taken. A query
// gives NULL for it.
var errNoScalar = errors.New("a scalar is wanted")

// Value returns what the column holds for the row, as a query would: nil for NULL, else
// a string, int64, float64 or bool, or json.RawMessage for JSON.
func (c Column) Value(e *record.Event) (any, error) {
	if c.As == "column" {
		doc, err := column(e, c.From)
		if err != nil || doc == nil {
			return nil, err
		}
		return json.RawMessage(doc), nil
	}
	v, ok, err := Place{c.From, c.Path}.find(e)
	if err == nil && c.Else != "" && (!ok || v == nil) {
		v, ok, err = Place{c.From, c.Else}.find(e)
	}
	if err != nil || !ok {
		return nil, err
	}
	switch c.As {
	case "query":
		data, err := json.Marshal(v)
		return json.RawMessage(data), err
	case "json_type":
		return typeOf(v), nil
	case "value":
		return cast(v, c.Type)
	case "seconds":
		return cast(v, "FLOAT64")
	case "ratio":
		over, ok, err := c.Over.find(e)
		if err != nil || !ok {
			return nil, err
		}
		a, err := cast(v, "FLOAT64")
		b, berr := cast(over, "FLOAT64")
		if err := errors.Join(err, berr); err != nil || a == nil || b == nil || b == 0.0 {
			return nil, err
		}
		return a.(float64) / b.(float64), nil
	}
	return nil, fmt.Errorf("unknown way %q to take a value", c.As)
}

// cast turns a scalar into a value of the SQL type.
func cast(v any, typ string) (any, error) {
	var s string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		s = v
	case json.Number:
		s = v.String()
	case bool:
		s = strconv.FormatBool(v)
	default:
		return nil, fmt.Errorf("%w and the value is of JSON type %s", errNoScalar, typeOf(v))
	}
	switch typ {
	case "STRING":
		return s, nil
	case "INT64":
		return strconv.ParseInt(s, 10, 64)
	case "FLOAT64":
		return strconv.ParseFloat(s, 64)
	case "BOOL":
		return strconv.ParseBool(s)
	}
	return nil, fmt.Errorf("unknown SQL type %q", typ)
}

// holds reports whether the place has a value other than null.
func (p Place) holds(e *record.Event) (bool, error) {
	v, ok, err := p.find(e)
	return ok && v != nil, err
}

func (p Place) find(e *record.Event) (v any, ok bool, err error) {
	doc, err := column(e, p.From)
	if err != nil || doc == nil {
		return nil, false, err
	}
	v, err = decode(doc)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", p.From, err)
	}
	path, err := jsonpath.Parse(p.Path)
	if err != nil {
		return nil, false, err
	}
	found := path.Select(v)
	if len(found) == 0 {
		return nil, false, nil
	}
	return found[0], true, nil
}

// column returns a JSON column of the row, nil for NULL.
func column(e *record.Event, name string) ([]byte, error) {
	switch name {
	case "content":
		return e.Content, nil
	case "attributes":
		return e.Attributes, nil
	case "latency_ms":
		return e.LatencyMS, nil
	case "content_parts":
		return e.ContentParts, nil
	}
	return nil, fmt.Errorf("the row has no JSON column %q", name)
}

func decode(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = errors.New("more than one JSON value")
	}
	return v, err
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "object"
}

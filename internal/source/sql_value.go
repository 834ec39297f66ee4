// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// maxCell bounds one value of a row, in bytes.
const maxCell = 64 << 10

var errNull = errors.New("it is NULL")

// sqlRow holds the values of a row by column, as the driver gives them. A name that
// several columns have holds several.
type sqlRow map[string][]any

// cell returns the one value of a column; nil is NULL. Bytes are text.
func (r sqlRow) cell(column string) (any, error) {
	found := r[column]
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("the query gives no column of that name, spelt the same; it gives %s", strings.Join(slices.Sorted(maps.Keys(r)), ", "))
	case 1:
	default:
		return nil, fmt.Errorf("the query gives %d columns of that name where one is expected", len(found))
	}
	v := found[0]
	if b, ok := v.([]byte); ok && b != nil {
		v = string(b)
	}
	if s, ok := v.(string); ok {
		switch {
		case len(s) > maxCell:
			return nil, fmt.Errorf("a text of more than %d bytes", maxCell)
		case !utf8.ValidString(s):
			return nil, errors.New("bytes that are not UTF-8")
		}
	}
	return v, nil
}

// value returns the value of a column as kind k, or the zero Value if it is NULL. A set is a list of JSON; it is
// empty if that is NULL, which is how some databases write a list of no rows.
func (r sqlRow) value(column string, k entity.Kind, currency string) (entity.Value, error) {
	v, err := r.cell(column)
	if err != nil {
		return entity.Value{}, err
	}
	if b, isBytes := v.([]byte); isBytes && b == nil {
		v = nil
	}
	switch x := v.(type) {
	case nil:
		if k == entity.KindSet {
			return entity.Set(), nil
		}
		return entity.Value{}, nil
	case string:
		if k == entity.KindSet {
			if v, err = text.StrictJSON([]byte(x)); err != nil {
				return entity.Value{}, fmt.Errorf("it is no list in JSON: %w", err)
			}
		}
	case int64:
		if k == entity.KindBool && (x == 0 || x == 1) {
			return entity.Bool(x == 1), nil
		}
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return entity.Value{}, fmt.Errorf("%v is not a number", x)
		}
	case time.Time:
		t := entity.Time(x)
		if k != entity.KindTime || x.IsZero() || t.IsZero() {
			return entity.Value{}, fmt.Errorf("the time %s is not a %s", x.Format(time.RFC3339Nano), k)
		}
		return t, nil
	}
	return entity.FromAny(v, k, currency)
}

// version returns the text of a column that holds a revision: a text, an integer, or
// the time of the last change.
func (r sqlRow) version(column string) (string, error) {
	v, err := r.cell(column)
	if err != nil {
		return "", err
	}
	if t, ok := v.(time.Time); ok {
		return t.UTC().Format(time.RFC3339Nano), nil
	}
	value, err := entity.FromAny(v, entity.KindText, "")
	if err == nil && value.String() == "" {
		err = errors.New("the text is empty")
	}
	return value.String(), err
}

// sqlArg is the template of one argument: literal texts, and between them the names of
// parts of an entity.
type sqlArg struct {
	literals []string // one more than names
	names    []string
}

// parseSQLArg returns the template of an argument that [config.SQL.Check] accepts.
func parseSQLArg(text string) sqlArg {
	var a sqlArg
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		a.literals, a.names = append(a.literals, text[end:m[0]]), append(a.names, text[m[2]:m[3]])
		end = m[1]
	}
	a.literals = append(a.literals, text[end:])
	return a
}

// of returns the argument for e.
func (a sqlArg) of(e entity.Canonical) (any, error) {
	var b strings.Builder
	b.WriteString(a.literals[0])
	for i, name := range a.names {
		v := entity.Text(e.Value)
		if name == "type" {
			v = entity.Text(e.Type)
		} else if attribute, ok := strings.CutPrefix(name, "attributes."); ok {
			v = e.Attributes[attribute]
			if v.IsZero() {
				return nil, fmt.Errorf("the entity has no attribute %s", attribute)
			}
		}
		if len(a.names) == 1 && a.literals[0] == "" && a.literals[1] == "" {
			return sqlParameter(v), nil
		}
		b.WriteString(v.String())
		b.WriteString(a.literals[i+1])
	}
	return b.String(), nil
}

// sqlParameter returns v as a type that every driver takes, without loss.
func sqlParameter(v entity.Value) any {
	switch v.Kind() {
	case entity.KindBool:
		b, _ := v.AsBool()
		return b
	case entity.KindTime:
		t, _ := v.AsTime()
		return t
	case entity.KindNumber, entity.KindMoney:
		r, _ := v.Rat()
		if v.Kind() == entity.KindNumber && r.IsInt() && r.Num().IsInt64() {
			return r.Num().Int64()
		}
		return decimalOf(r)
	default:
		return v.String()
	}
}

// decimalOf returns the digits of a decimal number, all of them.
func decimalOf(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

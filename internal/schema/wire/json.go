// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// AppendJSON appends the message of a row, a JSON object with one member for each column that is
// not NULL, to dst and returns it. The descriptor of the message is that of [DescriptorOf] for the
// columns.
//
// A TIMESTAMP is a text as RFC 3339 has it, a DATE one such as "2026-07-31", and a column of type
// JSON any value. A member that is null counts as absent. An error names the column: one that is
// not in the table, has another type, or is required and absent. It takes about ten times as long as
// [Row.Append].
func AppendJSON(dst []byte, columns []schema.Column, row []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(row, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("it is null, not an object")
	}
	for i, c := range columns {
		v, given := members[c.Name]
		delete(members, c.Name)
		if !given || string(v) == "null" {
			if c.Mode == schema.Required {
				return nil, fmt.Errorf("%s: it is required and absent", c.Name)
			}
			continue
		}
		var err error
		if dst, err = appendColumn(dst, protowire.Number(i+1), c, v); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		return nil, fmt.Errorf("%s: there is no such column", name)
	}
	return dst, nil
}

func appendColumn(dst []byte, n protowire.Number, c schema.Column, v json.RawMessage) ([]byte, error) {
	if c.Mode != schema.Repeated {
		return appendValue(dst, n, c, v)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, err
	}
	for i, v := range list {
		var err error
		if string(v) == "null" {
			err = errors.New("it is null, which an array cannot hold")
		} else {
			dst, err = appendValue(dst, n, c, v)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return dst, nil
}

func appendValue(dst []byte, n protowire.Number, c schema.Column, v json.RawMessage) ([]byte, error) {
	switch c.Type {
	case schema.JSON:
		return appendText(dst, n, view(v)), nil
	case schema.Struct:
		message, err := AppendJSON(nil, c.Fields, v)
		if err != nil {
			return nil, err
		}
		return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), message), nil
	case schema.Float64:
		var f float64
		if err := json.Unmarshal(v, &f); err != nil {
			return nil, err
		}
		return protowire.AppendFixed64(protowire.AppendTag(dst, n, protowire.Fixed64Type), math.Float64bits(f)), nil
	case schema.String:
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return nil, err
		}
		return appendText(dst, n, s), nil
	}
	i, err := integer(c.Type, v)
	if err != nil {
		return nil, err
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), uint64(i)), nil
}

// integer returns a value of one of the types that are integers in a message.
func integer(typ string, v json.RawMessage) (int64, error) {
	switch typ {
	case schema.Int64:
		return strconv.ParseInt(string(v), 10, 64)
	case schema.Bool:
		var b bool
		err := json.Unmarshal(v, &b)
		return int64(protowire.EncodeBool(b)), err
	case schema.Timestamp:
		var t time.Time
		err := json.Unmarshal(v, &t)
		return t.UnixMicro(), err
	case schema.Date:
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return 0, err
		}
		const day = 24 * 60 * 60
		t, err := time.Parse(time.DateOnly, s)
		return t.Unix() / day, err
	}
	return 0, fmt.Errorf("columns of type %s are not known", typ)
}

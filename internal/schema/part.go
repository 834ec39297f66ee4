// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Part is an element of the column content_parts.
type Part struct {
	MimeType    NullString `json:"mime_type"`
	URI         NullString `json:"uri"`
	ObjectRef   ObjectRef  `json:"object_ref"`
	Text        NullString `json:"text"`
	Index       NullInt64  `json:"part_index"`
	Attributes  NullString `json:"part_attributes"` // a JSON text
	StorageMode NullString `json:"storage_mode"`
}

// ObjectRef is where an offloaded part is, as BigQuery's object functions take it.
type ObjectRef struct {
	URI        NullString      `json:"uri"`
	Version    NullString      `json:"version"`
	Authorizer NullString      `json:"authorizer"`
	Details    json.RawMessage `json:"details"`
	Valid      bool            `json:"-"` // false for a part without one
}

// NullString is a member that is a JSON string. Anything else is not Valid.
type NullString struct {
	String string
	Valid  bool
}

// NullInt64 is a member that is a JSON number without a fraction or an exponent, and has 64
// bits. Anything else is not Valid.
type NullInt64 struct {
	Int64 int64
	Valid bool
}

// ReadParts reads the column content_parts. A member of another type than its column is left
// out. Of a member that stands twice the last one counts, and the members of two object_ref
// are taken together. The error says that text is no list of objects; nothing and null are an
// empty list.
func ReadParts(text []byte) ([]*Part, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var parts []*Part // a null is nil
	err := json.Unmarshal(text, &parts)
	if err == nil && slices.Contains(parts, nil) {
		err = errors.New("null")
	}
	if err != nil {
		return nil, fmt.Errorf("content_parts are not a list of objects: %w", err)
	}
	return parts, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *ObjectRef) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return nil
	}
	o.Valid = true
	type members ObjectRef
	return json.Unmarshal(b, (*members)(o))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *NullString) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return nil
	}
	s.Valid = true
	return unquote(b, &s.String)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (i *NullInt64) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*i = NullInt64{n, true}
	}
	return nil
}

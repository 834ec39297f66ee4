// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Scalar is a member of a JSON object as JSON_VALUE of BigQuery gives it, so that Go and the
// views say the same of a row.
type Scalar struct {
	// Text is a text, or a number or a truth value as it stands in JSON.
	Text string
	// Valid is false for what is no scalar: nothing, null, a list, or an object.
	Valid bool
}

// UnmarshalJSON implements [json.Unmarshaler]. It does not fail, so that one member that is
// something else does not hide the others.
func (s *Scalar) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{', '[', 'n':
		return nil
	case '"':
		s.Valid = true
		return unquote(b, &s.Text)
	}
	*s = Scalar{string(b), true}
	return nil
}

// unquote reads a JSON string.
func unquote(b []byte, text *string) error {
	if plain := b[1 : len(b)-1]; utf8.Valid(plain) && bytes.IndexByte(plain, '\\') < 0 {
		*text = string(plain)
		return nil
	}
	return json.Unmarshal(b, text)
}

// Bool returns the truth value as SAFE_CAST gives it, nil if the text is none.
func (s Scalar) Bool() *bool {
	if b := strings.EqualFold(s.Text, "true"); b || strings.EqualFold(s.Text, "false") {
		return &b
	}
	return nil
}

// Float returns the number, nil if the text is none or is not finite.
func (s Scalar) Float() *float64 {
	f, err := strconv.ParseFloat(s.Text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// First returns the text of the first scalar that is valid, "" if none is.
func First(list ...Scalar) string {
	for _, s := range list {
		if s.Valid {
			return s.Text
		}
	}
	return ""
}

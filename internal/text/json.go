// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// StrictJSON decodes one JSON value that a decision rests on. It refuses what readers disagree on: bytes that are not
// UTF-8, a name twice in one object, anything after the value. It also refuses a value that is nested
// deeper than 200 levels: the time to evaluate a path may grow with the depth. A number is a
// [json.Number].
func StrictJSON(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the value")
	}
	again := json.NewDecoder(bytes.NewReader(body))
	again.UseNumber() // a number out of range is none of its business
	return document, uniqueNames(again)
}

const maxDepth = 200

// OpenJSON decodes a text that is one JSON object or list as a whole, as [StrictJSON] does. For any other text opened
// is false. Texts inside of the value stay texts. It is an error if readers may disagree on the value: if StrictJSON
// refuses it, or [ClearKeys] does.
func OpenJSON(s string) (v any, opened bool, err error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") || !json.Valid([]byte(s)) {
		return nil, false, nil
	}
	if v, err = StrictJSON([]byte(s)); err == nil {
		if err = ClearKeys(v); err != nil {
			err = fmt.Errorf("it has %w", err)
		}
	}
	return v, true, err
}

// ClearKeys returns an error if an object anywhere in v has two keys that Go's encoding/json
// takes for one: "stock", "Stock", and "stocK" with the sign of Kelvin. The error names both. A
// rule may read the one and the tool the other, so that the check and the effect differ.
func ClearKeys(v any) error {
	switch v := v.(type) {
	case map[string]any:
		names := make(map[string]string, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name := FoldKey(k)
			if other, ok := names[name]; ok {
				return fmt.Errorf("the keys %+q and %+q, which programs may take for one; send one of them", other, k)
			}
			names[name] = k
			if err := ClearKeys(v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := ClearKeys(e); err != nil {
				return err
			}
		}
	case []map[string]any:
		for _, e := range v {
			if err := ClearKeys(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// FoldKey maps keys to one text that are equal as [strings.EqualFold] has it.
func FoldKey(k string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			least = min(least, c)
		}
		return least
	}, k)
}

// One returns the one value that a path has selected, or nil if it selected none. JSON null
// is none: it says nothing about the thing.
func One(selected []any) (any, error) {
	switch len(selected) {
	case 0:
		return nil, nil
	case 1:
		return selected[0], nil
	default:
		return nil, fmt.Errorf("%d values where one is expected", len(selected))
	}
}

// uniqueNames reads one value that is known to be valid JSON and reports a name that
// stands twice in one object, and a value that is nested too deep.
func uniqueNames(d *json.Decoder) error {
	var open []map[string]bool // one per level; nil for an array
	var name bool              // the next text is a name
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end: the value is valid
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		if text, ok := token.(string); ok && inObject && name {
			if open[len(open)-1][text] {
				return fmt.Errorf("the name %q stands twice in one object", text)
			}
			open[len(open)-1][text] = true
			name = false
			continue
		}
		if len(open) > maxDepth {
			return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		name = true // after a value, or at the start of an object, comes a name if this is an object
	}
}

// OpenTexts returns a document with the values in the place of texts that [OpenJSON] opens. It changes nothing in v.
func OpenTexts(v any) (out any, err error) {
	switch v := v.(type) {
	case string:
		if value, opened, err := OpenJSON(v); opened {
			return value, err
		}
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], err = OpenTexts(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], err = OpenTexts(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			if object[k], err = OpenTexts(v[k]); err != nil {
				return nil, fmt.Errorf("%+q: %w", k, err)
			}
		}
		return object, nil
	}
	return v, nil
}

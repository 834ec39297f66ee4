// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/theory/jsonpath"
)

// decode reads an answer. What it does not understand is an error; what it does
// understand is in the state.
func (c *HTTPChecker) decode(body []byte, header http.Header, fetched time.Time) (State, error) {
	document, err := decodeJSON(body)
	if err != nil {
		return State{}, fmt.Errorf("the answer is not JSON that can be relied on: %w", err)
	}
	var errs []error
	s := State{Attributes: make(map[string]entity.Value, len(c.attributes))}
	for _, a := range c.attributes {
		v, err := selectOne(a.path, document)
		if err == nil && v != nil {
			s.Attributes[a.name], err = entity.FromAny(v, a.Kind, a.Currency)
		}
		if err != nil {
			delete(s.Attributes, a.name)
			errs = append(errs, &AnswerError{ReasonTypeMismatch, fmt.Errorf("%s at %s: %w", a.name, a.Path, err)})
		}
	}
	if s.AsOf, err = c.answerTime(document, header, fetched); err != nil {
		errs = append(errs, &AnswerError{ReasonNoAsOf, err})
	}
	if s.Version, err = c.answerVersion(document, header); err != nil {
		errs = append(errs, &AnswerError{ReasonMissingAttribute, err})
	}
	return s, errors.Join(errs...)
}

func (c *HTTPChecker) answerTime(document any, header http.Header, fetched time.Time) (time.Time, error) {
	switch c.asOf {
	case AsOfFetch:
		return sentBefore(fetched, header.Values("Age"))
	case AsOfDateHeader:
		t, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			return time.Time{}, fmt.Errorf("the Date header is missing or malformed: %w", err)
		}
		return t, nil
	}
	v, err := selectOne(c.asOfPath, document)
	if err == nil && v == nil {
		err = errors.New("nothing there")
	}
	var value entity.Value
	if err == nil {
		value, err = entity.FromAny(v, entity.KindTime, "")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("as-of at %s: %w", c.asOf, err)
	}
	t, _ := value.AsTime()
	return t, nil
}

// sentBefore returns when an answer was true that was fetched at a time. A cache says by
// the header Age for how many seconds it has had the answer.
func sentBefore(fetched time.Time, age []string) (time.Time, error) {
	if len(age) == 0 {
		return fetched, nil
	}
	seconds, err := strconv.ParseUint(age[0], 10, 31)
	if err != nil || len(age) > 1 {
		return time.Time{}, fmt.Errorf("the Age header %q is no number of seconds", oneLine(strings.Join(age, ", ")))
	}
	return fetched.Add(-time.Duration(seconds) * time.Second), nil
}

func (c *HTTPChecker) answerVersion(document any, header http.Header) (string, error) {
	var version string
	var err error
	switch c.version {
	case "":
		return "", nil
	case VersionETag:
		version = header.Get("ETag")
	default:
		var v any
		var value entity.Value
		if v, err = selectOne(c.versionAt, document); err == nil {
			value, err = entity.FromAny(v, entity.KindText, "")
		}
		version = value.String()
	}
	if err == nil && version == "" {
		err = errors.New("nothing there")
	}
	if err != nil {
		return "", fmt.Errorf("version at %s: %w", c.version, err)
	}
	return version, nil
}

// selectOne returns the one value a path selects, or nil if it selects none. JSON null
// is none: it says nothing about the thing.
func selectOne(p *jsonpath.Path, document any) (any, error) {
	switch found := p.Select(document); len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%d values where one is expected", len(found))
	}
}

// decodeJSON decodes one JSON value and refuses what readers disagree on: bytes that
// are not UTF-8, a name twice in one object, anything after the value.
func decodeJSON(body []byte) (any, error) {
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

// uniqueNames reads one value that is known to be valid JSON and reports a name that
// stands twice in one object.
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

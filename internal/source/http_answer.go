// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/text/paths"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxShown bounds how much of a header an error repeats, in bytes.
const maxShown = 500

// decode reads an answer. A part that it does not understand is an error; the state has the
// parts that it does.
func (c *httpChecker) decode(body []byte, header http.Header, fetched time.Time) (safety.State, error) {
	document, err := text.StrictJSON(body)
	if err != nil {
		return safety.State{}, fmt.Errorf("the answer is not JSON that can be relied on: %w", err)
	}
	var errs []error
	s := safety.State{Attributes: make(map[string]entity.Value, len(c.attributes))}
	for _, a := range c.attributes {
		v, err := a.of(document)
		if err == nil && v != nil {
			s.Attributes[a.name], err = entity.FromAny(v, a.Type, a.Currency)
		} else if err == nil {
			s.Missing = lacks(s.Missing, a.name, a.Path)
		}
		if err != nil {
			delete(s.Attributes, a.name)
			errs = append(errs, &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: fmt.Errorf("%s at %s: %w", a.name, a.Path, err)})
		}
	}
	if s.AsOf, err = c.answerTime(document, header, fetched); err != nil {
		errs = append(errs, &safety.AnswerError{Reason: safety.ReasonNoAsOf, Err: err})
	}
	if s.Version, err = c.answerVersion(document, header); err != nil {
		errs = append(errs, &safety.AnswerError{Reason: safety.ReasonMissingAttribute, Err: err})
	}
	return s, errors.Join(errs...)
}

// of returns what the document has of the attribute, or nil if it has nothing.
func (a *httpAttribute) of(document any) (any, error) {
	if a.Type != entity.KindSet {
		return text.One(a.path.Select(document))
	}
	list, found, err := paths.Elements(a.path, document)
	if !found {
		return nil, err
	}
	return list, err
}

// lacks returns missing with one attribute more.
func lacks(missing map[string]string, attribute, where string) map[string]string {
	if missing == nil {
		missing = make(map[string]string)
	}
	missing[attribute] = where
	return missing
}

func (c *httpChecker) answerTime(document any, header http.Header, fetched time.Time) (time.Time, error) {
	switch c.AsOf {
	case config.AsOfFetch:
		return sentBefore(fetched, header.Values("Age"))
	case config.AsOfDateHeader:
		t, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			return time.Time{}, fmt.Errorf("the Date header is missing or malformed: %w", err)
		}
		return t, nil
	}
	v, err := text.One(c.asOfPath.Select(document))
	if err == nil && v == nil {
		err = errors.New("nothing there")
	}
	var value entity.Value
	if err == nil {
		value, err = entity.FromAny(v, entity.KindTime, "")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("as-of at %s: %w", c.AsOf, err)
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
		return time.Time{}, fmt.Errorf("the Age header %q is no number of seconds", text.Clip(text.Visible(strings.Join(age, ", ")), maxShown))
	}
	return fetched.Add(-time.Duration(seconds) * time.Second), nil
}

func (c *httpChecker) answerVersion(document any, header http.Header) (string, error) {
	var version string
	var err error
	switch c.Version {
	case "":
		return "", nil
	case config.VersionETag:
		version = header.Get("ETag")
	default:
		var v any
		var value entity.Value
		if v, err = text.One(c.versionAt.Select(document)); err == nil {
			value, err = entity.FromAny(v, entity.KindText, "")
		}
		version = value.String()
	}
	if err == nil && version == "" {
		err = errors.New("nothing there")
	}
	if err != nil {
		return "", fmt.Errorf("version at %s: %w", c.Version, err)
	}
	return version, nil
}

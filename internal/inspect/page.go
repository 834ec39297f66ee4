// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The number of sessions on a page where a query does not say, and the greatest.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Check sets the defaults of a query and returns its faults. A [Source] calls it first.
func (q *Query) Check() error {
	switch {
	case q.Limit < 0:
		return fmt.Errorf("list sessions: limit %d: use 1 to %d", q.Limit, MaxLimit)
	case !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From):
		return fmt.Errorf("list sessions: from %s to %s: the end is before the beginning", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))
	}
	for _, s := range q.Status {
		if !slices.Contains(Statuses(), s) {
			return fmt.Errorf("%w: status %q: use one of %v", ErrQuery, s, Statuses())
		}
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	q.Limit = min(q.Limit, MaxLimit)
	return nil
}

// ErrQuery is the error of a [Source] about a [Query] that nothing can answer.
var ErrQuery = errors.New("list sessions")

// Statuses returns every status, in the order of their declarations.
func Statuses() []Status {
	return []Status{
		StatusNone, StatusPending, StatusSafe, StatusDrift, StatusCheckFailed,
		StatusRejected, StatusExpired, StatusSuperseded, StatusExecuted, StatusFailed, StatusInDoubt, StatusUnknown,
	}
}

// Selects reports whether a session is one that is searched for, with a status that is
// asked for. Application, user and time are for the source to select by.
func (q *Query) Selects(s *Summary) bool { return q.finds(s) && q.wants(s.Status) }

// finds reports whether a session is one that is searched for.
func (q *Query) finds(s *Summary) bool {
	return q.Search == "" || contains(q.Search, s.Session.ID, s.Session.User, s.Session.App, s.Title) || contains(q.Search, s.Agents...)
}

func contains(search string, texts ...string) bool {
	search = strings.ToLower(search)
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), search) })
}

// wants reports whether a session with the status is one that is asked for.
func (q *Query) wants(s Status) bool { return len(q.Status) == 0 || slices.Contains(q.Status, s) }

// during reports whether the last row of a session is in the time asked for.
func (q *Query) during(end time.Time) bool {
	return (q.From.IsZero() || !end.Before(q.From)) && (q.To.IsZero() || end.Before(q.To))
}

// Cursor makes the text that stands for a place in a list.
func Cursor(place any) (string, error) {
	data, err := json.Marshal(place)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// ReadCursor reads the place that a text stands for; it changes nothing for "".
func ReadCursor(text string, place any) error {
	if text == "" {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, place)
	}
	if err != nil {
		return fmt.Errorf("%w: after %q is no place in this list: use the next of the page before", ErrQuery, clip(text, 40))
	}
	return nil
}

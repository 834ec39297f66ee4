// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Named returns those of all that a text names by an id: those with the id itself or, if there are
// none, those with an id that begins with it. Where the middle of an id was left out, as in
// "0123…cdef", its beginning and its end count. An empty text names nothing.
func Named[T any](all []T, text string, ids ...func(T) string) []T {
	var exact, others []T
	if text == "" {
		return nil
	}
	first, last, _ := strings.Cut(text, "…")
	for _, one := range all {
		whole, part := false, false
		for _, id := range ids {
			id := id(one)
			whole = whole || id == text
			part = part || len(id) >= len(first)+len(last) && strings.HasPrefix(id, first) && strings.HasSuffix(id, last)
		}
		switch {
		case whole:
			exact = append(exact, one)
		case part:
			others = append(others, one)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return others
}

// prefix returns the beginning of the ids that a text names, see [Named].
func prefix(text string) string {
	first, _, _ := strings.Cut(text, "…")
	return first
}

// NamedSessions returns the sessions that an id names, see [Named].
func NamedSessions(all []record.Session, id string) []record.Session {
	return Named(all, id, func(s record.Session) string { return s.ID })
}

// NamedRequests returns the requests that the id of an approval or of a confirmation names, see
// [Named].
func NamedRequests(all []Approval, id string) []Approval {
	return Named(all, id, func(a Approval) string { return a.ID }, func(a Approval) string { return a.ConfirmationID })
}

// ledgered is a source with a ledger, in which it finds requests without reading their sessions.
type ledgered interface {
	// requested returns the sessions with an approval that id names, each once.
	requested(ctx context.Context, of record.Session, id string) ([]record.Session, error)
}

// FindRequests returns the requests that an id names, see [NamedRequests], in the sessions of an
// application and a user where they are given. A source with a ledger looks there first. It returns
// requests that no guard knows only if the ledger has none of this name.
func FindRequests(ctx context.Context, src Source, of record.Session, id string, now time.Time) ([]Approval, error) {
	var found []Approval
	if l, ok := src.(ledgered); ok {
		sessions, err := l.requested(ctx, of, id)
		if err != nil {
			return nil, err
		}
		for _, s := range sessions {
			full, err := Look(ctx, src, s, now)
			if errors.Is(err, ErrNotFound) {
				continue // removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			found = append(found, NamedRequests(full.Approvals, id)...)
		}
		if len(found) > 0 {
			return NamedRequests(found, id), nil
		}
	}
	for p, err := range AllRequests(ctx, src, Query{App: of.App, User: of.User}, now) {
		if err != nil {
			return nil, err
		}
		found = append(found, NamedRequests([]Approval{p}, id)...)
	}
	return NamedRequests(found, id), nil
}

// ShownID is the id by which people know a request: that of the approval, else of the confirmation.
func (a *Approval) ShownID() string { return cmp.Or(a.ID, a.ConfirmationID) }

// ShortIDs returns the beginnings of ids that tell them apart: all as long as the longest has to be,
// and 8 characters at least. The common beginning of the framework's confirmations does not count.
func ShortIDs(ids []string) []string {
	const common = "adk-"
	for n := 8; ; n++ {
		short, all := make([]string, len(ids)), make(map[string]string, len(ids))
		clear := true
		for i, id := range ids {
			short[i] = id
			if end := n + len(id) - len(strings.TrimPrefix(id, common)); end < len(id) {
				short[i] = strings.ToValidUTF8(id[:end], "")
			}
			other, met := all[short[i]]
			clear = clear && (!met || other == id)
			all[short[i]] = id
		}
		if clear {
			return short
		}
	}
}

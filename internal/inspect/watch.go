// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Watcher tells which requests are new and which have changed since it looked last. It knows the
// requests of guards alone. The zero value has seen nothing.
type Watcher struct {
	open map[string]Approval // by id, as they were
}

// Look returns the requests of an application and a user, where they are given, that are open and
// new, and those with another status than before, the oldest first.
func (w *Watcher) Look(ctx context.Context, src Source, of record.Session, now time.Time) ([]Approval, error) {
	sessions, err := OpenSessions(ctx, src, now)
	if err != nil {
		return nil, err
	}
	for _, a := range w.open { // their sessions may have no other open request any more
		if slices.ContainsFunc(sessions, func(s *Session) bool { return s.Session == a.Session }) {
			continue
		}
		s, err := Look(ctx, src, a.Session, now)
		if errors.Is(err, ErrNotFound) {
			delete(w.open, a.ID) // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
	}
	var changed []Approval
	for _, s := range sessions {
		if of.App != "" && s.Session.App != of.App || of.User != "" && s.Session.User != of.User {
			continue
		}
		for _, a := range s.Approvals {
			before, known := w.open[a.ID]
			if a.ID == "" || !known && !a.Status.Open() || known && before.Status == a.Status && len(before.Consents) == len(a.Consents) {
				continue
			}
			changed = append(changed, a)
			w.keep(a)
		}
	}
	slices.SortStableFunc(changed, func(a, b Approval) int { return a.RequestedAt.Compare(b.RequestedAt) })
	return changed, nil
}

// keep remembers a request for as long as something can come of it: what was started will end.
func (w *Watcher) keep(a Approval) {
	if w.open == nil {
		w.open = make(map[string]Approval)
	}
	if a.Status.Open() || a.Status == StatusInDoubt {
		w.open[a.ID] = a
	} else {
		delete(w.open, a.ID)
	}
}

// Due reports whether a request that was open has expired since, which no row says.
func (w *Watcher) Due(now time.Time) bool {
	for _, a := range w.open {
		if a.Status.Open() && past(a.ExpiresAt, now) {
			return true
		}
	}
	return false
}

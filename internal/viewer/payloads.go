// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// maxAnswer bounds the payloads in one answer, in bytes: a page asks again for the rest. The first
	// row is in it at any size.
	maxAnswer = 4 << 20
	// keptFor is how long the rows of a session are kept for a page that opens their payloads.
	keptFor = time.Minute
)

// readings are the rows of the sessions that pages have read last. A page asks for payloads step by
// step, and a source has to read the whole session to answer: a dataset is asked and paid for once.
type readings struct {
	mu   sync.Mutex
	list []reading // the newest first
}

type reading struct {
	session record.Session
	rows    []inspect.Row
	at      time.Time
	bytes   int
}

// keep takes over the rows of a session, and forgets what is too old or too much.
func (r *readings) keep(s *inspect.Session, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := reading{session: s.Session, rows: s.Rows, at: at}
	for i := range s.Rows {
		n.bytes += rowBytes(&s.Rows[i])
	}
	total := n.bytes
	r.list = append([]reading{n}, slices.DeleteFunc(r.list, func(old reading) bool {
		if old.session == n.session || at.Sub(old.at) >= keptFor || total+old.bytes > MaxBytes {
			return true
		}
		total += old.bytes
		return false
	})...)
}

// rows returns the rows of a session that was read within the last minute.
func (r *readings) rows(s record.Session, now time.Time) []inspect.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.session == s && now.Sub(x.at) < keptFor {
			return x.rows
		}
	}
	return nil
}

// forget removes a session that the source does not have any more.
func (r *readings) forget(s record.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(x reading) bool { return x.session == s })
}

// look reads a session, and keeps its rows.
func (h *handler) look(ctx context.Context, s record.Session) (*inspect.Session, error) {
	seen, err := inspect.Look(ctx, h.Source, s, h.Now())
	if errors.Is(err, inspect.ErrNotFound) {
		h.readings.forget(s)
	}
	if err != nil {
		return nil, err
	}
	h.readings.keep(seen, time.Now())
	return seen, nil
}

// payloads answers with the payloads of the rows from one place to another, or with the first of them.
// The page compares the ids of the events: places may have changed.
func (h *handler) payloads(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	from, to, err := places(v)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s := sessionOf(v)
	rows := h.readings.rows(s, time.Now())
	if len(rows) < to {
		seen, err := h.look(r.Context(), s)
		if err != nil {
			h.unseen(w, r, s, err)
			return
		}
		rows = seen.Rows
	}
	out, size := []inspect.Row{}, 0
	for i := from; i < min(to, len(rows)); i++ {
		if size += rowBytes(&rows[i]); size > maxAnswer && len(out) > 0 {
			break
		}
		out = append(out, rows[i])
	}
	replyLong(w, r, map[string]any{"rows": out})
}

// places reads from and to: 0 <= from < to.
func places(v url.Values) (from, to int, err error) {
	from, err = strconv.Atoi(v.Get("from"))
	if err == nil {
		to, err = strconv.Atoi(v.Get("to"))
	}
	if err != nil || from < 0 || to <= from {
		return 0, 0, errors.New("from=" + strconv.Quote(v.Get("from")) + " to=" + strconv.Quote(v.Get("to")) + ": use the places of rows, counted from 0, such as from=0 and to=10")
	}
	return from, to, nil
}

func sessionOf(v url.Values) record.Session {
	return record.Session{App: v.Get("app"), User: v.Get("user"), ID: v.Get("id")}
}

// unseen answers that a session could not be read.
func (h *handler) unseen(w http.ResponseWriter, r *http.Request, s record.Session, err error) {
	if errors.Is(err, inspect.ErrNotFound) {
		fail(w, http.StatusNotFound, "there is no session "+strconv.Quote(s.ID)+" of this application and user")
		return
	}
	h.failed(w, r, err)
}

func rowBytes(r *inspect.Row) int { return len(r.Content) + len(r.ContentParts) + len(r.Attributes) }

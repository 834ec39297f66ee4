// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// MaxBytes bounds the payloads on a page without named sessions, in bytes: a browser has to
	// hold them several times. A single session is on the page at any size.
	MaxBytes = 64 << 20
	// namedOnPage is how many sessions the note of a page names.
	namedOnPage = 5
)

// Choice says which sessions of a source are on a page. The zero value is all of them.
type Choice struct {
	// App and User choose the sessions of one application and one user.
	App, User string
	// Last is how many of the newest sessions there are. Zero is no bound.
	Last int
}

// Newest puts the newest sessions of a source on the page, until their payloads are [MaxBytes],
// and says in Note what the page has. The sessions are as they stand at d.Generated.
func (d *Document) Newest(ctx context.Context, src inspect.Source, c Choice) error {
	more, err := d.read(ctx, src, c)
	if err != nil {
		return err
	}
	d.Source, d.Complete = src.Name(), !more
	if more {
		d.note(" of " + d.Source + ", the newest of those asked for; others are left out")
	} else {
		d.Note = fmt.Sprintf("All sessions of %s (%d)%s", d.Source, len(d.Sessions), holds)
	}
	return nil
}

// Chosen puts sessions of a source on the page that somebody named, and says in Note which.
func (d *Document) Chosen(src inspect.Source, sessions []*inspect.Session) {
	d.Source, d.Sessions, d.Complete = src.Name(), sessions, false
	var ids []string
	for _, s := range sessions[:min(len(sessions), namedOnPage)] {
		ids = append(ids, s.Session.ID)
	}
	if n := len(sessions) - len(ids); n > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", n))
	}
	d.note(" of " + d.Source + " (" + strings.Join(ids, ", ") + "), and no other")
}

// holds ends each note.
const holds = ". The page holds their full payloads: what users wrote, prompts, and what tools were given and gave."

func (d *Document) note(which string) {
	d.Note = fmt.Sprintf("%d sessions", len(d.Sessions))
	if len(d.Sessions) == 1 {
		d.Note = "One session"
	}
	d.Note += which + holds
}

// read reads the newest sessions, and says whether there are more.
func (d *Document) read(ctx context.Context, src inspect.Source, c Choice) (more bool, err error) {
	d.Sessions = nil
	q := inspect.Query{App: c.App, User: c.User, Limit: inspect.MaxLimit}
	if c.Last > 0 {
		q.Limit = min(c.Last, inspect.MaxLimit)
	}
	full := func() bool { return c.Last > 0 && len(d.Sessions) == c.Last }
	size := 0
	for {
		page, err := src.Sessions(ctx, q)
		if err != nil {
			return false, err
		}
		for r, err := range inspect.Records(ctx, src, keys(page.Sessions)) { // without those that were removed since they were listed
			if full() {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			if size += payloadBytes(r); size > MaxBytes && len(d.Sessions) > 0 {
				return true, nil
			}
			s, err := inspect.New(r, d.Generated)
			if err != nil {
				return false, err
			}
			d.Sessions = append(d.Sessions, s)
		}
		if q.After = page.Next; q.After == "" || full() {
			return q.After != "" || c.App != "" || c.User != "", nil
		}
	}
}

func keys(list []inspect.Summary) []record.Session {
	out := make([]record.Session, len(list))
	for i := range list {
		out[i] = list[i].Session
	}
	return out
}

// payloadBytes returns how many bytes the rows of a session have.
func payloadBytes(r inspect.Record) int {
	n := 0
	for i := range r.Rows {
		n += len(r.Rows[i].Content) + len(r.Rows[i].ContentParts) + len(r.Rows[i].Attributes)
	}
	return n
}

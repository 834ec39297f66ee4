// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Document is what one page shows.
type Document struct {
	// Source says where the sessions were read from, for people: "journal contextgraph.db".
	Source string
	// Generated is when they were read.
	Generated time.Time
	// Complete says that the page has every session of the source. Note says in a sentence which
	// sessions it has, and which it leaves out.
	Complete bool
	Note     string
	// Sessions are shown in this order.
	Sessions []*inspect.Session
	// Queries are the statements that the page offers to copy, see [Queries].
	Queries []Query
	// Names makes the code of each session, see [Code].
	Names CodeNames
	// Version is the version of the program that wrote the page.
	Version string
}

// Query is a statement that the page offers to copy.
type Query struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Category is "Extraction", "Graph", "Safety", "Statistics" or "Journal".
	Category string `json:"category"`
	// Language is "SQL", "GQL", "DDL" or "SQLite".
	Language string   `json:"language"`
	Tags     []string `json:"tags"`
	Text     string   `json:"text"`
}

// CodeStep is one step of a program.
type CodeStep struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// data is what the page holds: JSON, compressed, see [enclose].
type data struct {
	Live      bool              `json:"live"`
	Generated time.Time         `json:"generated"`
	Source    string            `json:"source"`
	Complete  bool              `json:"complete"`
	Note      string            `json:"note"`
	List      []inspect.Summary `json:"list"`
	Sessions  []shown           `json:"sessions"`
	// Words are [inspect.Words].
	Words map[string]map[string]inspect.Word `json:"words"`
	// Inbox has the open requests of the sessions on the page.
	Inbox   []inspect.Item `json:"inbox"`
	Queries []Query        `json:"queries"`
	// Code has the steps of each session under "app/user/id".
	Code      map[string][]CodeStep `json:"code"`
	Decisions bool                  `json:"decisions"`
	Checks    bool                  `json:"checks"`
	Version   string                `json:"version"`
}

// shown is a session as the page gets it.
type shown struct {
	*inspect.Session
	Thoughts inspect.Thoughts `json:"thoughts"`
	Entities []inspect.Entity `json:"entities"`
	Rows     []inspect.Row    `json:"rows"`
	// Gists have what the views need of the payloads of the rows before they are there.
	Gists []gist `json:"gists"`
}

// shownOf is a session without what the page finds elsewhere in it: the span of a row is the one that lists
// it, that of a thought or of a sighting is that of its row, and a row has the text of a call, and of what came of it. Without payloads the page asks for those of a row when somebody opens it.
func shownOf(s *inspect.Session, payloads bool) shown {
	out := shown{s, s.Thoughts, slices.Clone(s.Entities), slices.Clone(s.Rows), gistsOf(s.Rows)}
	for i := range s.Spans {
		for _, n := range s.Spans[i].Rows {
			if n < len(out.Rows) {
				out.Rows[n].Span, out.Rows[n].SpanID = "", ""
			}
		}
	}
	if !payloads {
		for i := range out.Rows {
			r := &out.Rows[i]
			r.Content, r.ContentParts, r.Attributes = nil, nil, nil
		}
	}
	of := func(row int, span string) bool { return row >= 0 && row < len(s.Rows) && s.Rows[row].Span == span }
	out.Thoughts.Nodes = slices.Clone(s.Thoughts.Nodes)
	for i := range out.Thoughts.Nodes {
		if n := &out.Thoughts.Nodes[i]; of(n.Row, n.Span) {
			n.Span = ""
			if n.Detail == called(&s.Rows[n.Row]) {
				n.Detail = ""
			}
		}
	}
	for i := range out.Entities {
		e := &out.Entities[i]
		e.Evaluated = slices.Clone(e.Evaluated)
		for k := range e.Evaluated {
			if x := &e.Evaluated[k]; of(x.Row, x.Span) {
				x.Span = ""
			}
		}
	}
	return out
}

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

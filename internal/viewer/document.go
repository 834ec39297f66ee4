// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
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
			out.Rows[n].Span, out.Rows[n].SpanID = "", ""
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

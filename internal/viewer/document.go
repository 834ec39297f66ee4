// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// format is the version of the data that the page reads.
const format = 3

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
	Format    int               `json:"format"`
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
	Rows     []inspect.Row    `json:"rows"`
	// Gists have what the views need of the payloads of the rows before they are there.
	Gists []gist `json:"gists"`
}

// whole is a session with its payloads. A thought is without the text of a call, and of what came of it:
// its row has them.
func whole(s *inspect.Session) shown {
	out := shown{s, s.Thoughts, s.Rows, gistsOf(s.Rows)}
	out.Thoughts.Nodes = slices.Clone(s.Thoughts.Nodes)
	for i := range out.Thoughts.Nodes {
		if n := &out.Thoughts.Nodes[i]; n.Row >= 0 && n.Row < len(s.Rows) && n.Detail == called(&s.Rows[n.Row]) {
			n.Detail = ""
		}
	}
	return out
}

// withoutPayloads is a session whose payloads the page asks for when somebody opens a row.
func withoutPayloads(s *inspect.Session) shown {
	rows := slices.Clone(s.Rows)
	for i := range rows {
		r := &rows[i]
		r.Content, r.ContentParts, r.Attributes = nil, nil, nil
	}
	return shown{s, s.Thoughts, rows, gistsOf(s.Rows)}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed queries/*.sql
var queries embed.FS

// Query is a query for people. Most ask the property graph.
type Query struct {
	Name string `json:"name"`
	// About is what it answers, in a sentence.
	About string `json:"about"`
	// Params are the names of its parameters, sorted. Those of the time are timestamps, and the others are texts.
	Params []string `json:"parameters"`
	// Text is the statement.
	Text string `json:"text"`
}

var queryParam = regexp.MustCompile(`@([a-z_]+)`)

// Queries returns the queries for people, with these names, by their own names.
func (n Names) Queries() ([]Query, error) {
	var out []Query
	for _, name := range namesIn(queries, "queries") {
		text, err := n.Statement(name, nil)
		if err != nil {
			return nil, err
		}
		q := Query{Name: name, Text: text}
		comment, body, _ := strings.Cut(text, "\nGRAPH ")
		if body == "" {
			comment, body, _ = strings.Cut(text, "\nSELECT")
		}
		q.About = strings.Join(strings.Fields(strings.ReplaceAll(comment, "-- ", " ")), " ")
		for _, m := range queryParam.FindAllStringSubmatch(body, -1) {
			q.Params = append(q.Params, m[1])
		}
		slices.Sort(q.Params)
		q.Params = slices.Compact(q.Params)
		out = append(out, q)
	}
	return out, nil
}

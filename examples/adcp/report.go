// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// result is the result of one session, as the demo shows it.
type result struct {
	scenario scenario
	rows     []count // event rows by type, in the order of their first row
	turns    int
	entities []entity.Canonical // what the approver was shown
	check    check              // the check that decided
	live     string             // the campaign that went live, if one did
	why      []reason
	said     string // the agents' last words
}

type count struct {
	name string
	n    int
}

// check is the part of a report's JSON the demo shows.
type check struct {
	Verdict  string           `json:"verdict"`
	Total    int              `json:"total_entities"`
	Stale    int              `json:"stale_entities"`
	Alerts   []safety.Alert   `json:"alerts"`
	Failures []safety.Failure `json:"failures"`
}

// reason is a path from entities to the request for approval.
type reason struct {
	entities []string // seen at the start of the path
	steps    []step
}

// step is a span on the path: its agent, its kind and name ("tool query_ad_inventory"), and the
// edge to the next step. The last step has no edge.
type step struct {
	agent, span, edge string
}

// lineWidth is where long lines are wrapped, in characters.
const lineWidth = 118

// indent is the column where the values of a session's block begin.
const indent = "            "

// printSession writes one session's block.
func printSession(out io.Writer, s result) error {
	w := bufio.NewWriter(out)
	b := s.scenario.brief
	fmt.Fprintf(w, "%s · %s · %s\n", s.scenario.session, b.Advertiser, b.Budget)
	section(w, "world", wrap(strings.Fields(s.scenario.world), " "))
	section(w, "events", eventLines(s))
	section(w, "entities", entityLines(s.entities))
	section(w, "verdict", verdictLines(s))
	section(w, "why", whyLines(s.why))
	section(w, "agent", agentLines(s.said))
	fmt.Fprintln(w)
	return w.Flush()
}

// section writes a label and the lines that belong to it.
func section(w io.Writer, label string, lines []string) {
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(w, "  %-*s%s\n", len(indent)-2, label, line)
	}
}

func eventLines(s result) []string {
	total, words := 0, []string{}
	for _, c := range s.rows {
		total += c.n
		words = append(words, fmt.Sprintf("%d %s", c.n, c.name))
	}
	return append([]string{fmt.Sprintf("%d rows, %d turns", total, s.turns)}, wrap(words, ", ")...)
}

func entityLines(entities []entity.Canonical) []string {
	types := []string{"Product", "Targeting", "Budget", "Campaign"}
	var rows [][]string
	for _, e := range slices.SortedStableFunc(slices.Values(entities), func(a, b entity.Canonical) int {
		return cmp.Or(cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)), cmp.Compare(a.Value, b.Value))
	}) {
		rows = append(rows, []string{e.Type, e.Value, attributes(e), fmt.Sprintf("confidence %.2f", e.Confidence), e.ArtifactURI})
	}
	return table(rows)
}

// attributes puts what was seen of an entity into words.
func attributes(e entity.Canonical) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		v := e.Attributes[name]
		switch name {
		case "availability":
			words = append(words, shown(name, v.String()))
		case "price", "status":
			words = append(words, v.String())
		default:
			words = append(words, name+" "+grouped(v))
		}
	}
	return strings.Join(words, ", ")
}

// shown is the value of an attribute as people say it.
func shown(attribute, value string) string {
	if attribute == "availability" {
		switch value {
		case "true":
			return "available"
		case "false":
			return "unavailable"
		}
	}
	return value
}

// grouped writes a whole number with separators, and any other value as it is.
func grouped(v entity.Value) string {
	r, ok := v.Rat()
	if v.Kind() != entity.KindNumber || !ok || !r.IsInt() || r.Sign() < 0 {
		return v.String()
	}
	digits := r.Num().String()
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

func verdictLines(s result) []string {
	action := "blocked"
	if s.live != "" {
		action = "provisioned as " + s.live
	}
	name := strings.ToUpper(strings.ReplaceAll(s.check.Verdict, "_", " "))
	lines := []string{fmt.Sprintf("%s: %s, %d stale of %d checked", name, action, s.check.Stale, s.check.Total)}
	for _, f := range safety.Findings(s.check.Alerts, s.check.Failures) {
		for _, line := range wrap(strings.Fields(f.Reason+": "+f.Line()), " ") {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func whyLines(why []reason) []string {
	var lines []string
	for _, r := range why {
		lines = append(lines, wrap(r.entities, ", ")...)
		var words []string
		agent := ""
		for _, step := range r.steps {
			word := step.span
			if step.agent != agent {
				agent = step.agent
				word = agent + ": " + word
			}
			if step.edge != "" {
				word += " -" + step.edge + "->"
			}
			words = append(words, word)
		}
		for _, line := range wrap(words, " ") {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func agentLines(said string) []string {
	var lines []string
	for line := range strings.Lines(said) {
		lines = append(lines, wrap(strings.Fields(line), " ")...)
	}
	return lines
}

// wrap joins words with sep into lines that end before lineWidth, where the words allow it.
func wrap(words []string, sep string) []string {
	var lines []string
	line := ""
	for i, word := range words {
		if i < len(words)-1 {
			word += strings.TrimRight(sep, " ")
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(indent+line+" "+word) > lineWidth:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// table aligns rows of cells, two spaces apart, without white space at the end.
func table(rows [][]string) []string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() // a Builder takes everything
	var lines []string
	for line := range strings.Lines(text.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/record"
)

// maxTitle is the length of a title in characters.
const maxTitle = 120

func notFound(s record.Session) error {
	return fmt.Errorf("session %q of user %q in application %q: %w", s.ID, s.User, s.App, ErrNotFound)
}

// Summarize makes the line of a session in the list from its rows, which are in the order
// of recording. Those that only hold what a line is made from are enough: payloads are read
// of messages of the user, requests to humans, their answers and checks.
func Summarize(session record.Session, rows []record.Event, now time.Time) Summary {
	decoded := decode(rows)
	return summarize(session, decoded, approvalsOf(decoded, nil, now))
}

// summarize makes the line of a session in the list. Rows are in order; those that only
// hold what a line is made from are enough.
func summarize(session record.Session, rows []row, approvals []Approval) Summary {
	s := Summary{Session: session, Events: len(rows), Approvals: len(approvals), Status: StatusNone}
	agents, models, versions := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	runs := make(map[string]bool)
	spans := make(map[string][]*row)
	for i := range rows {
		r := &rows[i]
		if at := r.at(); r.Timestamp > 0 {
			if s.Start.IsZero() || at.Before(s.Start) {
				s.Start = at
			}
			if at.After(s.End) {
				s.End = at
			}
		}
		if r.Agent != "" {
			agents[r.Agent] = true
		}
		if r.run != "" {
			runs[r.run] = true
		}
		if r.Status == record.StatusError {
			s.Errors++
		}
		switch r.EventType {
		case record.UserMessageReceived:
			if s.Title == "" {
				s.Title = titleOf(userText(r))
			}
		case record.LLMRequest, record.LLMResponse:
			spans[r.span] = append(spans[r.span], r)
			if r.Model != "" {
				models[r.Model] = true
			}
			if r.ModelVersion != "" {
				versions[r.ModelVersion] = true
			}
		}
	}
	for _, calls := range spans {
		s.Tokens.add(tokensOf(calls))
	}
	if len(models) == 0 {
		models = versions
	}
	s.Agents, s.Models, s.Turns = names(agents), names(models), len(runs)
	s.WaitedMS = waited(outcomes(approvals)).Milliseconds()
	if n := len(approvals); n > 0 {
		s.Status = approvals[n-1].Status
	}
	return s
}

func names(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// onlyResponses matches what rows have as the text of a message that only brings answers
// to calls.
var onlyResponses = regexp.MustCompile(`^Function response: [\w.:-]+(?: \| Function response: [\w.:-]+)*$`)

// userText returns the text of a message of the user; "" where the message only brings
// answers and results, which have rows of their own.
func userText(r *row) string {
	var c struct {
		Text string `json:"text_summary"`
	}
	unmarshal(r.Content, &c)
	if c.Text == "" {
		unmarshal(r.Content, &c.Text)
	}
	if onlyResponses.MatchString(c.Text) {
		return ""
	}
	return c.Text
}

// titleOf returns the first line of a text that says something.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(strings.ToValidUTF8(line, "\uFFFD")), " ")
		if line != "" {
			return clip(line, maxTitle)
		}
	}
	return ""
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + "…"
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	turn, depth   int
	errors, ascii bool
	args          bool
}

func (a *app) traceCommand() *cobra.Command {
	var f traceFlags
	c := &cobra.Command{
		Use:   "trace SESSION",
		Short: "Draw a session as a tree of spans",
		Long: `trace draws the spans of one session as a tree, turn by turn: agents, models, tools, requests to
humans and checks, each with its duration, tokens, business entities and error. A span without an
end is marked as open. --turn, --errors and --depth select spans; NDJSON has one span a line.`,
		Example: `  contextgraph trace s-123 --turn 2 --depth 3
  contextgraph trace s-123 --errors --ascii
  contextgraph trace s-123 --args`,
	}
	flags := c.Flags()
	flags.IntVar(&f.turn, "turn", 0, "one turn, from 1 (default all)")
	flags.IntVar(&f.depth, "depth", 0, "how many levels are drawn (default all)")
	flags.BoolVar(&f.errors, "errors", false, "only spans with errors and those around them")
	flags.BoolVar(&f.args, "args", false, "with the arguments of each call of a tool, and the beginning of its result")
	flags.BoolVar(&f.ascii, "ascii", false, "draw without box characters")
	return a.readsOne(c, func(ctx context.Context, src opened, key record.Session) error {
		s, err := inspect.Look(ctx, src, key, a.now())
		switch {
		case err != nil:
			return err
		case f.turn < 0 || f.depth < 0:
			return usageError{errors.New("--turn and --depth count from 1")}
		case f.turn > s.Turns:
			return exit{exitNotFound, fmt.Errorf("session %q has %d turns: there is no turn %d", key.ID, s.Turns, f.turn)}
		}
		tree := newSpanTree(s, f)
		s.Spans = tree.selected()
		if err := a.printWith(s, s.Spans, tree.draw); err != nil {
			return err
		}
		for _, p := range s.Problems {
			a.note("%s (%d): %s", p.Kind, p.Count, p.Detail)
		}
		return nil
	})
}

// spanTree is the spans of a session as trace draws them.
type spanTree struct {
	*inspect.Tree
	session *inspect.Session
	flags   traceFlags
	shown   []bool
	// entities counts those that each span evaluated.
	entities map[string]int
}

func newSpanTree(s *inspect.Session, f traceFlags) *spanTree {
	t := &spanTree{Tree: inspect.NewTree(s.Spans), session: s, flags: f, entities: make(map[string]int)}
	t.shown = t.Around(func(s *inspect.Span) bool {
		return (f.turn == 0 || s.Turn == f.turn) && (f.depth == 0 || s.Depth < f.depth) && (!f.errors || s.Status == record.StatusError)
	})
	for _, e := range s.Entities {
		seen := make(map[string]bool)
		for _, sighting := range e.Evaluated {
			if !seen[sighting.Span] {
				seen[sighting.Span] = true
				t.entities[sighting.Span]++
			}
		}
	}
	return t
}

func (t *spanTree) selected() []inspect.Span {
	out := []inspect.Span{}
	for i, s := range t.Spans {
		if t.shown[i] {
			out = append(out, s)
		}
	}
	return out
}

// draw writes the session and its tree.
func (t *spanTree) draw(out *table) {
	s := t.session
	out.line(cell{s.Session.ID, bold}, " of ", cell{text: s.Session.User}, " in ", cell{text: s.Session.App}, "  ", chip(s.Status))
	if s.Title != "" {
		out.line(cell{s.Title, dim})
	}
	out.line(strings.Join([]string{
		count(s.Turns, "turn", "turns"), count(s.Events, "row", "rows"), count(s.Errors, "error", "errors"), fmt.Sprintf("%d tokens", s.Tokens.Total),
		count(len(s.Entities), "entity", "entities"), human(s.End.Sub(s.Start)) + " long", "waited " + waited(s.WaitedMS),
	}, ", "))
	turn := -1
	for n, root := range t.Roots {
		if !t.shown[root] {
			continue
		}
		span := t.Spans[root]
		if span.Turn != turn {
			turn = span.Turn
			out.line()
			heading := fmt.Sprintf("Turn %d", turn)
			if turn == 0 {
				heading = "Outside of any turn"
			}
			out.line(cell{heading, bold}, "  ", cell{out.at(span.Start), dim})
		}
		last := true
		for _, next := range t.Roots[n+1:] {
			if t.shown[next] {
				last = t.Spans[next].Turn != turn
				break
			}
		}
		t.branch(out, root, "", last)
	}
	if turn < 0 {
		out.line("no span is selected")
	}
}

// maxIndent bounds how far to the right a tree is drawn, in levels: what is deeper stands below.
const maxIndent = 64

// branch writes a span and those in it.
func (t *spanTree) branch(out *table, i int, indent string, last bool) {
	marks := []string{"├─ ", "│  ", "└─ "}
	if t.flags.ascii {
		marks = []string{"|- ", "|  ", "`- "}
	}
	mark, below := marks[0], marks[1]
	if last {
		mark, below = marks[2], "   "
	}
	out.line(append([]any{indent + mark}, t.describe(&t.Spans[i])...)...)
	var shown []int
	for _, c := range t.Children[i] {
		if t.shown[c] {
			shown = append(shown, c)
		}
	}
	hidden := len(t.Children[i]) - len(shown)
	inner := indent + below
	if utf8.RuneCountInString(inner) > 3*maxIndent {
		inner = indent
	}
	if t.flags.args {
		t.call(out, &t.Spans[i], inner, marks[1], len(shown) > 0)
	}
	for n, c := range shown {
		t.branch(out, c, inner, n == len(shown)-1)
	}
	if hidden > 0 && len(shown) == 0 && t.flags.depth > 0 && !t.flags.errors {
		out.line(indent, below, marks[2], cell{count(t.Below(i), "span is below", "spans are below"), dim})
	}
}

// call writes the arguments and the result of the call that a span is, if it is one.
func (t *spanTree) call(out *table, s *inspect.Span, indent, bar string, more bool) {
	args, result := t.session.Call(s)
	if !more {
		bar = ""
	}
	if args != "" {
		out.line(indent+bar, cell{"←", dim}, " ", cell{text: args})
	}
	if result != "" && result != "{}" {
		out.line(indent+bar, cell{"→", dim}, " ", cell{cut(result, 2*maxCell), dim})
	}
}

// classStyle is the colour of a class of spans, none of those that mean something.
func classStyle(class string) style {
	switch class {
	case "user", "hitl":
		return blue
	case "agent":
		return cyan
	case "tool":
		return magenta
	}
	return plain
}

// kindAndName returns the kind of a span, and its name if that adds something.
func kindAndName(s *inspect.Span) (kind, name string) {
	kind = s.Class
	if kind == "other" || kind == "" {
		kind = strings.ToLower(s.Kind)
	}
	if !strings.EqualFold(s.Name, kind) {
		name = s.Name
	}
	return kind, name
}

// describe returns a span as pieces of a line.
func (t *spanTree) describe(s *inspect.Span) []any {
	kind, name := kindAndName(s)
	line := []any{cell{kind, classStyle(s.Class)}}
	if name != "" {
		line = append(line, " ", cell{name, bold})
	}
	line = append(line, "  ", human(milliseconds(s.DurationMS)))
	if s.Tokens.Total > 0 {
		line = append(line, fmt.Sprintf("  %d tokens", s.Tokens.Total))
	}
	if n := t.entities[s.Key]; n > 0 {
		line = append(line, "  "+count(n, "entity", "entities"))
	}
	if s.Open {
		line = append(line, "  ", cell{"open", yellow})
	}
	text := printable(s.Error)
	if !t.flags.errors { // else somebody wants to read them
		text = cut(text, 2*maxCell)
	}
	switch {
	case s.Status == record.StatusError:
		line = append(line, "  ", cell{strings.TrimSuffix("ERROR: "+text, ": "), red})
	case text != "":
		line = append(line, "  ", cell{text, yellow})
	}
	return line
}

// reasons is the why of one request, as programs read it.
type reasons struct {
	ApprovalID     string         `json:"approval_id"`
	ConfirmationID string         `json:"confirmation_id"`
	Kind           string         `json:"kind"`
	Tool           string         `json:"tool"`
	Agent          string         `json:"agent"`
	Span           string         `json:"span"`
	Status         inspect.Status `json:"status"`
	Why            []inspect.Why  `json:"why"`
}

func (a *app) whyCommand() *cobra.Command {
	var approval, entity string
	c := &cobra.Command{
		Use:   "why SESSION",
		Short: "Show the entities behind a request, and their way to it",
		Long: `why lists, for each request to a human in a session, the business entities that it rests on, each
with a shortest path from the result that showed it to the request. "contains" leads from a span to
one inside of it, "informs" from a result to the step that read it, "resumes" from a request to the
steps after its answer.`,
		Example: `  contextgraph why s-123 --entity budget`,
	}
	c.Flags().StringVar(&approval, "approval", "", "one request: the id of the approval or of the confirmation")
	c.Flags().StringVar(&entity, "entity", "", "entities whose type or value contains this")
	return a.readsOne(c, func(ctx context.Context, src opened, key record.Session) error {
		s, err := inspect.Look(ctx, src, key, a.now())
		if err != nil {
			return err
		}
		asked := s.Approvals
		if approval != "" {
			one, err := approvalOf(s, approval)
			if err != nil {
				return err
			}
			asked = []inspect.Approval{one}
		}
		list := []reasons{}
		found := 0
		var known []string
		for _, q := range asked {
			r := reasons{q.ID, q.ConfirmationID, q.Kind, q.Tool, q.Agent, q.Span, q.Status, []inspect.Why{}}
			for _, w := range q.Why {
				known = append(known, w.Value)
				if contains(w.Type, entity) || contains(w.Value, entity) {
					r.Why = append(r.Why, w)
				}
			}
			found += len(r.Why)
			list = append(list, r)
		}
		if entity != "" && found == 0 && len(asked) > 0 {
			return notFound("entity with", entity, fmt.Sprintf("what session %q asked for", key.ID), known, fmt.Sprintf(`See what it rests on with "contextgraph why %s".`, key.ID))
		}
		if len(asked) == 0 {
			a.note("in session %q nobody was asked for anything", key.ID)
		}
		return a.print(list, func(t *table) { whyList(t, s, list) })
	})
}

func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func whyList(t *table, s *inspect.Session, list []reasons) {
	spans := make(map[string]*inspect.Span, len(s.Spans))
	for i := range s.Spans {
		spans[s.Spans[i].Key] = &s.Spans[i]
	}
	for i, r := range list {
		if i > 0 {
			t.line()
		}
		t.line(cell{cmp.Or(r.Tool, r.Kind), bold}, ", asked for by ", cell{text: cmp.Or(r.Agent, "nobody that is known")}, "  ", chip(r.Status))
		t.line("  ", cell{"approval " + cmp.Or(r.ApprovalID, r.ConfirmationID, "without an id"), dim})
		if len(r.Why) == 0 {
			t.line("  rests on nothing that was recorded")
		}
		for _, w := range r.Why {
			t.line()
			if w.Origin == graphsync.OriginAction.String() {
				t.line("  ", cell{w.Type, bold}, " ", cell{text: quoted(w.Value)}, "  ", cell{text: w.Note})
				continue
			}
			t.line("  ", cell{w.Type, bold}, " ", cell{text: quoted(w.Value)}, "  ", cell{distanceOf(w.Hops), dim})
			if w.Note != "" {
				t.line("    ", cell{text: w.Note})
			}
			edge := ""
			for _, step := range w.Path {
				t.line("    ", fmt.Sprintf("%-10s", edge), cell{text: spanName(spans[step.Span])})
				edge = printable(step.Edge)
			}
			if len(w.Path) == 0 {
				t.line("    no path leads from where it was seen to the request")
			}
		}
	}
}

// distanceOf says how far from the request an entity was seen.
func distanceOf(hops int) string {
	if hops == 0 {
		return "seen by the call that asks"
	}
	return count(hops, "step", "steps") + " before the call that asks"
}

func quoted(s string) string { return `"` + cut(printable(s), maxCell*2) + `"` }

// spanName names a span in a path.
func spanName(s *inspect.Span) string {
	if s == nil {
		return "a span that was not recorded"
	}
	text, name := kindAndName(s)
	if name != "" {
		text += " " + name
	}
	if s.Turn > 0 {
		text += fmt.Sprintf(" (turn %d)", s.Turn)
	}
	return text
}

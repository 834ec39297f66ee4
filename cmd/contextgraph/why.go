// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// whyFlags are the flags of why.
type whyFlags struct {
	session          record.Session
	approval, entity string
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
	var f whyFlags
	c := &cobra.Command{
		Use:   "why SESSION",
		Short: "Show the entities behind a request, and their way to it",
		Long: `why lists, for each request to a human in a session, the business entities that it rests on, each
with a shortest path from the result that showed it to the request. "contains" leads from a span to
one inside of it, "informs" from a result to the step that read it, "resumes" from a request to the
steps after its answer.`,
		Example: `  contextgraph why s-123 --entity budget`,
		Args:    argCount(1, 1, "the id of one session"),
	}
	ownerFlags(c, &f.session)
	c.Flags().StringVar(&f.approval, "approval", "", "one request: the id of the approval or of the confirmation")
	c.Flags().StringVar(&f.entity, "entity", "", "entities whose type or value contains this")
	return a.reads(c, func(ctx context.Context, src opened, args []string) error {
		f.session.ID = args[0]
		return a.why(ctx, src, f)
	})
}

func (a *app) why(ctx context.Context, src opened, f whyFlags) error {
	s, err := a.read(ctx, src, f.session)
	if err != nil {
		return err
	}
	asked := s.Approvals
	if f.approval != "" {
		one, err := oneApproval(s.Approvals, f.approval, fmt.Sprintf("session %q", f.session.ID))
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
			if contains(w.Type, f.entity) || contains(w.Value, f.entity) {
				r.Why = append(r.Why, w)
			}
		}
		found += len(r.Why)
		list = append(list, r)
	}
	if f.entity != "" && found == 0 && len(asked) > 0 {
		return notFound("entity with", f.entity, fmt.Sprintf("what session %q asked for", f.session.ID), known, fmt.Sprintf(`See what it rests on with "contextgraph why %s".`, f.session.ID))
	}
	if len(asked) == 0 {
		a.note("in session %q nobody was asked for anything", f.session.ID)
	}
	return a.print(list, func(t *table) { whyList(t, s, list) })
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

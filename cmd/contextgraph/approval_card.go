// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// card prints all about one request.
func (a *app) card(p inspect.Approval) error {
	return a.print(p, func(t *table) { (&approvalCard{t, &p}).write() })
}

// approvalCard writes a request for people.
type approvalCard struct {
	*table
	p *inspect.Approval
}

func (c *approvalCard) write() {
	p := c.p
	c.line(append([]any{chip(p.Status), "  ", cell{cmp.Or(p.Tool, p.Kind), bold}}, overridden(p)...)...)
	c.paragraph(p.Explanation)
	c.line()
	c.fact("Total", p.Total)
	c.fact("Not checked", strings.Join(p.NotChecked, ", "))
	c.fact("Approval", p.ID)
	c.fact("Confirmation", p.ConfirmationID)
	c.fact("Session", fmt.Sprintf("%s of %s in %s", p.Session.ID, p.Session.User, p.Session.App))
	c.asked()
	c.fact("Change wanted", p.Change)
	c.fact("Hint", p.Hint)
	c.fact("Replaces", p.Replaces)
	if !p.ExpiresAt.IsZero() {
		c.fact("Expires", c.at(p.ExpiresAt))
	}
	c.fact("Waited", waited(p.WaitedMS))
	if !p.Enforced {
		c.fact("Enforced", "no: it was only observed, so the call ran whatever the verdict")
	}
	c.fact("Ledger", p.State)
	c.fact("Policy", p.PolicyVersion)
	c.fact("Fingerprint", p.Fingerprint)
	c.arguments()
	for _, w := range p.Warnings {
		c.fact("Warning", w)
	}
	for _, n := range p.Notes {
		c.fact("Note", n)
	}
	c.difference()
	c.entities()
	c.notChosen()
	c.checks()
	c.decisions()
	c.history()
}

// question writes what a human has to know to answer, without the things that it rests on.
func (c *approvalCard) question() {
	p := c.p
	c.line(chip(p.Status), "  ", cell{cmp.Or(p.Tool, p.Kind), bold})
	c.paragraph(p.Action)
	c.line()
	c.fact("Total", p.Total)
	c.fact("Not checked", strings.Join(p.NotChecked, ", "))
	c.fact("Approval", p.ID)
	c.asked()
	if !p.ExpiresAt.IsZero() {
		c.fact("Expires", c.at(p.ExpiresAt))
	}
	c.fact("May approve", p.MayApprove)
	c.arguments()
	for _, w := range p.Warnings {
		c.fact("Warning", w)
	}
	for _, n := range p.Notes {
		c.fact("Note", n)
	}
	c.difference()
}

// asked writes who asked, and who has approved.
func (c *approvalCard) asked() {
	p := c.p
	c.fact("Asked", c.at(p.RequestedAt)+" by "+cmp.Or(p.Agent, "nobody that is known"))
	if r := p.Requester; r != nil {
		who := r.Name
		if !r.Authenticated {
			who += " (not authenticated: it may be whoever approves)"
		}
		c.fact("Requester", who)
	}
	if p.Approvers > 1 || len(p.Consents) > 1 {
		c.fact("Approvers", fmt.Sprintf("%d of %d: %s", len(p.Consents), p.Approvers, cmp.Or(strings.Join(p.Consents, ", "), "nobody yet")))
	}
}

// overridden says that a call ran, or is to run, although its check failed.
func overridden(p *inspect.Approval) []any {
	if !p.Overridden {
		return nil
	}
	return []any{"  ", cell{"OVERRIDDEN", red}}
}

// section begins a part of the card.
func (c *approvalCard) section(name string) {
	c.line()
	c.line(cell{name, bold})
}

// paragraph writes text in lines of readable length.
func (c *approvalCard) paragraph(text string) {
	const length = 88
	line := ""
	for _, word := range strings.Fields(printable(text)) {
		if line != "" && width(line)+1+width(word) > length {
			c.line("  ", cell{text: line})
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	if line != "" {
		c.line("  ", cell{text: line})
	}
}

// maxArgLines bounds how much of the arguments is shown; JSON has all of them.
const maxArgLines = 40

func (c *approvalCard) arguments() {
	if len(c.p.Args) == 0 {
		return
	}
	var out bytes.Buffer
	if json.Indent(&out, c.p.Args, "", "  ") != nil {
		c.fact("Arguments", string(c.p.Args))
		return
	}
	c.section("Arguments")
	lines := strings.Split(out.String(), "\n")
	for _, line := range lines[:min(len(lines), maxArgLines)] {
		text := strings.TrimLeft(line, " ")
		c.line("  ", line[:len(line)-len(text)], cell{text: text})
	}
	if n := len(lines) - maxArgLines; n > 0 {
		c.line("  ", cell{fmt.Sprintf("… %d more lines: see --output json", n), dim})
	}
}

// difference shows what changed since the request that this one replaces.
func (c *approvalCard) difference() {
	d := c.p.Difference
	if d == nil {
		return
	}
	c.section("What is different from the request that it replaces, made " + c.at(d.Since))
	values := func(what string, list []safety.ValueDifference) {
		for _, v := range list {
			c.row(indented(what), v.Name, cmp.Or(v.Was, "-"), cell{"→ " + cmp.Or(v.Now, "-"), red})
		}
	}
	for _, e := range d.Entities {
		if len(e.Attributes) == 0 {
			c.row(indented(e.Type+" "+e.Value), e.Change)
		}
		values(e.Type+" "+e.Value, e.Attributes)
	}
	values("argument", d.Arguments)
	if d.Tool {
		c.row(indented("the tool"), "is declared otherwise")
	}
	if len(d.Consents) > 0 {
		c.row(indented("approved before"), strings.Join(d.Consents, ", "), "has to be said again")
	}
	switch {
	case d.Omitted > 0:
		c.line("  ", cell{fmt.Sprintf("… %d more values", d.Omitted), dim})
	case len(d.Entities)+len(d.Arguments)+len(d.Consents) == 0 && !d.Tool:
		c.line("  nothing")
	}
}

func (c *approvalCard) entities() {
	c.section("What it rests on: as the human saw it → as the last check found it")
	if len(c.p.Entities) == 0 {
		c.line("  nothing that was recorded")
		return
	}
	c.table.entities(c.p.Entities)
	for _, e := range c.p.Entities {
		var said []string
		if e.Unseen {
			said = append(said, "not shown to the human")
		}
		if e.Reason != "" {
			said = append(said, e.Reason)
		}
		if len(said) > 0 {
			c.line("  ", cell{text: e.Type + " " + e.Value + ": " + strings.Join(said, "; ")})
		}
	}
}

// entities prints things as they were seen and as they are now, a line for each attribute.
func (t *table) entities(list []inspect.Rested) {
	t.columns([]string{"  TYPE", "VALUE", "ATTRIBUTE", "SEEN", "NOW", "AGE", "OUTCOME"}, 2, 0)
	for _, e := range list {
		names := slices.Sorted(maps.Keys(e.Seen))
		names = slices.AppendSeq(names, maps.Keys(e.Now))
		names = slices.AppendSeq(names, maps.Keys(e.Conditions))
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			names = []string{""}
		}
		for i, name := range names {
			kind, value, age, outcome := "", "", "", cell{}
			if i == 0 {
				kind, value, age, outcome = e.Type, e.Value, t.age(&e), outcomeCell(&e)
			}
			now := cell{text: "→ " + cmp.Or(e.Now[name], "-")}
			condition := e.Conditions[name]
			if e.Now != nil && e.Now[name] != e.Seen[name] && (condition == "" || e.Outcome != safety.EntityUnchanged) {
				now.style = red
			}
			if condition != "" {
				now.text += ", " + safety.Needed(condition)
			}
			t.row(indented(kind), value, name, cmp.Or(e.Seen[name], "-"), now, age, outcome)
		}
	}
}

// notChosen names what was there to choose from.
func (c *approvalCard) notChosen() {
	n := c.p.NotChosen
	if n == nil {
		return
	}
	c.section("Not chosen, and not checked")
	for _, e := range n.Entities {
		var seen []string
		for _, name := range slices.Sorted(maps.Keys(e.Seen)) {
			seen = append(seen, name+" "+e.Seen[name])
		}
		c.row(indented(e.Type), e.Value, cell{strings.Join(seen, ", "), dim})
	}
	if more := n.Total - len(n.Entities); more > 0 {
		c.line("  ", cell{fmt.Sprintf("and %d more", more), dim})
	}
}

// indented is a cell of the first column below a section. printable takes leading space
// away, so a mark stands for it.
func indented(s string) string {
	if s == "" {
		return "·"
	}
	return "· " + s
}

// age is how old what the human saw was when it was checked, or is now.
func (t *table) age(e *inspect.Rested) string {
	if e.SeenAt.IsZero() {
		return "-"
	}
	until := e.AsOf
	if until.IsZero() {
		until = t.now
	}
	return roughly(max(0, until.Sub(e.SeenAt)))
}

// outcomeCell is the outcome of a thing as people read it.
func outcomeCell(e *inspect.Rested) cell {
	c, ok := map[string]cell{
		"": {"not checked", dim}, safety.EntityUnchanged: {"✓ unchanged", green}, safety.EntityChanged: {"≠ changed", red},
		safety.EntityWarned: {"~ changed, a warning", yellow}, safety.EntitySkipped: {"- skipped", dim},
	}[e.Outcome]
	if !ok {
		return cell{"! check failed", red}
	}
	return c
}

func (c *approvalCard) checks() {
	for _, k := range c.p.Checks {
		c.section("Check " + cmp.Or(k.ID, "without an id"))
		c.line("  ", chip(inspect.Status(cmp.Or(k.Verdict, "no verdict is on record"))), "  ", cell{fmt.Sprintf("at %s, %s, in %s: %d entities, %d changed", cmp.Or(k.Stage, "no known stage"), c.at(k.At),
			human(time.Duration(k.DurationMS*float64(time.Millisecond))), k.Total, k.Stale), dim})
		c.findings(k.Findings)
	}
}

func (c *approvalCard) decisions() {
	if len(c.p.Answers) > 0 {
		c.section("Who decided")
	}
	for _, w := range c.p.Answers {
		said := "rejected"
		if w.Confirmed {
			said = "approved"
		}
		if !w.Accepted && (w.Confirmed || w.Refusal != "") {
			said += ", did not count: " + cmp.Or(w.Refusal, w.Reason, "no reason is on record")
		}
		who := cmp.Or(w.Approver, "nobody that is named")
		if !w.Authenticated {
			who += " (nothing vouches for the name)"
		}
		c.line("  ", cell{text: c.at(w.At)}, "  ", cell{text: who}, "  ", cell{said, bold})
		if w.Change != "" {
			c.paragraph("wants: " + w.Change)
		}
		if w.Override != "" {
			c.line("  ", cell{"OVERRIDES", red}, "  ", cell{text: w.Override})
		}
	}
	if x := c.p.Execution; x != nil {
		c.section("What ran")
		end := "its end was never recorded"
		if !x.End.IsZero() {
			end = "ended " + c.at(x.End) + " " + x.Status
		}
		c.line("  ", cell{text: "started " + c.at(x.Start) + ", " + end})
		if x.Error != "" {
			c.line("  ", cell{x.Error, red})
		}
	}
}

func (c *approvalCard) history() {
	if len(c.p.History) == 0 {
		return
	}
	c.section("History of the ledger")
	for _, h := range c.p.History {
		verdict := cell{text: cmp.Or(h.Verdict, "-")}
		if h.Override {
			verdict = cell{verdict.text + ", OVERRIDDEN", red}
		}
		c.row(indented(c.when(h.At)), cmp.Or(string(h.From), "new")+" → "+string(h.To), cmp.Or(h.Actor, "-"), verdict, h.Note)
	}
}

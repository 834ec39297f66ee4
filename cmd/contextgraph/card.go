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

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxArgLines bounds how much of the arguments is shown; JSON has all of them.
const maxArgLines = 40

// card prints all about one request, unless err is why there is none.
func (a *app) card(p inspect.Approval, err error) error {
	if err != nil {
		return err
	}
	return a.print(p, func(t *table) {
		t.request(&p, true)
		t.section("What it rests on: as the human saw it → as the last check found it")
		if len(p.Entities) == 0 {
			t.line("  nothing that was recorded")
		} else {
			t.entities(p.Entities)
		}
		for _, e := range p.Entities {
			if e.Unseen {
				t.line("  ", cell{text: e.Type + " " + e.Value + ": not shown to the human"})
			}
			if e.Reason != "" {
				t.line("  ", cell{text: e.Type + " " + e.Value + ": " + e.Reason})
			}
		}
		t.notChosen(p.NotChosen)
		t.happened(&p)
	})
}

// request writes what a human has to know to answer a request, or with more all that the request itself says.
func (t *table) request(p *inspect.Approval, more bool) {
	t.line(statusOf(p), "  ", cell{cmp.Or(p.Tool, p.Kind), bold})
	if more {
		t.line("  ", cell{text: p.Explanation})
	} else {
		t.line("  ", cell{text: p.Action})
	}
	t.line()
	t.fact("Total", p.Total)
	t.fact("Not checked", strings.Join(p.NotChecked, ", "))
	t.fact("Approval", p.ID)
	if more {
		t.fact("Confirmation", p.ConfirmationID)
		t.fact("Session", fmt.Sprintf("%s of %s in %s", p.Session.ID, p.Session.User, p.Session.App))
	}
	t.fact("Asked", t.at(p.RequestedAt)+" by "+cmp.Or(p.Agent, "nobody that is known"))
	if r := p.Requester; r != nil {
		who := r.Name
		if !r.Authenticated {
			who += " (not authenticated: it may be whoever approves)"
		}
		t.fact("Requester", who)
	}
	if p.Approvers > 1 || len(p.Consents) > 1 {
		t.fact("Approvers", fmt.Sprintf("%d of %d: %s", len(p.Consents), p.Approvers, cmp.Or(strings.Join(p.Consents, ", "), "nobody yet")))
	}
	if !p.ExpiresAt.IsZero() {
		t.fact("Expires", t.at(p.ExpiresAt))
	}
	if more {
		t.fact("Change wanted", p.Change)
		t.fact("Hint", p.Hint)
		t.fact("Replaces", p.Replaces)
		t.fact("Waited", waited(p.WaitedMS))
		if !p.Enforced {
			t.fact("Enforced", "no: it was only observed, so the call ran whatever the verdict")
		}
		t.fact("Ledger", p.State)
		t.fact("Policy", p.PolicyVersion)
		t.fact("Fingerprint", p.Fingerprint)
	} else {
		t.fact("May approve", p.MayApprove)
	}
	t.arguments(p.Args)
	for _, w := range p.Warnings {
		t.fact("Warning", w)
	}
	for _, n := range p.Notes {
		t.fact("Note", n)
	}
	t.difference(p.Difference)
}

// section begins a part of a card.
func (t *table) section(name string) {
	t.line()
	t.line(cell{name, bold})
}

func (t *table) arguments(args []byte) {
	if len(args) == 0 {
		return
	}
	t.section("Arguments")
	t.json(args)
}

// json writes a document in at most maxArgLines lines.
func (t *table) json(doc []byte) {
	var out bytes.Buffer
	if json.Indent(&out, doc, "", "  ") != nil {
		t.line("  ", cell{text: string(doc)})
		return
	}
	lines := strings.Split(out.String(), "\n")
	for _, line := range lines[:min(len(lines), maxArgLines)] {
		text := strings.TrimLeft(line, " ")
		t.line("  ", line[:len(line)-len(text)], cell{text: text})
	}
	if n := len(lines) - maxArgLines; n > 0 {
		t.line("  ", cell{fmt.Sprintf("… %d more lines: see --output json", n), dim})
	}
}

// difference shows what changed since the request that this one replaces.
func (t *table) difference(d *safety.Difference) {
	if d == nil {
		return
	}
	t.section("What is different from the request that it replaces, made " + t.at(d.Since))
	values := func(what string, list []safety.ValueDifference) {
		for _, v := range list {
			t.row("· "+what, v.Name, cmp.Or(v.Was, "-"), cell{"→ " + cmp.Or(v.Now, "-"), red})
		}
	}
	for _, e := range d.Entities {
		if len(e.Attributes) == 0 {
			t.row("· "+e.Type+" "+e.Value, e.Change)
		}
		values(e.Type+" "+e.Value, e.Attributes)
	}
	values("argument", d.Arguments)
	if len(d.Args) > 0 {
		t.line("  The plan before:")
		t.json(d.Args)
	}
	if d.Tool {
		t.row("· the tool", "is declared otherwise")
	}
	if len(d.Consents) > 0 {
		t.row("· approved before", strings.Join(d.Consents, ", "), "has to be said again")
	}
	switch {
	case d.Omitted > 0:
		t.line("  ", cell{fmt.Sprintf("… %d more values", d.Omitted), dim})
	case len(d.Entities)+len(d.Arguments)+len(d.Consents) == 0 && !d.Tool:
		t.line("  nothing")
	}
}

// entities prints things as they were seen and as they are now, a line for each attribute.
func (t *table) entities(list []inspect.Rested) {
	t.columns("  TYPE", "VALUE", "ATTRIBUTE", "SEEN", "NOW", "AGE", "OUTCOME")
	for _, e := range list {
		names := slices.Sorted(maps.Keys(e.Seen))
		names = slices.AppendSeq(names, maps.Keys(e.Now))
		names = slices.AppendSeq(names, maps.Keys(e.Conditions))
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 {
			names = []string{""}
		}
		kind, value, age, outcome := "· "+e.Type, e.Value, t.age(&e), outcomeCell(&e)
		for _, name := range names {
			now := cell{text: "→ " + cmp.Or(e.Now[name], "-")}
			condition := e.Conditions[name]
			if e.Now != nil && e.Now[name] != e.Seen[name] && (condition == "" || e.Outcome != safety.EntityUnchanged) {
				now.style = red
			}
			if condition != "" {
				now.text += ", " + safety.Needed(condition)
			}
			t.row(kind, value, name, cmp.Or(e.Seen[name], "-"), now, age, outcome)
			kind, value, age, outcome = "·", "", "", cell{}
		}
	}
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
		"":                     {"not checked", dim},
		safety.EntityUnchanged: {"✓ unchanged", green},
		safety.EntityChanged:   {"≠ changed", red},
		safety.EntityWarned:    {"~ changed, a warning", yellow},
		safety.EntitySkipped:   {"- skipped", dim},
	}[e.Outcome]
	if !ok {
		return cell{"! check failed", red}
	}
	return c
}

// notChosen names what was there to choose from.
func (t *table) notChosen(n *inspect.NotChosen) {
	if n == nil {
		return
	}
	t.section("Not chosen, and not checked")
	for _, e := range n.Entities {
		var seen []string
		for _, name := range slices.Sorted(maps.Keys(e.Seen)) {
			seen = append(seen, name+" "+e.Seen[name])
		}
		t.row("· "+e.Type, e.Value, cell{strings.Join(seen, ", "), dim})
	}
	if more := n.Total - len(n.Entities); more > 0 {
		t.line("  ", cell{fmt.Sprintf("and %d more", more), dim})
	}
}

// happened writes what came of a request: in sentences, what the last check found, and the steps of the ledger.
func (t *table) happened(p *inspect.Approval) {
	t.section("What happened")
	for _, s := range p.Progress {
		t.row("· "+t.when(s.At), cell{s.Text, chip(s.Status).style})
	}
	for _, w := range p.Answers {
		if w.Approver != "" && !w.Authenticated {
			t.line("  ", cell{text: "nothing vouches for the name " + w.Approver})
		}
	}
	if n := len(p.Checks); n > 0 {
		k := &p.Checks[n-1]
		t.section("Check " + cmp.Or(k.ID, "without an id"))
		verdict := chip(inspect.Status(cmp.Or(k.Verdict, "no verdict is on record")))
		what := fmt.Sprintf("at %s, %s, in %s: %d entities, %d changed", cmp.Or(k.Stage, "no known stage"), t.at(k.At), human(milliseconds(k.DurationMS)), k.Total, k.Stale)
		t.line("  ", verdict, "  ", cell{what, dim})
		t.findings(k.Findings)
	}
	if len(p.History) > 0 {
		t.section("History of the ledger")
	}
	for _, h := range p.History {
		verdict := cell{text: cmp.Or(h.Verdict, "-")}
		if h.Override {
			verdict = cell{verdict.text + ", OVERRIDDEN", red}
		}
		t.row("· "+t.when(h.At), cmp.Or(string(h.From), "new")+" → "+string(h.To), cmp.Or(h.Actor, "-"), verdict, h.Note)
	}
}

// findings prints what a check found, each with what to do.
func (t *table) findings(list []safety.Finding) {
	for _, f := range list {
		look := cell{"! " + f.Reason, red}
		switch f.Effect {
		case "block":
			look.text = "≠ " + f.Reason
		case "warn":
			look = cell{"~ " + f.Reason, yellow}
		}
		t.line(look, ": ", cell{text: f.Line()})
		if f.Remedy != "" {
			t.line("  ", cell{f.Remedy, dim})
		}
	}
}

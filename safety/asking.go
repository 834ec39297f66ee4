// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// A request that no answer can make good wastes the time of a person. So its check is made once before anybody is asked.
// It replaces none of the later ones.

// askDeadline bounds how long sources may take before a person is asked.
const askDeadline = 3 * time.Second

// known returns what the record alone says of a request. A source is asked for nothing that this refuses: its answer
// would tell whoever made up a name whether there is such a thing. The report is never [Safe].
func (g *Guard) known(ctx context.Context, q inquiry) Report {
	q.recordOnly = true
	return g.inspect(ctx, ctx, q)
}

// beforeAsking returns the check of a request, nil if none was made, and the refusal of a request that no answer can make
// good. known is what the record says of it.
func (g *Guard) beforeAsking(ctx context.Context, r Request, q inquiry, known Report) (*Report, *Refusal) {
	report := known
	switch {
	case !*g.policy.CheckBeforeAsking || !r.Chained && r.Tool != InputTool:
		return nil, nil
	case len(known.failures) > 0:
	case !r.Chained:
		return nil, nil
	default:
		bound, cancel := context.WithTimeout(ctx, askDeadline)
		defer cancel()
		report = g.inspect(bound, ctx, q)
	}
	if g.policy.Mode == config.ModeObserve || !report.hopeless() {
		return &report, nil
	}
	report.approvalID = ""
	return nil, r.unasked(report)
}

// hopeless reports whether no answer can make a request good that is checked now.
func (r Report) hopeless() bool {
	passing := slices.ContainsFunc(r.failures, Failure.passes)
	return r.Verdict() == Drift || slices.ContainsFunc(r.failures, func(f Failure) bool {
		// A sum over what no source said says no more than that.
		return !f.passes() && !(passing && f.Reason == ReasonPolicy)
	})
}

// unasked refuses a request before anybody is asked.
func (r *Request) unasked(report Report) *Refusal {
	code, next := CodeCheckFailed, "Nobody was asked, and nothing was carried out: as it is, nobody could approve this call. Do what the failures say: look up what is missing, and then make the same call again; a person is asked then. Or choose another."
	if report.Verdict() == Drift {
		code, next = CodeDrift, "Nobody was asked, and nothing was carried out. You have read the present values with this. If the plan is still right with them, make the same call again, and a person is asked."
		var ways []string
		told, _ := report.Told()
		for _, a := range told {
			if way := a.EntityType + " with " + a.LookUp; a.LookUp != "" && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
		if len(ways) > 0 {
			next += " If it is not, look up " + firstOf(ways, len(ways)) + ", and then ask again; or choose another."
		} else {
			next += " If it is not, choose another."
		}
	}
	var why []string
	for _, f := range report.Public() {
		if code != CodeDrift || f.Effect != effectFail { // a look-up heals no failure
			why = append(why, f.Text)
		}
	}
	refusal := refuse(code, Execution{Tool: r.Tool}, report, nil, "Nobody was asked about %s: %s.", r.Tool, joined(why))
	refusal.Unasked, refusal.Next = true, next
	return refusal
}

// never says why no later check can pass, "" where one can.
func (r Report) never() string {
	var said []string
	for _, f := range r.Findings() {
		if f.Hopeless {
			said = append(said, f.Text)
		}
	}
	return oneLine(firstOf(said, len(said)))
}

// fails returns what is known to fail, but for what a hint says in sentences of its own.
func (r Report) fails() (why []string) {
	for _, f := range r.failures {
		switch f.Reason {
		case ReasonActionNotRead, ReasonNotRead, ReasonArgumentDiffers:
			why = append(why, strings.TrimPrefix(f.name()+": ", " : ")+f.Detail)
		}
	}
	return why
}

// notYet names what the check before asking could not look at: "stock of Drug Ibuprofen (source is down)".
func (a Approval) notYet() (items []string) {
	if a.Checked == nil {
		return nil
	}
	for _, e := range a.Checked.results {
		failures := append(slices.Clone(e.Skipped), a.Checked.failures...)
		i := slices.IndexFunc(failures, func(f Failure) bool { return f.passes() && f.EntityType == e.Type && f.Entity == e.Value })
		if i < 0 {
			continue
		}
		what := word(e.Type) + " " + word(e.Value)
		if names := slices.Sorted(maps.Keys(e.Seen)); len(names) > 0 && names[0] != Exists {
			what = firstOf(names, len(names)) + " of " + what
		}
		items = append(items, what+" ("+causes[failures[i].Reason].waits+")")
	}
	return items
}

// notYetHint says it.
func (a Approval) notYetHint() string {
	items := a.notYet()
	return listed(hintNotYet+" ", items, len(items), maxNotYetHint)
}

// shownCheck returns the check before asking as [Approval.Shown] has it; nil if none was made.
func (a Approval) shownCheck() map[string]any {
	if a.Checked == nil {
		return nil
	}
	notYet := []any{}
	for _, item := range a.notYet() {
		notYet = append(notYet, item)
	}
	return map[string]any{"verdict": a.Checked.Verdict().String(), "at": stamp(a.Checked.checked), "not_yet": notYet}
}

// shownNow returns the present values of the attributes of e that a person is shown as they were read.
func (a Approval) shownNow(e entity.Canonical) map[string]any {
	if a.Checked == nil {
		return nil
	}
	out := make(map[string]any)
	for _, r := range a.Checked.results {
		for name := range e.Attributes {
			if now := r.Now[name]; r.Type == e.Type && r.Value == e.Value && !now.IsZero() {
				out[name] = show(name, now)
			}
		}
	}
	return out
}

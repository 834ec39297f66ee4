// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Progress is one thing that happened to a request, as the record has it.
type Progress struct {
	At time.Time `json:"at"`
	// Step is "asked", "answered", "refused", "checked", "started", "ended" or "resolved".
	Step string `json:"step"`
	// Status is the status that the step speaks for: "safe", "drift" or "check_failed" of a check,
	// "executed", "failed" or "in_doubt" of a run, "rejected" of a no, and "pending" of anything
	// else.
	Status Status `json:"status"`
	// Text says it in a sentence.
	Text string `json:"text"`
}

// progress returns what happened to a request, oldest first. A success is there only if the record
// has it.
func (q *request) progress() []Progress {
	var out []Progress
	if !q.RequestedAt.IsZero() {
		out = append(out, Progress{q.RequestedAt, "asked", StatusPending, cmp.Or(q.Agent, "The agent") + " asked."})
	}
	for i := range q.Answers {
		out = append(out, q.Answers[i].progress())
	}
	for i := range q.Checks {
		out = append(out, q.Checks[i].progress())
	}
	if x := q.Execution; x != nil {
		what := cmp.Or(q.Tool, "It")
		at := x.Start
		for _, k := range q.Checks {
			// The row of the call begins before the check that lets it run.
			if k.Stage == stageExecution && k.At.After(at) && (x.End.IsZero() || !k.At.After(x.End)) {
				at = k.At
			}
		}
		began := Progress{at, "started", StatusInDoubt, what + " was started; its end is not on record yet."}
		switch x.outcome() {
		case StatusExecuted:
			began.Text = what + " was started."
			out = append(out, began, Progress{cmp.Or(x.End, at), "ended", StatusExecuted, what + " ran without an error."})
		case StatusFailed:
			began.Text = what + " was started."
			out = append(out, began, Progress{cmp.Or(x.End, at), "ended", StatusFailed, sentence(what + " returned an error: " + cmp.Or(x.Error, "it has no text"))})
		default:
			out = append(out, began)
		}
	}
	// Steps of one moment stay in the order in which they follow from each other.
	slices.SortStableFunc(out, func(a, b Progress) int { return a.At.Compare(b.At) })
	return present(out)
}

func (a *Answer) progress() Progress {
	who := cmp.Or(a.Approver, "Somebody")
	p := Progress{a.At, "answered", StatusPending, who + " said yes, and it was taken."}
	said := who + " said yes"
	if !a.Confirmed {
		said, p.Status = who+" said no", StatusRejected
	}
	switch {
	case a.Reason == safety.CodeHappened:
		p.Step, p.Status, p.Text = "resolved", StatusExecuted, sentence(who+" looked and says that it took effect: "+a.Because)
	case a.Reason == safety.CodeDidNotHappen:
		p.Step, p.Status, p.Text = "resolved", StatusFailed, sentence(who+" looked and says that it did not take effect: "+a.Because)
	case a.Reason == safety.CodeMoreApprovers:
		p.Text = sentence(said + ": " + cmp.Or(a.Refusal, "more people have to approve"))
	case a.Refusal != "" || a.Confirmed && !a.Accepted:
		p.Step, p.Status = "refused", StatusPending
		p.Text = sentence(said + ", and it was not taken: " + a.why())
	case !a.Confirmed:
		p.Text = sentence(said)
		if words := cmp.Or(a.Change, a.Because); words != "" {
			p.Text = sentence(said + ": " + words)
		}
	}
	return p
}

func (k *Check) progress() Progress {
	p := Progress{At: k.At, Step: "checked", Status: Status(k.Verdict)}
	when := map[string]string{"answer": "Checked when it was answered", stageExecution: "Checked right before it would run"}[k.Stage]
	when = cmp.Or(when, "Checked on demand")
	switch k.Verdict {
	case verdictSafe:
		p.Text = when + ": nothing has changed."
	case verdictDrift:
		p.Text = sentence(when + ": the world has changed" + k.changes())
	default:
		p.Status = StatusCheckFailed
		p.Text = sentence(when + ": it could not be shown that nothing has changed" + k.failures())
	}
	return p
}

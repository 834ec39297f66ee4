// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// What can be done about a request, see [Approval.Can].
const (
	CanApprove  = "approve"
	CanReject   = "reject"
	CanOverride = "override"
	CanResolve  = "resolve"
	CanCheck    = "check"
	CanRedo     = "redo"
)

// can returns what can be done about the request now. Who may do it, the gate decides.
func (a *Approval) can() []string {
	can := []string{}
	switch {
	case a.Status == StatusInDoubt && a.State == string(safety.StateExecuting):
		can = append(can, CanResolve)
	case !a.Status.Open() || a.Kind != KindConfirmation || a.State != "" && !safety.ApprovalState(a.State).Open():
		return can
	default:
		if a.Enforced {
			can = append(can, CanApprove)
		}
		can = append(can, CanReject)
		if a.Overridable() {
			can = append(can, CanOverride)
		}
		if a.ID != "" {
			can = append(can, CanCheck)
		}
	}
	return can
}

// Overridable reports whether people with the right may let the call run: all that failed in the last check are sources
// that are down.
func (a *Approval) Overridable() bool {
	return a.Status.Open() && a.Enforced && len(a.Findings) > 0 && a.lastVerdict() == StatusCheckFailed && !slices.ContainsFunc(a.Findings, func(f safety.Finding) bool {
		return f.Effect == "fail" && (f.Type == "" || f.Reason != safety.ReasonSourceDown && f.Reason != safety.ReasonTimeout)
	})
}

// lastVerdict is the verdict of the last check, as a status; "" if there was none.
func (a *Approval) lastVerdict() Status {
	if n := len(a.Checks); n > 0 {
		return statusOfVerdict(a.Checks[n-1].Verdict)
	}
	return ""
}

// statusOfVerdict is the status that a verdict speaks for.
func statusOfVerdict(verdict string) Status {
	switch verdict {
	case verdictSafe:
		return StatusSafe
	case verdictDrift:
		return StatusDrift
	}
	return StatusCheckFailed
}

// found sets what the last check found, and what follows from it.
func (a *Approval) found() {
	a.Findings = []safety.Finding{}
	if n := len(a.Checks); n > 0 {
		a.Findings = a.Checks[n-1].Findings
	}
	a.Can, a.Hopeless = a.can(), a.hopeless()
	a.Unproven = a.unproven()
	a.Action = a.action()
}

// noCheckPasses begins the reason that the record of the request gives.
const noCheckPasses = "No check of this request can pass: "

// hopeless says why no yes to an open request can work.
func (a *Approval) hopeless() string {
	var never []string
	for _, f := range a.Findings {
		if f.Hopeless {
			never = append(never, f.Text)
		}
	}
	switch {
	case !a.Status.Open() || !a.Enforced:
		return ""
	case a.lastVerdict() == StatusDrift:
		return "It has changed since it was read" + inBrackets(a.Checks[len(a.Checks)-1].phrases("block")) + ": after a yes now it can never run."
	case len(never) > 0:
		return noCheckPasses + joinSome(never) + "."
	}
	return a.Hopeless // by the record of the request
}

// unproven says why a yes to an open request may not let it run now, although a later one may.
func (a *Approval) unproven() string {
	if !a.Status.Open() || !a.Enforced || a.Overridden || a.Hopeless != "" || a.lastVerdict() != StatusCheckFailed {
		return ""
	}
	return "It could not be checked" + inBrackets(a.Checks[len(a.Checks)-1].phrases("fail")) + ": as long as that is so, nothing runs after a yes."
}

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

// progress returns what happened to a request, in the order of the events. A success is there only if the record has it.
func (q *request) progress() []Progress {
	var out []Progress
	if !q.RequestedAt.IsZero() {
		out = append(out, Progress{q.RequestedAt, "asked", StatusPending, cmp.Or(q.Agent, "The agent") + " asked."})
	}
	said := make(map[string]bool)
	for i := range q.Answers {
		out = append(out, q.Answers[i].progress(said, q.checkedAt(&q.Answers[i])))
	}
	began := time.Time{} // the check before it is made inside of the call
	for i := range q.Checks {
		k := &q.Checks[i]
		p := k.progress()
		if a := q.answerOf(k); a != nil && a.At.After(p.At) {
			p.At = a.At // the row of the answer comes after that of its check
		}
		out = append(out, p)
		if x := q.Execution; x != nil && k.Stage == stageExecution && (x.End.IsZero() || !k.At.After(x.End)) {
			began = k.At
		}
	}
	if x := q.Execution; x != nil {
		what := cmp.Or(q.Tool, "It")
		start := x.Start
		if began.After(start) {
			start = began
		}
		end := cmp.Or(x.End, start)
		switch x.outcome() {
		case StatusExecuted:
			out = append(out, Progress{start, "started", StatusInDoubt, what + " was started."}, Progress{end, "ended", StatusExecuted, what + " ran without an error."})
		case StatusFailed:
			out = append(out, Progress{start, "started", StatusInDoubt, what + " was started."},
				Progress{end, "ended", StatusFailed, sentence(what + " returned an error: " + cmp.Or(x.Error, "it has no text"))})
		default:
			out = append(out, Progress{start, "started", StatusInDoubt, what + " was started; its end is not on record yet."})
		}
	}
	// Steps of one moment stay in the order in which they follow from each other.
	slices.SortStableFunc(out, func(a, b Progress) int { return a.At.Compare(b.At) })
	return present(out)
}

// checkedAt reports whether a check on record says why the gate did not take an answer.
func (q *request) checkedAt(a *Answer) bool {
	return a.Reason != "" && slices.ContainsFunc(q.Checks, func(k Check) bool { return k.Verdict == a.Reason && q.answerOf(&k) == a })
}

// answerOf returns the answer that a check was made for: the one nearest to it.
func (q *request) answerOf(k *Check) (nearest *Answer) {
	for i := range q.Answers {
		a := &q.Answers[i]
		if k.Stage == "answer" && (nearest == nil || a.At.Sub(k.At).Abs() < nearest.At.Sub(k.At).Abs()) {
			nearest = a
		}
	}
	return nearest
}

// progress says what a person answered. said has those who approved before; checked says that a check is on record that
// says why the answer was not taken.
func (a *Answer) progress(said map[string]bool, checked bool) Progress {
	who := cmp.Or(a.Approver, "Somebody")
	p := Progress{a.At, "answered", StatusPending, who + " said yes, and it counted."}
	answer := who + " said yes"
	if !a.Confirmed {
		answer, p.Status = who+" said no", StatusRejected
	}
	switch {
	case a.Reason == safety.CodeHappened:
		p.Step, p.Status, p.Text = "resolved", StatusExecuted, sentence(who+" looked and says that it took effect: "+a.Because)
	case a.Reason == safety.CodeDidNotHappen:
		p.Step, p.Status, p.Text = "resolved", StatusFailed, sentence(who+" looked and says that it did not take effect: "+a.Because)
	case a.Reason == safety.CodeMoreApprovers && said[a.Approver]:
		p.Text = answer + " again: another person has to approve."
	case a.Reason == safety.CodeMoreApprovers:
		p.Text = sentence(answer + ": " + cmp.Or(a.Refusal, "more people have to approve"))
	case a.Override != "" && checked:
		p.Text = sentence(answer + ", although sources are down: " + a.Override)
	case checked:
		p.Text = sentence(answer)
	case a.Refusal != "" || a.Confirmed && !a.Accepted:
		p.Step, p.Status = "refused", StatusPending
		p.Text = sentence(answer + ", and it did not count: " + a.why())
	case !a.Confirmed:
		p.Text = sentence(answer)
		if words := cmp.Or(a.Change, a.Because); words != "" {
			p.Text = sentence(answer + ": " + words)
		}
	}
	if a.Confirmed && (a.Accepted || a.Reason == safety.CodeMoreApprovers) {
		said[a.Approver] = true
	}
	return p
}

func (k *Check) progress() Progress {
	p := Progress{At: k.At, Step: "checked", Status: statusOfVerdict(k.Verdict)}
	when := cmp.Or(map[string]string{"answer": "Checked when it was answered", stageExecution: "Checked right before the call", stageAsking: "Checked before anybody was asked"}[k.Stage], "Checked on demand")
	switch p.Status {
	case StatusSafe:
		p.Text = when + ": nothing has changed since the agent looked."
	case StatusDrift:
		p.Text = sentence(when + ": the world has changed" + inBrackets(k.phrases("block")))
	default:
		p.Text = sentence(when + ": the check failed" + inBrackets(k.phrases("fail")))
	}
	return p
}

// people takes over what the ledger has of the people of a request. It was read before the rows, so
// rows may know more.
func (q *request) people(a *safety.Approval) {
	if a.Requester != "" {
		q.Requester = &Requester{a.Requester, a.RequesterAuthenticated}
	}
	q.Approvers, q.Change, q.Overridden = max(a.Approvers, 1), cmp.Or(a.Change, q.Change), a.Overridden || q.Overridden
	consents := []string{}
	for _, c := range a.Consents {
		consents = append(consents, c.Who)
	}
	if len(consents) > 0 && len(consents) >= len(q.Consents) {
		q.Consents = consents
	}
}

// needsMore says who has approved a request that waits for more people; "" if it waits for none.
func (q *request) needsMore() string {
	if q.Approvers < 2 || len(q.Consents) == 0 || len(q.Consents) >= q.Approvers {
		return ""
	}
	more := "1 more person"
	if n := q.Approvers - len(q.Consents); n > 1 {
		more = fmt.Sprintf("%d more people", n)
	}
	return fmt.Sprintf("%s said yes; a yes of %s is needed", strings.Join(q.Consents, ", "), more)
}

// overriding says who let the call run although its check failed; "" if nobody did.
func (q *request) overriding() string {
	if !q.Overridden {
		return ""
	}
	var people []string
	for _, a := range q.Answers {
		counts := a.Accepted || a.Reason == safety.CodeCheckFailed
		if a.Override != "" && a.Approver != "" && counts && !slices.Contains(people, a.Approver) {
			people = append(people, a.Approver)
		}
	}
	who := "People"
	if len(people) > 0 {
		who = joinSome(people)
	}
	return fmt.Sprintf(" THE CHECK FAILED because sources were down%s. %s let the call run all the same.", q.failures(), who)
}

// mayApprove says who may approve.
func (q *request) mayApprove() string {
	switch {
	case q.Kind != KindConfirmation:
		return ""
	case !q.guarded:
		return "Whoever answers the agent: no gate looks at the answer."
	case q.Approvers > 1 && q.Requester != nil:
		return fmt.Sprintf("%d different people, each logged in. The request is for %s, who may be one of them only if the configuration allows that.", q.Approvers, q.Requester.Name)
	case q.Requester != nil && q.Requester.Authenticated:
		return fmt.Sprintf("One person who is logged in. The request is for %s, who may approve only if the configuration allows that.", q.Requester.Name)
	}
	return fmt.Sprintf("Whoever uses the agent as %s. The program does not check who that is: it may be the one who asked.", q.Session.User)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// notByAnswer says of a superseded request what an answer to it does.
const notByAnswer = " An answer to it does not let %s run."

// explanation returns the meaning of the status and the next step.
func (q *request) explanation() string {
	what := cmp.Or(q.Tool, "the call")
	if q.Kind == kindInput || q.Kind == kindCredential {
		what = "the " + q.Kind
	}
	if !q.guarded {
		return q.unguarded(what)
	}
	if !q.Enforced && (q.Execution != nil || q.Status == StatusDrift || q.Status == StatusCheckFailed) {
		return q.observed(what)
	}
	if i := slices.IndexFunc(q.Answers, func(a Answer) bool { return a.resolves() }); i >= 0 {
		return fmt.Sprintf("%s began, and its end is not on record. %s Nobody saw it.", capital(what), q.Answers[i].progress(nil, false).Text)
	}
	switch q.Status {
	case StatusPending:
		return q.waiting()
	case StatusSafe:
		return fmt.Sprintf("Approved, and nothing had changed at the last check. It is checked a last time right before %s runs.", what)
	case StatusDrift:
		return fmt.Sprintf("The world changed after it was read%s. So %s did not run, and this request can never run: it needs a new one, with the present values or for a new plan.", inBrackets(q.decided("block")), what)
	case StatusCheckFailed:
		if q.Overridden {
			return "Approved, and about to run." + q.overriding()
		}
		return fmt.Sprintf("The check failed%s, so %s did not run: nothing runs without proof that nothing has changed. %s", q.failures(), what, q.way())
	case StatusRejected:
		if q.Change != "" {
			return fmt.Sprintf("Rejected%s, who wants another plan: %s %s did not run; it needs a new request.", q.by(), sentence(q.Change), capital(what))
		}
		return fmt.Sprintf("Rejected%s. %s did not run; it needs a new request.", q.by(), capital(what))
	case StatusSuperseded:
		return "The same call was asked for again, the session went back to before this request, or the run went on without an answer to it." + fmt.Sprintf(notByAnswer, what)
	case StatusExpired:
		return fmt.Sprintf("Nothing came of it in time%s. %s can not run any more; it needs a new request.", q.since(), capital(what))
	case StatusExecuted:
		if q.Overridden {
			return fmt.Sprintf("Approved%s, and %s ran without an error.", q.by(), what) + q.overriding()
		}
		return fmt.Sprintf("Approved%s, checked, and %s ran without an error.", q.by(), what)
	case StatusFailed:
		if q.Overridden {
			return fmt.Sprintf("Approved%s; %s ran and returned an error.", q.by(), what) + q.overriding()
		}
		return fmt.Sprintf("Approved%s and checked; %s ran and returned an error. What it did before that is not known here, and it is not repeated.", q.by(), what)
	case StatusInDoubt:
		return fmt.Sprintf("%s was started and its end is not on record: either it is still running, or its process ended and nobody knows whether it took effect. "+
			"It is never repeated by itself. Look at the system that it acts on, then say what came of it, on the page or with contextgraph resolve.", capital(what))
	}
	return ""
}

// waiting explains a request that is open and has no failed check.
func (q *request) waiting() string {
	if waits := q.needsMore(); waits != "" {
		return fmt.Sprintf("%s. The request waits for them%s. %s", waits, q.until(), q.whenChecked())
	}
	if n := len(q.Answers); n > 0 && !q.Answers[n-1].Accepted {
		return fmt.Sprintf("The last answer did not count: %s The request waits for another one%s.", sentence(q.Answers[n-1].why()), q.until())
	}
	if q.Hopeless != "" {
		return fmt.Sprintf("The request is open%s, but it cannot run, even after a yes: say no, or ask for a change.", q.until())
	}
	return fmt.Sprintf("The request waits for an answer%s. %s", q.until(), q.whenChecked())
}

// whenChecked says in their order when it was checked and when it will be.
func (q *request) whenChecked() string {
	const later = "when somebody says yes, and a last time right before it runs. If a check fails, it does not run."
	if !q.Enforced {
		return "It is only observed: no check stops the call."
	}
	n := len(q.Checks)
	if n == 0 {
		return "It is checked " + later
	}
	when := Words["stage"][q.Checks[n-1].Stage].Name
	if q.lastVerdict() == StatusCheckFailed {
		return "The check " + when + " failed. It is checked again " + later
	}
	return "It was checked " + when + ". It is checked again " + later
}

// observed explains a call that no verdict could have stopped.
func (q *request) observed(what string) string {
	ended := cmp.Or(map[Status]string{
		StatusExecuted: "ran without an error", StatusFailed: "ran and returned an error", StatusInDoubt: "was started and its end is not on record",
	}[q.Status], "may run whatever a check says, and no run of it is on record")
	verdict := "No check is on record."
	if checks := q.deciding(); len(checks) > 0 {
		switch checks[len(checks)-1].Verdict {
		case verdictSafe:
			verdict = "The last check was safe."
		case verdictDrift:
			verdict = "The check found that the world had changed" + inBrackets(q.decided("block")) + "; had the guard been enforced, it would have been blocked."
		default:
			verdict = "The check failed" + q.failures() + "; had the guard been enforced, it would have been blocked."
		}
	}
	return fmt.Sprintf("%s %s. It was only observed, not guarded. %s", capital(what), ended, verdict)
}

// unguarded explains a request that no guard knows of.
func (q *request) unguarded(what string) string {
	const none = "No guard looked at it, so nothing was checked."
	switch q.Status {
	case StatusPending:
		if len(q.Answers) > 0 {
			return fmt.Sprintf("A human said yes, and no run of %s is on record yet. %s", what, none)
		}
		return fmt.Sprintf("%s waits for a human. %s", capital(what), none)
	case StatusRejected:
		return fmt.Sprintf("Rejected. %s", none)
	case StatusExecuted:
		if q.Kind != KindConfirmation {
			return fmt.Sprintf("It was answered, and the run went on. %s", none)
		}
		return fmt.Sprintf("A human said yes, and %s ran without an error. %s", what, none)
	case StatusFailed:
		return fmt.Sprintf("A human said yes; %s ran and returned an error. %s", what, none)
	case StatusUnknown:
		return fmt.Sprintf("A human said yes. The rows name no calls, and a run of %s fits several requests: nothing says which of them it was for. %s", what, none)
	case StatusInDoubt:
		return fmt.Sprintf("A human said yes; %s was started and its end is not on record. %s", what, none)
	}
	return none
}

// decided returns what the last check that decided found with an effect, in phrases.
func (q *request) decided(effect string) []string {
	for _, k := range slices.Backward(q.deciding()) {
		if said := k.phrases(effect); len(said) > 0 {
			return said
		}
	}
	return nil
}

// failures names in brackets why the last check that decided failed.
func (q *request) failures() string { return inBrackets(q.decided("fail")) }

// phrases returns what a check found with an effect. What is true of several things is said once.
func (k *Check) phrases(effect string) (said []string) {
	things := make(map[string][]string)
	var all []string
	for _, f := range k.Findings {
		if f.Effect != effect {
			continue
		}
		what, isOne := strings.CutPrefix(f.Text, f.Type+" "+f.Value+": ")
		if !isOne {
			what = f.Text
		}
		if !slices.Contains(all, what) {
			all = append(all, what)
		}
		if isOne {
			things[what] = append(things[what], f.Type+" "+f.Value)
		}
	}
	for _, what := range all {
		switch of := things[what]; len(of) {
		case 0:
			said = append(said, what)
		case 1:
			said = append(said, of[0]+": "+what)
		default:
			said = append(said, what+": "+strings.Join(of[:min(len(of), 5)], ", ")+andMore(len(of)-5))
		}
	}
	return said
}

// andMore says how many are left out, "" for none.
func andMore(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// way says what to do after a check that failed. To wait helps only where time can heal all of it.
func (q *request) way() string {
	var remedies []string
	heals := true
	if checks := q.deciding(); len(checks) > 0 {
		for _, f := range checks[len(checks)-1].Findings {
			if f.Effect == "fail" && !f.Heals {
				heals = false
				if f.Remedy != "" && !slices.Contains(remedies, f.Remedy) {
					remedies = append(remedies, f.Remedy)
				}
			}
		}
	}
	advice := strings.Join(remedies[:min(len(remedies), 3)], " ")
	switch {
	case q.Hopeless != "":
		return strings.TrimSpace("No later check of this request can pass: it needs a new one. " + advice)
	case heals:
		return fmt.Sprintf("That is not a sign of a change. The request stays open%s: approve it again when the cause is gone, and it will be checked again.", q.until())
	}
	return strings.TrimSpace(fmt.Sprintf("That is not a sign of a change. The request stays open%s. %s", q.until(), advice))
}

// inBrackets joins some parts, and is "" for none.
func inBrackets(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + joinSome(parts) + ")"
}

// joinSome joins the first three parts and counts the others.
func joinSome(parts []string) string {
	if n := len(parts) - 3; n > 0 {
		parts = append(parts[:3:3], fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, "; ")
}

// by names who approved, or who rejected.
func (q *request) by() string {
	if len(q.Consents) > 0 && q.Status != StatusRejected {
		return " by " + list(q.Consents)
	}
	for _, a := range slices.Backward(q.Answers) {
		if a.Approver != "" {
			return " by " + a.Approver
		}
	}
	if q.ledger != nil && q.ledger.Approver != "" {
		return " by " + q.ledger.Approver
	}
	return ""
}

// sentence returns a text that ends like a sentence.
func sentence(s string) string {
	if s = strings.TrimSpace(s); strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func (q *request) until() string {
	if q.ExpiresAt.IsZero() {
		return ""
	}
	return " until " + q.ExpiresAt.Format(timeFormat)
}

func (q *request) since() string {
	if q.ExpiresAt.IsZero() {
		return ""
	}
	return ": it expired at " + q.ExpiresAt.Format(timeFormat)
}

const timeFormat = "2006-01-02 15:04:05 MST"

func capital(s string) string {
	if rest, ok := strings.CutPrefix(s, "the "); ok {
		return "The " + rest
	}
	return s
}

// why says why the answer was not taken.
func (a *Answer) why() string { return cmp.Or(a.Refusal, a.Reason, "no reason is on record") }

// refusal says for people why the gate did not take an answer; "" for a reason that it does not
// know.
func refusal(code string) string {
	switch code {
	case safety.CodeUnknownRequest:
		return "the session has no such request"
	case safety.CodeNotPending:
		return "the request was decided before"
	case safety.CodeNotAuthorized:
		return "whoever answered may not"
	case safety.CodeRejected:
		return "a person rejected the request"
	case safety.CodeChange:
		return "a person rejected the request and wants another plan"
	case safety.CodeMoreApprovers:
		return "more people have to approve"
	case safety.CodeOtherAnswer:
		return "the answer says something else than an earlier one that approved"
	case safety.CodeExpired:
		return "the request is past its time"
	case safety.CodeDrift:
		return "the world has changed"
	case safety.CodeCheckFailed:
		return "it could not be shown that the world has not changed"
	case safety.CodeBlocked:
		return "an earlier check found that the world had changed"
	case safety.CodeSuperseded:
		return "the same call was asked for again, and the newer request counts"
	case safety.CodeAlreadyUsed:
		return "the approval was used before"
	case safety.CodeOtherCall:
		return "the approval is for another call"
	case safety.CodeArgsChanged:
		return "the arguments are not those that were approved"
	case safety.CodeInvalid:
		return "the answer is not complete or too long"
	case safety.CodeClock:
		return "the clock failed or ran backwards"
	case safety.CodeStore:
		return "the ledger could not be read or written"
	case safety.CodeCanceled:
		return "the run has ended"
	case safety.CodeHappened:
		return "a person says that it took effect"
	case safety.CodeDidNotHappen:
		return "a person says that it did not take effect"
	case safety.CodeInternal:
		return "a part of the guard failed, or there is no guard"
	}
	return ""
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Codes of refusals that come from the gate itself. Package safety has the others.
const (
	CodeRecorderOff = "recorder_off" // recording is off; that does not open a gate
	CodeClosed      = "closed"       // contextgraph is closed
	CodeNotRecorded = "not_recorded" // the call, or its request, is not on record
	CodeCannotAsk   = "cannot_ask"   // nobody can be asked here
	CodeSameID      = "same_id"      // another call of the same answer of the model has its id
	CodeUnsupported = "unsupported"  // this kind of tool cannot run behind the gate
	CodeInDoubt     = "in_doubt"     // the call began, and nobody knows how it ended
	CodeRewound     = "rewound"      // the session went back, and this runner sees what was left
)

// refusalOf returns the refusal of a tool or an input by name. Its answer was not accepted.
func refusalOf(name string, outcome safety.Outcome) *safety.Refusal {
	message := fmt.Sprintf("The answer to the approval request of %s was not accepted.", name)
	switch outcome.Reason {
	case safety.CodeDrift:
		message = fmt.Sprintf("The world has changed since the approval of %s was asked.", name)
	case safety.CodeCheckFailed:
		message = fmt.Sprintf("It could not be shown that what %s rests on is unchanged.", name)
	case safety.CodeNotAuthorized:
		message = fmt.Sprintf("Whoever approved %s is not allowed to: %s.", name, outcome.Detail)
	case safety.CodeChange:
		message = fmt.Sprintf("A person rejected %s and wants another plan: %s", name, text.Visible(outcome.Approval.Change))
	case safety.CodeMoreApprovers:
		message = fmt.Sprintf("More people have to approve %s: %s.", name, text.Visible(outcome.Detail))
	case safety.CodeOtherAnswer, safety.CodeInvalid:
		message = fmt.Sprintf("The answer to the approval request of %s does not count: %s.", name, text.Visible(outcome.Detail))
	case safety.CodeRejected:
		message = fmt.Sprintf("A person rejected %s before.", name)
	case safety.CodeBlocked:
		message = fmt.Sprintf("An earlier check found that the world had changed since the approval of %s was asked.", name)
	case safety.CodeAlreadyUsed, safety.CodeSuperseded:
		message = fmt.Sprintf("The answer does not let %s run: %s.", name, outcome.Approval.Ended())
	case safety.CodeHappened:
		message = fmt.Sprintf("%s had begun, and its end was not on record. %s looked and says that it took effect: %s", name, text.Visible(outcome.By), text.Visible(outcome.Because))
	case safety.CodeDidNotHappen:
		message = fmt.Sprintf("%s had begun, and its end was not on record. %s looked and says that it did not take effect: %s", name, text.Visible(outcome.By), text.Visible(outcome.Because))
	case safety.CodeNotPending:
		if outcome.Detail != "" {
			message = fmt.Sprintf("The answer to the approval request of %s does not count: %s.", name, text.Visible(outcome.Detail))
		}
	case safety.CodeExpired:
		message = fmt.Sprintf("The approval request of %s has expired.", name)
	}
	return &safety.Refusal{
		Code: outcome.Reason, Message: message, Tool: name, ApprovalID: outcome.Approval.ID, Report: outcome.Report,
		Last: outcome.Approval.Last() && (outcome.Reason == safety.CodeDrift || outcome.Reason == safety.CodeBlocked),
	}
}

// internalError is all that a model learns of an error of ours, which may name files and hosts.
const internalError = "there was an internal error; the log says more"

// refuse turns a refusal of the guard into the result the model gets.
func (g *Gate) refuse(r *run, c *call, err error) map[string]any {
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) {
		refusal = &safety.Refusal{Code: safety.CodeInternal, Message: internalError, Tool: c.Name, Err: err}
	}
	c.refused, c.refusal = err.Error(), refusal
	refusal.Redo = g.redo.Load() && refusal.ApprovalID != "" && (refusal.Code == safety.CodeDrift || refusal.Code == safety.CodeBlocked)
	g.log.Warn("contextgraph: call refused", "tool", c.Name, "session", r.Session.ID, "approval", refusal.ApprovalID,
		"code", refusal.Code, "because", cmp.Or(refusal.Report.Because(), text.Visible(refusal.Message)))
	if refusal.Err != nil {
		g.log.Warn("contextgraph: an error is behind the refusal", "tool", c.Name, "error", refusal.Err)
	}
	return refusal.Map()
}

// deny refuses a call for a reason of the gate itself.
func (g *Gate) deny(c *call, name, code, message string) map[string]any {
	refusal := &safety.Refusal{Code: code, Message: fmt.Sprintf("%s was not run: %s.", name, message), Tool: name, Next: setupNext(code)}
	if c != nil {
		c.refused, c.refusal = refusal.Error(), refusal
	}
	g.log.Warn("contextgraph: call denied", "tool", name, "code", code, "reason", message)
	return refusal.Map()
}

// setupNext is the advice if neither a new plan nor a new approval can help.
func setupNext(code string) string {
	switch code {
	case CodeRecorderOff, CodeClosed, CodeNotRecorded, CodeCannotAsk, CodeUnsupported, CodeRewound:
		return "Do not repeat this call. The system is not set up to run it, which only an operator can correct; report that."
	}
	return ""
}

// unavailable denies every guarded call while recording is off or the gate is closed; else it
// returns nil.
func (g *Gate) unavailable(name string) (denial map[string]any) {
	switch {
	case g.guard == nil:
		return g.deny(nil, name, CodeRecorderOff, "contextgraph's recorder is off, so nothing is known of what this call rests on; turning it off does not open a gate")
	case g.closed.Load():
		return g.deny(nil, name, CodeClosed, "contextgraph is closed")
	}
	return nil
}

// errRewound is the reason why nothing guarded runs where the model reads what was left.
var errRewound = errors.New("the session went back to an earlier message, and this runner shows its agents what was left; give the runner the session service that Sessions of package checkpoint returns")

// errNotRecorded is the reason why an approval cannot be asked where no run is
// known.
var errNotRecorded = errors.New("this run is not recorded: its runner lacks contextgraph's plugins")

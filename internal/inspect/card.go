// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// What can be done about a request, see [Approval.Can].
const (
	CanApprove  = "approve"
	CanReject   = "reject"
	CanOverride = "override"
	CanResolve  = "resolve"
	CanCheck    = "check"
)

// can returns what can be done about the request now. Who may do it, the gate decides.
func (a *Approval) can() []string {
	can := []string{}
	switch {
	case a.Status == StatusInDoubt && a.Enforced && (a.State == "" || a.State == string(safety.StateExecuting)):
		can = append(can, CanResolve)
	case !a.Status.Open() || a.Kind != KindConfirmation || a.State != "" && !safety.ApprovalState(a.State).Open():
		return can
	default:
		if a.Enforced {
			can = append(can, CanApprove)
		}
		can = append(can, CanReject)
		if a.Enforced && a.down() {
			can = append(can, CanOverride)
		}
		if a.ID != "" {
			can = append(can, CanCheck)
		}
	}
	return can
}

// down reports whether the last check failed for no other reason than sources that are down.
func (a *Approval) down() bool {
	return len(a.Findings) > 0 && a.lastVerdict() == StatusCheckFailed && !slices.ContainsFunc(a.Findings, func(f safety.Finding) bool {
		return f.Effect == "block" || f.Effect == "fail" && (f.Type == "" || f.Reason != safety.ReasonSourceDown && f.Reason != safety.ReasonTimeout)
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
}

// hopeless says why no yes to an open request can work.
func (a *Approval) hopeless() string {
	switch {
	case !a.Status.Open() || !a.Enforced:
		return ""
	case a.lastVerdict() == StatusDrift:
		return "It has changed since it was read (" + phrases(a.Findings, func(f safety.Finding) bool { return f.Effect == "block" }) + "): a yes now would block it for good."
	case slices.ContainsFunc(a.Findings, func(f safety.Finding) bool { return f.Hopeless }):
		return noCheckPasses + phrases(a.Findings, func(f safety.Finding) bool { return f.Hopeless }) + "."
	}
	return a.Hopeless // by the record of the request
}

const noCheckPasses = "No check of this request can pass: "

// phrases joins the findings that count.
func phrases(list []safety.Finding, counts func(safety.Finding) bool) string {
	var said []string
	for _, f := range list {
		if counts(f) {
			said = append(said, f.Text)
		}
	}
	return cmp.Or(joinSome(said), strings.TrimSpace("no change is on record"))
}

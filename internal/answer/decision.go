// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"errors"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Decision is the answer of a human to one request.
type Decision struct {
	Session        record.Session
	ApprovalID     string
	ConfirmationID string
	Confirmed      bool
	// Reason goes with a rejection: why the person says no. It may be empty. With Resolve it is required.
	Reason string
	// Change goes with a rejection: the wish of the person for another plan. It excludes a Reason.
	Change string
	// Override goes with a yes: why the call shall run although its sources are down.
	Override string
	// Resolve says how a call in doubt ended: [safety.CodeHappened] or [safety.CodeDidNotHappen]. It goes without a yes.
	Resolve string
}

// Check returns the fault of a decision that no gate would take.
func (d *Decision) Check() error {
	switch {
	case d.Session.ID == "" || d.ConfirmationID == "":
		return errors.New("a decision needs the ids of its session and of its confirmation")
	case d.Confirmed && d.Reason+d.Change != "":
		return errors.New("a reason and a wish for a change go with a no")
	case d.Reason != "" && d.Change != "":
		return errors.New("say either why you reject it or what should be different")
	case d.Override != "" && !d.Confirmed:
		return errors.New("an override goes with a yes")
	case d.Resolve != "" && (d.Resolve != safety.CodeHappened && d.Resolve != safety.CodeDidNotHappen || d.Confirmed || d.Reason == "" || d.Change != ""):
		return errors.New("say that the call happened or did_not_happen, and how you know")
	case max(len(d.Reason), len(d.Change), len(d.Override)) > safety.MaxWords:
		return errors.New("the text is too long: say it in fewer words")
	}
	return nil
}

// response returns the answer as ADK reads it, with the words for the gate in its payload.
func (d *Decision) response() map[string]any {
	out, own := map[string]any{"confirmed": d.Confirmed}, make(map[string]any)
	for key, words := range map[string]string{"reason": d.Reason, "change": d.Change, "override": d.Override, "resolve": d.Resolve} {
		if words != "" {
			own[key] = words
			out["payload"] = map[string]any{"contextgraph": own}
		}
	}
	return out
}

// Refusal says why a request cannot be answered from outside of the agent, "" if it can. The gate
// would refuse most of these answers too, but a human should not have to start a turn of the agent to
// learn that. A request without a gate is never approved from outside: the page and the command
// promise a check.
func Refusal(s *inspect.Session, d Decision) string {
	i := slices.IndexFunc(s.Approvals, func(a inspect.Approval) bool {
		return a.ConfirmationID == d.ConfirmationID && a.ID == d.ApprovalID
	})
	if i < 0 {
		return "the session has no such request: read it again"
	}
	a := &s.Approvals[i]
	switch {
	case d.Resolve != "" && a.Status == inspect.StatusInDoubt && a.Enforced:
		return ""
	case d.Resolve != "":
		return "the call is not in doubt, so there is nothing to resolve (" + strings.ToLower(inspect.Words["status"][string(a.Status)].Name) + "): " + a.Explanation
	case !a.Status.Open():
		return "the request cannot be answered any more (" + strings.ToLower(inspect.Words["status"][string(a.Status)].Name) + "): " + a.Explanation
	case a.Kind != inspect.KindConfirmation:
		return "the request is for an " + a.Kind + " and not for a yes or no: answer it where the agent is used"
	case a.State != "" && !safety.ApprovalState(a.State).Open():
		return "the request was approved and its permit is handed out, so that no answer counts any more: " + a.Explanation
	case d.Confirmed && !a.Enforced:
		return "no gate would check this approval before the call runs: answer it where the agent is used, or let the guard enforce the tool"
	}
	return ""
}

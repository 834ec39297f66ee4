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
	more := "1 more person has"
	if n := q.Approvers - len(q.Consents); n > 1 {
		more = fmt.Sprintf("%d more people have", n)
	}
	return fmt.Sprintf("%s approved; %s to", strings.Join(q.Consents, ", "), more)
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

// Overridable reports whether people with the right may let the call run: all that failed in the last check are sources
// that are down.
func (a *Approval) Overridable() bool {
	n := len(a.Checks)
	if !a.Status.Open() || !a.Enforced || n == 0 || a.Checks[n-1].Verdict != verdictFailed || len(a.Checks[n-1].Failures) == 0 {
		return false
	}
	return !slices.ContainsFunc(a.Checks[n-1].Failures, func(f safety.Failure) bool { return !f.Down() })
}

// mayApprove says who may approve.
func (q *request) mayApprove() string {
	switch {
	case q.Kind != KindConfirmation:
		return ""
	case !q.guarded:
		return "Whoever answers the agent: no gate looks at the answer."
	case q.Approvers > 1 && q.Requester != nil:
		return fmt.Sprintf("%d different people whom the program authenticates. %s asked.", q.Approvers, q.Requester.Name)
	case q.Requester != nil && q.Requester.Authenticated:
		return fmt.Sprintf("One person whom the program authenticates. %s asked, and may approve only if the configuration allows that.", q.Requester.Name)
	}
	return fmt.Sprintf("Whoever may answer as %s. The requester is not authenticated, so both may be one person.", q.Session.User)
}

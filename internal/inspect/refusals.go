// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

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
		return "the same call was asked for again, and the later request counts"
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

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
	a := request(s, d.ApprovalID, d.ConfirmationID)
	if a == nil {
		return "the session has no such request: read it again"
	}
	ended := " (" + strings.ToLower(inspect.Words["status"][string(a.Status)].Name) + "): " + a.Explanation
	switch {
	case d.Resolve != "" && a.Status == inspect.StatusInDoubt && a.Enforced:
		return ""
	case d.Resolve != "":
		return "the call is not in doubt, so there is nothing to resolve" + ended
	case !a.Status.Open():
		return "the request cannot be answered any more" + ended
	case a.Kind != inspect.KindConfirmation:
		return "the request is for an " + a.Kind + " and not for a yes or no: answer it where the agent is used"
	case a.State != "" && !safety.ApprovalState(a.State).Open():
		return "the request was approved and its permit is handed out, so that no answer counts any more: " + a.Explanation
	case d.Confirmed && !a.Enforced:
		return "no gate would check this approval before the call runs: answer it where the agent is used, or let the guard enforce the tool"
	}
	return ""
}

// request returns a request of a session; nil if the session does not have it.
func request(s *inspect.Session, id, confirmationID string) *inspect.Approval {
	for i := range s.Approvals {
		if a := &s.Approvals[i]; a.ID == id && a.ConfirmationID == confirmationID {
			return a
		}
	}
	return nil
}

// settling is how many ticks the record may take to get the last rows of a request that has ended, or
// of a turn that has.
const settling = 8

// Follower follows a request after an answer to it was sent, by the record alone: what the agent says
// is no proof.
type Follower struct {
	Source inspect.Source
	// Request is the request as it was before the answer was sent.
	Request inspect.Approval
	// Step gets each new step in the order of its record.
	Step func(inspect.Progress)
	// Tick says when to look at the record again. Required.
	Tick <-chan time.Time
	// Now is the clock. Required.
	Now func() time.Time
}

// Followed is the end of [Follower.Follow].
type Followed struct {
	Request inspect.Approval
	// Ended says that the turn of the agent has ended, Turn is its error.
	Ended bool
	Turn  error
}

// Follow returns the request as it is when it is not open any more, or when the turn has ended. turn
// gets the end of the turn, see [Agent.Send]. The error says that the record could not be read, or that
// ctx ended.
func (f *Follower) Follow(ctx context.Context, turn <-chan error) (Followed, error) {
	out := Followed{Request: f.Request}
	told := make(map[string]bool)
	for left := settling; ; {
		now, err := f.look(ctx)
		if err != nil {
			return out, err
		}
		out.Request = now
		news := f.news(now.Progress)
		answered := slices.ContainsFunc(news, func(p inspect.Progress) bool {
			return p.Step == "answered" || p.Step == "refused" || p.Step == "resolved"
		})
		running := now.Status == inspect.StatusInDoubt && !out.Ended
		over := false
		if out.Ended || !now.Status.Open() && !running {
			left--
			over = left < 0 || answered && complete(&now)
		}
		// The ledger knows of a step before its row is there, so a step waits for those before it.
		for _, p := range news {
			key := p.Step + p.Text
			if p.Step == "started" { // its text changes when it ends
				key = p.Step
			}
			if checked := slices.ContainsFunc(now.Checks, func(k inspect.Check) bool { return k.Stage == "execution" }); !over && (!answered || key == "started" && !checked) {
				break
			}
			if !told[key] {
				told[key] = true
				f.Step(p)
			}
		}
		if over {
			return out, nil
		}
		select {
		case out.Turn = <-turn:
			out.Ended, turn = true, nil
		case <-f.Tick:
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	}
}

// look reads the request.
func (f *Follower) look(ctx context.Context) (inspect.Approval, error) {
	s, err := inspect.Look(ctx, f.Source, f.Request.Session, f.Now())
	if err != nil {
		return inspect.Approval{}, err
	}
	now := request(s, f.Request.ID, f.Request.ConfirmationID)
	if now == nil {
		return inspect.Approval{}, errors.New("the request is not on record any more")
	}
	return *now, nil
}

// news returns the steps that were not there before the answer was sent.
func (f *Follower) news(steps []inspect.Progress) []inspect.Progress {
	return slices.DeleteFunc(slices.Clone(steps), func(p inspect.Progress) bool {
		return slices.ContainsFunc(f.Request.Progress, func(q inspect.Progress) bool {
			return p.At.Equal(q.At) && p.Step == q.Step && p.Text == q.Text
		})
	})
}

// complete reports whether the record has the rows of the end of a request, or of an answer to one
// that is still open.
func complete(a *inspect.Approval) bool {
	switch a.Status {
	case inspect.StatusExecuted, inspect.StatusFailed:
		last := a.Progress[len(a.Progress)-1].Step
		return last == "ended" || last == "resolved"
	case inspect.StatusSafe, inspect.StatusInDoubt:
		return false // the end may be on its way
	}
	return true
}

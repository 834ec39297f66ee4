// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

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
	i := slices.IndexFunc(s.Approvals, func(a inspect.Approval) bool {
		return a.ID == f.Request.ID && a.ConfirmationID == f.Request.ConfirmationID
	})
	if i < 0 {
		return inspect.Approval{}, errors.New("the request is not on record any more")
	}
	return s.Approvals[i], nil
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

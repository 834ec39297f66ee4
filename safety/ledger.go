// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Errors of a [Ledger]. Implementations wrap them.
var (
	// ErrNotFound means that there is no such approval.
	ErrNotFound = errors.New("approval not found")
	// ErrConflict means that the approval is not in a state that allows the
	// change, or that another one already has what must be unique.
	ErrConflict = errors.New("approval conflict")
	// ErrExpired means that the approval or its permit is past its time.
	ErrExpired = errors.New("approval expired")
)

// Ledger stores approvals. A method that returns nil has made its change durable. One exception: a
// request without a confirmation need not be durable before Attach returns nil, because nobody can
// answer it. A method that returns an error has, as far as the caller may rely on it, changed
// nothing. Methods are called concurrently, and from several processes if the store allows it. An
// Approval that goes in or comes out shares no memory with the stored one.
//
// The long parts of an approval are Args, Entities, NotChosen, Surroundings, Needs, Gaps, Difference and Report.
// Attach and Transition never decide by them, so an implementation need not read them there.
//
// Package internal/store/storetest has the tests of an implementation.
type Ledger interface {
	// Create stores a new approval. It returns ErrConflict if the approval is not pending or has no
	// id, if the id exists, or if another approval has the same session, call and run, or replaces
	// the same approval.
	Create(ctx context.Context, a Approval) error
	// Attach names the confirmation of an approval that is pending, or was asked again before anybody saw
	// it, once. ErrNotFound for an unknown id; ErrConflict if the approval is in another state or has a
	// confirmation, if the confirmation is empty, or if another approval of the session has it.
	Attach(ctx context.Context, id, confirmationID string) error
	// Transition changes an approval as [Transition.Apply] says, as one atomic compare-and-set, and
	// adds the steps to its history in the same transaction. It returns the changed approval; its
	// long parts may be empty. Of the long parts, a transition changes only the Report, and only if
	// Set, or that of First, has one.
	Transition(ctx context.Context, t Transition) (Approval, error)
	// History returns what happened to an approval, oldest first: its creation
	// ([Approval.FirstStep]), then its transitions. ErrNotFound if there is no such approval. Steps are
	// never changed or removed.
	History(ctx context.Context, id string) ([]Step, error)
	// List returns the approvals that q selects, oldest first.
	List(ctx context.Context, q Query) ([]Approval, error)
}

// CheckNew returns what Create has to refuse a for, whatever is stored; nil if nothing. It is for implementations.
func (a *Approval) CheckNew() error {
	if a.ID == "" || a.State != StatePending {
		return fmt.Errorf("approval %q in state %q: %w: a new one needs an id and must be pending", a.ID, a.State, ErrConflict)
	}
	return nil
}

// CheckAttach returns what Attach has to refuse a confirmation of the stored a for, whatever else is stored; nil
// if nothing. It is for implementations.
func (a *Approval) CheckAttach(confirmationID string) error {
	if confirmationID == "" || a.State != StatePending && a.State != StateSuperseded || a.ConfirmationID != "" {
		return fmt.Errorf("approval %s: %w: it is %s and has confirmation %q", a.ID, ErrConflict, a.State, a.ConfirmationID)
	}
	return nil
}

// Query selects approvals of a [Ledger]: those that have what each field says that is set. The zero
// value selects none.
type Query struct {
	// ID selects one, of any session.
	ID string
	// Session selects those of a session.
	Session record.Session
	// ConfirmationID, Tool and ArgsDigest select among those of the session: the one with a
	// confirmation, those for a tool, and for arguments with the digest.
	ConfirmationID   string
	Tool, ArgsDigest string
	// Brief says that the long parts of the result may be empty.
	Brief bool
}

// Selects reports whether q selects a. It is for implementations.
func (q *Query) Selects(a *Approval) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return (q.ID != "" || q.Session != record.Session{}) && is(q.ID, a.ID) && (q.Session == record.Session{} || q.Session == a.Session) &&
		is(q.ConfirmationID, a.ConfirmationID) && is(q.Tool, a.Tool) && is(q.ArgsDigest, a.ArgsDigest)
}

// Get returns the approval with an id; an error that is [ErrNotFound] if the ledger has none.
func Get(ctx context.Context, l Ledger, id string) (Approval, error) {
	return one(ctx, l, Query{ID: id})
}

// list returns the approvals that q selects, and does not believe a ledger that gives others.
func list(ctx context.Context, l Ledger, q Query) ([]Approval, error) {
	found, err := l.List(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if !q.Selects(&found[i]) {
			return nil, fmt.Errorf("the ledger gave back approval %q, which was not asked for", found[i].ID)
		}
	}
	return found, nil
}

// one returns the oldest approval that q selects; [ErrNotFound] if there is none.
func one(ctx context.Context, l Ledger, q Query) (Approval, error) {
	found, err := list(ctx, l, q)
	if err != nil {
		return Approval{}, err
	}
	if len(found) == 0 {
		return Approval{}, ErrNotFound
	}
	return found[0], nil
}

// Step is one entry in the history of an approval. The first has an empty From.
type Step struct {
	From ApprovalState `json:"from,omitempty"`
	To   ApprovalState `json:"to"`
	At   time.Time     `json:"at"`
	// Actor caused the step: the person who asked, decided or resolved, else the run.
	Actor string `json:"actor,omitempty"`
	// Run is the run that the step was made in; empty outside of any.
	Run string `json:"run,omitempty"`
	// Verdict is the verdict of the check before the step, Check is its [Report.ID].
	Verdict string `json:"verdict,omitempty"`
	Check   string `json:"check,omitempty"`
	// Authenticated says that an [Authorizer] or a [GuardConfig.Identity] named the actor. Without it the
	// actor of a decision is the user of the session, whoever that is.
	Authenticated bool `json:"authenticated,omitempty"`
	// Override says that the step goes on although the check failed, because sources are down: see
	// [Answer.Override].
	Override bool `json:"override,omitempty"`
	// Resolved says that the end is the actor's word: nobody saw it. See
	// [Guard.Resolve].
	Resolved bool   `json:"resolved,omitempty"`
	Note     string `json:"note,omitempty"`
}

// Update holds the fields a transition sets. Empty fields stay as they are.
type Update struct {
	// Consent is the approval of a person; At need not be set. It is required for the change to
	// approved. The first one that approves the request is its decision.
	Consent Consent
	// Approver is who rejected. The first decision sets Approver and DecidedAt; a later one
	// changes neither.
	Approver string
	// Change goes with a rejection, Overridden with a permit.
	Change          string
	Overridden      bool
	PermitNonce     string
	PermitRun       string
	PermitExpiresAt time.Time
	// Verdict and Report belong to the last check.
	Verdict string
	Report  []byte
	// Costs become those of the last consent. See [Consent.Costs].
	Costs []LimitCost
}

// Transition is one change of an approval's state. Everything it requires is
// tested in the same transaction that changes the state.
type Transition struct {
	// First is a change of the same approval that is made before this one; nil is none. The two are
	// one: either both are made or none.
	First *Transition
	ID    string
	// From lists the states the approval may be in, To is the state it gets.
	From []ApprovalState
	To   ApprovalState
	// At is the time of the change. It is required.
	At time.Time
	// Actor caused the transition, Note is the reason. They go into the history, as do the
	// following fields: see [Step].
	Actor         string
	Note          string
	Run           string
	Check         string
	Authenticated bool
	// Resolved closes an approval that is executing, and needs an actor.
	Resolved bool
	// RequireNonce must equal the approval's permit nonce. It is required for the
	// change to executing.
	RequireNonce string
	// NotAfter refuses the change after the approval's ExpiresAt, PermitNotAfter
	// after its PermitExpiresAt. The moment itself is not after.
	NotAfter       bool
	PermitNotAfter bool
	// Set holds the fields to set.
	Set Update
}

// Apply returns a after the transition, and the steps that the transition adds to its history, as
// they are to be stored. A change to approved leaves a pending approval pending as
// long as more people have to consent. If the transition must not happen, Apply returns
// [ErrNotFound], [ErrConflict] or [ErrExpired], wrapped. This is the only place that decides; an
// implementation of [Ledger] calls it inside its transaction. It does not read the long parts of a
// (see [Ledger]), so a may lack them. The result has the long parts of a, except for a Report in
// Set. The result shares nothing with a but its frozen parts.
func (t Transition) Apply(a Approval) (Approval, []Step, error) {
	var steps []Step
	if t.First != nil {
		var err error
		if a, steps, err = t.First.Apply(a); err != nil {
			return Approval{}, nil, err
		}
	}
	moved, err := t.apply(a)
	if err != nil {
		return Approval{}, nil, err
	}
	return moved, append(steps, t.step(a.State, moved.State)), nil
}

func (t Transition) apply(a Approval) (Approval, error) {
	switch {
	case t.ID == "" || a.ID != t.ID:
		return Approval{}, fmt.Errorf("approval %q: %w", t.ID, ErrNotFound)
	case t.At.IsZero():
		return Approval{}, fmt.Errorf("approval %s: %w: the change to %s has no time", a.ID, ErrConflict, t.To)
	case !slices.Contains(t.From, a.State):
		return Approval{}, fmt.Errorf("approval %s: %w: it is %s, not %v", a.ID, ErrConflict, a.State, t.From)
	case !a.State.CanBecome(t.To):
		return Approval{}, fmt.Errorf("approval %s: %w: its state is %s, from which it cannot become %q", a.ID, ErrConflict, a.State, t.To)
	case t.To == StateApproved && a.State == StatePending && identity(t.Set.Consent.Who) == "":
		return Approval{}, fmt.Errorf("approval %s: %w: nobody is named who approved it", a.ID, ErrConflict)
	case t.Set.Consent.Who != "" && t.To != StateApproved, t.Set.Change != "" && t.To != StateRejected, t.Set.Overridden && t.To != StatePermitted:
		return Approval{}, fmt.Errorf("approval %s: %w: the change to %s sets what belongs to another", a.ID, ErrConflict, t.To)
	case t.Set.Overridden && len(a.overrides(nil)) < overriders:
		return Approval{}, fmt.Errorf("approval %s: %w: fewer than %d people override its check", a.ID, ErrConflict, overriders)
	case t.To == StatePermitted && (t.Set.PermitNonce == "" || t.Set.PermitExpiresAt.IsZero()):
		return Approval{}, fmt.Errorf("approval %s: %w: a permit needs a nonce and an expiry", a.ID, ErrConflict)
	case (t.To == StateExecuting || t.RequireNonce != "") && !sameNonce(t.RequireNonce, a.PermitNonce):
		return Approval{}, fmt.Errorf("approval %s: %w: the permit is another one", a.ID, ErrConflict)
	case t.Resolved && (a.State != StateExecuting || t.Actor == ""):
		return Approval{}, fmt.Errorf("approval %s: %w: a named person can resolve an executing approval, and its state is %s", a.ID, ErrConflict, a.State)
	case t.NotAfter && t.At.After(a.ExpiresAt):
		return Approval{}, fmt.Errorf("approval %s: %w at %s", a.ID, ErrExpired, stamp(a.ExpiresAt))
	case t.PermitNotAfter && t.At.After(a.PermitExpiresAt):
		return Approval{}, fmt.Errorf("approval %s: %w: its permit at %s", a.ID, ErrExpired, stamp(a.PermitExpiresAt))
	}
	was, decider := a.State, t.Set.Approver
	a.State, a.UpdatedAt, a.Consents = t.To, stored(t.At), cloneConsents(a.Consents)
	if c := t.Set.Consent; c.Who != "" {
		c.At, c.Unchecked = a.UpdatedAt, slices.Clone(c.Unchecked)
		a.Consents, decider = with(a.Consents, c), c.Who
		if was == StatePending && !a.decided(c) {
			a.State, decider = StatePending, ""
		}
	}
	if n := len(a.Consents); n > 0 && t.Set.Costs != nil {
		a.Consents[n-1].Costs = slices.Clone(t.Set.Costs)
	}
	if a.Approver == "" && decider != "" {
		a.Approver, a.DecidedAt = decider, a.UpdatedAt
	}
	if t.Set.Change != "" {
		a.Change = t.Set.Change
	}
	a.Overridden = a.Overridden || t.Set.Overridden
	if t.Set.PermitNonce != "" {
		a.PermitNonce = t.Set.PermitNonce
	}
	if t.Set.PermitRun != "" {
		a.PermitRun = t.Set.PermitRun
	}
	if !t.Set.PermitExpiresAt.IsZero() {
		a.PermitExpiresAt = stored(t.Set.PermitExpiresAt)
	}
	if t.Set.Verdict != "" {
		a.Verdict = t.Set.Verdict
	}
	if t.Set.Report != nil {
		a.Report = slices.Clone(t.Set.Report)
	}
	return a, nil
}

// step returns the entry that the transition adds to the history of an approval that it takes from
// one state to another.
func (t Transition) step(from, to ApprovalState) Step {
	return Step{
		From: from, To: to, At: stored(t.At), Actor: t.Actor, Run: t.Run, Verdict: t.Set.Verdict, Check: t.Check,
		Authenticated: t.Authenticated, Resolved: t.Resolved, Override: t.Set.Overridden || t.Set.Consent.Override != "", Note: t.Note,
	}
}

// FirstStep returns the entry that begins the history of an approval.
func (a Approval) FirstStep() Step {
	return Step{To: a.State, At: a.RequestedAt, Actor: a.Requester, Run: a.RunID, Authenticated: a.RequesterAuthenticated}
}

// stored returns t as approvals hold times.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func sameNonce(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

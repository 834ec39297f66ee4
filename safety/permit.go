// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Execution is one attempt to carry out an approved call.
type Execution struct {
	// Session, CallID, Tool and ApprovalID must match the approval.
	Session    record.Session
	ApprovalID string
	CallID     string
	Tool       string
	// Agent must be the one that asked: another agent's tool of the same name is
	// another tool.
	Agent string
	// RunID names the run that carries it out. Required.
	RunID string
	// Args must have the digest of the arguments that were approved.
	Args map[string]any
	// Changed says in a sentence which shown part of the [Surroundings] is not as it was when the
	// approval was asked; "" for none.
	Changed string
	// Declaration must be that of the approval.
	Declaration string
	// AtOnce says that the caller consumes the permit right after the check, or never. The ledger
	// then hears of the permit and its use together, in one transaction. Of two processes that get
	// a permit at the same time one can consume it. A permit that nobody consumes leaves the
	// approval approved.
	AtOnce bool
}

// Permit lets one call run once. It is made by [Guard.Permit] only; the zero Permit
// and a nil *Permit let nothing run. It is safe for concurrent use: of any number of
// concurrent Consume calls at most one succeeds.
type Permit struct {
	guard  *Guard
	call   Execution
	digest string
	nonce  string
	issued time.Time
	// expires keeps the reading of the monotonic clock, so that a wall clock that
	// is set back does not lengthen the permit.
	expires time.Time
	// preconditions belong to the check that led to this permit.
	preconditions []Precondition
	overridden    bool
	// unrecorded is the change that the ledger has to make before it can make the approval
	// executing; nil for a permit that the ledger knows.
	unrecorded *Transition
	stage      atomic.Int32
	untold     atomic.Bool
}

// The stages of a permit.
const (
	permitIssued int32 = iota
	permitTaken
	permitConsumed
	permitDone
)

// Permit checks an approved call once more. If nothing has changed, or two people have overridden
// that sources are down ([Answer.Override]), it permits the call once. The
// approval must have this session, call, tool and arguments, and must be approved and in time. The
// permit ends [config.Guard.CheckAge] after the check began, and never after the approval. Drift blocks the
// approval for good. After a check that failed, the approval may be tried again.
//
// On any error there is no permit, and the error is a *[Refusal]. The report is that of the check;
// it is the zero Report if no check was made.
func (g *Guard) Permit(ctx context.Context, e Execution) (p *Permit, r Report, err error) {
	if g == nil {
		return nil, Report{}, refuse(CodeInternal, e, Report{}, errNilGuard, "there is no guard")
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = refuse(CodeInternal, e, r, fmt.Errorf("%w: %v", errPanic, cause), "the check broke down")
			p = nil
		}
	}()
	a, digest, refusal := g.admissible(ctx, e)
	if refusal != nil {
		return nil, Report{}, refusal
	}
	if r, err = g.checkApproval(ctx, a); err != nil {
		return nil, r, refuse(CodeClock, e, r, err, "the clock cannot be trusted")
	}
	switch r.Verdict() {
	case Safe:
		return g.issue(ctx, a, e, digest, r)
	case Drift:
		_, err = g.move(ctx, a, Transition{To: StateBlocked, Actor: e.RunID, Run: e.RunID, Note: "changed before execution"}, &r)
		refusal := refuse(CodeDrift, e, r, err, "The world has changed since %s was approved.", e.Tool)
		refusal.Last = a.Last()
		return nil, r, refusal
	default:
		if people := g.overriders(a, r); len(people) >= overriders {
			return g.issue(ctx, a, e, digest, r)
		}
		_, err = g.move(ctx, a, Transition{To: StateApproved, Actor: e.RunID, Run: e.RunID, Note: "check before execution failed"}, &r)
		return nil, r, refuse(CodeCheckFailed, e, r, err, "It could not be shown that what %s rests on is unchanged.", e.Tool)
	}
}

// overriders returns the people on whose word a call may run after a check. There are none unless
// all that failed are entities with a source that is down, and they are those that these people
// know of.
func (g *Guard) overriders(a Approval, r Report) []string {
	unchecked, only := r.down()
	if !only {
		return nil
	}
	may := g.policy.settings(a.Tool).Override
	return slices.DeleteFunc(a.overrides(unchecked), func(who string) bool { return !has(may, who) })
}

// admissible returns the approval of a call and the digest of its arguments, or why
// the call is refused without looking at the world.
func (g *Guard) admissible(ctx context.Context, e Execution) (Approval, string, *Refusal) {
	no := func(code string, err error, format string, args ...any) (Approval, string, *Refusal) {
		return Approval{}, "", refuse(code, e, Report{}, err, format, args...)
	}
	if !named(e.Session) || e.ApprovalID == "" || e.CallID == "" || e.Tool == "" || e.RunID == "" {
		return no(CodeInvalid, nil, "a call needs app, user and id of a session, an approval, a call id, a tool and a run id")
	}
	a, err := g.get(ctx, e.Session, e.ApprovalID)
	switch {
	case errors.Is(err, ErrNotFound):
		return no(CodeUnknownRequest, nil, "This session has no such approval.")
	case err != nil:
		return no(CodeStore, err, "The approval could not be read.")
	case a.CallID != e.CallID || a.Tool != e.Tool || a.Agent != e.Agent:
		return no(CodeOtherCall, nil, "The approval is for another call.")
	case a.State == StatePending:
		return no(CodeNotApproved, nil, "Nobody has approved %s yet.", e.Tool)
	case a.State == StateApproved && a.Missing() > 0:
		return no(CodeStore, nil, "The ledger says that %s is approved, and %s.", e.Tool, a.approvedBy())
	case a.Ended() != "":
		return no(closedCode(a.State, CodeNotApproved), nil, "The approval of %s lets nothing run: %s.", e.Tool, a.Ended())
	case a.State != StateApproved || a.Approver == "":
		return no(closedCode(a.State, CodeNotApproved), nil, "The approval of %s is %s.", e.Tool, a.State)
	}
	digest, _, err := ArgsDigest(e.Args)
	switch {
	case err != nil:
		return no(CodeArgsChanged, err, "The arguments of %s have no digest.", e.Tool)
	case digest != a.ArgsDigest:
		return no(CodeArgsChanged, nil, "The arguments of %s are not those that were approved.", e.Tool)
	case e.Declaration != a.Declaration:
		return no(CodeToolChanged, nil, "%s is declared otherwise now than when the approval was asked for, so it may do something else.", e.Tool)
	}
	if e.Changed != "" {
		_, err = g.move(ctx, a, Transition{To: StateBlocked, Actor: e.RunID, Run: e.RunID, Note: CodeStateChanged + ": " + oneLine(e.Changed)}, nil)
		return no(CodeStateChanged, err, "%s", e.Changed)
	}
	now, err := g.now()
	switch {
	case err != nil:
		return no(CodeClock, err, "The clock cannot be trusted.")
	case expired(a, now):
		if _, err = g.move(ctx, a, *expiry(e.RunID), nil); errors.Is(err, ErrConflict) {
			err = nil // somebody else ended it first
		}
		return no(CodeExpired, err, "The approval of %s expired at %s.", e.Tool, stamp(a.ExpiresAt))
	}
	return a, digest, nil
}

// issue makes the permit of an approval after a check that is safe or overridden.
func (g *Guard) issue(ctx context.Context, a Approval, e Execution, digest string, r Report) (*Permit, Report, error) {
	expires := r.started.Add(g.policy.lasts(r.results))
	if expires.After(a.ExpiresAt) {
		expires = a.ExpiresAt
	}
	nonce := randomID()
	t := Transition{
		To: StatePermitted, Actor: e.RunID, Run: e.RunID, Note: "unchanged before execution", NotAfter: true,
		Set: Update{PermitNonce: nonce, PermitRun: e.RunID, PermitExpiresAt: stored(expires), Overridden: r.Verdict() != Safe},
	}
	if t.Set.Overridden {
		t.Note = "sources are down; runs on the word of " + strings.Join(g.overriders(a, r), ", ")
	}
	p := &Permit{
		guard: g, call: e, digest: digest, nonce: nonce, issued: r.checked, expires: expires, preconditions: r.preconditions,
		overridden: t.Set.Overridden,
	}
	p.call.Args = nil
	if e.AtOnce {
		if err := g.prepare(a, &t, &r); err != nil {
			return nil, r, refuse(CodeStore, e, r, err, "The permit could not be recorded.")
		}
		p.unrecorded = &t
		return p, r, nil
	}
	_, err := g.move(ctx, a, t, &r)
	switch {
	case errors.Is(err, ErrConflict):
		return nil, r, refuse(CodeAlreadyUsed, e, r, err, "The approval of %s was used, or ended, by another call at the same time.", e.Tool)
	case errors.Is(err, ErrExpired):
		return nil, r, refuse(CodeExpired, e, r, err, "The approval of %s expired during the check.", e.Tool)
	case err != nil:
		return nil, r, refuse(CodeStore, e, r, err, "The permit could not be recorded.")
	}
	return p, r, nil
}

// ApprovalID returns the id of the approval; "" for no permit.
func (p *Permit) ApprovalID() string {
	if p == nil {
		return ""
	}
	return p.call.ApprovalID
}

// Overridden reports whether people let the call run although its check failed, because sources
// are down: see [Answer.Override].
func (p *Permit) Overridden() bool { return p != nil && p.overridden }

// ExpiresAt returns the last moment at which the permit can be consumed; the zero
// time for no permit.
func (p *Permit) ExpiresAt() time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.expires
}

// Consume uses the permit up. Only after it returned nil may the effect run, with
// exactly the args given here, which must have the digest that was approved: pass a
// copy nobody else can change ([FreezeArgs]).
//
// The first call uses the permit up even if it fails. On any error, a *[Refusal], the
// effect must not run. After a nil return the approval is executing until Done: if
// the process dies in between, it is in doubt and is not repeated.
func (p *Permit) Consume(ctx context.Context, args map[string]any) (err error) {
	if p == nil || p.guard == nil {
		return refuse(CodeInternal, Execution{}, Report{}, nil, "there is no permit")
	}
	e := p.call
	if !p.stage.CompareAndSwap(permitIssued, permitTaken) {
		return refuse(CodeAlreadyUsed, e, Report{}, nil, "The permit of %s was used before.", e.Tool)
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = refuse(CodeInternal, e, Report{}, fmt.Errorf("%w: %v", errPanic, cause), "the permit could not be consumed")
			p.abandonConsumed(ctx)
		}
	}()
	if digest, _, err := ArgsDigest(args); err != nil || digest != p.digest {
		return refuse(CodeArgsChanged, e, Report{}, err, "The arguments of %s are not those that were approved.", e.Tool)
	}
	if err := ctx.Err(); err != nil {
		return refuse(CodeCanceled, e, Report{}, err, "The run of %s has ended.", e.Tool)
	}
	now, err := p.guard.now()
	switch {
	case err != nil:
		return refuse(CodeClock, e, Report{}, err, "The clock cannot be trusted.")
	case now.Before(p.issued):
		return refuse(CodeClock, e, Report{}, nil, "The clock ran backwards since the check.")
	case now.After(p.expires):
		return refuse(CodeExpired, e, Report{}, nil, "The permit of %s expired at %s.", e.Tool, stamp(p.expires))
	}
	a, err := p.guard.ledger.Transition(ctx, Transition{
		First: p.unrecorded, ID: e.ApprovalID, From: []ApprovalState{StatePermitted}, To: StateExecuting, At: now.UTC(),
		Actor: e.RunID, Run: e.RunID, RequireNonce: p.nonce, NotAfter: true, PermitNotAfter: true,
	})
	switch {
	case errors.Is(err, ErrConflict):
		return refuse(CodeAlreadyUsed, e, Report{}, err, "The permit of %s is no longer valid.", e.Tool)
	case errors.Is(err, ErrExpired):
		return refuse(CodeExpired, e, Report{}, err, "The permit of %s has expired.", e.Tool)
	case err != nil:
		p.abandonConsumed(ctx)
		return refuse(CodeStore, e, Report{}, err, "That %s begins could not be recorded.", e.Tool)
	case a.ID != e.ApprovalID || a.State != StateExecuting || a.PermitNonce != p.nonce:
		p.abandonConsumed(ctx)
		return refuse(CodeStore, e, Report{}, nil, "The ledger gave back another approval.")
	}
	p.stage.Store(permitConsumed)
	return nil
}

// abandonConsumed is for a ledger that did not say whether the use of the permit is recorded. If
// it is, the approval ends here: the effect does not run, so that nobody has to find out
// whether it did. If that fails too, the approval stays in doubt.
func (p *Permit) abandonConsumed(ctx context.Context) {
	var err error
	defer rescue(&err)
	t := Transition{
		To: StateFailed, Actor: p.call.RunID, Run: p.call.RunID, RequireNonce: p.nonce,
		Note: "never begun: the ledger did not say that the permit was used up",
	}
	_, _ = p.guard.move(ctx, Approval{ID: p.call.ApprovalID, State: StateExecuting}, t, nil)
}

// Untold says that nobody was there any more to take the result of the effect. [Permit.Done] records it.
func (p *Permit) Untold() {
	if p != nil {
		p.untold.Store(true)
	}
}

// untoldNote begins the note of an effect whose result nobody took.
const untoldNote = "it ran; the agent was not told"

func (s Step) untold() bool { return strings.HasPrefix(s.Note, untoldNote) }

// Done records how the effect ended: executed if effect is nil, else failed, with its
// text in the history. It is for after a successful Consume, once; after an error it
// may be called again. It is recorded even if ctx has ended.
func (p *Permit) Done(ctx context.Context, effect error) (err error) {
	if p == nil || p.guard == nil {
		return errors.New("safety: there is no permit")
	}
	if !p.stage.CompareAndSwap(permitConsumed, permitDone) {
		return fmt.Errorf("safety: approval %s: the permit was not consumed, or its end was recorded before", p.call.ApprovalID)
	}
	defer func() {
		if err != nil {
			p.stage.Store(permitConsumed)
		}
	}()
	defer rescue(&err)
	t := Transition{To: StateExecuted, Actor: p.call.RunID, Run: p.call.RunID, RequireNonce: p.nonce}
	if effect != nil {
		t.To, t.Note = StateFailed, oneLine(effect.Error())
	}
	if p.untold.Load() {
		t.Note = strings.TrimSuffix(untoldNote+": "+t.Note, ": ")
	}
	_, err = p.guard.move(ctx, Approval{ID: p.call.ApprovalID, State: StateExecuting}, t, nil)
	return err
}

// Precondition is the revision of one entity at the check before an effect. An effect that is
// conditional on it, by HTTP's If-Match or by an UPDATE that compares a revision, cannot happen in
// a world that has changed since that check.
type Precondition struct {
	// EntityType and Entity name the entity as its checker was asked for it, Key as the
	// policy tells entities apart.
	EntityType string `json:"entity_type"`
	Entity     string `json:"entity"`
	Key        string `json:"key"`
	// Version is the State.Version of the checker's answer, as it gave it. It is empty with Overridden alone.
	Version string `json:"version"`
	// Overridden says that the source of the entity is down, and that people let the call run all the same: see
	// [Answer.Override]. The effect cannot be conditional then, or has to be refused.
	Overridden bool `json:"overridden,omitempty"`
}

// preconditions returns the revisions in the answers, in their order. An entity that
// was not compared gives none: the revision that its checker named proves nothing. One whose source is down stands
// there without: its check failed, so that the call runs only if people override that.
func preconditions(found []entityCheck) []Precondition {
	var out []Precondition
	for _, x := range found {
		e := x.target.entity
		switch {
		case slices.ContainsFunc(x.failures, Failure.Down):
			out = append(out, Precondition{EntityType: e.Type, Entity: e.Value, Key: e.Key, Overridden: true})
		case x.result.Version != "" && x.result.compared():
			out = append(out, Precondition{EntityType: e.Type, Entity: e.Value, Key: e.Key, Version: x.result.Version})
		}
	}
	return out
}

// Preconditions returns the revisions that the check behind this permit saw, in the order of
// [Report.Entities]. It returns nil before the permit is consumed, and for the zero Permit. An
// entity without a version in the answer has no precondition, unless people override its check. The slice belongs to the caller.
func (p *Permit) Preconditions() []Precondition {
	if p == nil || p.stage.Load() < permitConsumed {
		return nil
	}
	return slices.Clone(p.preconditions)
}

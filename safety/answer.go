// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Codes say why an answer was not accepted ([Outcome.Reason]) or a call refused
// ([Refusal.Code]). They are stable.
const (
	CodeUnknownRequest = "unknown_request" // no such request in this session
	CodeNotPending     = "not_pending"     // the request was already decided or ended
	CodeNotApproved    = "not_approved"    // nobody has approved the request yet
	CodeNotAuthorized  = "not_authorized"  // whoever answered may not
	CodeRejected       = "rejected"        // a person rejected the request
	CodeChange         = "change_wanted"   // a person rejected the request and says what should be different
	CodeMoreApprovers  = "more_approvers"  // more people have to approve
	CodeOtherAnswer    = "other_answer"    // the answer says something else than an earlier one that approved
	CodeExpired        = "expired"         // the request or the permit is past its time
	CodeDrift          = "drift"           // the world has changed
	CodeCheckFailed    = "check_failed"    // it could not be shown that it has not
	CodeBlocked        = "blocked"         // an earlier check found that the world had changed
	CodeSuperseded     = "superseded"      // the same call was asked for again, and the later request counts
	CodeToolChanged    = "tool_changed"    // the tool is declared otherwise than when the request was asked
	CodeAlreadyUsed    = "already_used"    // the approval has permitted a call before
	CodeOtherCall      = "other_call"      // the approval is for another call or tool
	CodeArgsChanged    = "args_changed"    // the arguments are not those that were approved
	CodeStateChanged   = "state_changed"   // a part of the state that the call reads is not as it was when it was asked
	CodeInvalid        = "invalid"         // the request to the guard is not complete
	CodeClock          = "clock"           // the clock failed or ran backwards
	CodeStore          = "store"           // the ledger could not be read or written
	CodeCanceled       = "canceled"        // the run has ended; nobody would see the effect
	CodeAsked          = "asked"           // the same call waits for an answer already
	CodeAskedTooOften  = "asked_too_often" // drift ended the call as often as it may be asked for in a turn
	CodeInternal       = "internal"        // a dependency panicked, or there is no guard
	CodeHappened       = "happened"        // a person says that a call in doubt took effect
	CodeDidNotHappen   = "did_not_happen"  // a person says that a call in doubt did not take effect
)

// Answer is the answer of a person to a request.
type Answer struct {
	// Session and ConfirmationID name the request. A request of another session
	// is not found.
	Session        record.Session
	ConfirmationID string
	// Confirmed is true to approve, false to reject.
	Confirmed bool
	// Change goes with a rejection: the wish of the person, in words, for another plan. It has at
	// most [MaxWords] bytes.
	Change string
	// Because goes with a rejection without a Change, or with Resolve: the reason of the person, in words. It has at
	// most [MaxWords] bytes. The history has it, and [Outcome.Because] for whoever asked.
	Because string
	// Override goes with an approval: the reason of a person with the right in [config.Guard.Tools] to
	// let the call run although sources are down. It has at most [MaxWords] bytes. If the check
	// fails and every failure is of an entity with a source that is away, the approval counts as
	// an override. The call may run after two people have overridden, and while no other entity
	// fails its check. Drift, missing evidence and any other failure cannot be overridden.
	Override string
	// Resolve closes a call in doubt by the word of the person: [CodeHappened] or [CodeDidNotHappen]. It goes
	// without Confirmed and with a Because, which says how they know. It becomes the reason of the [Outcome].
	Resolve string
	// Content is a digest of anything else that the answer says, such as a payload that the tool
	// reads. People who approve one request have to say the same.
	Content string
	// RunID is the run the answer came in, for the history.
	RunID string
	// Peer says that another agent sent the answer, over a protocol between agents:
	// whoever asked there could approve as well. Only an [Authorizer] can accept its
	// approval.
	Peer bool
}

// MaxWords bounds what a person may say in an [Answer], in bytes.
const MaxWords = 2000

// Outcome is the result of an answer.
type Outcome struct {
	// Approval is the request as it is now; zero if it was not found.
	Approval Approval
	// Report is the check that was made because of the answer; zero if none was,
	// as for a rejection or a repeated approval.
	Report Report
	// Accepted is true if and only if the request is approved. It permits nothing
	// yet: the call needs a [Permit].
	Accepted bool
	// Reason is one of the Code constants if the answer was not accepted, and ""
	// if it was.
	Reason string
	// Detail says it in a sentence for people, where the reason does not say enough.
	Detail string
	// Cause is the error that an [Authorizer] refused with. It is for the operator, not for the
	// person who answered: it may hold something that this person must not know.
	Cause error
	// Because is the reason of the person, if this answer rejected or resolved the request with an
	// [Answer.Because]; else "".
	Because string
	// By is who answered; "" if that is not known, or if they may not.
	By string
	// Authenticated says that an [Authorizer] or a [GuardConfig.Identity] named who answers. Without both it
	// is the user of the session, whoever that is.
	Authenticated bool
}

// Answer takes the answer to a request. An approval is accepted only if the request
// is pending and in time, the authorizer names an approver and the world is
// unchanged. Drift blocks the request for good; a check that failed leaves it
// pending, so that it may be answered again. A rejection is final, and takes back an
// approval that was not used yet.
// The same approver may repeat an approval until it was used, also at the same time.
// If more people have to approve, the request stays pending after each of the first ones, with
// the reason [CodeMoreApprovers].
//
// The report of the check is stored with the approval and returned. An error means
// that something could not be read or written; the answer was then not accepted.
func (g *Guard) Answer(ctx context.Context, ans Answer) (out Outcome, err error) {
	if g == nil {
		return Outcome{Reason: CodeInternal}, errNilGuard
	}
	defer func() {
		if err != nil {
			out.Accepted, out.Reason = false, cmp.Or(out.Reason, CodeInternal)
		}
	}()
	defer rescue(&err)
	if !named(ans.Session) || ans.ConfirmationID == "" {
		return Outcome{Reason: CodeUnknownRequest}, nil
	}
	a, err := g.Find(ctx, ans.Session, ans.ConfirmationID)
	switch {
	case errors.Is(err, ErrNotFound):
		return Outcome{Reason: CodeUnknownRequest}, nil
	case errors.Is(err, errPanic):
		return Outcome{}, err
	case err != nil:
		return Outcome{Reason: CodeStore}, err
	}
	if g.policy.shares(a.Tool) {
		// Else two requests that are approved at the same time would each count the other, and both be refused.
		sharing := &g.sharing[maphash.Comparable(g.seed, a.Session)%uint64(len(g.sharing))]
		sharing.Lock()
		defer sharing.Unlock()
	}
	d := g.decide(ctx, a, ans)
	moved, err := a, d.err
	if d.change != nil {
		moved, err = g.move(ctx, a, *d.change, d.report)
	}
	recorded := d.change != nil && err == nil
	switch {
	case d.change == nil:
	case d.code == CodeExpired:
		if errors.Is(err, ErrConflict) {
			err = nil // somebody else ended it first
		}
	case recorded && d.code == "":
		d.code, d.detail = moved.counts(d.change.Set.Consent, a.Consented(d.by))
	case errors.Is(err, ErrExpired):
		d.code, err = CodeExpired, nil
	case errors.Is(err, ErrConflict) && d.change.Resolved:
		d.code, d.detail, err = CodeNotPending, err.Error(), nil
	case errors.Is(err, ErrConflict):
		moved, d.code, err = g.overtaken(ctx, a, d.change)
	case err != nil:
		d.code = CodeStore
	}
	out = Outcome{
		Approval: moved, Accepted: err == nil && d.code == "", Reason: d.code, Detail: d.detail, Cause: d.cause,
		By: d.by, Authenticated: g.authenticates(),
	}
	if d.report != nil {
		out.Report = *d.report
	}
	if recorded {
		out.Because = d.because
	}
	return out, err
}

// decision is what an answer comes to, before the ledger hears of it.
type decision struct {
	// code and detail are those of the outcome; no code approves.
	code, detail string
	// by answers, because is their reason, and cause is the error of an authorizer that refused.
	by, because string
	cause       error
	// change is what the ledger has to record, with the report of the check that was made; nil for nothing.
	change *Transition
	report *Report
	// err is the error of a clock that failed.
	err error
}

// decide says what an answer comes to.
func (g *Guard) decide(ctx context.Context, a Approval, ans Answer) decision {
	if ans.Resolve != "" {
		return g.resolve(ctx, a, ans)
	}
	if !a.State.Open() {
		return decision{code: closedCode(a.State, CodeNotPending)}
	}
	now, err := g.now()
	switch {
	case err != nil:
		return decision{code: CodeClock, err: err}
	case expired(a, now):
		return decision{code: CodeExpired, change: expiry(ans.RunID)}
	}
	approver, why, cause := g.authorize(ctx, a, ans)
	d := decision{by: approver, cause: cause}
	switch {
	case approver == "":
		d.code, d.detail = CodeNotAuthorized, why
	case max(len(ans.Change), len(ans.Because), len(ans.Override)) > MaxWords:
		d.code, d.detail = CodeInvalid, fmt.Sprintf("the answer has a text of more than %d bytes; say it in fewer words", MaxWords)
	case !ans.Confirmed:
		g.reject(&d, ans)
	default:
		g.approve(ctx, &d, a, ans)
	}
	return d
}

// authenticates reports whether somebody names the people who answer.
func (g *Guard) authenticates() bool { return g.authorizer != nil || g.identity != nil }

// reject ends a request. A rejection counts as long as nothing ran, also after an approval.
func (g *Guard) reject(d *decision, ans Answer) {
	change, because := strings.TrimSpace(ans.Change), strings.TrimSpace(ans.Because)
	note := "rejected"
	switch d.code = CodeRejected; {
	case change != "":
		d.code, note = CodeChange, "rejected, with a wish for a change,"
	case because != "":
		d.because, note = because, "rejected ("+quoted(oneLine(because))+")"
	}
	d.change = g.by(d.by, note, ans.RunID)
	// An approval at the same moment does not save the request.
	d.change.From, d.change.To = []ApprovalState{StatePending, StateApproved}, StateRejected
	d.change.Set = Update{Approver: d.by, Change: change}
}

// approve makes the check an approval depends on, and says what follows from it.
func (g *Guard) approve(ctx context.Context, d *decision, a Approval, ans Answer) {
	if d.code, d.detail = g.uncounted(a, d.by, ans); d.code != "" {
		return
	}
	if a.State == StateApproved && ans.Override == "" {
		if !a.Consented(d.by) {
			d.code = CodeNotPending
		}
		return
	}
	report, err := g.checkApproval(ctx, a)
	d.report = &report
	if err != nil {
		d.code, d.err = CodeClock, err
		return
	}
	d.change = g.by(d.by, "said yes", ans.RunID)
	d.change.To, d.change.NotAfter = StateApproved, true
	consent := Consent{Who: d.by, Content: ans.Content}
	down, only := report.down()
	switch verdict := report.Verdict(); {
	case verdict == Safe:
	case verdict == CheckFailed && only && ans.Override != "":
		consent.Override, consent.Unchecked = ans.Override, down
		d.change.Note = g.note("said yes although sources are down ("+quoted(oneLine(ans.Override))+")", ans.RunID)
	case verdict == Drift:
		consent, d.change.To, d.change.NotAfter, d.code = Consent{}, StateBlocked, false, CodeDrift
	default:
		consent, d.change.To, d.change.NotAfter, d.code = Consent{}, a.State, false, CodeCheckFailed
	}
	d.change.Set.Consent = consent
}

// by returns a change that whoever answers makes.
func (g *Guard) by(who, note, run string) *Transition {
	return &Transition{Actor: who, Run: run, Authenticated: g.authenticates(), Note: g.note(note, run)}
}

// note says in the history what was decided, and by whom if nothing shows who that is.
func (g *Guard) note(decision, run string) string {
	note := decision + " in run " + run
	if !g.authenticates() {
		note += " by the user of the session; nothing authenticated them"
	}
	return note
}

// uncounted returns why an approval does not count, whatever its check says; "" if it does.
func (g *Guard) uncounted(a Approval, approver string, ans Answer) (code, detail string) {
	other := slices.IndexFunc(a.Consents, func(c Consent) bool {
		// Whoever approves alone may say something else later.
		alone := a.Approvers <= 1 && len(a.Consents) == 1 && same(c.Who, approver)
		return c.Content != ans.Content && !alone
	})
	switch {
	case a.Approvers > 1 && !g.authenticates():
		return CodeNotAuthorized, fmt.Sprintf("%d people have to approve, and nothing authenticates whoever answers", a.Approvers)
	case ans.Override != "" && (!g.authenticates() || !has(g.policy.settings(a.Tool).Override, approver)):
		return CodeNotAuthorized, "whoever answers has no right to override a check: guard.tools names the people who have it"
	case other >= 0:
		return CodeOtherAnswer, "the payload of the answer differs from that of " + a.Consents[other].Who + ", who approved before: approve with the same, or reject"
	}
	return "", ""
}

// counts says why a consent that was recorded does not approve the request yet; "" if it does. again is set if the same
// person approved before.
func (a Approval) counts(c Consent, again bool) (code, detail string) {
	switch people := a.overrides(c.Unchecked); {
	case a.State == StateApproved && (c.Override == "" || len(people) >= overriders):
		return "", ""
	case c.Override != "" && len(people) < overriders:
		return CodeCheckFailed, c.Who + " overrides the check, and it takes another person with that right"
	case again:
		return CodeMoreApprovers, c.Who + " approved already: " + a.approvedBy()
	}
	return CodeMoreApprovers, a.approvedBy()
}

// approvedBy says who has approved, and how many people have to.
func (a Approval) approvedBy() string {
	var names []string
	for _, c := range a.Consents {
		names = append(names, oneLine(c.Who))
	}
	return fmt.Sprintf("%s approved; %d of %d people have", strings.Join(names, ", "), len(names), max(a.Approvers, 1))
}

// overtaken returns an approval that came to something else before t, and the code for that. If the same approver
// approved twice at the same time, that is one decision that came twice.
func (g *Guard) overtaken(ctx context.Context, a Approval, t *Transition) (Approval, string, error) {
	now, err := g.get(ctx, a.Session, a.ID)
	switch {
	case err != nil:
		return a, CodeStore, fmt.Errorf("safety: %w", err)
	case t.To == StateApproved && t.Set.Consent.Override == "" && now.State == StateApproved && now.Consented(t.Set.Consent.Who):
		return now, "", nil
	}
	return now, closedCode(now.State, CodeNotPending), nil
}

// Find returns the request that a confirmation of a session would answer, as the
// ledger has it; an error that is [ErrNotFound] if there is none.
func (g *Guard) Find(ctx context.Context, s record.Session, confirmationID string) (a Approval, err error) {
	if g == nil {
		return Approval{}, errNilGuard
	}
	defer rescue(&err)
	err = ErrNotFound
	if confirmationID != "" {
		a, err = one(ctx, g.ledger, Query{Session: s, ConfirmationID: confirmationID})
	}
	if err != nil {
		return Approval{}, fmt.Errorf("safety: finding confirmation %q: %w", confirmationID, err)
	}
	return a, nil
}

// Withdraw ends the request of a confirmation that nobody has to answer any more. One that is not open, or that there is
// not, stays as it is.
func (g *Guard) Withdraw(ctx context.Context, s record.Session, confirmationID string) (err error) {
	if g == nil {
		return errNilGuard
	}
	defer rescue(&err)
	a, err := g.Find(ctx, s, confirmationID)
	if err == nil && a.State.Open() {
		_, err = g.move(ctx, a, Transition{
			From: []ApprovalState{StatePending, StateApproved}, To: StateSuperseded,
			Actor: a.Requester, Authenticated: a.RequesterAuthenticated, Run: a.RunID, Note: Withdrawn,
		}, nil)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		return nil // it came to something else
	}
	return err
}

// closedCode names the state of an approval that is not open; other is the code for
// the states that have none of their own.
func closedCode(s ApprovalState, other string) string {
	switch s {
	case StateRejected:
		return CodeRejected
	case StateExpired:
		return CodeExpired
	case StateBlocked:
		return CodeBlocked
	case StateSuperseded:
		return CodeSuperseded
	case StatePermitted, StateExecuting, StateExecuted, StateFailed:
		return CodeAlreadyUsed
	default:
		return other
	}
}

// The sentences of [Outcome.Detail] for an approval by nobody who may.
const (
	peerDetail   = "a peer agent sent the approval, and whoever asked for it could send one as well: only an Authorizer that knows the caller can accept it"
	nobodyDetail = "nothing authenticated whoever answers"
	selfDetail   = "whoever asks for an approval may not give it; another person has to, or the configuration allows it with guard.self_approval: true"
)

// authorize returns the approver. If nobody may approve, it returns the reason, with the error of
// the authorizer if there is one. Without an authorizer, the user of the session may reject: a
// rejection runs nothing.
func (g *Guard) authorize(ctx context.Context, a Approval, ans Answer) (approver, why string, cause error) {
	if g.authorizer == nil && ans.Peer && ans.Confirmed {
		return "", peerDetail, nil
	}
	if !g.authenticates() {
		return ans.Session.User, "", nil
	}
	caller, err := g.who(ctx)
	if g.identity != nil && err != nil {
		return "", nobodyDetail, err
	}
	approver = caller
	if g.authorizer != nil {
		approver, err = bounded(ctx, g.policy.CheckTimeout, func(ctx context.Context) (string, error) {
			return g.authorizer.Authorize(ctx, AuthorizationRequest{
				Approval: a.Clone(), Identity: caller, Session: ans.Session, Confirmed: ans.Confirmed, Peer: ans.Peer,
			})
		})
	}
	switch self := same(approver, a.Requester) || same(caller, a.Requester); {
	case g.authorizer != nil && err != nil:
		return "", "the authorizer refused, or failed", err
	case identity(approver) == "":
		return "", "the authorizer names nobody", nil
	case ans.Confirmed && self && !g.policy.SelfApproval:
		return "", oneLine(cmp.Or(caller, approver)) + " asked: " + selfDetail, nil
	}
	return approver, "", nil
}

// expiry is the end of an approval after its time.
func expiry(run string) *Transition {
	return &Transition{To: StateExpired, Actor: run, Run: run, Note: "expired"}
}

// Resolve closes an approval in doubt by the word of a person who looked, and the history says so, with a note on how they
// know. executed says that the effect took place; false, that it did not, or failed. Nothing here authenticates them:
// whoever calls Resolve does. Use it for an effect whose process is gone. While its run is under way in this process,
// or on another replica that the store knows to live, Resolve refuses; in any other process it takes the end from the effect. Nothing runs because of it; a repetition needs a
// new request. [ErrNotFound] if the session has no such approval. [ErrConflict] if it is not in doubt, if its effect
// runs, or if that ended at the same time. See [Approval.InDoubt].
func (g *Guard) Resolve(ctx context.Context, s record.Session, approvalID string, executed bool, who, note string) (a Approval, err error) {
	if g == nil {
		return Approval{}, errNilGuard
	}
	defer rescue(&err)
	if who = strings.TrimSpace(oneLine(who)); !named(s) || approvalID == "" || who == "" {
		return Approval{}, errors.New("safety: resolving an approval needs app, user and id of a session, the id of the approval, and who says how it ended")
	}
	if a, err = g.get(ctx, s, approvalID); err != nil {
		return Approval{}, fmt.Errorf("safety: %w", err)
	}
	t := Transition{Actor: who, Note: oneLine(note)}
	if err := g.resolves(a, &t, executed); err != nil {
		return a, err
	}
	return g.move(ctx, a, t, nil)
}

// resolves makes t the end of an approval in doubt, by the word of its actor.
func (g *Guard) resolves(a Approval, t *Transition, executed bool) error {
	switch {
	case !a.InDoubt():
		return fmt.Errorf("safety: approval %s is %s, not in doubt: %w", a.ID, a.State, ErrConflict)
	case g.running != nil && g.running(a.Session, a.PermitRun):
		return fmt.Errorf("safety: approval %s is not in doubt: the run of its effect is under way: %w", a.ID, ErrConflict)
	}
	t.To, t.Resolved, t.RequireNonce = StateFailed, true, a.PermitNonce
	if executed {
		t.To = StateExecuted
	}
	return nil
}

// resolve takes the word of a person on a call in doubt. Whoever may approve a call may say how it ended.
func (g *Guard) resolve(ctx context.Context, a Approval, ans Answer) decision {
	because := strings.TrimSpace(ans.Because)
	known := ans.Resolve == CodeHappened || ans.Resolve == CodeDidNotHappen
	approves := ans
	approves.Confirmed = true
	who, why, cause := g.authorize(ctx, a, approves)
	t := g.by(who, "resolved ("+quoted(oneLine(because))+")", ans.RunID)
	d := decision{code: ans.Resolve, by: who, because: because, cause: cause}
	switch {
	case who == "":
		d.code, d.detail = CodeNotAuthorized, why
	case !known || ans.Confirmed || because == "" || len(because) > MaxWords:
		d.code, d.detail = CodeInvalid, fmt.Sprintf("to resolve a call say %s or %s, and why in at most %d bytes, and do not approve", CodeHappened, CodeDidNotHappen, MaxWords)
	default:
		if err := g.resolves(a, t, ans.Resolve == CodeHappened); err != nil {
			d.code, d.detail = CodeNotPending, err.Error()
		} else {
			d.change = t
		}
	}
	return d
}

// move changes the state of a in the ledger and stores the report with it. The ledger must have a
// in one of the states from, by default in the state of a itself. An answer of the ledger that
// contradicts the request is an error. On an error move returns a as it was. Parts that the ledger
// does not return are taken from a.
func (g *Guard) move(ctx context.Context, a Approval, t Transition, r *Report) (Approval, error) {
	if err := g.prepare(a, &t, r); err != nil {
		return a, err
	}
	// The finding is recorded even if the caller has given up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.policy.CheckTimeout)
	defer cancel()
	moved, err := g.ledger.Transition(ctx, t)
	if err != nil {
		return a, fmt.Errorf("safety: changing approval %s to %s: %w", a.ID, t.To, err)
	}
	// More people may have to consent.
	waits := t.Set.Consent.Who != "" && moved.State == StatePending && moved.Consented(t.Set.Consent.Who)
	if moved.ID != a.ID || moved.State != t.To && !waits || (t.Set.PermitNonce != "" && moved.PermitNonce != t.Set.PermitNonce) {
		return a, fmt.Errorf("safety: changing approval %s to %s: the ledger gave back approval %q in state %q", a.ID, t.To, moved.ID, moved.State)
	}
	moved.Args, moved.Entities, moved.Needs, moved.Gaps = a.Args, a.Entities, a.Needs, a.Gaps
	moved.NotChosen, moved.Surroundings, moved.Difference, moved.Report = a.NotChosen, a.Surroundings, a.Difference, a.Report
	if t.Set.Report != nil {
		moved.Report = t.Set.Report
	}
	return moved, nil
}

// prepare fills in what a transition of a has besides its purpose: the approval, the time and the
// report.
func (g *Guard) prepare(a Approval, t *Transition, r *Report) error {
	now, err := g.now()
	if err != nil {
		return err
	}
	t.ID, t.At = a.ID, now.UTC()
	if t.From == nil {
		t.From = []ApprovalState{a.State}
	}
	if r == nil {
		return nil
	}
	t.Set.Verdict, t.Check, t.Set.Costs = r.Verdict().String(), r.ID(), r.taken
	if t.Set.Report, err = json.Marshal(r); err != nil {
		return fmt.Errorf("safety: encoding the report of approval %s: %w", a.ID, err)
	}
	return nil
}

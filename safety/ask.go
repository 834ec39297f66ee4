// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Request is one tool call that asks for approval.
type Request struct {
	// Session, CallID, Tool and RunID are required. CallID is the id of the call that asks, RunID
	// the id of its run.
	Session record.Session
	CallID  string
	Tool    string
	RunID   string
	// Agent and InvocationID name who asks.
	Agent        string
	InvocationID string
	// DecisionNode is the key of the asking node in the graph. Answer is the event id of the row
	// that ended the asking model call. It is "" if no model asked; After is then the event id of
	// the last row of the run before the asking step began. See [record.Decision].
	DecisionNode string
	Answer       string
	After        string
	// TraceID and SpanID are the place of the request in the record.
	TraceID string
	SpanID  string
	// Args are the arguments of the call; see [ArgsDigest].
	Args map[string]any
	// Surroundings are what the call can read beside its arguments.
	Surroundings Surroundings
	// Declaration is a digest of how the tool is declared. The call runs only if it is the same then.
	Declaration string
	// Approvers is how many people have to approve, if it is more than the settings of the tool say.
	Approvers int
	// Chained says that the request follows the rules for asking again. A request that is not
	// chained replaces none, and is not refused because of an earlier one.
	Chained bool
	// Redact returns arguments, as JSON, without the parts that a [Difference] must not show.
	// If it is nil, a Difference shows no value of an argument.
	Redact func(args []byte) []byte
}

// Ask records a request for approval: the call, and the entities that it rests on according to the
// record. The request is pending. Show it to a person with [Approval.Shown].
//
// If Ask returns an error, it recorded nothing that could be approved, and the request must not be
// shown to anybody. Errors are missing fields, arguments without a digest ([ErrArgs]), a record
// that cannot be read, and a ledger that does not store. A request with the session, call and run
// of an earlier one is [ErrConflict]. A record that is incomplete or names no entity is no error
// here; such a request fails its check.
//
// Two requests are for the same call if they have the same tool and arguments. A Chained request
// supersedes the open requests for the same call of the same agent, and replaces the last of them: else
// a person who says yes to each has the call run as often. It also replaces the last request for the
// same call if that one ended by drift. Else it replaces the last
// request of the session for the same tool, with any arguments, that a person rejected with a
// [Answer.Change]. In the same turn, which is an invocation, Ask refuses it with a *[Refusal]
//
//   - if the step that asks has not read each changed attribute since, in the refusal or in
//     another result;
//   - if a person rejected the call in the turn;
//   - if another request replaced that one already and waits for an answer, but for one whose check failed;
//   - if the agent has asked for the call twice: nobody is asked a third time.
//
// In a later turn none of this refuses it.
//
// Unless [config.Guard.CheckBeforeAsking] is false, a request is checked first. Ask refuses one that no answer can make
// good, with a *[Refusal] that is Unasked. Of a Chained request the sources are asked, if the record says nothing
// against it; of one of the [InputTool] they are not.
func (g *Guard) Ask(ctx context.Context, r Request) (a Approval, err error) {
	if g == nil {
		return Approval{}, errNilGuard
	}
	defer func() {
		if err != nil {
			a = Approval{}
		}
	}()
	defer rescue(&err)
	if !named(r.Session) || r.CallID == "" || r.Tool == "" || r.RunID == "" {
		return a, errors.New("safety: a request needs app, user and id of a session, a call id, a tool and a run id")
	}
	sum, canonical, err := ArgsDigest(r.Args)
	if err != nil {
		return a, fmt.Errorf("safety: arguments of %s: %w", r.Tool, err)
	}
	old, asked, err := g.overtaken(ctx, r, sum)
	if err != nil {
		return a, err
	}
	d := r.decision(canonical)
	snap, err := g.collect(ctx, r.Session, d)
	if err != nil {
		return a, fmt.Errorf("safety: %w", err)
	}
	if old.State == StateBlocked && r.sameTurn(old) {
		if err := r.readAgain(old, snap.Entities); err != nil {
			return a, err
		}
	}
	required := g.policy.required(snap.Entities, r.DecisionNode)
	q := inquiry{session: r.Session, record: snap, recorded: true}
	q.acts(r.Tool, d)
	now, err := g.now()
	if err != nil {
		return a, err
	}
	now = stored(now)
	requester, authenticated := g.requester(ctx, r.Session)
	a = Approval{
		ID: randomID(), Session: r.Session,
		CallID: r.CallID, Tool: r.Tool, Agent: r.Agent, InvocationID: r.InvocationID, RunID: r.RunID,
		DecisionNode: r.DecisionNode, Answer: r.Answer, After: r.After, TraceID: r.TraceID, SpanID: r.SpanID,
		ArgsDigest: sum, Args: canonical, Declaration: r.Declaration,
		Entities: required, Fingerprint: Fingerprint(required), NotChosen: ownNotChosen(snap.NotChosen), Surroundings: r.Surroundings.clone(), Needs: q.needs(ctx, g.policy, required),
		PolicyVersion: g.policy.version, Receipt: snap.Receipt, Gaps: slices.Clone(snap.Gaps),
		Requester: requester, RequesterAuthenticated: authenticated, Approvers: max(g.approvers(r.Tool, authenticated), r.Approvers),
		RequestedAt: now, ExpiresAt: now.Add(g.policy.RequestLifetime),
		State: StatePending, UpdatedAt: now, Chain: asked,
	}
	if old.ID != "" {
		a.Replaces, a.Difference = old.ID, difference(old, a, r.Redact)
	}
	for _, e := range required {
		q.require(e, entity.Canonical{}, false)
	}
	q.started = now
	if err := g.besides(ctx, &q, a.ID); err != nil {
		return a, fmt.Errorf("safety: %w", err)
	}
	costs, notChecked := q.costs(g.policy), q.notRead(g.policy)
	total, each := q.total(ctx, g.policy)
	q.approvalID, q.requester, q.authenticated = a.ID, requester, authenticated
	q.blame(problems(snap.Receipt, snap.Gaps)...)
	q.blame(q.acting(g.policy)...)
	known := g.known(ctx, q)
	checked, refusal := g.beforeAsking(ctx, r, q, known)
	if refusal != nil {
		return a, refusal
	}
	err = g.ledger.Create(ctx, a.Clone())
	switch {
	case errors.Is(err, ErrConflict) && old.ID != "":
		// Another call was faster. The refusal is about its request.
		last := old
		if calls, _ := g.calls(ctx, &r, sum); len(calls) > 0 {
			last = r.last(calls)
		}
		return a, r.refuse(CodeAsked, last.ID, err, "A person is being asked for this very call of %s already.", r.Tool)
	case err != nil:
		return a, fmt.Errorf("safety: recording the request of %s: %w", r.Tool, err)
	}
	a.Total, a.Each, a.Money = total, each, q.money(r.Redact)
	a.Costs, a.NotChecked, a.Fails, a.Hopeless, a.Checked = costs, notChecked, known.fails(), known.never(), checked
	if !r.Chained {
		return a, nil
	}
	if a.Same, err = g.supersede(ctx, &r, a); err != nil {
		return a, fmt.Errorf("safety: ending the earlier requests for this call of %s: %w", r.Tool, err)
	}
	return a, nil
}

// Attach names the confirmation that will answer an approval. It may be repeated with the same name. A
// request that a later one superseded gets its name too, so that an answer to it says so. [ErrConflict]
// if the approval has another confirmation, or has ended otherwise, or if the confirmation belongs to
// another approval.
func (g *Guard) Attach(ctx context.Context, approvalID, confirmationID string) (err error) {
	if g == nil {
		return errNilGuard
	}
	defer rescue(&err)
	if approvalID == "" || confirmationID == "" {
		return errors.New("safety: attaching a confirmation needs the id of the approval and that of the confirmation")
	}
	err = g.ledger.Attach(ctx, approvalID, confirmationID)
	if errors.Is(err, ErrConflict) {
		if a, getErr := Get(ctx, g.ledger, approvalID); getErr == nil && a.ID == approvalID && a.ConfirmationID == confirmationID {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("safety: attaching confirmation %q: %w", confirmationID, err)
	}
	return nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// maxAsked is how often one call may be put before a person in a turn, whatever came of it.
const maxAsked = 2

// Last reports whether the request is the last one for its call in its turn: nobody is asked a third time. See
// [Guard.Ask].
func (a Approval) Last() bool { return a.Chain >= maxAsked-1 }

// Replaces returns the id of the request that r would replace, "" if it would replace none.
// The error is a *[Refusal] if [Guard.Ask] would refuse r because of an earlier request for
// the same call. Replaces changes nothing.
func (g *Guard) Replaces(ctx context.Context, r Request) (id string, err error) {
	if g == nil {
		return "", errNilGuard
	}
	defer rescue(&err)
	digest, canonical, err := ArgsDigest(r.Args)
	if err != nil {
		return "", r.refuse(CodeInvalid, "", err, "The arguments of %s have no digest.", r.Tool)
	}
	old, _, err := g.overtaken(ctx, r, digest)
	if err != nil || old.State != StateBlocked || !r.sameTurn(old) {
		return old.ID, err
	}
	snap, err := g.collect(ctx, r.Session, r.decision(canonical))
	if err != nil {
		return "", r.refuse(CodeStore, old.ID, err, "The record could not be read.")
	}
	return old.ID, r.readAgain(old, snap.Entities)
}

// overtaken returns the request for the same call that r replaces, and how often the agent of r has asked for it in
// the turn. It returns the zero Approval if r replaces none, and an error if r must be refused.
func (g *Guard) overtaken(ctx context.Context, r Request, digest string) (old Approval, asked int, err error) {
	if !r.Chained {
		return Approval{}, 0, nil
	}
	calls, err := g.calls(ctx, &r, digest)
	switch {
	case err != nil:
		return Approval{}, 0, r.refuse(CodeStore, "", err, "The earlier requests for this call could not be read.")
	case len(calls) == 0:
		old, err = g.changed(ctx, r)
		return old, 0, err
	}
	last := r.last(calls)
	open := "" // the request that r supersedes
	for _, a := range calls {
		if a.State.Open() && a.Agent == r.Agent {
			open = a.ID
		}
		if a.Agent == r.Agent && r.sameTurn(a) {
			asked++
		}
	}
	switch same := r.sameTurn(last); {
	case same && last.State == StateRejected && last.Change != "":
		err = r.refuse(CodeChange, last.ID, nil, "A person wants this call of %s to be different: %s.", r.Tool, quoted(oneLine(last.Change)))
	case same && last.State == StateRejected:
		err = r.refuse(CodeRejected, last.ID, nil, "A person rejected this very call of %s in this turn, and nobody is asked again.", r.Tool)
	case same && last.State == StatePending && last.Replaces != "" && !failed(last):
		err = r.refuse(CodeAsked, last.ID, nil, "A person is being asked for this very call of %s already.", r.Tool)
	case asked >= maxAsked:
		err = r.refuse(CodeAskedTooOften, last.ID, nil, "This very call of %s cannot be approved in this turn: a person was asked for it %d times, and is not asked again.", r.Tool, asked)
	case last.State != StateBlocked && open != "":
		old, err = g.earlier(ctx, r, open)
	case last.State != StateBlocked:
		old, err = g.changed(ctx, r)
	default:
		old, err = g.earlier(ctx, r, last.ID)
	}
	return old, asked, err
}

// failed reports whether a request waits although somebody has said yes: its check failed.
func failed(a Approval) bool { return a.State.Open() && a.Verdict == CheckFailed.String() }

// ReadAnew reports whether the step that asks for r has read something that r rests on since a request was
// asked, in a refusal or in another result. ReadAnew changes nothing.
func (g *Guard) ReadAnew(ctx context.Context, r Request, id string) (anew bool, err error) {
	if g == nil {
		return false, errNilGuard
	}
	defer rescue(&err)
	_, canonical, err := ArgsDigest(r.Args)
	if err != nil {
		return false, err
	}
	old, err := g.get(ctx, r.Session, id)
	if err != nil {
		return false, err
	}
	snap, err := g.collect(ctx, r.Session, r.decision(canonical))
	return err == nil && slices.ContainsFunc(g.policy.required(snap.Entities, r.DecisionNode), func(e entity.Canonical) bool {
		return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool {
			return s.Read && s.Source.Reading() && !s.SeenAt.Before(old.RequestedAt)
		})
	}), err
}

// calls returns the requests of the session for the call of r, whoever asked, oldest first.
func (g *Guard) calls(ctx context.Context, r *Request, digest string) ([]Approval, error) {
	return list(ctx, g.ledger, Query{Session: r.Session, Tool: r.Tool, ArgsDigest: digest, Brief: true})
}

// last returns the latest of calls. One that was rejected in the invocation of r goes before later ones.
func (r *Request) last(calls []Approval) Approval {
	for _, a := range slices.Backward(calls) {
		if a.State == StateRejected && r.sameTurn(a) {
			return a
		}
	}
	return calls[len(calls)-1]
}

// supersede ends the open requests for the call of r that its agent made before a, which is stored. Nobody
// can answer a yet. Of two processes that ask at the same time, the ledger puts one first, and its
// request ends. It returns the last step of the last one that was let run.
func (g *Guard) supersede(ctx context.Context, r *Request, a Approval) (Step, error) {
	calls, err := g.calls(ctx, r, a.ArgsDigest)
	if err != nil {
		return Step{}, err
	}
	ran := ""
	for _, old := range calls {
		switch {
		case old.ID == a.ID && ran == "":
			return Step{}, nil
		case old.ID == a.ID:
			steps, err := g.ledger.History(ctx, ran)
			if err != nil || len(steps) == 0 {
				return Step{}, fmt.Errorf("the history of %s: %w", ran, cmp.Or(err, ErrNotFound))
			}
			return steps[len(steps)-1], nil
		case old.Agent != a.Agent:
			continue
		case old.State.Open():
			t := Transition{
				From: []ApprovalState{StatePending, StateApproved}, To: StateSuperseded,
				Actor: a.Requester, Authenticated: a.RequesterAuthenticated, Run: a.RunID, Note: "asked for again by " + a.ID,
			}
			if old, err = g.move(ctx, old, t, nil); errors.Is(err, ErrConflict) {
				old, err = g.get(ctx, r.Session, old.ID) // it came to something at the same time
			}
			if err != nil {
				return Step{}, err
			}
		}
		if closedCode(old.State, "") == CodeAlreadyUsed {
			ran = old.ID
		}
	}
	return Step{}, errors.New("the ledger does not list the request that it stored")
}

// lastChange returns the latest request of the session for the tool of r that a person rejected with a
// wish for a change, and that no other one replaces. [ErrNotFound] if there is none.
func (g *Guard) lastChange(ctx context.Context, r *Request) (Approval, error) {
	calls, err := list(ctx, g.ledger, Query{Session: r.Session, Tool: r.Tool, Brief: true})
	if err != nil {
		return Approval{}, err
	}
	replaced := make(map[string]bool)
	for _, a := range slices.Backward(calls) {
		replaced[a.Replaces] = true
		if a.State == StateRejected && a.Change != "" && !replaced[a.ID] {
			return a, nil
		}
	}
	return Approval{}, ErrNotFound
}

// changed returns the request for the tool of r that a person rejected with a wish for a change, if
// nothing has replaced it yet.
func (g *Guard) changed(ctx context.Context, r Request) (Approval, error) {
	last, err := g.lastChange(ctx, &r)
	switch {
	case errors.Is(err, ErrNotFound):
		return Approval{}, nil
	case err != nil:
		return Approval{}, r.refuse(CodeStore, "", err, "The earlier requests for this tool could not be read.")
	}
	return g.earlier(ctx, r, last.ID)
}

// earlier reads a request that r replaces.
func (g *Guard) earlier(ctx context.Context, r Request, id string) (Approval, error) {
	old, err := g.get(ctx, r.Session, id)
	if err != nil {
		return Approval{}, r.refuse(CodeStore, id, err, "The earlier request could not be read.")
	}
	return old, nil
}

// sameTurn reports whether r is asked in the turn of an earlier request.
func (r *Request) sameTurn(old Approval) bool { return r.InvocationID == old.InvocationID }

func (r *Request) decision(args []byte) record.Decision {
	return record.Decision{Node: r.DecisionNode, Answer: r.Answer, Run: r.RunID, After: r.After, Tool: r.Tool, Args: string(args)}
}

func (r *Request) refuse(code, approvalID string, err error, format string, args ...any) error {
	return refuse(code, Execution{Tool: r.Tool, ApprovalID: approvalID}, Report{}, err, format, args...)
}

// readAgain refuses r if something had changed when old was blocked, and the step that asks
// has not read it again.
func (r *Request) readAgain(old Approval, now []entity.Canonical) error {
	var report struct {
		CheckedAt time.Time `json:"checked_at"`
		Alerts    []Alert   `json:"alerts"`
	}
	if err := json.Unmarshal(old.Report, &report); err != nil || len(report.Alerts) == 0 || report.CheckedAt.IsZero() {
		return r.refuse(CodeStore, old.ID, err, "It is not on record what had changed when %s was blocked.", r.Tool)
	}
	keys := make(map[[2]string]string, len(old.Entities))
	for _, e := range old.Entities {
		keys[[2]string{e.Type, e.Value}] = e.Key
	}
	present, named := byKey(now), make(map[[2]string]entity.Canonical, len(now))
	for _, e := range now {
		named[[2]string{e.Type, e.Value}] = e
	}
	var unread []string
	for _, a := range report.Alerts {
		name := [2]string{a.EntityType, a.Entity}
		e, known := present[keys[name]]
		if !known {
			e = named[name] // what nobody had been shown
		}
		what := a.Attribute + " of " + a.EntityType + " " + a.Entity
		if a.Drift == BudgetExceeded {
			what = a.EntityType + " " + a.Entity
		}
		if !readSince(e, a, stored(report.CheckedAt)) && !slices.Contains(unread, what) {
			unread = append(unread, what)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	return r.refuse(CodeDrift, old.ID, nil, "The world had changed when %s was approved, and you have not read since: %s. Read that, then make the same call again.",
		r.Tool, firstOf(unread, len(unread)))
}

// readSince reports whether the step that decides had read e since a time: the attribute that
// the alert is about, or, for a budget that was exceeded, anything that a result showed of it.
func readSince(e entity.Canonical, a Alert, since time.Time) bool {
	return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool {
		news := s.Reads(a.Attribute) || a.Drift == BudgetExceeded && s.Source.Reading()
		return news && s.Read && !s.SeenAt.Before(since)
	})
}

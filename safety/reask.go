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

// Replaces returns the id of the request that r would replace, "" if it would replace none. The error is a *[Refusal] if
// [Guard.Ask] would refuse r because of an earlier request for the same call. With anew, r replaces nothing either before
// the step that asks has read, since the other request was asked, something that r rests on. Replaces changes nothing.
func (g *Guard) Replaces(ctx context.Context, r Request, anew bool) (id string, err error) {
	if g == nil {
		return "", errNilGuard
	}
	defer rescue(&err)
	digest, canonical, err := ArgsDigest(r.Args)
	if err != nil {
		return "", r.refuse(CodeInvalid, "", err, "The arguments of %s have no digest.", r.Tool)
	}
	before, err := g.earlier(ctx, &r, digest)
	old := before.replaced
	if err != nil || old.ID == "" || !anew && !r.drifted(old) {
		return old.ID, err
	}
	snap, err := g.collect(ctx, r.Session, r.decision(canonical))
	if err != nil {
		return "", r.refuse(CodeStore, old.ID, err, "The record could not be read.")
	}
	news := func(s entity.Entity) bool { return s.Read && s.Source.Reading() && !s.SeenAt.Before(old.RequestedAt) }
	if anew && !slices.ContainsFunc(g.policy.required(snap.Entities, r.DecisionNode), func(e entity.Canonical) bool {
		return slices.ContainsFunc(e.Seen, news)
	}) {
		return "", nil
	}
	return old.ID, r.readAgain(old, snap.Entities)
}

// earlier is what the requests of a session before a new one mean for it.
type earlier struct {
	// all are those for the tool, and for every tool if calls of it share a limit, oldest first.
	all []Approval
	// last is the last one for the same call, whoever asked. One that was rejected in the turn goes before later ones.
	last Approval
	// replaced is the one that the new one replaces, with its long parts; the zero Approval for none.
	replaced Approval
	// redone says that it is replaced only because its turn is done again.
	redone bool
	// asked is how often the same agent has asked for the call in the turn.
	asked int
}

// earlier reads the requests of the session that matter to r, and refuses r if one of them forbids to ask. A request
// that is not chained replaces none.
func (g *Guard) earlier(ctx context.Context, r *Request, digest string) (e earlier, err error) {
	q := Query{Session: r.Session, Tool: r.Tool, Brief: true}
	switch {
	case g.policy.shares(r.Tool):
		q.Tool = ""
	case !r.Chained:
		return earlier{}, nil
	}
	if e.all, err = list(ctx, g.ledger, q); err != nil {
		return earlier{}, r.refuse(CodeStore, "", err, "The earlier requests of this session could not be read.")
	}
	if !r.Chained {
		return e, nil
	}
	open, rejected := "", false // the last one that r supersedes
	for _, a := range e.all {
		if a.Tool != r.Tool || a.ArgsDigest != digest {
			continue
		}
		no := a.State == StateRejected && r.sameTurn(a)
		if no || !rejected {
			e.last, rejected = a, no
		}
		if a.Agent == r.Agent && a.State.Open() {
			open = a.ID
		}
		if a.Agent == r.Agent && r.sameTurn(a) {
			e.asked++
		}
	}
	if err := r.forbidden(e.last, e.asked); err != nil {
		return e, err
	}
	replaced := make(map[string]bool)
	for _, a := range e.all {
		replaced[a.Replaces] = true
	}
	e.redone = slices.ContainsFunc(e.all, func(a Approval) bool { return a.ID == r.Redoes && a.Tool == r.Tool && !replaced[a.ID] })
	id := open
	switch {
	case e.redone:
		id = r.Redoes
	case e.last.State == StateBlocked && !replaced[e.last.ID]:
		id = e.last.ID
	case open == "":
		id = r.wished(e.all, replaced)
	}
	if id == "" {
		return e, nil
	}
	if e.replaced, err = g.get(ctx, r.Session, id); err != nil {
		return e, r.refuse(CodeStore, id, err, "The earlier request could not be read.")
	}
	return e, nil
}

// wished returns the id of the last request for the tool of r that a person rejected with a wish for a change, and that
// no other one replaces; "" for none.
func (r *Request) wished(all []Approval, replaced map[string]bool) string {
	for _, a := range slices.Backward(all) {
		if a.Tool == r.Tool && a.State == StateRejected && a.Change != "" && !replaced[a.ID] {
			return a.ID
		}
	}
	return ""
}

// forbidden refuses r if nobody may be asked for its call again in this turn. last is the last request for it.
func (r *Request) forbidden(last Approval, asked int) error {
	switch same := last.ID != "" && r.sameTurn(last); {
	case same && last.State == StateRejected && last.Change != "":
		return r.refuse(CodeChange, last.ID, nil, "A person wants this call of %s to be different: %s.", r.Tool, quoted(oneLine(last.Change)))
	case same && last.State == StateRejected:
		return r.refuse(CodeRejected, last.ID, nil, "A person rejected this very call of %s in this turn, and nobody is asked again.", r.Tool)
	case same && last.State == StatePending && last.Replaces != "" && last.Verdict != CheckFailed.String():
		return r.refuse(CodeAsked, last.ID, nil, "A person is being asked for this very call of %s already.", r.Tool)
	case asked >= maxAsked:
		return r.refuse(CodeAskedTooOften, last.ID, nil, "This very call of %s cannot be approved in this turn: a person was asked for it %d times, and is not asked again.", r.Tool, asked)
	}
	return nil
}

// supersede ends the open requests for the call of a that its agent made before a, which is stored. Nobody
// can answer a yet. Of two processes that ask at the same time, the ledger puts one first, and its
// request ends. It returns the last step of the last one that was let run.
func (g *Guard) supersede(ctx context.Context, a Approval) (Step, error) {
	calls, err := list(ctx, g.ledger, Query{Session: a.Session, Tool: a.Tool, ArgsDigest: a.ArgsDigest, Brief: true})
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
				old, err = g.get(ctx, a.Session, old.ID) // it came to something at the same time
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

// sameTurn reports whether r is asked in the turn of an earlier request.
func (r *Request) sameTurn(old Approval) bool { return r.InvocationID == old.InvocationID }

func (r *Request) decision(args []byte) record.Decision {
	return record.Decision{Node: r.DecisionNode, Answer: r.Answer, Run: r.RunID, After: r.After, Tool: r.Tool, Args: string(args)}
}

func (r *Request) refuse(code, approvalID string, err error, format string, args ...any) error {
	return refuse(code, Execution{Tool: r.Tool, ApprovalID: approvalID}, Report{}, err, format, args...)
}

// drifted reports whether an earlier request ended by drift in the turn of r.
func (r *Request) drifted(old Approval) bool { return old.State == StateBlocked && r.sameTurn(old) }

// readAgain refuses r if something had changed when old was blocked in this turn, and the step that asks
// has not read it again.
func (r *Request) readAgain(old Approval, now []entity.Canonical) error {
	if !r.drifted(old) {
		return nil
	}
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

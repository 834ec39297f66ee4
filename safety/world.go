// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// checkApproval makes the check of an approval: its entities with the values seen at the time of
// the request, and the entities recorded since.
func (g *Guard) checkApproval(caller context.Context, a Approval) (Report, error) {
	q, err := g.begin(a.Session, a.ID)
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeout(caller, g.policy.CheckDeadline)
	defer cancel()

	q.acts(a.Tool, a.decision())
	q.requester, q.authenticated = a.Requester, a.RequesterAuthenticated
	if err := g.besides(ctx, &q, a.ID); err != nil {
		q.blame(fail(ReasonStore, "%v", err))
	}
	q.blame(problems(a.Receipt, a.Gaps)...)
	if Fingerprint(a.Entities) != a.Fingerprint {
		q.blame(fail(ReasonIncompleteRecord, "the entities of the request are not those it was asked with"))
	}
	if a.PolicyVersion != g.policy.version {
		q.blame(fail(ReasonPolicyChanged, "the request was asked under another policy, or by another version; ask again"))
	}
	begun := a.RequestedAt
	if a.DecidedAt.After(begun) {
		begun = a.DecidedAt
	}
	if q.started.Before(begun.Add(-clockSkew)) {
		q.blame(fail(ReasonClock, "the check began at %s, before the request or its approval at %s", stamp(q.started), stamp(begun)))
	}

	if sum := sha256.Sum256(a.Args); hex.EncodeToString(sum[:]) != a.ArgsDigest {
		q.blame(fail(ReasonIncompleteRecord, "the arguments of the request are not those it was asked with"))
	}
	snap, err := g.collect(ctx, a.Session, q.decision)
	q.record, q.recorded = snap, err == nil
	later := make(map[string]entity.Canonical, len(snap.Entities))
	for _, e := range snap.Entities {
		later[e.Key] = e
	}
	known := make(map[string]bool, len(a.Entities))
	for _, e := range cloneEntities(a.Entities) {
		known[e.Key] = true
		q.require(e, later[e.Key], false)
	}
	if err != nil {
		q.blame(fail(ReasonStore, "%v", err))
		return g.inspect(ctx, caller, q), nil
	}
	q.blame(problems(snap.Receipt, snap.Gaps)...)
	if snap.Receipt.Watermark < a.Receipt.Watermark || snap.Receipt.RowsRead < a.Receipt.RowsRead {
		q.blame(fail(ReasonIncompleteRecord, "the record has become shorter: %d rows up to row %d were read for the request, now %d up to row %d",
			a.Receipt.RowsRead, a.Receipt.Watermark, snap.Receipt.RowsRead, snap.Receipt.Watermark))
	}
	if snap.Receipt.Version != a.Receipt.Version {
		q.blame(fail(ReasonRulesChanged, "the request was asked under other extraction rules; ask again"))
	}
	for _, e := range snap.Entities {
		if !known[e.Key] && g.policy.requires(e, ofAction(e, q.decision.Node)) {
			q.require(e, entity.Canonical{}, true)
		}
	}
	q.blame(q.acting(g.policy)...)
	return g.inspect(ctx, caller, q), nil
}

// checkSession checks the entities of a session. Without a request there is no action, so a policy
// that needs the arguments or the cost of an action fails.
func (g *Guard) checkSession(caller context.Context, s record.Session) (Report, error) {
	q, err := g.begin(s, "")
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeout(caller, g.policy.CheckDeadline)
	defer cancel()

	snap, err := g.collect(ctx, s, record.Decision{})
	q.record = snap
	if err != nil {
		q.blame(fail(ReasonStore, "%v", err))
		return g.inspect(ctx, caller, q), nil
	}
	q.blame(problems(snap.Receipt, snap.Gaps)...)
	for _, e := range g.policy.required(snap.Entities, "") {
		q.require(e, entity.Canonical{}, false)
	}
	return g.inspect(ctx, caller, q), nil
}

func (g *Guard) begin(s record.Session, approvalID string) (inquiry, error) {
	started, err := g.now()
	return inquiry{session: s, approvalID: approvalID, started: started}, err
}

// acts sets the action that is checked.
func (q *inquiry) acts(tool string, d record.Decision) {
	q.tool, q.decision = tool, d
	q.arguments = sync.OnceValues(func() (any, error) {
		document, err := text.StrictJSON([]byte(d.Args))
		if err != nil {
			return nil, err
		}
		return text.OpenTexts(document)
	})
}

// require adds e to the targets. later has the facts that were recorded about e after the request;
// it is empty if there are none.
func (q *inquiry) require(e, later entity.Canonical, unseen bool) {
	if !unseen {
		q.seen = append(q.seen, e)
	}
	e = grown(e, later)
	q.targets = append(q.targets, target{entity: e, unseen: unseen, action: ofAction(e, q.decision.Node)})
}

// grown returns e with the facts that the record has beyond it. Values that were shown at the time
// of the request stay as they were.
func grown(e, later entity.Canonical) entity.Canonical {
	had := e.Seen
	e.Attributes, e.Seen = maps.Clone(e.Attributes), slices.Clip(e.Seen)
	for name, v := range later.Attributes {
		if _, has := e.Attributes[name]; has {
			continue
		}
		if e.Attributes == nil {
			e.Attributes = make(map[string]entity.Value)
		}
		e.Attributes[name] = v
	}
	for i, s := range later.Seen {
		same := func(o entity.Entity) bool {
			return o.EventID == s.EventID && o.Source == s.Source && o.TechNode == s.TechNode && maps.Equal(o.Attributes, s.Attributes)
		}
		// They mostly have one order, so that the first look finds it.
		if (i >= len(had) || !same(had[i])) && !slices.ContainsFunc(had, same) {
			e.Seen = append(e.Seen, s)
		}
	}
	return e
}

// blame adds failures of the whole check, each once. A fault of the record at the time of the
// request is mostly still there at the check.
func (q *inquiry) blame(failures ...Failure) {
	for _, f := range failures {
		if !slices.Contains(q.failures, f) {
			q.failures = append(q.failures, f)
		}
	}
}

// Check looks at a session without changing anything: at its latest open approval,
// or, if none is open, at everything the session rests on. The report says what
// failed; the error is for a guard that is nil, a clock that fails and a panic.
func (g *Guard) Check(ctx context.Context, s record.Session) (r Report, err error) {
	if g == nil {
		return Report{}, errNilGuard
	}
	defer rescueReport(&r, &err)
	approvals, listErr := list(ctx, g.ledger, Query{Session: s})
	var open Approval
	for _, a := range approvals {
		if a.State.Open() {
			open = a
		}
	}
	switch {
	case listErr != nil:
		return g.checkFailed(ctx, s, fmt.Errorf("listing the approvals of session %q: %w", s.ID, listErr))
	case open.ID != "":
		return g.checkApproval(ctx, open)
	default:
		return g.checkSession(ctx, s)
	}
}

// checkFailed returns the report of a check that could not look at anything.
func (g *Guard) checkFailed(ctx context.Context, s record.Session, cause error) (Report, error) {
	q, err := g.begin(s, "")
	if err != nil {
		return Report{}, err
	}
	q.blame(fail(ReasonStore, "%v", cause))
	return g.inspect(ctx, ctx, q), nil
}

// Observe makes the check of an approval for the record: it changes nothing and
// blocks nothing. It is for confirmations that are watched and not enforced. An
// approval that is unknown, or of another session, is [ErrNotFound].
func (g *Guard) Observe(ctx context.Context, s record.Session, approvalID string) (r Report, err error) {
	if g == nil {
		return Report{}, errNilGuard
	}
	defer rescueReport(&r, &err)
	a, err := g.get(ctx, s, approvalID)
	if err != nil {
		return Report{}, err
	}
	return g.checkApproval(ctx, a)
}

// get loads an approval of a session. One of another session is not found.
func (g *Guard) get(ctx context.Context, s record.Session, id string) (Approval, error) {
	if id == "" {
		return Approval{}, fmt.Errorf("an approval without an id: %w", ErrNotFound)
	}
	a, err := one(ctx, g.ledger, Query{ID: id, Session: s})
	if err != nil {
		return Approval{}, fmt.Errorf("approval %q of session %q: %w", id, s.ID, err)
	}
	return a, nil
}

// expired reports whether nothing may come of a any more.
func expired(a Approval, now time.Time) bool { return now.After(a.ExpiresAt) }

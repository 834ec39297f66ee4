// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Check looks at a session without changing anything: at its latest open approval,
// or, if none is open, at everything the session rests on. The report says what
// failed; the error is for a guard that is nil, a clock that fails and a panic.
func (g *Guard) Check(ctx context.Context, s record.Session) (_ Report, err error) {
	if g == nil {
		return Report{}, errNilGuard
	}
	defer rescue(&err)
	approvals, err := list(ctx, g.ledger, Query{Session: s})
	if err != nil {
		return g.checkApproval(ctx, Approval{Session: s}, fmt.Errorf("listing the approvals of session %q: %w", s.ID, err))
	}
	open := Approval{Session: s}
	for _, a := range approvals {
		if a.State.Open() {
			open = a
		}
	}
	return g.checkApproval(ctx, open)
}

// Observe makes the check of an approval for the record: it changes nothing and
// blocks nothing. It is for confirmations that are watched and not enforced. An
// approval that is unknown, or of another session, is [ErrNotFound].
func (g *Guard) Observe(ctx context.Context, s record.Session, approvalID string) (_ Report, err error) {
	if g == nil {
		return Report{}, errNilGuard
	}
	defer rescue(&err)
	a, err := g.get(ctx, s, approvalID)
	if err != nil {
		return Report{}, err
	}
	return g.checkApproval(ctx, a)
}

// checkApproval makes the check of an approval: its entities with the values seen at the time of the request, and the
// entities recorded since. An approval without an id is none: then everything that its session rests on is checked.
// Without a request there is no action, so a policy that needs the arguments or the cost of an action fails.
func (g *Guard) checkApproval(caller context.Context, a Approval, faults ...error) (Report, error) {
	started, err := g.now()
	if err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeout(caller, g.policy.CheckDeadline)
	defer cancel()

	q := check{policy: g.policy, approval: a, started: started}
	if q.others, err = g.sharers(ctx, a.Session, a.Tool); err != nil {
		faults = append(faults, err)
	}
	if q.record, err = g.collect(ctx, a.Session, a.decision()); err != nil {
		faults = append(faults, err)
	}
	for _, fault := range faults {
		q.blame(fail(ReasonStore, "%v", fault))
	}
	q.recorded = err == nil
	if a.ID == "" {
		q.approval = q.wholeSession()
	}
	q.prepare()
	return g.inspect(ctx, caller, q), nil
}

// check is one check: its inputs, and what prepare makes of them.
type check struct {
	policy     rulebook
	approval   Approval
	started    time.Time
	record     Snapshot   // as it is now
	recorded   bool       // it could be read
	recordOnly bool       // no source is asked
	others     []Approval // of the session, which may take from limits that requests share

	targets   []target            // the entities of the approval, and those that were not seen then
	failures  []Failure           // that are known before it starts
	arguments func() (any, error) // those of the action, decoded once
	taken     []LimitCost         // what the action takes from limits that requests share
}

// target is one entity to check.
type target struct {
	entity entity.Canonical
	unseen bool
	action bool // it stands in the arguments of the action
}

// wholeSession returns an approval of nothing, which rests on all that the session does.
func (q *check) wholeSession() Approval {
	required := q.policy.required(q.record.Entities, "")
	a := Approval{
		Session: q.approval.Session, Entities: required, Fingerprint: Fingerprint(required), PolicyVersion: q.policy.version, RequestedAt: q.started,
	}
	if q.recorded {
		a.Receipt, a.Gaps = q.record.Receipt, q.record.Gaps
	}
	return a
}

// prepare finds the targets of a check, and what fails it before any source is asked.
func (q *check) prepare() {
	a := q.approval
	q.arguments = sync.OnceValues(func() (any, error) {
		document, err := text.StrictJSON(a.Args)
		if err != nil {
			return nil, err
		}
		return text.OpenTexts(document)
	})
	known, later := byKey(a.Entities), byKey(q.record.Entities)
	for _, e := range cloneEntities(a.Entities) {
		q.targets = append(q.targets, target{entity: withLaterFacts(e, later[e.Key])})
	}
	for _, e := range q.record.Entities {
		if _, has := known[e.Key]; !has && q.policy.requires(e, ofAction(e, a.DecisionNode)) {
			q.targets = append(q.targets, target{entity: withLaterFacts(e, entity.Canonical{}), unseen: true})
		}
	}
	for i := range q.targets {
		q.targets[i].action = ofAction(q.targets[i].entity, a.DecisionNode)
	}
	if a.ID != "" || q.recorded {
		q.blame(problems(a.Receipt, a.Gaps)...)
	}
	if Fingerprint(a.Entities) != a.Fingerprint {
		q.blame(fail(ReasonIncompleteRecord, "the entities of the request are not those it was asked with"))
	}
	if a.PolicyVersion != q.policy.version {
		q.blame(fail(ReasonPolicyChanged, "the request was asked under another policy, or by another version; ask again"))
	}
	begun := a.RequestedAt
	if a.DecidedAt.After(begun) {
		begun = a.DecidedAt
	}
	if q.started.Before(begun.Add(-clockSkew)) {
		q.blame(fail(ReasonClock, "the check began at %s, before the request or its approval at %s", stamp(q.started), stamp(begun)))
	}
	if sum := sha256.Sum256(a.Args); a.ID != "" && hex.EncodeToString(sum[:]) != a.ArgsDigest {
		q.blame(fail(ReasonIncompleteRecord, "the arguments of the request are not those it was asked with"))
	}
	if !q.recorded {
		return
	}
	now := q.record.Receipt
	q.blame(problems(now, q.record.Gaps)...)
	if now.Watermark < a.Receipt.Watermark || now.RowsRead < a.Receipt.RowsRead {
		q.blame(fail(ReasonIncompleteRecord, "the record has become shorter: %d rows up to row %d were read for the request, now %d up to row %d",
			a.Receipt.RowsRead, a.Receipt.Watermark, now.RowsRead, now.Watermark))
	}
	if now.Version != a.Receipt.Version {
		q.blame(fail(ReasonRulesChanged, "the request was asked under other extraction rules; ask again"))
	}
	q.blame(q.acting()...)
}

// blame adds failures of the whole check, each once. A fault of the record at the time of the
// request is mostly still there at the check.
func (q *check) blame(failures ...Failure) {
	for _, f := range failures {
		if !slices.Contains(q.failures, f) {
			q.failures = append(q.failures, f)
		}
	}
}

// withLaterFacts returns e with the facts that the record has beyond it. Values that were shown at the time
// of the request stay as they were.
func withLaterFacts(e, later entity.Canonical) entity.Canonical {
	had := e.Seen
	attributes := maps.Clone(later.Attributes)
	if attributes == nil {
		attributes = make(map[string]entity.Value)
	}
	maps.Copy(attributes, e.Attributes)
	e.Attributes, e.Seen = attributes, slices.Clip(e.Seen)
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

// inspect checks every target and returns the report. It looks at every entity, however many fail.
// It returns when ctx ends at the latest, which is the context of the caller with the deadline of
// the check. The verdict is what [Report.Verdict] makes of the parts: only if every part says yes is it [Safe].
func (g *Guard) inspect(ctx, caller context.Context, q check) Report {
	id, a := randomID(), q.approval
	found := g.checkEntities(withCheck(ctx, id, a.Session, g.policy.CheckDeadline), &q)
	costs, exceeded, unknown := q.checkBudgets(found)
	checked, late := g.ended(caller, &q)
	failures := slices.Concat(q.failures, q.scope(found), unknown, late)
	var results []EntityResult
	var alerts []Alert
	for _, x := range found {
		results = append(results, x.result)
		alerts = append(alerts, x.alerts...)
		failures = append(failures, x.failures...)
	}
	if len(failures) == 0 {
		failures = q.nothingRead()
	}
	r := Report{
		id: id, approvalID: a.ID, session: a.Session, requester: a.Requester, authenticated: a.RequesterAuthenticated,
		fingerprint: Fingerprint(a.Entities), policy: g.policy.version, started: q.started, checked: checked,
		total: len(found), results: results, alerts: append(alerts, exceeded...), failures: failures,
		notChosen: withoutTargets(q.record.NotChosen, q.targets), costs: costs, taken: q.taken,
		preconditions: preconditions(found), drifted: drifted(found),
	}
	if g.onReport != nil && !q.recordOnly {
		g.onReport(r)
	}
	return r
}

// checkEntities checks every target, several at a time.
func (g *Guard) checkEntities(ctx context.Context, q *check) []entityCheck {
	found := make([]entityCheck, len(q.targets))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(g.parallel, len(q.targets)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
				found[i] = g.checkEntity(ctx, q, q.targets[i])
				q.advise(&found[i])
			}
		})
	}
	workers.Wait()
	g.ownEffects(ctx, q, found)
	return found
}

// scope says what keeps a check from being about anything.
func (q *check) scope(found []entityCheck) (failures []Failure) {
	if !named(q.approval.Session) {
		failures = append(failures, fail(ReasonSession, "app, user and id of a session are required"))
	}
	unlisted := q.unlisted()
	switch {
	case len(found) == 0:
		failures = append(failures, q.noEntities())
	case len(unlisted) > 0:
		failures = append(failures, unlisted...)
	case !slices.ContainsFunc(found, func(x entityCheck) bool { return x.result.Outcome != EntitySkipped }):
		failures = append(failures, fail(ReasonNoEntities, "nothing is left to check: none of the entities, which are all optional, could be checked"))
	}
	return failures
}

// ended returns when the check ended, and what is wrong with that.
func (g *Guard) ended(caller context.Context, q *check) (checked time.Time, failures []Failure) {
	if err := caller.Err(); err != nil {
		failures = append(failures, fail(ReasonCanceled, "%v", err))
	}
	if q.recordOnly {
		return q.started, failures
	}
	now, err := g.now()
	switch {
	case err != nil:
		failures = append(failures, fail(ReasonClock, "%v", err))
	case now.Before(q.started):
		failures = append(failures, fail(ReasonClock, "the check began at %s and ended at %s", stamp(q.started), stamp(now)))
	}
	return now, failures
}

// ownEffects says in the alerts of a thing that a call of the session which names it ran after it was read. That call
// releases nothing: who reads what it left can plan with it.
func (g *Guard) ownEffects(ctx context.Context, q *check, found []entityCheck) {
	if !slices.ContainsFunc(found, func(x entityCheck) bool { return len(x.alerts) > 0 }) {
		return
	}
	all, _ := list(ctx, g.ledger, Query{Session: q.approval.Session}) // without it the alerts stand all the same
	slices.Reverse(all)
	for _, x := range found {
		e := x.target.entity
		for j := range x.alerts {
			seen := e.AttributeSeenAt[x.alerts[j].Attribute]
			i := slices.IndexFunc(all, func(a Approval) bool {
				named := slices.ContainsFunc(a.Entities, func(o entity.Canonical) bool { return o.Key == e.Key && ofAction(o, a.DecisionNode) })
				return named && a.State == StateExecuted && a.UpdatedAt.After(seen)
			})
			if i >= 0 {
				x.alerts[j].Recommendation += fmt.Sprintf(" Your own %s of %s acted on it.", word(all[i].Tool), all[i].UpdatedAt.UTC().Format("15:04 UTC"))
			}
		}
	}
}

// checkEntity checks one entity. It asks the checker even if the entity has failed already: a change is
// worth knowing in any case.
func (g *Guard) checkEntity(ctx context.Context, q *check, t target) entityCheck {
	e := t.entity
	x := entityCheck{target: t, result: EntityResult{
		Type: e.Type, Value: e.Value, Outcome: EntityFailed, Seen: maps.Clone(e.Attributes), SeenAt: writable(e.LastSeen), Unseen: t.unseen,
	}}
	if e.Type == "" || e.Value == "" || e.Key == "" {
		x.fail(ReasonInvalidEntity, "an entity needs a type, a value and a key")
	}
	if floor := g.policy.minConfidence(e.Type); !(e.Confidence >= floor && e.Confidence <= 1) {
		x.fail(ReasonLowConfidence, "confidence %v is not between %v and 1", e.Confidence, floor)
	}
	switch {
	case e.LastSeen.IsZero():
		x.fail(ReasonNotSeen, "the time it was seen is not known")
	case e.LastSeen.After(q.started.Add(clockSkew)):
		x.fail(ReasonNotSeen, "it is said to have been seen at %s, after the check began", stamp(e.LastSeen))
	}
	rests := q.basis(ctx, t)
	x.failures = slices.Clip(append(x.failures, rests.failures...))
	x.result.Waived, x.result.Conditions = rests.waived, rests.conditions

	// A type that is optional forgives that its source is away. It does not forgive what is
	// wrong with a condition: a model writes the arguments, and could leave out the value that
	// the condition takes from them.
	checker, optional := g.checkers[e.Type], g.policy.Types[e.Type].Optional && !rests.broken
	switch {
	case checker == nil:
		x.fail(ReasonNoChecker, "no checker is registered for the type %q", e.Type)
	case !q.recordOnly:
		away := false
		x, away = g.present(ctx, q, x, rests, checker)
		optional = optional && away
	case len(x.failures) == 0:
		return x // its outcome stays that of a thing that nobody has looked at
	}
	x.settle(optional)
	return x
}

// present asks a checker for the present state of an entity and compares it. forgivable is false if nobody here could
// ask the source: a source that is away may be forgiven, that may not.
func (g *Guard) present(ctx context.Context, q *check, x entityCheck, rests basis, checker Checker) (_ entityCheck, forgivable bool) {
	asked, before := cloneEntity(x.target.entity), len(x.failures)
	begun := x // a checker that is late goes on with it, while x changes
	y, err := bounded(ctx, g.policy.CheckTimeout, func(ctx context.Context) (*entityCheck, error) {
		y := begun
		state, err := checker.Check(ctx, asked)
		now, clockErr := g.now()
		y.result.Origins = origins(state.Origins)
		if err == nil || len(state.Attributes) > 0 {
			y.accept(q, rests, state, now)
		}
		if clockErr != nil {
			y.fail(ReasonClock, "%v", clockErr)
		}
		return &y, err
	})
	if y != nil {
		x = *y
	}
	if err == nil {
		return x, true
	}
	// The checker says better than we do what is wrong with its answer.
	reason := reasonOf(ctx, err)
	ours := slices.DeleteFunc(x.failures[before:], func(f Failure) bool { return f.Reason == reason })
	x.failures, x.read = x.failures[:before+len(ours)], false
	x.fail(reason, "%s", detailOf(err))
	return x, reason != ReasonNeedsAgent
}

// detailOf returns the text of a checker's error. An AnswerError in it says its reason too, which the
// failure has already.
func detailOf(err error) string {
	detail := fmt.Sprint(err)
	if named, is := errors.AsType[*AnswerError](err); is {
		said := named.Error()
		detail = strings.Replace(detail, said, strings.TrimPrefix(said, named.Reason+": "), 1)
	}
	return detail
}

// reasonOf gives the reason of a checker's error.
func reasonOf(ctx context.Context, err error) string {
	named, isNamed := errors.AsType[*AnswerError](err)
	switch {
	case errors.Is(err, errPanic):
		return ReasonPanic
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonTimeout
	case errors.Is(ctx.Err(), context.Canceled):
		return ReasonCanceled
	case isNamed && named.Reason != "":
		return named.Reason
	default:
		return ReasonError
	}
}

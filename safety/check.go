// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// errPanic is wrapped by an error that was a panic, or the end of a goroutine.
var errPanic = errors.New("panic")

// bounded calls code of others that may hang or panic. When the time is up, or ctx
// ends, it returns the error of the context at once; the call is abandoned, its
// goroutine ends when it ends and its result is thrown away.
func bounded[T any](ctx context.Context, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: fmt.Errorf("%w: the call ended its goroutine", errPanic)}
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("%w: %v", errPanic, p)}
			}
			done <- a
		}()
		v, err := f(ctx)
		a = answer{v, err}
	}()

	var none T
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// target is one entity to check.
type target struct {
	entity entity.Canonical
	unseen bool
	action bool // it stands in the arguments of the action
}

// inquiry is one check of a session: its targets, and the failures that are known before it starts.
type inquiry struct {
	session    record.Session
	approvalID string
	// who asked for the approval
	requester     string
	authenticated bool
	tool          string              // whose call is checked, and
	decision      record.Decision     // the step that asked; none without a request
	record        Snapshot            // as it is now
	recorded      bool                // it could be read
	recordOnly    bool                // no source is asked
	arguments     func() (any, error) // those of the action, decoded once
	seen          []entity.Canonical  // what has to be unchanged since the request
	others        []Approval          // of the session, which take from limits that requests share
	taken         []LimitCost         // what the action takes from such limits
	targets       []target            // targets, and the entities that were not seen then
	failures      []Failure
	started       time.Time
}

// inspect checks every target and returns the report. It looks at every entity, however many fail.
// It returns when ctx ends at the latest, which is the context of the caller with the deadline of
// the check.
func (g *Guard) inspect(ctx, caller context.Context, q inquiry) Report {
	id := randomID()
	ctx = withCheck(ctx, id, q.session, g.policy.CheckDeadline)
	found := make([]examined, len(q.targets))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(g.parallel, len(q.targets)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
				found[i] = g.examine(ctx, &q, q.targets[i])
				q.advise(q.targets[i], &found[i])
			}
		})
	}
	workers.Wait()
	g.ownEffects(ctx, &q, found)

	r := Report{
		id: id, approvalID: q.approvalID, session: q.session, fingerprint: Fingerprint(q.seen),
		policy: g.policy.version, started: q.started, total: len(found), failures: q.failures,
		notChosen: withoutTargets(q.record.NotChosen, q.targets), requester: q.requester, authenticated: q.authenticated,
	}
	if !named(q.session) {
		r.failures = append(r.failures, fail(ReasonSession, "app, user and id of a session are required"))
	}
	unlisted := q.unlisted(g.policy)
	switch {
	case len(found) == 0:
		r.failures = append(r.failures, q.noEntities(g.policy))
	case len(unlisted) > 0:
		r.failures = append(r.failures, unlisted...)
	case !slices.ContainsFunc(found, func(x examined) bool { return x.result.Outcome != EntitySkipped }):
		r.failures = append(r.failures, fail(ReasonNoEntities, "nothing is left to check: none of the entities, which are all optional, could be checked"))
	}
	var exceeded []Alert
	if !q.recordOnly {
		costs, over, unknown := q.checkBudgets(g.policy, found)
		r.costs, r.taken, exceeded = costs, q.taken, over
		r.failures = append(r.failures, unknown...)
	}
	if err := caller.Err(); err != nil {
		r.failures = append(r.failures, fail(ReasonCanceled, "%v", err))
	}
	now, err := q.started, error(nil)
	if !q.recordOnly {
		now, err = g.now()
	}
	switch {
	case err != nil:
		r.failures = append(r.failures, fail(ReasonClock, "%v", err))
	case now.Before(q.started):
		r.failures = append(r.failures, fail(ReasonClock, "the check began at %s and ended at %s", stamp(q.started), stamp(now)))
	}
	r.checked = now
	for _, x := range found {
		r.results = append(r.results, x.result)
		r.alerts = append(r.alerts, x.alerts...)
		r.failures = append(r.failures, x.failures...)
	}
	if len(r.failures) == 0 {
		r.failures = q.nothingRead(g.policy)
	}
	r.alerts = append(r.alerts, exceeded...)
	r.preconditions, r.drifted = preconditions(q.targets, found), drifted(q.targets, found)
	if g.onReport != nil && !q.recordOnly {
		g.onReport(r)
	}
	return r
}

// ownEffects says in the alerts of a thing that a call of the session which names it ran after it was read. That call
// releases nothing: who reads what it left can plan with it.
func (g *Guard) ownEffects(ctx context.Context, q *inquiry, found []examined) {
	if !slices.ContainsFunc(found, func(x examined) bool { return len(x.alerts) > 0 }) {
		return
	}
	all, _ := list(ctx, g.ledger, Query{Session: q.session}) // without it the alerts stand all the same
	for i, x := range found {
		e := q.targets[i].entity
		for j := range x.alerts {
			for _, a := range slices.Backward(all) {
				named := slices.ContainsFunc(a.Entities, func(o entity.Canonical) bool { return o.Key == e.Key && ofAction(o, a.DecisionNode) })
				if named && a.State == StateExecuted && a.UpdatedAt.After(e.AttributeSeenAt[x.alerts[j].Attribute]) {
					x.alerts[j].Recommendation += fmt.Sprintf(" Your own %s of %s acted on it.", word(a.Tool), a.UpdatedAt.UTC().Format("15:04 UTC"))
					break
				}
			}
		}
	}
}

// examine checks one entity. It asks the checker even if the entity has failed already: a change is
// worth knowing in any case.
func (g *Guard) examine(ctx context.Context, q *inquiry, t target) examined {
	e, started := t.entity, q.started
	x := examined{result: EntityResult{
		Type: e.Type, Value: e.Value, Seen: maps.Clone(e.Attributes), SeenAt: writable(e.LastSeen), Unseen: t.unseen,
	}}
	if e.Type == "" || e.Value == "" || e.Key == "" {
		x.fail(failOf(e, ReasonInvalidEntity, "an entity needs a type, a value and a key"))
	}
	if floor := g.policy.minConfidence(e.Type); !(e.Confidence >= floor && e.Confidence <= 1) {
		x.fail(failOf(e, ReasonLowConfidence, "confidence %v is not between %v and 1", e.Confidence, floor))
	}
	switch {
	case e.LastSeen.IsZero():
		x.fail(failOf(e, ReasonNotSeen, "the time it was seen is not known"))
	case e.LastSeen.After(started.Add(clockSkew)):
		x.fail(failOf(e, ReasonNotSeen, "it is said to have been seen at %s, after the check began", stamp(e.LastSeen)))
	}
	rests := q.basis(ctx, g.policy, t)
	x.failures = append(x.failures, rests.failures...)
	x.result.Waived, x.result.Conditions = rests.waived, rests.conditions

	// A type that is optional forgives that its source is away. It does not forgive what is
	// wrong with a condition: a model writes the arguments, and could leave out the value that
	// the condition takes from them.
	checker, optional := g.checkers[e.Type], g.policy.Types[e.Type].Optional && !rests.broken
	if checker == nil {
		x.fail(failOf(e, ReasonNoChecker, "no checker is registered for the type %q", e.Type))
		x.settle(optional)
		return x
	}
	if q.recordOnly {
		if len(x.failures) > 0 { // else its outcome stays that of a thing that nobody has looked at
			x.settle(optional)
		}
		return x
	}
	asked := cloneEntity(e)
	y, err := bounded(ctx, g.policy.CheckTimeout, func(ctx context.Context) (examined, error) {
		state, err := checker.Check(ctx, asked)
		now, clockErr := g.now()
		y := examined{result: EntityResult{Origins: origins(state.Origins)}}
		if err == nil || len(state.Attributes) > 0 {
			y.accept(g.policy, e, rests, state, started, now)
		}
		if clockErr != nil {
			y.fail(failOf(e, ReasonClock, "%v", clockErr))
		}
		return y, err
	})
	if err != nil {
		// The checker says better than we do what is wrong with its answer.
		reason := reasonOf(ctx, err)
		y.failures = slices.DeleteFunc(y.failures, func(f Failure) bool { return f.Reason == reason })
	}
	x.alerts, x.failures = y.alerts, append(x.failures, y.failures...)
	x.read = y.read && err == nil
	x.result.Now, x.result.AsOf, x.result.Version = y.result.Now, y.result.AsOf, y.result.Version
	x.result.Origins = y.result.Origins
	if err != nil {
		reason := reasonOf(ctx, err)
		x.fail(failOf(e, reason, "%s", detailOf(err)))
		// A source that is away may be forgiven; that nobody here could ask it may not.
		optional = optional && reason != ReasonNeedsAgent
	}
	x.settle(optional)
	return x
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// voidKey is the key in the custom metadata of the event that says which events are void.
const voidKey = "contextgraph.void"

// Void returns the ids of the events that the session has left, if ev is the event that [Checkpoints.Redo] and
// [Checkpoints.Run] give before those of a turn that is done again; nil for any other event. No store has that event.
func Void(ev *session.Event) []string {
	ids, _ := ev.CustomMetadata[voidKey].([]string)
	return ids
}

// Redo carries out a plan: it takes the session back and sends the messages of the plan through r. The events are those
// of their runs, behind one that says which events are void, see [Void]. Nothing of the first yes counts: a request in the
// new turn names the one that it replaces, says what is different, and waits for a yes.
//
// The session goes back in the moment in which its store takes the first message: before it is as it was, with its open
// requests withdrawn. Redo is an error if the session is not as the plan says, or is in use.
func (c *Checkpoints) Redo(ctx context.Context, r *runner.Runner, plan Plan) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if err := c.redo(ctx, r, plan, yield); err != nil {
			yield(nil, fmt.Errorf("checkpoint: %w", err))
		}
	}
}

// errStopped is the error of a caller who wants no more events.
var errStopped = errors.New("the caller has seen enough")

// trip is what a run through the decorator does for a redo, or tells [Checkpoints.Run].
type trip struct {
	session record.Session
	run     string // its id on record, once the message is stored
	joined  bool   // the runner has read the session
	// rewind is the row of the rewind that the message makes, "" for none, events the number of events in the store
	// before. gone says that the message is stored.
	rewind string
	events int
	gone   bool
}

// tripKey is the key of a [trip] in a context.
type tripKey struct{}

// join ties a session that a runner reads to the trip of the context. It returns the rewind that the next message makes.
func (v *view) join(ctx context.Context, s record.Session) (rewind string, err error) {
	t, _ := ctx.Value(tripKey{}).(*trip)
	switch {
	case t == nil || t.joined:
		return "", nil
	case t.rewind == "":
		t.session = s
	case t.session != s:
		return "", fmt.Errorf("checkpoint: the plan is for session %q of app %q, and the runner reads one of app %q", t.session.ID, t.session.App, s.App)
	}
	t.joined, v.trip = true, t
	return t.rewind, nil
}

// undisturbed is an error if anything came to the session of a trip since its rewind was recorded, or another run of this
// process uses it. The caller has its lock.
func (c *Checkpoints) undisturbed(ctx context.Context, t *trip) error {
	if runs := slices.DeleteFunc(c.host.Recorder.Running(t.session), func(id string) bool { return id == t.run }); len(runs) > 0 {
		return fmt.Errorf("checkpoint: %w: run %s is under way", ErrRunning, runs[0])
	}
	// The run is on record before its message is in the session: a process that ends right after it leaves a turn that can be
	// looked up.
	if err := c.host.Store.Flush(ctx); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	now, err := c.open(ctx, t.session)
	if err == nil && len(now.all) != t.events {
		err = fmt.Errorf("checkpoint: %w: it has other events than the plan says", ErrRunning)
	}
	return err
}

func (c *Checkpoints) redo(ctx context.Context, r *runner.Runner, plan Plan, yield func(*session.Event, error) bool) error {
	done, err := c.claim(plan.Session)
	if err != nil {
		return err
	}
	defer done()
	t, now, void, err := c.depart(ctx, plan)
	if err != nil {
		return err
	}
	for i, ev := range now.sends {
		if i > 0 && len(c.host.Recorder.Running(t.session)) > 0 {
			return fmt.Errorf("%w: another run began; %d of %d messages were sent again", ErrRunning, i, len(now.sends))
		}
		err := c.send(context.WithValue(ctx, tripKey{}, t), r, t, ev, func(ev *session.Event, err error) bool {
			if t.gone && void != nil {
				told := &session.Event{Author: genai.RoleUser}
				told.CustomMetadata = map[string]any{voidKey: void}
				if void = nil; !yield(told, nil) {
					return false
				}
			}
			return ev == nil && err == nil || yield(ev, err)
		})
		switch {
		case errors.Is(err, errStopped):
			return nil
		case err != nil && i+1 < len(now.sends):
			return fmt.Errorf("%d of %d messages were sent again: %w", i+1, len(now.sends), err)
		case err != nil:
			return err
		}
	}
	return nil
}

// depart records the rewind of a plan, and returns the plan as it is now, and the ids of the events that the rewind hides.
func (c *Checkpoints) depart(ctx context.Context, plan Plan) (*trip, Plan, []string, error) {
	lock, err := c.alone(plan.Session)
	if err != nil {
		return nil, plan, nil, err
	}
	defer lock.Unlock()
	now, p, to, err := c.plan(ctx, plan.Approval)
	switch {
	case err != nil:
		return nil, now, nil, err
	case now.Session != plan.Session || now.Checkpoint != plan.Checkpoint || now.Events != plan.Events:
		return nil, now, nil, fmt.Errorf("%w: the session has gone on since the plan was made; make another plan", ErrRunning)
	}
	went, err := c.leave(ctx, now.Session, p, to, rewinding{redo: now.Approval})
	if err != nil {
		return nil, now, nil, err
	}
	back, err := c.rewind(ctx, now.Session, went.ID)
	if err != nil {
		return nil, now, nil, err
	}
	return &trip{session: now.Session, rewind: went.ID, events: len(p.all)}, now, back.hidden, nil
}

// send sends one message of a session again. yield gets a call without event and error once the run is over.
func (c *Checkpoints) send(ctx context.Context, r *runner.Runner, t *trip, message *session.Event, yield func(*session.Event, error) bool) error {
	content := *message.Content
	content.Parts = nil
	for _, p := range message.Content.Parts {
		if p != nil {
			own := *p
			content.Parts = append(content.Parts, &own)
		}
	}
	var opts []runner.RunOption
	if delta := message.Actions.StateDelta; len(delta) > 0 {
		opts = append(opts, runner.WithStateDelta(delta))
	}
	for ev, err := range r.Run(ctx, t.session.User, t.session.ID, &content, agent.RunConfig{}, opts...) {
		switch {
		case err != nil:
			return err
		case !t.gone:
			return errors.New("the runner does not use the session service that Sessions returned, so the session did not go back; the message was sent to it")
		case !yield(ev, nil):
			return errStopped
		}
	}
	if !yield(nil, nil) {
		return errStopped
	}
	return nil
}

// RunOption is an option of [Checkpoints.Run].
type RunOption func(*running)

type running struct{ redos int }

// AutoRedo has a turn done again by itself after a yes that met drift, if it was done again less than n times: see
// [Checkpoints.Plan]. Two times are possible.
func AutoRedo(n int) RunOption { return func(r *running) { r.redos = n } }

// Run is the Run of r. With [AutoRedo] the events of the turn that is done again follow, as those of [Checkpoints.Redo].
// Nothing is done again if there is no plan, if the agent has asked anew by itself, or if messages came after the request.
func (c *Checkpoints) Run(ctx context.Context, r *runner.Runner, user, sessionID string, msg *genai.Content, opts ...RunOption) iter.Seq2[*session.Event, error] {
	var o running
	for _, opt := range opts {
		opt(&o)
	}
	return func(yield func(*session.Event, error) bool) {
		t := new(trip)
		for ev, err := range r.Run(context.WithValue(ctx, tripKey{}, t), user, sessionID, msg, agent.RunConfig{}) {
			if !yield(ev, err) || err != nil {
				return
			}
		}
		plan, err := c.due(ctx, t, msg)
		switch {
		case err != nil:
			yield(nil, fmt.Errorf("checkpoint: %w", err))
		case plan.Redo > 0 && plan.Redo <= o.redos && len(plan.Left) == 0:
			for ev, err := range c.Redo(ctx, r, plan) {
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// due returns the plan for a request that an answer in a message met drift with, in the run of that message; the zero Plan
// for none.
func (c *Checkpoints) due(ctx context.Context, t *trip, msg *genai.Content) (Plan, error) {
	if t.run == "" || msg == nil {
		return Plan{}, nil
	}
	ledger := c.host.Store.Ledger()
	for _, p := range msg.Parts {
		if p == nil || p.FunctionResponse == nil || p.FunctionResponse.Name != toolconfirmation.FunctionCallName {
			continue
		}
		list, err := ledger.List(ctx, safety.Query{Session: t.session, ConfirmationID: p.FunctionResponse.ID, Brief: true})
		if err != nil {
			return Plan{}, err
		}
		for _, a := range list {
			steps, err := ledger.History(ctx, a.ID)
			if err != nil {
				return Plan{}, err
			}
			if last := steps[len(steps)-1]; last.To != safety.StateBlocked || last.Run != t.run {
				continue
			}
			plan, err := c.Plan(ctx, a.ID)
			if err == nil {
				return plan, nil
			}
			if !errors.Is(err, ErrNoPlan) && !errors.Is(err, ErrChain) && !errors.Is(err, ErrTooEarly) {
				return Plan{}, err
			}
		}
	}
	return Plan{}, nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// replayChecker is a [safety.Checker] without code for the type: it calls the tools again
// that an entity was seen with.
type replayChecker struct {
	of     *graphsync.Sessions
	caller func() Caller
	now    func() time.Time
	// tool is the only one that is called; "" calls any that is registered.
	tool    string
	timeout time.Duration
	most    int64
}

// Keys of the data that the entities of one check share.
type (
	budgetKey struct{ checker *replayChecker }
	admitKey  struct {
		checker *replayChecker
		node    string
	}
	replayKey struct {
		node    string
		timeout time.Duration
	}
)

// replayed is the result of a repeated call.
type replayed struct {
	found map[string]entity.Entity
	at    time.Time // when it began
	took  time.Duration
}

// Caller calls a tool of a recorded call again. It is a *gate.Gate.
type Caller interface {
	Replay(ctx context.Context, s record.Session, c graphsync.Call) (record.Event, error)
}

// AddReplays adds a checker for each type with replay in the configuration, unless checkers has
// one, and one for the sets that results show. It does not call caller; the first check does.
func AddReplays(checkers map[string]safety.Checker, c config.Config, of *graphsync.Sessions, now func() time.Time, caller func() Caller) {
	c = c.WithDefaults()
	for _, cc := range c.Checkers {
		if cc.Replay != nil && checkers[cc.Type] == nil {
			checkers[cc.Type] = &replayChecker{
				of: of, caller: caller, now: now, tool: cc.Replay.Tool, timeout: c.Guard.CheckTimeout, most: int64(cc.Replay.MaxCalls),
			}
		}
	}
	for _, typ := range of.Extractor().SetTypes() {
		checkers[typ] = &replayChecker{of: of, caller: caller, now: now, timeout: c.Guard.CheckTimeout, most: maxSetCalls}
	}
}

// maxSetCalls bounds how many calls one check repeats for the sets of one type.
const maxSetCalls = 100

// Check implements [safety.Checker]. Each attribute is asked for where it was seen, so
// that several calls may be needed for one entity; and entities seen in one call share
// its repetition.
func (r *replayChecker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	_, session, ok := safety.CheckOf(ctx)
	if !ok {
		return safety.State{}, errors.New("a replay needs the check it is part of")
	}
	if err := whole(e); err != nil {
		return safety.State{}, err
	}
	sources, err := r.of.Sources(ctx, session, e)
	if err != nil {
		return safety.State{}, fmt.Errorf("no call can be repeated for it: %w", err)
	}
	state := safety.State{Attributes: make(map[string]entity.Value)}
	var errs []error
	gone := false
	for _, s := range sources {
		if s.Other && r.tool != "" && r.tool != s.Call.Tool {
			continue
		}
		again, err := r.again(ctx, session, s.Call)
		state.Origins = append(state.Origins, safety.Origin{
			Kind: safety.OriginReplay, Name: s.Call.Tool, Call: cmp.Or(s.Call.ID, s.Call.Node), LatencyMS: again.took.Milliseconds(),
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("calling %s again: %w", cmp.Or(s.Call.Tool, "its tool"), err))
			continue
		}
		if state.AsOf.IsZero() || again.at.Before(state.AsOf) {
			state.AsOf = again.at
		}
		if _, shown := again.found[e.Key]; !shown && again.counts(e.Type) {
			gone = true
			continue
		}
		errs = append(errs, again.compare(e, s, &state))
	}
	if gone && len(state.Attributes) == 0 {
		state.Attributes[safety.Exists] = entity.Bool(false)
	}
	return state, errors.Join(errs...)
}

// whole returns an error for a part of e that was left out of the record: the same mark would stand
// in its place now, whatever the present value is.
func whole(e entity.Canonical) error {
	if jsonenc.Marked(e.Value) {
		return errors.New("its value was redacted or left out when it was recorded, so that nothing can be compared with it")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		if jsonenc.Marked(e.Attributes[name].String()) {
			return fmt.Errorf("%s was redacted or left out when it was recorded, so that nothing can be compared with it", name)
		}
	}
	return nil
}

// again repeats a call, once per check.
func (r *replayChecker) again(ctx context.Context, session record.Session, c graphsync.Call) (replayed, error) {
	if c.Problem != "" {
		return replayed{}, errors.New(c.Problem)
	}
	if r.tool != "" && r.tool != c.Tool {
		return replayed{}, fmt.Errorf("the configuration has %s called again for this type, not %s", r.tool, c.Tool)
	}
	if err := r.admit(ctx, c); err != nil {
		return replayed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return safety.Share(ctx, replayKey{c.Node, r.timeout}, func(ctx context.Context) (replayed, error) {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		at := r.now()
		row, err := r.caller().Replay(ctx, session, c)
		out := replayed{at: at, took: r.now().Sub(at)}
		if err == nil {
			out.found, err = r.of.Extractor().Found(row, c)
		}
		return out, err
	})
}

// admit counts a call against the number that one check may repeat for this type. It counts a call
// once, however many entities it shows, and apart from the repetition itself, which other types
// share.
func (r *replayChecker) admit(ctx context.Context, c graphsync.Call) error {
	budget, err := safety.Share(ctx, budgetKey{r}, func(context.Context) (*atomic.Int64, error) { return new(atomic.Int64), nil })
	if err != nil {
		return err
	}
	_, err = safety.Share(ctx, admitKey{r, c.Node}, func(context.Context) (struct{}, error) {
		if budget.Add(1) > r.most {
			return struct{}{}, fmt.Errorf("more than %d calls would have to be repeated for one check of this type (max_calls); raise it, or write others: ignore in rules whose results are large", r.most)
		}
		return struct{}{}, nil
	})
	return err
}

// compare takes what a repeated call says of e into state.
func (again replayed) compare(e entity.Canonical, s graphsync.Source, state *safety.State) error {
	now, shown := again.found[e.Key]
	if !shown {
		return again.gone(e, s)
	}
	present := map[string]entity.Value{safety.Exists: entity.Bool(true)}
	maps.Copy(present, now.Attributes)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(present)) {
		v := present[name]
		// An attribute that another call showed is asked for there.
		if _, seen := e.Attributes[name]; seen {
			continue
		}
		if other := state.Attributes[name]; !other.IsZero() && !other.Equal(v) {
			errs = append(errs, fmt.Errorf("the repeated calls do not say the same of %s", name))
		}
		state.Attributes[name] = v
	}
	for _, name := range s.Attributes {
		// Of what several tools say, that counts which is another value than was read.
		if v := present[name]; !v.IsZero() && !(s.Other && v.Equal(e.Attributes[name])) {
			state.Attributes[name] = v
		}
	}
	return errors.Join(errs...)
}

// counts reports whether the names of a type in the result count as a whole: what is not among them is gone.
func (again replayed) counts(typ string) bool {
	for _, o := range again.found {
		if o.Type == entity.SetOf(typ) {
			return true
		}
	}
	return false
}

// gone says that a repeated call does not show e any more.
func (again replayed) gone(e entity.Canonical, s graphsync.Source) error {
	others := 0
	for _, o := range again.found {
		if o.Type == e.Type {
			others++
		}
	}
	err := fmt.Errorf("%s was called again with the same arguments and does not show it any more", s.Call.Tool)
	if others > 0 {
		err = fmt.Errorf("%s was called again with the same arguments: %d other %s entities are in its result, this one is gone from it", s.Call.Tool, others, e.Type)
	}
	return &safety.AnswerError{Reason: safety.ReasonMissingEntity, Err: err}
}

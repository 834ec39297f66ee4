// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Replayable registers a tool that a check may call again, for entity types whose checker
// is replay (checkers[].replay): the tool is called with the arguments of the recorded
// call, what it gives is read by the same rules, and the values are compared. It returns
// t, which is given to agents as it is.
//
// Registering a tool is a promise about it. It only reads. It reads what is there now:
// an answer out of a cache would pass for the present. Its answer follows from its
// arguments, the user and the state of the session. And it can be called by several
// goroutines at once.
//
// A repeated call is no step of the agent: no model and no callback sees it, and it is
// recorded with the check alone. A tool that tries to change the state of the session, to
// save an artifact, to ask for a confirmation or to transfer to another agent fails the
// check. Outside of runs, as in Check, there is no state of a session; a tool that reads
// it fails there.
//
// The error says why a tool cannot be registered: it is guarded, it is long-running, it
// runs an agent, or nothing in this process runs it.
func (in *Instance) Replayable(t tool.Tool) (tool.Tool, error) { return in.gate.Replayable(t) }

// replayChecker is a [safety.Checker] without code for the type: it calls the tools again
// that an entity was seen with.
type replayChecker struct {
	in      *Instance
	extract *graphsync.Extractor
	// tool is the only one that is called; "" calls any that is registered.
	tool    string
	timeout time.Duration
	most    int64
}

// Keys of what the entities of one check share.
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

// replayed is what a repeated call gave.
type replayed struct {
	found map[string]entity.Entity
	at    time.Time // when it began
	took  time.Duration
}

// addReplays adds the checkers of the configuration that call tools again, except where
// code has one for the type.
func (in *Instance) addReplays(checkers map[string]safety.Checker, x *graphsync.Extractor) {
	for _, c := range in.cfg.withDefaults().Checkers {
		if c.Replay != nil && checkers[c.Type] == nil {
			checkers[c.Type] = &replayChecker{in: in, extract: x, tool: c.Replay.Tool, timeout: c.Replay.Timeout, most: int64(c.Replay.MaxCalls)}
		}
	}
}

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
	sources, err := r.in.of.Sources(ctx, session, e)
	if err != nil {
		return safety.State{}, fmt.Errorf("no call can be repeated for it: %w", err)
	}
	state := safety.State{Attributes: make(map[string]entity.Value)}
	var errs []error
	for _, s := range sources {
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
		errs = append(errs, again.compare(e, s, &state))
	}
	return state, errors.Join(errs...)
}

// whole says what of e was left out of the record: the same mark would stand in its place
// now, whatever the present value is.
func whole(e entity.Canonical) error {
	if jsonenc.Marked(e.Value) {
		return errors.New("its value was redacted or left out when it was recorded, so that nothing can be compared with it")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		if text, _ := e.Attributes[name].AsText(); jsonenc.Marked(text) {
			return fmt.Errorf("%s was redacted or left out when it was recorded, so that nothing can be compared with it", name)
		}
	}
	return nil
}

// again repeats a call, once per check.
func (r *replayChecker) again(ctx context.Context, session Session, c graphsync.Call) (replayed, error) {
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
		at := r.in.now()
		row, err := r.in.gate.Replay(ctx, session, c)
		out := replayed{at: at, took: r.in.now().Sub(at)}
		if err == nil {
			out.found, err = r.extract.Found(row)
		}
		return out, err
	})
}

// admit counts a call against what one check may repeat for this type, once however many
// entities it shows, and apart from the repetition itself, which other types share.
func (r *replayChecker) admit(ctx context.Context, c graphsync.Call) error {
	budget, err := safety.Share(ctx, budgetKey{r}, func(context.Context) (*atomic.Int64, error) { return new(atomic.Int64), nil })
	if err != nil {
		return err
	}
	_, err = safety.Share(ctx, admitKey{r, c.Node}, func(context.Context) (struct{}, error) {
		if budget.Add(1) > r.most {
			return struct{}{}, fmt.Errorf("more than %d calls would have to be repeated for one check of this type (max_calls); raise it", r.most)
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
		// What was seen in another call is asked for there.
		if _, seen := e.Attributes[name]; seen {
			continue
		}
		if other := state.Attributes[name]; !other.IsZero() && !other.Equal(v) {
			errs = append(errs, fmt.Errorf("the repeated calls do not say the same of %s", name))
		}
		state.Attributes[name] = v
	}
	for _, name := range s.Attributes {
		if v := present[name]; !v.IsZero() {
			state.Attributes[name] = v
		}
	}
	return errors.Join(errs...)
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

// now reads the clock.
func (in *Instance) now() time.Time {
	if in.cfg.Now != nil {
		return in.cfg.Now()
	}
	return time.Now()
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Result is what a rewind did, or with [DryRun] would do.
type Result struct {
	// ID is that of the rewind; "" if nothing was left.
	ID string `json:"id,omitempty"`
	// Events is how many events were left.
	Events int `json:"events"`
	// Effects are the calls that were left and may have acted on the world. They stand.
	Effects []Effect `json:"effects,omitempty"`
	// Shared names what changed behind the position and was not restored, because it belongs to more than the
	// session: keys of the state that begin with app: or user:, and artifacts, as "artifact:NAME".
	Shared []string `json:"shared,omitempty"`
	// Withdrawn are the ids of the requests for approval that were open, and cannot be answered any more.
	Withdrawn []string `json:"withdrawn,omitempty"`
}

// Effect is a call that may have acted on the world.
type Effect struct {
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Args   map[string]any `json:"args,omitempty"`
}

// RewindOption is an option of [Checkpoints.Rewind].
type RewindOption func(*rewinding)

type rewinding struct {
	keep []string
	dry  bool
	redo string // the approval whose turn is done again
}

// Keep names calls whose effects stand, by their ids. A rewind over an effect that nobody named is [ErrEffects].
func Keep(callIDs ...string) RewindOption {
	return func(r *rewinding) { r.keep = append(r.keep, callIDs...) }
}

// DryRun has the rewind change nothing. Effects that nobody named are no error then.
func DryRun() RewindOption { return func(r *rewinding) { r.dry = true } }

// Rewind takes a session back to a checkpoint. Agents and clients that read the session through [Checkpoints.Sessions] see
// it as if it had never gone further. The events stay in the store, and the rows on record.
//
// Requests for approval behind the position that are open cannot be answered any more. Then the rewind is recorded, and
// last an event without content is appended to the session: from that moment on the session has gone back. With an error
// it has not, but requests may be withdrawn.
//
// The result is filled with [ErrEffects], too.
func (c *Checkpoints) Rewind(ctx context.Context, s record.Session, id string, opts ...RewindOption) (Result, error) {
	var o rewinding
	for _, opt := range opts {
		opt(&o)
	}
	if err := c.ready(); err != nil {
		return Result{}, err
	}
	done, err := c.claim(s)
	if err != nil {
		return Result{}, err
	}
	defer done()
	lock, err := c.alone(s)
	if err != nil {
		return Result{}, err
	}
	defer lock.Unlock()
	p, err := c.positions(ctx, s)
	if err != nil {
		return Result{}, err
	}
	at, err := p.find(id)
	if err != nil {
		return Result{}, err
	}
	out, err := c.leave(ctx, s, p, at, o)
	if err != nil || out.ID == "" {
		return out, err
	}
	_, gone := p.split(at.place)
	marker := session.NewEvent(ctx, gone[len(gone)-1].InvocationID)
	marker.Author = genai.RoleUser
	marker.CustomMetadata = map[string]any{plugin.RewindKey: out.ID}
	if err := stale((*c.service.Load()).AppendEvent(ctx, p.Session, marker)); err != nil {
		return out, fmt.Errorf("checkpoint: %w", err)
	}
	c.went.Store(s, c.generation(s)+1)
	return out, nil
}

// claim lets one rewind or redo of a session be under way at a time. done ends it.
func (c *Checkpoints) claim(s record.Session) (done func(), err error) {
	if _, busy := c.busy.LoadOrStore(s, true); busy {
		return nil, fmt.Errorf("%w: it goes back already", ErrRunning)
	}
	return func() { c.busy.Delete(s) }, nil
}

// alone locks a session that no run of this process is using.
func (c *Checkpoints) alone(s record.Session) (*sync.RWMutex, error) {
	lock := c.lock(s)
	if !lock.TryLock() {
		return nil, fmt.Errorf("%w: an event is being stored at this moment", ErrRunning)
	}
	if runs := c.host.Recorder.Running(s); len(runs) > 0 {
		lock.Unlock()
		return nil, fmt.Errorf("%w: run %s is under way", ErrRunning, runs[0])
	}
	return lock, nil
}

// stale says of an error of a session service whether another process was faster.
func stale(err error) error {
	if err != nil && strings.Contains(err.Error(), "stale session") {
		return fmt.Errorf("%w: another process has changed it: %v", ErrRunning, err)
	}
	return err
}

// leave withdraws and records what a rewind leaves; a marker with the id of the result is all that is missing. The caller
// has the lock of the session.
func (c *Checkpoints) leave(ctx context.Context, s record.Session, p *positions, to position, o rewinding) (Result, error) {
	kept, gone := p.split(to.place)
	if len(gone) == 0 {
		return Result{}, nil
	}
	r, err := p.leaving(to.place)
	if err == nil {
		_, _, err = p.stateFrom(to.place)
	}
	if err != nil {
		return Result{}, err
	}
	approvals, err := c.approvals(ctx, s)
	if err != nil {
		return Result{}, err
	}
	out := Result{Events: len(gone), Effects: c.effects(kept, gone, approvals), Shared: changed(gone)}
	var open []safety.Approval
	for _, a := range approvals {
		if a.State.Open() && slices.Contains(r.left, a.RunID) {
			open = append(open, a)
			out.Withdrawn = append(out.Withdrawn, a.ID)
		}
	}
	if o.dry {
		return out, nil
	}
	stands := slices.DeleteFunc(slices.Clone(out.Effects), func(e Effect) bool { return slices.Contains(o.keep, e.CallID) })
	if len(stands) > 0 {
		return out, fmt.Errorf("%w: %s; nothing takes these calls back: name each with Keep", ErrEffects, called(stands))
	}
	if err := c.withdraw(ctx, s, open, to); err != nil {
		return out, err
	}
	r.redo = o.redo
	out.ID, err = c.write(ctx, s, to.ID, r)
	return out, err
}

// leaving returns what a rewind to a place leaves.
func (p *positions) leaving(place int) (*rewind, error) {
	r, stay, goes := new(rewind), make(map[string]bool), make(map[string]bool)
	kept, gone := p.split(place)
	odd := map[string]bool{"": true}
	for _, ev := range gone {
		odd[ev.ID] = odd[ev.ID] || strings.Contains(ev.ID, "\n")
		r.hidden = append(r.hidden, ev.ID)
	}
	for _, ev := range kept {
		if _, both := odd[ev.ID]; both {
			odd[ev.ID] = true
		}
	}
	for _, id := range r.hidden {
		if odd[id] {
			return nil, fmt.Errorf("%w: event %s has an id that does not tell it from others", ErrCorrupted, config.Quote(id))
		}
	}
	for _, t := range p.turns {
		switch {
		case t.run == "":
		case t.at < place:
			stay[t.run] = true
		default:
			goes[t.run] = true
		}
	}
	// Of a message that was turned away there is no event.
	behind := false
	for _, e := range p.messages {
		behind = behind || goes[e.RunID]
		if behind && !stay[e.RunID] && !p.left[e.RunID] {
			goes[e.RunID] = true
		}
	}
	r.left = slices.Sorted(maps.Keys(goes))
	return r, nil
}

// approvals returns the requests of a session. It is an error if one is being carried out.
func (c *Checkpoints) approvals(ctx context.Context, s record.Session) ([]safety.Approval, error) {
	list, err := c.host.Store.Ledger().List(ctx, safety.Query{Session: s, Brief: true})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, a := range list {
		switch {
		case a.State == safety.StateExecuting:
			return nil, fmt.Errorf("%w: approval %s of %s is executing; if it is in doubt, a person has to say how it ended", ErrRunning, a.ID, a.Tool)
		case a.State == safety.StatePermitted && time.Now().Before(a.PermitExpiresAt):
			return nil, fmt.Errorf("%w: approval %s of %s is about to run", ErrRunning, a.ID, a.Tool)
		}
	}
	return list, nil
}

// withdraw ends the open requests that a rewind leaves.
func (c *Checkpoints) withdraw(ctx context.Context, s record.Session, open []safety.Approval, to position) error {
	who, authenticated := c.host.Who(ctx, s)
	for _, a := range open {
		_, err := c.host.Store.Ledger().Transition(ctx, safety.Transition{
			ID: a.ID, From: []safety.ApprovalState{safety.StatePending, safety.StateApproved}, To: safety.StateSuperseded,
			At: time.Now(), Actor: who, Authenticated: authenticated,
			Note: safety.WentBack + " to " + cmp.Or(to.Name, to.ID),
		})
		switch {
		case errors.Is(err, safety.ErrConflict):
			return fmt.Errorf("%w: approval %s came to something at this moment: %v", ErrRunning, a.ID, err)
		case err != nil:
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}

// effects returns the calls that may have acted on the world in the events that go. One that an answer let run may have
// been asked for in the events that stay.
func (c *Checkpoints) effects(kept, gone []*session.Event, approvals []safety.Approval) (list []Effect) {
	asked := sync.OnceValue(func() map[string]*genai.FunctionCall { // few rewinds need it
		calls := make(map[string]*genai.FunctionCall)
		for ev := range parts(kept) {
			if fc := ev.part.FunctionCall; fc != nil {
				calls[fc.ID] = fc
			}
		}
		return calls
	})
	seen := make(map[string]bool)
	for ev := range parts(gone) {
		fc := ev.part.FunctionCall
		if fr := ev.part.FunctionResponse; fr != nil && ev.author != genai.RoleUser {
			fc = &genai.FunctionCall{ID: fr.ID, Name: fr.Name}
		}
		if fc == nil || seen[fc.ID+" "+fc.Name] || ofFramework(fc.Name) || c.readsOnly(fc.Name) || c.neverRan(fc, approvals) {
			continue
		}
		seen[fc.ID+" "+fc.Name] = true
		if fc != ev.part.FunctionCall {
			if of := asked()[fc.ID]; of != nil && of.Name == fc.Name {
				fc = of
			}
		}
		list = append(list, Effect{CallID: fc.ID, Tool: fc.Name, Args: fc.Args})
	}
	return list
}

// called names calls.
func called(effects []Effect) string {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = fmt.Sprintf("%s (%s)", text.Visible(e.Tool), text.Visible(e.CallID))
	}
	return strings.Join(names, ", ")
}

// partOf is a part of an event, and who wrote it.
type partOf struct {
	author string
	part   *genai.Part
}

// parts ranges over the parts of events.
func parts(events []*session.Event) iter.Seq[partOf] {
	return func(yield func(partOf) bool) {
		for _, ev := range events {
			if ev.Content == nil {
				continue
			}
			for _, p := range ev.Content.Parts {
				if p != nil && !yield(partOf{ev.Author, p}) {
					return
				}
			}
		}
	}
}

// ofFramework reports whether calls of a name act on nothing but the conversation.
func ofFramework(name string) bool {
	switch name {
	case "transfer_to_agent", "finish_task", "exit_loop", toolName:
		return true
	}
	return strings.HasPrefix(name, "adk_request_")
}

func (c *Checkpoints) readsOnly(tool string) bool {
	return c.host.Replayable(tool) || slices.ContainsFunc(c.reads, func(p string) bool { return text.MatchName(p, tool) })
}

// neverRan reports whether a guarded call was not let run. Each approval of its id says so, and if there is none nobody
// was asked.
func (c *Checkpoints) neverRan(fc *genai.FunctionCall, approvals []safety.Approval) bool {
	return c.host.Guarded(fc.Name) && !slices.ContainsFunc(approvals, func(a safety.Approval) bool {
		switch a.State {
		case safety.StatePermitted, safety.StateExecuting, safety.StateExecuted, safety.StateFailed:
			return a.CallID == fc.ID
		}
		return false
	})
}

// changed names what events changed that belongs to more than the session.
func changed(events []*session.Event) []string {
	names := make(map[string]bool)
	for _, ev := range events {
		for key := range ev.Actions.StateDelta {
			if shared(key) {
				names[key] = true
			}
		}
		for name := range ev.Actions.ArtifactDelta {
			names["artifact:"+name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

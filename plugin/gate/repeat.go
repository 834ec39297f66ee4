// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxWithheld is how many answers of models in a turn may have calls that nobody is asked about. Then the model is told
// to stop: it would go on for ever. If it does not, its run ends. A person is asked as often as [safety.Guard.Ask]
// lets it be.
const maxWithheld = 10

// knownTurns bounds how many turns are remembered.
const knownTurns = 1000

type turnKey struct {
	session    record.Session
	invocation string
}

// turn is the gate's state of a turn, which may have several runs.
type turn struct {
	mu sync.Mutex
	// withheld are the answers of models with calls that nobody was asked about, last is why the last one was not.
	withheld map[string]bool
	last     string
}

// turnOf returns the state of the turn of a run, and the answer of a model that made a call.
func (g *Gate) turnOf(r *run, c *call) (of *turn, answer string) {
	answer, _ = r.Decided(c.ID, c.Agent, c.Branch, "")
	fresh := &turn{withheld: make(map[string]bool)}
	of, known, _ := g.turns.PeekOrAdd(turnKey{r.Session, r.Invocation}, fresh)
	if !known {
		of = fresh
	}
	return of, cmp.Or(answer, c.ID)
}

// withhold counts a call that nobody is asked about.
func (g *Gate) withhold(r *run, c *call, refusal *safety.Refusal) *safety.Refusal {
	of, answer := g.turnOf(r, c)
	of.mu.Lock()
	defer of.mu.Unlock()
	of.withheld[answer], of.last = true, refusal.Message
	if len(of.withheld) < maxWithheld {
		return refusal
	}
	stop := *refusal
	stop.Message = fmt.Sprintf("%s cannot be approved in this turn. %s", c.Name, refusal.Message)
	stop.Next = "Stop: make no more calls of this tool in this turn. Report to the person that it cannot be approved, and why."
	return &stop
}

// stopped refuses every call behind maxWithheld, and ends the run; nil for others.
func (g *Gate) stopped(ctx agent.Context, r *run, c *call) *safety.Refusal {
	of, answer := g.turnOf(r, c)
	of.mu.Lock()
	defer of.mu.Unlock()
	if len(of.withheld) < maxWithheld || of.withheld[answer] {
		return nil
	}
	if actions := ctx.Actions(); actions != nil {
		actions.SkipSummarization = true
	}
	g.log.Warn("contextgraph: the run ends, because its model does nothing but make calls that nobody can be asked about", "tool", c.Name, "calls", maxWithheld)
	return &safety.Refusal{
		Code: safety.CodeAskedTooOften, Tool: c.Name,
		Message: fmt.Sprintf("%s cannot be approved in this turn: nobody could be asked about %d calls before. %s", c.Name, maxWithheld, of.last),
	}
}

// maxRefused bounds the refused calls that a run remembers. Those beyond it go the whole
// way again, which refuses them too.
const maxRefused = 1000

// keyOfCall returns the key of a call; false for arguments without a digest.
func keyOfCall(c *call, args map[string]any) (repeatKey, bool) {
	digest, _, err := safety.ArgsDigest(args)
	return repeatKey{c.Agent, c.Name, digest}, err == nil
}

// noteRefusal remembers, until the run ends, that the call was refused or that a person
// rejected it.
func (r *run) noteRefusal(c *call, args map[string]any, err error) {
	refusal := c.refusal
	if refusal == nil && c.gated && errors.Is(err, tool.ErrConfirmationRejected) {
		refusal = &safety.Refusal{Code: safety.CodeRejected, Tool: c.Name, Message: fmt.Sprintf("A person rejected %s.", c.Name)}
	}
	if refusal == nil || refusal == c.second { // the first call has the same key
		return
	}
	key, ok := keyOfCall(c, args)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = make(map[repeatKey]*refused)
	}
	if old := r.refused[key]; old == nil && len(r.refused) < maxRefused || old != nil && old.refusal.Unasked {
		r.refused[key] = &refused{refusal, c.question}
	}
}

// repeated refuses a call if the same one (by agent, tool and arguments) was refused in this run
// before, or if an earlier request forbids to ask again. Then nobody is asked, and nothing is
// checked: the model can only change the call, or what it rests on. If a check refused it, and the
// model has read something since, it may come again; if nobody was asked about it, it may come again in any case, and
// is checked. For any other call it returns no refusal. again is then the question of a call that was refused
// before, nil for any other one.
func (g *Gate) repeated(ctx agent.Context, r *run, c *call, args map[string]any) (refused map[string]any, again *toolconfirmation.ToolConfirmation) {
	if stop := g.stopped(ctx, r, c); stop != nil {
		return g.refuse(r, c, stop), nil
	}
	var before *safety.Refusal
	key, ok := keyOfCall(c, args)
	r.mu.Lock()
	if entry := r.refused[key]; entry != nil && ok {
		before, again = entry.refusal, &entry.question
	}
	r.mu.Unlock()
	if before != nil && before.Unasked {
		return nil, again
	}

	var refusal *safety.Refusal
	if before == nil || before.Code == safety.CodeDrift || before.Code == safety.CodeBlocked || before.Code == safety.CodeToolChanged || before.Code == safety.CodeCheckFailed {
		rctx, cancel := r.Detach(ctx, askTimeout)
		defer cancel()
		replaces, err := g.guard.Replaces(rctx, g.requestOf(r, c, args), before != nil && before.Code == safety.CodeCheckFailed)
		switch {
		case err == nil && replaces != "":
			question, _ := g.questions.Get(replaces)
			return nil, &question
		case err == nil && before == nil:
			return nil, nil
		case err != nil && !errors.As(err, &refusal):
			refusal = &safety.Refusal{Code: safety.CodeInternal, Tool: c.Name, Message: internalError, Err: err}
		}
	}
	switch {
	case refusal == nil:
		again := *before
		again.Message = "This very call was refused in this turn before, and nobody is asked again: " + before.Message
		refusal = &again
	case before != nil && refusal.Code != safety.CodeAsked: // a new request has the present values
		refusal.Report = before.Report
	}
	c.repeated = true
	return g.refuse(r, c, g.withhold(r, c, refusal)), nil
}

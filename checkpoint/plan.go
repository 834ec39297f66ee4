// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Errors of a turn that is to be done again. They come wrapped, with what is the matter.
var (
	// ErrNoPlan means that the turn cannot be done again.
	ErrNoPlan = errors.New("the turn cannot be done again")
	// ErrChain means that the turn was done again twice already, and that the world changed each time.
	ErrChain = errors.New("the turn was done again twice already, and the world changed each time; start from present data")
)

const (
	maxChain    = 2
	maxMessages = 5
)

// Plan says how the turn of a request that met drift is done again: the session goes back to before the message whose turn
// read what has changed, and the messages from there to the request are sent again.
type Plan struct {
	// Approval is the request, and Tool what it was to run.
	Approval string         `json:"approval"`
	Tool     string         `json:"tool"`
	Session  record.Session `json:"session"`
	// Checkpoint is the position, Events how many events are left.
	Checkpoint string `json:"checkpoint"`
	Events     int    `json:"events"`
	// Messages are the beginnings of those that are sent again, in order. Left are those that came after the request
	// and are not sent again, without the answers.
	Messages []string `json:"messages"`
	Left     []string `json:"left,omitempty"`
	// Steps are the calls of tools that the plan is about.
	Steps []Step `json:"steps"`
	// Redo is how often the turn was done again after this, 1 or 2.
	Redo int `json:"redo"`

	sends []*session.Event
}

// Step is a call of a tool, as a plan sees it.
type Step struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// What is "again", "kept" or "in the way". Reason says why.
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// What becomes of a step.
const (
	StepAgain    = "again"
	StepKept     = "kept"
	StepInTheWay = "in the way"
)

// Plan makes a plan for a request that met drift. It touches nothing. With [ErrNoPlan] and [ErrChain] the plan says as much
// as is known. There is none for a request that has not met drift, or whose agent has asked anew since. And nothing is done
// again over an effect, an answer to a request, a message that asked for several approvals, or more than five messages.
func (c *Checkpoints) Plan(ctx context.Context, approvalID string) (Plan, error) {
	plan, _, _, err := c.plan(ctx, approvalID)
	return plan, err
}

// noPlan is the error that says why there is no plan.
func noPlan(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNoPlan}, args...)...)
}

func (c *Checkpoints) plan(ctx context.Context, approvalID string) (plan Plan, p *positions, to position, err error) {
	if err = c.ready(); err != nil {
		return
	}
	a, err := safety.Get(ctx, c.host.Store.Ledger(), approvalID)
	if errors.Is(err, safety.ErrNotFound) {
		err = fmt.Errorf("%w: there is no approval %s", ErrNotFound, config.Quote(approvalID))
	}
	if err != nil {
		return
	}
	plan = Plan{Approval: a.ID, Tool: a.Tool, Session: a.Session}
	if a.State != safety.StateBlocked || a.Tool == safety.InputTool {
		err = noPlan("approval %s of %s is %s; only a call that met drift after a yes is done again", a.ID, text.Visible(a.Tool), a.State)
		return
	}
	all, err := c.approvals(ctx, a.Session)
	if err != nil {
		return
	}
	if p, err = c.positions(ctx, a.Session); err != nil {
		return
	}
	asked, visible := p.turnOf[a.RunID]
	switch newer := newer(a, all); {
	case newer != "":
		err = noPlan("request %s has come in its place; answer that, or have its turn done again", newer)
	case !visible && p.left[a.RunID]:
		err = noPlan("the session went back to before the request")
	case !visible:
		err = noPlan("the message that led to the request did not come through Sessions")
	}
	if err != nil {
		return
	}
	first, readings, err := c.readings(ctx, p, a, asked)
	if err != nil {
		return
	}
	to = positionAt(p.turns[first].at, "", "", a.RequestedAt)
	to.ID = p.visible[to.place].ID
	kept, gone := p.split(to.place)
	plan.Checkpoint, plan.Events, plan.Redo = to.ID, len(gone), p.times(a, all)+1
	for i, t := range p.turns[first:] {
		ev := p.visible[t.at]
		switch {
		case first+i <= asked:
			plan.Messages, plan.sends = append(plan.Messages, summary(ev)), append(plan.sends, ev)
		case !answers(ev):
			plan.Left = append(plan.Left, summary(ev))
		}
	}
	effects := c.effects(kept, gone, all)
	plan.Steps = steps(kept, gone, effects, readings)
	if plan.Redo > maxChain {
		err = ErrChain
		return
	}
	if _, err = p.stateAt(to.place); err == nil {
		err = p.repeatable(&plan, first, asked, effects, all)
	}
	return
}

// newer returns the id of a request that came in the place of a, or that is open for the same tool; "" for none.
func newer(a safety.Approval, all []safety.Approval) string {
	i := slices.IndexFunc(all, func(b safety.Approval) bool {
		return b.Replaces == a.ID || b.Tool == a.Tool && b.State.Open() && b.RequestedAt.After(a.RequestedAt)
	})
	if i < 0 {
		return ""
	}
	return all[i].ID
}

// answers reports whether a message answers a request, or a call that waits.
func answers(ev *session.Event) bool {
	return slices.ContainsFunc(ev.Content.Parts, func(p *genai.Part) bool { return p != nil && p.FunctionResponse != nil })
}

// times is how often the turn of a was done again before a was asked.
func (p *positions) times(a safety.Approval, all []safety.Approval) (n int) {
	replaces := make(map[string]string)
	for _, b := range all {
		replaces[b.ID] = b.Replaces
	}
	for id := a.Replaces; id != "" && p.redone[id]; id = replaces[id] {
		n++
	}
	return n
}

// repeatable returns why messages cannot be sent again.
func (p *positions) repeatable(plan *Plan, first, asked int, effects []Effect, all []safety.Approval) error {
	if n := len(plan.Messages); n > maxMessages {
		return noPlan("%d messages would have to be sent again; %d are possible", n, maxMessages)
	}
	for i, ev := range plan.sends {
		if answers(ev) {
			return noPlan("message %s among those to send again answers a request; nobody answers it a second time", config.Quote(plan.Messages[i]))
		}
	}
	for i, t := range p.turns[first : asked+1] {
		requests := 0
		for _, a := range all {
			if a.RunID == t.run && a.State != safety.StateSuperseded {
				requests++
			}
		}
		if requests > 1 {
			return noPlan("message %s asked for %d approvals; to do it again would ask for all of them", config.Quote(plan.Messages[i]), requests)
		}
	}
	if len(effects) > 0 {
		return noPlan("%s may have acted on the world, and would act again", called(effects))
	}
	return nil
}

// readings returns the first turn that read what has changed, at the latest the one that asked, and the calls that read
// anything the request rests on, each with what has changed of it.
func (c *Checkpoints) readings(ctx context.Context, p *positions, a safety.Approval, asked int) (first int, of map[string]string, err error) {
	var report struct {
		Entities []safety.EntityResult `json:"entities"`
		Alerts   []safety.Alert        `json:"alerts"`
	}
	if err := json.Unmarshal(a.Report, &report); err != nil {
		return 0, nil, noPlan("the report of its check cannot be read: %v", err)
	}
	now := make(map[[3]string]entity.Value)
	for _, e := range report.Entities {
		for name, value := range e.Now {
			now[[3]string{e.Type, e.Value, name}] = value
		}
	}
	first, of = asked, make(map[string]string)
	for _, e := range a.Entities {
		for _, s := range e.Seen {
			row, found, err := c.host.Store.Row(ctx, s.EventID)
			if err != nil {
				return 0, nil, fmt.Errorf("checkpoint: %w", err)
			}
			if !found || !s.Source.Reading() {
				continue
			}
			call := readSaid(&row).CallID
			if _, known := of[call]; !known {
				of[call] = ""
			}
			for _, alert := range report.Alerts {
				is, known := now[[3]string{e.Type, e.Value, alert.Attribute}]
				blocks := alert.EntityType == e.Type && alert.Entity == e.Value && alert.Effect != config.EffectWarn
				if blocks && s.Reads(alert.Attribute) && !(known && is == s.Attributes[alert.Attribute]) {
					first = min(first, p.turnAt(row, asked))
					what := fmt.Sprintf("%s of %s %s: %s → %s", alert.Attribute, e.Type, e.Value, alert.Before, alert.After)
					if !strings.Contains(of[call], what) {
						of[call] = strings.TrimPrefix(of[call]+"; "+what, "; ")
					}
				}
			}
		}
	}
	return first, of, nil
}

// turnAt returns the turn of a row: that of its run, or of an agent that ran as a tool the last one that began before it.
func (p *positions) turnAt(row record.Event, latest int) int {
	if i, known := p.turnOf[row.RunID]; known {
		return min(i, latest)
	}
	at := 0
	for _, message := range p.messages {
		if i, known := p.turnOf[message.RunID]; known && !message.Time().After(row.Time()) {
			at = i
		}
	}
	return min(at, latest)
}

// steps says what becomes of each call that is left, and of those that stay and read what the request rests on.
func steps(kept, gone []*session.Event, effects []Effect, readings map[string]string) (list []Step) {
	for _, side := range []struct {
		events []*session.Event
		what   string
	}{{kept, StepKept}, {gone, StepAgain}} {
		for ev := range parts(side.events) {
			fc := ev.part.FunctionCall
			if fc == nil || ofFramework(fc.Name) {
				continue
			}
			changed, read := readings[fc.ID]
			step := Step{CallID: fc.ID, Tool: fc.Name, What: side.what}
			switch {
			case side.what == StepKept && !read:
				continue
			case side.what == StepKept:
				step.Reason = "what it read has not changed"
			case slices.ContainsFunc(effects, func(e Effect) bool { return e.CallID == fc.ID && e.Tool == fc.Name }):
				step.What, step.Reason = StepInTheWay, "it may have acted on the world"
			case changed != "":
				step.Reason = "it read what has changed: " + changed
			default:
				step.Reason = "it comes after the message"
			}
			if !slices.Contains(list, step) {
				list = append(list, step)
			}
		}
	}
	return list
}

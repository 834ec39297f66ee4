// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// A protected tool runs in a goroutine of its own, so that the read of a changed key can end it. An
// error is not enough: a tool may go on with a default. The context of the tool outlives its caller.

// effectGrace is how long the gate waits for a tool whose context has ended.
const effectGrace = 10 * time.Second

// effect is one run of a protected tool.
type effect struct {
	gate *Gate
	call *call
	// free are the keys of the state that may have changed.
	free   [][]string
	cancel context.CancelCauseFunc

	// goroutine is that of the tool. The rest of this part is set before done is closed.
	goroutine string
	done      chan struct{}
	returned  bool
	err       error
	panicked  error

	mu sync.Mutex
	// wrote are the keys and artifacts that the call wrote itself.
	wrote map[string]bool
	// changed is why the call was ended; elsewhere says that another goroutine of the tool came upon it.
	changed   *safety.Refusal
	elsewhere bool
}

// work is what a protected tool does. It hands chunks to whoever called the tool, until that returns false.
type work func(ctx agent.Context, hand func(string, error) bool) error

// carryOut runs a tool under the permit that c consumed, and records its end. take gets the chunks, in the
// goroutine of the caller. The refusal takes the place of the result. A panic of the tool is raised again;
// its approval is in doubt.
func (g *Gate) carryOut(ctx agent.Context, c *call, take func(string, error) bool, run work) (refusal map[string]any, err error) {
	g.effects.Add(1)
	defer g.effects.Add(-1)
	e := &effect{gate: g, call: c, wrote: make(map[string]bool), done: make(chan struct{})}
	e.free, _ = g.stateOf(c.Name)
	life, stop := context.WithTimeout(context.WithoutCancel(ctx), g.effectTimeout)
	defer stop()
	life, e.cancel = context.WithCancelCause(life)
	defer e.cancel(nil)
	// Changes that callbacks have made are none of the call: it reads them in the state, compared.
	earlier := ctx.Actions().StateDelta
	for key, v := range maps.Clone(earlier) {
		_ = ctx.State().Set(key, v)
	}
	ctx.Actions().StateDelta = nil
	ended := e.await(life, e.context(ctx, life), take, run)
	if ended {
		maps.Copy(earlier, ctx.Actions().StateDelta)
		ctx.Actions().StateDelta = earlier
		c.running.Store(false)
	}
	return e.end(ctx, life, !ended)
}

// await runs the tool in a goroutine of its own, and returns when it has ended; or false when it did not
// heed the end of its context.
func (e *effect) await(life context.Context, ctx agent.Context, take func(string, error) bool, run work) (ended bool) {
	chunks, gone := make(chan func()), make(chan struct{})
	defer close(gone)
	hand := func(text string, err error) (ok bool) {
		taken := make(chan struct{})
		select {
		case chunks <- func() { defer close(taken); ok = take(text, err) }:
			<-taken
		case <-gone:
		}
		return ok
	}
	e.gate.effects.Add(1) // it may outlive the caller
	go func() {
		defer e.gate.effects.Add(-1)
		defer close(e.done)
		defer func() {
			if v := recover(); v != nil {
				err, ok := v.(error)
				if !ok {
					err = fmt.Errorf("%v", v)
				}
				e.panicked = fmt.Errorf("%w\n\nin the goroutine of the tool:\n%s", err, debug.Stack())
			}
		}()
		e.goroutine = goroutine()
		e.err = run(ctx, hand)
		e.returned = true
	}()
	over := life.Done()
	var late <-chan time.Time
	for {
		select {
		case deliver := <-chunks:
			deliver()
		case <-over:
			over, late = nil, time.After(effectGrace)
		case <-late:
			return false
		case <-e.done:
			return true
		}
	}
}

// end records how the tool ended; stuck says that it did not.
func (e *effect) end(ctx agent.Context, life context.Context, stuck bool) (refusal map[string]any, err error) {
	g, c := e.gate, e.call
	e.mu.Lock()
	changed, elsewhere := e.changed, e.elsewhere
	e.mu.Unlock()
	switch {
	case !stuck && e.panicked != nil:
		panic(e.panicked)
	case !stuck && !e.returned && changed == nil:
		runtime.Goexit() // as the tool did
	}
	doubt := safety.Refusal{Code: CodeInDoubt, Tool: c.Name, ApprovalID: c.permit.ApprovalID(), Next: doubtNext}
	switch {
	case changed != nil && (elsewhere || stuck || e.returned):
		doubt.Message = changed.Message + " Another goroutine of the tool read it, so it is not known what was carried out."
	case changed != nil:
		g.finishPermit(ctx, c, changed)
		return e.refused(ctx, changed), nil
	case stuck, e.err != nil && life.Err() != nil:
		doubt.Message = fmt.Sprintf("%s did not end within %v (guard.effect_timeout): it is not known what was carried out.", c.Name, g.effectTimeout)
	default:
		if ctx.Err() != nil {
			c.permit.Untold()
			g.log.Warn("contextgraph: an approved call ran, and its caller had gone before it ended", "tool", c.Name, "approval", c.permit.ApprovalID())
		}
		g.finishPermit(ctx, c, e.err)
		return nil, e.err
	}
	g.log.Error("contextgraph: an approved call is in doubt until a person resolves it", "tool", c.Name, "approval", doubt.ApprovalID, "because", doubt.Message)
	return e.refused(ctx, &doubt), nil
}

// refused returns what the model is told. The run may be over.
func (e *effect) refused(ctx agent.Context, refusal *safety.Refusal) map[string]any {
	if r, _ := e.gate.rec.LookupCall(ctx); r != nil {
		return e.gate.refuse(e.gate.of(r), e.call, refusal)
	}
	return refusal.Map()
}

// doubtNext is the advice after a call in doubt.
const doubtNext = "Do not repeat this call: it may have been carried out. Say so; a person has to find out, and to resolve the approval."

// goroutine names the goroutine that calls it. Go has no other way to tell, and the tool must be ended
// in its own goroutine only: another one may belong to the host.
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte(" ["))
	return string(name)
}

// ended ends the tool because of what it read. In another goroutine it returns the reason.
func (e *effect) ended(format string, args ...any) error {
	changed := &safety.Refusal{
		Code: safety.CodeStateChanged, Tool: e.call.Name, ApprovalID: e.call.permit.ApprovalID(), Message: fmt.Sprintf(format, args...),
		Next: "Do not repeat this call as it is. Plan again from present data, and ask for a new approval.",
	}
	own := goroutine() == e.goroutine
	e.mu.Lock()
	if e.changed == nil {
		e.changed = changed
	}
	e.elsewhere = e.elsewhere || !own
	e.mu.Unlock()
	e.cancel(changed)
	if own {
		runtime.Goexit()
	}
	return changed
}

// note remembers what the call wrote itself.
func (e *effect) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrote[what] = true
}

func (e *effect) noted(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wrote[what]
}

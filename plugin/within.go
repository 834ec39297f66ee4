// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	"google.golang.org/adk/v2/agent"
)

// withinKey is the key of the run that the work of a context is for.
type withinKey struct{}

// within keeps the run for work that is done for it outside of its context.
func within(ctx context.Context) context.Context {
	switch c := ctx.(type) {
	case agent.Context:
		// A tool's context hides its session; what it wraps does not.
		if ic := c.WithICDelta(nil); ic != nil {
			return context.WithValue(ctx, withinKey{}, ic)
		}
	case agent.InvocationContext:
		return context.WithValue(ctx, withinKey{}, c)
	}
	return ctx
}

// Detach returns a context for work that must outlive the caller's cancellation, for at most
// d: a client that hangs up must not leave an approval half recorded. It remembers the run,
// for [Within].
func Detach(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(within(ctx)), d)
}

// Detach is [Detach] for work on the run, with the turns that its session told of.
func (r *Run) Detach(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return Detach(withTurns(within(ctx), &r.turns), d)
}

// Within returns the run that the work of ctx is for, nil outside of any run. ctx comes from
// [Detach].
func Within(ctx context.Context) agent.InvocationContext {
	ic, _ := ctx.Value(withinKey{}).(agent.InvocationContext)
	return ic
}

// ApartKey is the key of an [Apart] in the context of a tool.
type ApartKey struct{}

// Apart is a call of a tool outside of any run. A context with one under [ApartKey] is in no run,
// whatever context it wraps.
type Apart interface {
	// NeedsRun is called when the tool does something that needs a run: it calls a guarded
	// tool, or an agent.
	NeedsRun()
	// Declare takes entities that the tool declares, JSON with commas between them. It takes all of
	// them or, with an error, none.
	Declare(entities []byte) error
}

// apart returns the call outside of any run that ctx belongs to, nil for any other context. It also
// returns nil for a context without values, as tests of tools may give one.
func apart(ctx context.Context) (a Apart) {
	defer func() { _ = recover() }()
	a, _ = ctx.Value(ApartKey{}).(Apart)
	return a
}

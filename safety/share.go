// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"github.com/adk-contextgraph/contextgraph/record"
	"sync"
	"time"
)

// checkKey is the key of the running check in a context.
type checkKey struct{}

// runningCheck is the state that the checkers of one check share.
type runningCheck struct {
	ctx      context.Context
	id       string
	session  record.Session
	deadline time.Duration

	mu    sync.Mutex
	calls map[any]any // by sharedKey, each a *sharedCall of the same types
}

// withCheck marks ctx as the context of a check. Shared calls end with ctx or after deadline,
// whichever comes first.
func withCheck(ctx context.Context, id string, s record.Session, deadline time.Duration) context.Context {
	c := &runningCheck{id: id, session: s, deadline: deadline, calls: make(map[any]any)}
	c.ctx = context.WithValue(ctx, checkKey{}, c)
	return c.ctx
}

// CheckOf returns the id of the check that called a [Checker] with ctx, which is the id of its
// [Report], and the checked session. It returns false for any other context.
func CheckOf(ctx context.Context) (id string, s record.Session, ok bool) {
	c, ok := ctx.Value(checkKey{}).(*runningCheck)
	if !ok {
		return "", record.Session{}, false
	}
	return c.id, c.session, true
}

// sharedKey keeps apart what is shared under equal keys with other types.
type sharedKey[K comparable, T any] struct{ key K }

// sharedCall is one shared call. The other fields may be read after done is closed.
type sharedCall[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Share lets one call answer for several entities of a check. Of all calls with a context of one
// check and the same key, the first calls f, and all return its result, which they must not change.
// Two checks share nothing, so an answer is never older than its check. Outside of a check, each
// call calls f.
//
// f runs in a goroutine of its own. Its context ends with the whole check, not with the check of
// one entity. Share returns when f does or when ctx ends. An f that does not return is abandoned. A
// panic of f is an error of every call.
func Share[K comparable, T any](ctx context.Context, key K, f func(context.Context) (T, error)) (T, error) {
	c, ok := ctx.Value(checkKey{}).(*runningCheck)
	if !ok {
		return f(ctx)
	}
	call := shared(c, sharedKey[K, T]{key}, f)
	select {
	case <-call.done:
		return call.value, call.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// shared returns the call of f under the key, which it begins if it is the first.
func shared[K comparable, T any](c *runningCheck, key sharedKey[K, T], f func(context.Context) (T, error)) *sharedCall[T] {
	c.mu.Lock()
	defer c.mu.Unlock() // also where key holds a value that no map takes, which panics
	call, known := c.calls[key].(*sharedCall[T])
	if !known {
		call = &sharedCall[T]{done: make(chan struct{})}
		c.calls[key] = call
		go func() {
			defer close(call.done)
			call.value, call.err = bounded(c.ctx, c.deadline, f)
		}()
	}
	return call
}

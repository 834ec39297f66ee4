// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// State is the present state of one entity, as a checker knows it. The zero State says nothing,
// which fails the check.
type State struct {
	// Attributes holds the values now. Every attribute that was read must be
	// there, with the same kind. An entity that was seen without attributes is
	// confirmed by any attribute, or by [Exists]. That Exists or "availability" is
	// false is an alert for any entity.
	Attributes map[string]entity.Value
	// Missing says for attributes that the answer lacks where they were looked for, as "$.price". It
	// is for people; nil says nothing.
	Missing map[string]string
	// AsOf is when this was true: the time of the read at the source, not of the
	// last change. It is required.
	AsOf time.Time
	// Version is the revision of the answer, such as an ETag, if the source has one. It is recorded
	// so that the effect can be made conditional on it.
	Version string
	// Origins says where the answer came from, for the record.
	Origins []Origin
}

// The kinds of [Origin] that this module gives. A checker of the host may give others.
const (
	OriginSQL      = "sql"
	OriginBigQuery = "bigquery"
	OriginReplay   = "replay" // a recorded call of a tool, made again
)

// Origin says which source gave an answer, and how. It is for people and for the record: no
// decision uses it.
type Origin struct {
	// Kind is the kind of source: one of the constants, or a word of a checker of the host.
	Kind string `json:"kind"`
	// Name is what was asked: a database, a tool.
	Name string `json:"name,omitempty"`
	// Call is the id of the recorded call that was repeated.
	Call string `json:"call,omitempty"`
	// LatencyMS is how long it took, in milliseconds.
	LatencyMS int64 `json:"latency_ms"`
}

// maxOrigins bounds what is recorded of one answer.
const maxOrigins = 20

// origins makes what a checker says fit for the record.
func origins(list []Origin) []Origin {
	out := slices.Clone(list[:min(len(list), maxOrigins)])
	for i := range out {
		out[i].Kind, out[i].Name, out[i].Call = oneLine(out[i].Kind), oneLine(out[i].Name), oneLine(out[i].Call)
	}
	return out
}

// Checker looks up the present state of entities of one type.
//
// Check is called concurrently for different entities. Its context ends with the
// timeout of one check ([config.Guard.CheckTimeout]) or of all ([config.Guard.CheckDeadline]); a Check that
// does not return by then is abandoned: its goroutine runs on, its answer is thrown
// away and the entity fails. A panic is an answer that failed. The entity is a copy.
//
// Where one call answers for several entities, [Share] makes it once per check.
//
// A Check that returns an error fails the entity in any case. A State returned
// beside the error is compared all the same, so that a change found before the
// error is reported.
type Checker interface {
	Check(ctx context.Context, e entity.Canonical) (State, error)
}

// CheckerFunc is a function as a [Checker].
type CheckerFunc func(ctx context.Context, e entity.Canonical) (State, error)

// Check calls f. A nil f gives an error.
func (f CheckerFunc) Check(ctx context.Context, e entity.Canonical) (State, error) {
	if f == nil {
		return State{}, errors.New("the checker function is nil")
	}
	return f(ctx, e)
}

// AnswerError is an error of a checker that knows which Reason it is. A checker may
// return it, also wrapped or joined with others, to name another reason than
// ReasonError.
type AnswerError struct {
	// Reason is one of the Reason constants.
	Reason string
	// Err says what was wrong.
	Err error
}

// Error returns the reason and the text of Err.
func (e *AnswerError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }

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

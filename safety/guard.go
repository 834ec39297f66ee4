// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

// AuthorizationRequest is the question to an [Authorizer].
type AuthorizationRequest struct {
	// Approval is the request that is answered. It is a copy.
	Approval Approval
	// Identity is who answers, as the [IdentityFunc] of the guard names them; "" without one.
	Identity string
	// Session is the session the answer came through.
	Session record.Session
	// Confirmed is the answer: true approves, false rejects.
	Confirmed bool
	// Peer says that another agent answers, not a person: see [Answer.Peer].
	Peer bool
}

// Authorizer says who answers and whether they may. An error or an empty approver
// refuses the answer and leaves the request as it is; so does a panic, and an
// Authorize that takes longer than [config.Guard.CheckTimeout]. It is called concurrently.
//
// An approver is named as the [IdentityFunc] names requesters, or without one as the users of
// sessions are named: else nobody can see that somebody approves a request of their own.
type Authorizer interface {
	Authorize(ctx context.Context, r AuthorizationRequest) (approver string, err error)
}

// AuthorizerFunc is a function that is an [Authorizer].
type AuthorizerFunc func(ctx context.Context, r AuthorizationRequest) (approver string, err error)

// Authorize calls f. A nil f refuses.
func (f AuthorizerFunc) Authorize(ctx context.Context, r AuthorizationRequest) (approver string, err error) {
	if f == nil {
		return "", errors.New("safety: the authorizer is nil")
	}
	return f(ctx, r)
}

// GuardConfig configures a [Guard].
type GuardConfig struct {
	// Ledger stores the approvals. Required.
	Ledger Ledger
	// Evidence reads the record. Required.
	Evidence Evidence
	// Checkers has the checker of each entity type. An entity of a type without
	// one fails its check.
	Checkers map[string]Checker
	// Policy says what counts as a change, and what has to be checked. A key that it leaves out has
	// its default. So the zero Policy is all defaults.
	Policy config.Guard
	// Identity says who asks and who answers. It is optional. Without one, the requester is the
	// user of the session, and nothing authenticates them. With one, an answer without an
	// identity is refused.
	Identity IdentityFunc
	// Authorizer is optional. Without one, whoever the Identity names may approve. Without an
	// Identity as well, the user of the session is the approver and may approve, although the
	// same user asked and nothing shows who that is; a peer may not.
	Authorizer Authorizer
	// Running reports whether a run of a session is under way, as far as this process knows. It is optional. With it no effect
	// that goes on can be resolved.
	Running func(s record.Session, run string) bool
	// Now is the clock. Default [time.Now].
	Now func() time.Time
}

// Guard decides whether an approved call may run. It keeps no state of its own:
// everything is in the ledger, so that guards of several processes may share one.
//
// A Guard is safe for concurrent use. The methods of a nil *Guard refuse.
type Guard struct {
	ledger     Ledger
	evidence   Evidence
	checkers   map[string]Checker
	policy     rulebook
	identity   IdentityFunc
	authorizer Authorizer
	running    func(record.Session, string) bool
	clock      func() time.Time
	// parallel is how many entities are checked at a time.
	parallel int
	// sharing has a lock for the sessions with a hash, by seed: one answer at a time is checked whose call shares a
	// limit with others.
	sharing [32]sync.Mutex
	seed    maphash.Seed
	// onReport hears of every report before anything follows from it. Tests set it.
	onReport func(Report)
}

// NewGuard returns a guard, or an error that names what is missing or wrong in the
// configuration.
func NewGuard(cfg GuardConfig) (*Guard, error) {
	var errs []error
	if cfg.Ledger == nil {
		errs = append(errs, errors.New("safety guard: Ledger is nil: approvals have to be stored"))
	}
	if cfg.Evidence == nil {
		errs = append(errs, errors.New("safety guard: Evidence is nil: a decision has to rest on a record"))
	}
	for typ, c := range cfg.Checkers {
		if c == nil {
			errs = append(errs, fmt.Errorf("safety guard: the checker of %q is nil", typ))
		}
	}
	policy, err := compile(cfg.Policy)
	errs = append(errs, err, config.Config{Guard: cfg.Policy}.Check(Check))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &Guard{
		ledger: cfg.Ledger, evidence: cfg.Evidence, checkers: maps.Clone(cfg.Checkers),
		policy: policy, identity: cfg.Identity, authorizer: cfg.Authorizer, running: cfg.Running, clock: cfg.Now, parallel: parallel,
		seed: maphash.MakeSeed(),
	}
	if g.clock == nil {
		g.clock = time.Now
	}
	return g, nil
}

var errNilGuard = errors.New("safety: the guard is nil; nothing is approved")

// now reads the clock. A clock that panics or says nothing is an error, since a
// zero time would lie before every expiry.
func (g *Guard) now() (t time.Time, err error) {
	defer rescue(&err)
	if t = g.clock(); t.IsZero() {
		return t, errors.New("the clock gives no time")
	}
	return t, nil
}

// rescue turns a panic of a dependency into an error. It is for defer.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("safety: %w: %v", errPanic, p)
	}
}

// rescueReport is rescue for functions that return a report.
func rescueReport(r *Report, err *error) {
	if p := recover(); p != nil {
		*r, *err = Report{}, fmt.Errorf("safety: %w: %v", errPanic, p)
	}
}

// collect reads the record.
func (g *Guard) collect(ctx context.Context, s record.Session, d record.Decision) (Snapshot, error) {
	snap, err := bounded(ctx, g.policy.CheckDeadline, func(ctx context.Context) (Snapshot, error) {
		return g.evidence.Collect(ctx, s, d)
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading the record of session %q: %w", s.ID, err)
	}
	snap.Entities = cloneEntities(snap.Entities)
	return snap, nil
}

// randomID returns 128 random bits in hexadecimal.
func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

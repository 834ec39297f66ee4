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
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// AuthorizationRequest is the question to an [Authorizer].
type AuthorizationRequest struct {
	// Approval is the request that is answered. It is a copy.
	Approval Approval
	// Identity is who answers, as [GuardConfig.Identity] names them; "" without one.
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
// An approver is named as [GuardConfig.Identity] names requesters, or without one as the users of
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
	//
	// It returns the name of the authenticated person, or program, that a context belongs to. The context is that of the
	// run, so it holds what the host authenticated. An error or an empty name means that nobody was authenticated. It is
	// called concurrently.
	Identity func(ctx context.Context) (string, error)
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
	identity   func(context.Context) (string, error)
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

// errPanic is wrapped by an error that was a panic, or the end of a goroutine.
var errPanic = errors.New("panic")

// bounded calls code of others that may hang or panic. When the time is up, or ctx
// ends, it returns the error of the context at once; the call is abandoned, its
// goroutine ends when it ends and its result is thrown away.
func bounded[T any](ctx context.Context, timeout time.Duration, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: fmt.Errorf("%w: the call ended its goroutine", errPanic)}
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("%w: %v", errPanic, p)}
			}
			done <- a
		}()
		v, err := f(ctx)
		a = answer{v, err}
	}()

	var none T
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
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

// get loads an approval of a session. One of another session is not found.
func (g *Guard) get(ctx context.Context, s record.Session, id string) (Approval, error) {
	if id == "" {
		return Approval{}, fmt.Errorf("an approval without an id: %w", ErrNotFound)
	}
	a, err := one(ctx, g.ledger, Query{ID: id, Session: s})
	if err != nil {
		return Approval{}, fmt.Errorf("approval %q of session %q: %w", id, s.ID, err)
	}
	return a, nil
}

// expired reports whether nothing may come of a any more.
func expired(a Approval, now time.Time) bool { return now.After(a.ExpiresAt) }

// errNobody is the error of an identity that names nobody.
var errNobody = errors.New("nobody is authenticated")

// who calls f within the time for one check. There is no identity without an f.
func (g *Guard) who(ctx context.Context) (string, error) {
	if g.identity == nil {
		return "", errNobody
	}
	name, err := bounded(ctx, g.policy.CheckTimeout, g.identity)
	if err == nil && identity(name) == "" {
		err = errNobody
	}
	return name, err
}

// requester returns who asks. If nothing authenticates them, it is the user of the session, who is
// the word of a client.
func (g *Guard) requester(ctx context.Context, s record.Session) (name string, authenticated bool) {
	if name, err := g.who(ctx); err == nil {
		return name, true
	}
	return s.User, false
}

// nobodyApprovers is how many people have to approve what somebody asked whom the identity does not
// name: one of them may be the one who asked.
const nobodyApprovers = 2

// approvers returns how many people have to approve a call of a tool.
func (g *Guard) approvers(tool string, authenticated bool) int {
	n := g.policy.settings(tool).Approvers
	if g.identity == nil || authenticated || g.policy.SelfApproval {
		return n
	}
	return max(n, nobodyApprovers)
}

var otherCase = strings.NewReplacer("ß", "ss", "i\u0307", "i")

// identity returns the form of a name in which people are compared: without regard to case, to the
// width of characters, to space around and inside, and to characters that nobody sees.
func identity(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || text.Ignorable(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(name))
	// NFKD leaves one letter whole that is two in another case, and Go's İ is i in small letters.
	return otherCase.Replace(strings.ToLower(strings.ToUpper(name)))
}

// same reports whether two names are those of one person. Names that are empty are nobody's.
func same(a, b string) bool { return identity(a) != "" && identity(a) == identity(b) }

// has reports whether a list of people names somebody.
func has(people []string, who string) bool {
	return slices.ContainsFunc(people, func(name string) bool { return same(name, who) })
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The ways in which a call of a dependency can go wrong.
const (
	faultError = "error" // nothing is done, an error comes back
	faultLost  = "lost"  // it is done, and an error comes back
	faultZero  = "zero"  // nothing is done, and nothing says so
	faultPanic = "panic"
	faultHang  = "hang" // until the context ends
)

var errInjected = errors.New("injected")

// faults counts the calls of all dependencies and lets some go wrong.
type faults struct {
	mu    sync.Mutex
	calls []string
	at    map[int]string // number of the call, from 1
	spoil func(mode string, v any) any
}

// inject runs one call.
func inject[T any](f *faults, ctx context.Context, name string, do func() (T, error)) (T, error) {
	f.mu.Lock()
	f.calls = append(f.calls, name)
	mode := f.at[len(f.calls)]
	f.mu.Unlock()
	var zero T
	switch mode {
	case faultError:
		return zero, errInjected
	case faultLost:
		do()
		return zero, errInjected
	case faultZero:
		return zero, nil
	case faultPanic:
		panic(errInjected)
	case faultHang:
		<-ctx.Done()
		return zero, ctx.Err()
	case "":
		return do()
	default: // it is done, and something else comes back
		v, err := do()
		return f.spoil(mode, v).(T), err
	}
}

// faulty is every dependency of a guard.
type faulty struct {
	*faults
	ledger   safety.Ledger
	evidence safety.Evidence
	checker  safety.Checker
	now      func() time.Time
}

type none struct{}

func nothing(err error) (none, error) { return none{}, err }

func (f faulty) Create(ctx context.Context, a safety.Approval) error {
	_, err := inject(f.faults, ctx, "Create", func() (none, error) { return nothing(f.ledger.Create(ctx, a)) })
	return err
}

func (f faulty) Attach(ctx context.Context, id, confirmation string) error {
	_, err := inject(f.faults, ctx, "Attach", func() (none, error) { return nothing(f.ledger.Attach(ctx, id, confirmation)) })
	return err
}

// purpose names what a guard looks for with a query.
func purpose(q safety.Query) string {
	switch {
	case q.ID != "":
		return "Get"
	case q.ConfirmationID != "":
		return "Find"
	case q.ArgsDigest != "":
		return "Last"
	case q.Tool != "":
		return "LastChange"
	}
	return "List"
}

// List is a call with the name of its purpose. What a fault changes is the one approval that is looked
// for; all that are listed for a call are the last of them.
func (f faulty) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	name := purpose(q)
	if name == "List" {
		return inject(f.faults, ctx, name, func() ([]safety.Approval, error) { return f.ledger.List(ctx, q) })
	}
	a, err := inject(f.faults, ctx, name, func() (safety.Approval, error) {
		found, err := f.ledger.List(ctx, q)
		if err != nil {
			return safety.Approval{}, err
		}
		if len(found) == 0 {
			return safety.Approval{}, safety.ErrNotFound
		}
		return found[len(found)-1], nil
	})
	if errors.Is(err, safety.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []safety.Approval{a}, nil
}

func (f faulty) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	return inject(f.faults, ctx, "Transition to "+string(t.To), func() (safety.Approval, error) { return f.ledger.Transition(ctx, t) })
}

func (f faulty) History(ctx context.Context, id string) ([]safety.Step, error) {
	return inject(f.faults, ctx, "History", func() ([]safety.Step, error) { return f.ledger.History(ctx, id) })
}

func (f faulty) Collect(ctx context.Context, s safety.Session, d record.Decision) (safety.Snapshot, error) {
	return inject(f.faults, ctx, "Collect", func() (safety.Snapshot, error) { return f.evidence.Collect(ctx, s, d) })
}

func (f faulty) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	return inject(f.faults, ctx, "Check", func() (safety.State, error) { return f.checker.Check(ctx, e) })
}

func (f faulty) Authorize(ctx context.Context, r safety.AuthorizationRequest) (string, error) {
	return inject(f.faults, ctx, "Authorize", func() (string, error) { return r.Session.User, nil })
}

func (f faulty) Now() time.Time {
	t, _ := inject(f.faults, context.Background(), "Now", func() (time.Time, error) { return f.now(), nil })
	return t
}

func (f faulty) OnReport(safety.Report, safety.Stage) {
	inject(f.faults, context.Background(), "OnReport", func() (none, error) { return none{}, nil })
}

// newFaulty returns a bench whose every dependency is counted. The price of a product has moved
// up since it was read, and is still what the arguments allow.
func newFaulty(t *testing.T, at map[int]string) (*bench, *faults) {
	f := &faults{at: at, spoil: spoil}
	things := seenNow(strava, budget)
	b := newBench(t, func(cfg *safety.GuardConfig) {
		all := faulty{f, cfg.Ledger, cfg.Evidence, cfg.Checkers["Product"], time.Now}
		cfg.Ledger, cfg.Evidence, cfg.Authorizer, cfg.Now, cfg.OnReport = all, all, all, all.Now, all.OnReport
		cfg.SelfApproval = true
		cfg.Checkers = map[string]safety.Checker{"Product": all, "Budget": all}
		cfg.Policy.Parallel = 1 // so that the calls have an order
		cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Rules: map[string]safety.Rule{
			"price": {Drift: safety.PriceChanged, Condition: along(safety.AtMost, "$.most")},
		}}}
	}, things...)
	b.args["lines"] = []any{map[string]any{"most": 45000.0}}
	b.record.snap.Places = map[string][]string{things[0].Key: {"$['lines'][0]"}}
	b.world.put(things[0], "price", usd("$44,000"))
	b.clock.now = time.Now() // the world's answers are of now
	return b, f
}

// stubborn goes on whatever it is told, and tries everything three times.
func stubborn(b *bench, ctx context.Context) (ran int) {
	for range 3 {
		b.guard.Ask(ctx, b.request())
		stored, _ := b.ledger.List(ctx, safety.Query{Session: nike})
		if len(stored) == 0 {
			continue
		}
		b.approval = stored[0]
		for range 3 {
			b.guard.Attach(ctx, b.approval.ID, "conf-1")
			b.guard.Answer(ctx, safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, RunID: "run-2"})
			if p, _, _ := b.guard.Permit(ctx, b.execution()); p != nil {
				for range 3 {
					if p.Consume(ctx, b.args) == nil {
						ran++
					}
				}
			}
		}
	}
	return ran
}

// withFaults runs a driver in a bubble of its own and returns what it did.
func withFaults(t *testing.T, at map[int]string, drive func(*bench, context.Context) int) (ran int, calls []string, history []safety.Step) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, f := newFaulty(t, at)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		ran = drive(b, ctx)
		synctest.Wait() // for the calls that were abandoned
		f.mu.Lock()
		calls = slices.Clone(f.calls)
		f.mu.Unlock()
		if b.approval.ID != "" {
			history, _ = b.ledger.History(t.Context(), b.approval.ID)
		}
	})
	return ran, calls, history
}

// regular reports whether a history leads to the effect as it should.
func regular(steps []safety.Step) bool {
	var path []string
	for _, s := range steps {
		path = append(path, string(s.To)+" "+s.Verdict)
	}
	approved, permitted := slices.Index(path, "approved safe"), slices.Index(path, "permitted safe")
	executing := slices.Index(path, "executing ")
	return approved > 0 && permitted > approved && executing > permitted && !slices.ContainsFunc(steps, func(s safety.Step) bool {
		return s.To == safety.StateBlocked || s.To == safety.StateRejected || s.To == safety.StateExpired
	})
}

// TestTwoFaults lets each two calls of the whole path fail: in the quick size each two in one way of
// the three, and every third two of them.
func TestTwoFaults(t *testing.T) {
	ways := [][2]string{{faultError, faultError}, {faultError, faultLost}, {faultLost, faultZero}, {faultPanic, faultLost}, {faultError, faultZero}, {faultLost, faultLost}, {faultPanic, faultZero}}
	calls := sweep(t, nil).calls
	tried := 0
	for i := range calls {
		for j := i + 1; j < len(calls)+10; j++ {
			for k, way := range ways {
				if (i+2*j+k)%testsize.Rounds(t, 3*len(ways), 1) != 0 {
					continue
				}
				tried++
				at := map[int]string{i + 1: way[0], j + 1: way[1]}
				if ran, calls, history := withFaults(t, at, stubborn); ran > 1 || ran == 1 && !regular(history) {
					t.Errorf("faults %v: the effect ran %d times after %+v\n%v", at, ran, history, calls)
				}
			}
		}
	}
	t.Logf("%d times two faults", tried)
}

// A fault of what is done last is told, and what was not recorded can be recorded again.
func TestFaultOfDone(t *testing.T) {
	for _, mode := range []string{faultError, faultLost, faultZero, faultPanic, faultHang} {
		synctest.Test(t, func(t *testing.T) {
			at := map[int]string{}
			b, f := newFaulty(t, at)
			p := b.permitted()
			if err := p.Consume(t.Context(), b.args); err != nil {
				t.Fatal(err)
			}
			at[len(f.calls)+2] = mode // after the clock
			if err := p.Done(t.Context(), nil); err == nil {
				t.Errorf("%s: no error", mode)
			}
			err := p.Done(t.Context(), nil)
			if want := mode != faultLost; (err == nil) != want {
				t.Errorf("%s: again: %v", mode, err)
			}
			if b.state() != safety.StateExecuted {
				t.Errorf("%s: state %s", mode, b.state())
			}
		})
	}
}

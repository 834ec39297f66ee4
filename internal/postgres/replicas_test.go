// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// fleet are replicas of one agent: they share the database, ADK's sessions and the world, and nothing else.
type fleet struct {
	t        *testing.T
	url      string
	sessions session.Service
	shop     *cgtest.Shop
	all      []*cgtest.Harness
	opts     []cgtest.Option
	check    error // of the checkers, once it is set
}

func newFleet(t *testing.T, opts ...cgtest.Option) *fleet {
	return &fleet{t: t, url: pgtest.Database(t), sessions: session.InMemoryService(), opts: opts}
}

// replica starts one more.
func (f *fleet) replica(opts ...cgtest.Option) *cgtest.Harness {
	f.t.Helper()
	h := cgtest.New(f.t, append(append([]cgtest.Option{func(o *cgtest.Options) {
		o.Config.Memory, o.Config.Journal.Path, o.Config.Part = nil, "", part{}
		o.Config.Store.Postgres.DSN = config.Secret(f.url)
		o.ChangeRunner = func(c *runner.Config) { c.SessionService = f.sessions }
	}}, f.opts...), opts...)...)
	if h.Sessions = f.sessions; f.shop == nil {
		f.shop = h.Shop
	}
	h.Shop = f.shop
	f.all = append(f.all, h)
	return h
}

// failing lets the checks fail with the error of the fleet.
func (f *fleet) failing(o *cgtest.Options) {
	check := o.Config.CheckFuncs["Product"]
	o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		if f.check != nil {
			return safety.State{}, f.check
		}
		return check.Check(ctx, e)
	})
}

// bought returns how often the tool ran on any replica.
func (f *fleet) bought() (n int64) {
	for _, h := range f.all {
		n += h.Bought.Load()
	}
	return n
}

// people lets the context name who speaks, and asks for as many people.
func people(approvers int) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.Identity = func(ctx context.Context) (string, error) {
			who, _ := ctx.Value(who{}).(string)
			if who == "" {
				return "", errors.New("no token")
			}
			return who, nil
		}
		o.Config.Guard.Tools = map[string]config.ToolSettings{"b*": {Approvers: approvers}}
	}
}

type who struct{}

// says lets somebody send an answer, and returns what the tool call came to.
func says(h *cgtest.Harness, name, id string, yes bool) (map[string]any, error) {
	events, err := adktest.TryRun(context.WithValue(h.T.Context(), who{}, name), h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, yes))
	if got := adktest.Responses(events, "buy"); len(got) > 0 {
		return got[len(got)-1], err
	}
	return nil, err
}

// TestAskHereAnswerThere reads on one replica, asks on the next, and takes the answers of two people on two others. The
// last of them runs the call.
func TestAskHereAnswerThere(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fleet)
		check  error
		state  safety.ApprovalState
		bought int64
	}{
		"safe":         {func(*fleet) {}, nil, safety.StateExecuted, 1},
		"drift":        {func(f *fleet) { f.shop.Set("$41,000", true) }, nil, safety.StateBlocked, 0},
		"check_failed": {func(f *fleet) { f.check = errors.New("the source is down") }, nil, safety.StatePending, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, people(2))
			f.opts = append(f.opts, f.failing)
			a, b, c := f.replica(), f.replica(), f.replica()
			ctx := context.WithValue(t.Context(), who{}, "bob")
			events, err := adktest.TryRun(ctx, a.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
			if err != nil {
				t.Fatal(err)
			}
			id := cgtest.OnlyRequest(t, adktest.Confirmations(events)).ID
			got, err := says(b, "eva", id, true)
			t.Logf("eva: %v, %v", got, err)
			if as := c.Approvals(cgtest.SessionID); len(as) != 1 || as[0].State != safety.StatePending || len(as[0].Consents) != 1 {
				t.Fatalf("after the first yes: %+v", as)
			}
			tt.change(f)
			got, err = says(c, "tom", id, true)
			t.Logf("tom: %v, %v", got, err)
			as := a.Approvals(cgtest.SessionID)
			if len(as) != 1 || as[0].State != tt.state || f.bought() != tt.bought {
				t.Errorf("%d purchases, %s by check %q; want %d, %s", f.bought(), as[0].State, as[0].Verdict, tt.bought, tt.state)
			}
			if as[0].Verdict != name {
				t.Errorf("the verdict is %q, want %q", as[0].Verdict, name)
			}
			if _, err := says(a, "tom", id, true); f.bought() != tt.bought {
				t.Errorf("the same yes on another replica: %d purchases, %v", f.bought(), err)
			}
			if files, _ := filepath.Glob(filepath.Dir(a.Path) + "/*"); len(files) > 0 {
				t.Errorf("there are files: %v", files)
			}
		})
	}
}

// TestAllReplicasAreReplaced asks on a replica that is gone when the answer comes, and its disk with it.
func TestAllReplicasAreReplaced(t *testing.T) {
	f := newFleet(t)
	a := f.replica()
	id, _ := a.Ask(cgtest.SessionID)
	if err := a.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(filepath.Dir(a.Path))
	b := f.replica()
	if got := b.Answer(cgtest.SessionID, id, true); got["status"] != "bought" || f.bought() != 1 {
		t.Errorf("%v, %d purchases", got, f.bought())
	}
}

// TestSameYesOnTwoReplicas sends one answer to all replicas at once.
func TestSameYesOnTwoReplicas(t *testing.T) {
	for range 10 {
		f := newFleet(t)
		a, b, c := f.replica(), f.replica(), f.replica()
		id, _ := a.Ask(cgtest.SessionID)
		var all sync.WaitGroup
		for _, h := range []*cgtest.Harness{a, b, c, a, b, c} {
			all.Go(func() {
				_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true))
			})
		}
		all.Wait()
		if n := f.bought(); n != 1 {
			t.Fatalf("the tool ran %d times: %+v", n, a.Approvals(cgtest.SessionID))
		}
	}
}

// TestReplicaWithAnotherPolicy answers on a replica whose configuration is another one.
func TestReplicaWithAnotherPolicy(t *testing.T) {
	for reason, change := range map[string]cgtest.Option{
		"policy_changed": func(o *cgtest.Options) { o.Config.Guard.MinConfidence = new(0.7) },
		"rules_changed":  func(o *cgtest.Options) { o.Config.Extract[0].Confidence = 0.9 },
	} {
		t.Run(reason, func(t *testing.T) {
			f := newFleet(t)
			a, b := f.replica(), f.replica(change)
			id, _ := a.Ask(cgtest.SessionID)
			got := b.Answer(cgtest.SessionID, id, true)
			if f.bought() != 0 || !strings.Contains(fmt.Sprint(got), reason) {
				t.Errorf("%d purchases, %v; want %s", f.bought(), got, reason)
			}
		})
	}
}

// TestTurnOfAnotherReplica asks on one replica while the rows of the turn before still wait on another one: they are
// waited for, and not written a second time from the history.
func TestTurnOfAnotherReplica(t *testing.T) {
	f := newFleet(t, func(o *cgtest.Options) {
		o.Config.Journal.CommitInterval = 300 * time.Millisecond
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			for _, c := range slices.Backward(req.Contents) {
				if c.Role == "user" && c.Parts[0].Text == "look" && last != nil {
					return adktest.Text("Seen."), nil
				} else if c.Role == "user" && c.Parts[0].Text != "" {
					break
				}
			}
			return cgtest.Shopper(req)
		}
	})
	a, b := f.replica(), f.replica()
	for _, h := range []*cgtest.Harness{b, a, b} {
		adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("look"))
	}
	id, _ := a.Ask(cgtest.SessionID)
	if gaps := a.Approvals(cgtest.SessionID)[0].Gaps; len(gaps) > 0 {
		t.Errorf("gaps: %q", gaps)
	}
	if got := b.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("%v: %+v", got, a.Approvals(cgtest.SessionID))
	}
	n := 0
	for _, h := range f.all {
		if err := h.CG.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := opened(t, f.url).RowsAfter(t.Context(), cgtest.Key(cgtest.SessionID), 0)
	for _, e := range rows {
		if e.EventType == record.InvocationCompleted {
			n++
		}
	}
	if err != nil || n != 5 {
		t.Errorf("%d ends of 5 runs, %v", n, err)
	}
}

// TestRaceForOnePermit lets 50 clients of three replicas race.
func TestRaceForOnePermit(t *testing.T) {
	url := pgtest.Database(t)
	replicas := []*db{opened(t, url), opened(t, url), opened(t, url)}
	raceForPermits(t, replicas, 100)
}

func raceForPermits(t *testing.T, replicas []*db, rounds int) {
	t.Helper()
	for n := range rounds {
		a := approvalIn(t, replicas[n%3], n, safety.StateApproved)
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				tr := permit(a, i)
				_, err := replicas[i%3].Transition(t.Context(), tr)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, safety.ErrConflict) {
					t.Errorf("a loser got %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d winners", n, won.Load())
		}
		steps, err := replicas[0].History(t.Context(), a.ID)
		if err != nil || len(steps) != 3 {
			t.Fatalf("round %d: %d steps, %v", n, len(steps), err)
		}
	}
}

// approvalIn stores an approval that got to a state.
func approvalIn(t *testing.T, s *db, n int, state safety.ApprovalState) safety.Approval {
	t.Helper()
	a := storetest.Pending(n)
	if err := s.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for _, to := range storetest.Paths()[state] {
		var err error
		if a, err = s.Transition(t.Context(), storetest.Transition(a, to)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// permit returns the transition by which one of several clients gets a permit.
func permit(a safety.Approval, client int) safety.Transition {
	tr := storetest.Transition(a, safety.StatePermitted)
	tr.Set.PermitNonce = fmt.Sprint("nonce-", client)
	return tr
}

// TestResolveWhileAnotherReplicaRuns lets a person on one replica say how a call ended that runs on another one: not as long
// as that lives.
func TestResolveWhileAnotherReplicaRuns(t *testing.T) {
	f := newFleet(t)
	a, b := f.replica(), f.replica()
	id, _ := a.Ask(cgtest.SessionID)
	approval := a.Approvals(cgtest.SessionID)[0].ID
	resolve := func() error {
		return b.CG.Resolve(t.Context(), cgtest.Key(cgtest.SessionID), approval, false, "eva", "I looked")
	}
	a.OnBuy = func() {
		if err := resolve(); !errors.Is(err, safety.ErrConflict) || !strings.Contains(err.Error(), "under way") {
			t.Errorf("while it runs: %v", err)
		}
		pgtest.Exec(t, f.url, "UPDATE contextgraph.approvals SET lease_until = clock_timestamp()") // as if a were silent
		if err := resolve(); err != nil {
			t.Errorf("when its lease is over: %v", err)
		}
	}
	got := a.Answer(cgtest.SessionID, id, true)
	if as := b.Approvals(cgtest.SessionID); as[0].State != safety.StateFailed {
		t.Errorf("%s, after the answer %v", as[0].State, got)
	}
}

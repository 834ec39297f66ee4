// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Whatever the interleaving: if the tool ran, the world is what the prompt of the model
// call that asked showed last. And if all that the session showed is what is, it ran.
func TestRandomInterleavings(t *testing.T) {
	const perStore, perFile = 50, 10 // rounds that share a store, and stores of which one is a file
	// The garbage of these rounds costs as much as they do.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	var ran, refused, honest atomic.Int64
	seeds := slices.Collect(testsize.Seeds(t, 20, 100_000))
	t.Run("rounds", func(t *testing.T) {
		for n, some := range slices.Collect(slices.Chunk(seeds, perStore)) {
			t.Run(fmt.Sprint("from ", some[0]), func(t *testing.T) {
				t.Parallel()
				servers, world := ramblers(t, testsize.Thorough() && n%perFile == 0)
				for _, seed := range some {
					if t.Failed() {
						return
					}
					r := &ramble{
						t: t, rng: rand.New(rand.NewPCG(seed, 0)), servers: servers, session: fmt.Sprint("walk-", seed), numbered: seed%2 == 0,
						notes: make(chan note, 100), world: map[string]string{}, refusals: map[string]int{}, known: map[string]bool{},
					}
					*world = r
					r.walk(seed, &ran, &refused, &honest)
				}
			})
		}
	})
	t.Logf("of the purchases that a human approved %d ran, %d of them had to, and %d were refused", ran.Load(), honest.Load(), refused.Load())
	if len(seeds) > 1 && (honest.Load() == 0 || refused.Load() == 0) {
		t.Error("the interleavings show nothing")
	}
}

// ramblers returns two instances over one store, as of two processes, and where to put the
// ramble whose world they check.
func ramblers(t *testing.T, onFile bool) (servers []*cgtest.Harness, current **ramble) {
	t.Helper()
	current = new(*ramble)
	prices := cgtest.WithChecker(func(_ context.Context, e entity.Canonical) (safety.State, error) {
		r := *current
		r.mu.Lock()
		defer r.mu.Unlock()
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, r.world[e.Value]), "availability": entity.Bool(true),
		}}, nil
	})
	one := cgtest.New(t, cgtest.Covered, prices, func(o *cgtest.Options) {
		if o.Config.Memory = nil; !onFile {
			o.Config.Memory = new(store.Memory)
		}
	})
	two := cgtest.New(t, cgtest.Covered, prices, cgtest.Beside(one), func(o *cgtest.Options) {
		o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = one.Sessions }
	})
	two.Sessions = one.Sessions
	servers = []*cgtest.Harness{one, two}
	for _, h := range servers {
		rambler(t, h)
	}
	return servers, current
}

// walk takes random steps until all runs have ended and all that was asked is answered.
func (r *ramble) walk(seed uint64, ran, refused, honest *atomic.Int64) {
	defer func() {
		if r.t.Failed() {
			r.t.Logf("CONTEXTGRAPH_SEED=%d repeats it%s", seed, r)
		}
	}()
	for _, thing := range things {
		r.world[thing] = prices[r.rng.IntN(len(prices))]
	}
	live := func() (n int) {
		for _, run := range r.runs {
			if !run.ended {
				n++
			}
		}
		return n
	}
	const steps = 40
	r.start()
	for n := 0; (n < steps || live() > 0 || r.open() != nil) && !r.t.Failed(); n++ {
		last := n >= steps
		pick := r.rng.IntN(20)
		asked := r.open()
		switch {
		case !last && pick < 2:
			thing := r.thing()
			r.world[thing] = prices[r.rng.IntN(len(prices))]
			r.say("%s is %s", thing, r.world[thing])
		case asked != nil && (pick < 7 || len(r.points) == 0):
			had, must := r.answer(asked)
			if had {
				ran.Add(1)
			} else {
				refused.Add(1)
			}
			if must {
				honest.Add(1)
			}
		case len(r.points) > 0 && (last || pick < 16 || live() > 2):
			r.goOn(r.points[r.rng.IntN(len(r.points))], last)
		case !last:
			r.start()
		}
	}
}

// open returns a purchase that waits for its human.
func (r *ramble) open() *ask {
	for _, a := range r.asks {
		if a.confirmationID != "" {
			return a
		}
	}
	return nil
}

// answer approves a purchase and holds what became of it against the prompt. It reports
// whether the tool ran and whether it had to.
func (r *ramble) answer(a *ask) (ran, must bool) {
	id := a.confirmationID
	a.confirmationID = ""
	run := &ramblingRun{r: r, auto: true, server: a.run.server}
	h := r.servers[run.server]
	bought := r.bought
	alone := a.alone && !r.busy(1-run.server)
	must = r.must(a, alone)
	events, err := adktest.TryRun(context.WithValue(r.t.Context(), rambleKey{}, run), h.Runner, cgtest.User, r.session, adktest.Answer(id, true))
	result := map[string]any{}
	if got := adktest.Responses(events, "buy"); len(got) > 0 {
		result = got[len(got)-1]
	}
	ran = r.bought > bought
	r.say("run %d, %s: %s is approved, runs: %t, must: %t", a.run.number, a.agent, a.thing, ran, must)
	if !ran {
		r.refuse(result)
	}
	switch {
	case ran && r.repeated(a):
		r.t.Errorf("seed of %s: %s was bought although its agent asked for the same again, and only the later request counts", r.session, a.thing)
	case ran:
		// An agent also knows what its earlier calls were shown, of which the prompt may hold no
		// more than the answer, and a delegate what the one had read who handed over to it.
		if _, seen := a.shown[a.thing]; !seen && !a.unsure[a.thing] && !r.known[a.agent+" "+a.thing] && !r.known["root "+a.thing] {
			r.t.Errorf("seed of %s: %s was bought, and the prompt shows nothing of it", r.session, a.thing)
		}
		for thing, last := range a.shown {
			if !a.unsure[thing] && last.price != r.world[thing] {
				r.t.Errorf("seed of %s: %s was bought while %s costs %s, and the prompt shows %s", r.session, a.thing, thing, r.world[thing], last.price)
			}
		}
	case must && err == nil: // else ADK ended the run, as it does when two agents of one node have output
		r.t.Errorf("seed of %s: %s was refused although all holds (%v): %s", r.session, a.thing, err, encoded(result))
	}
	r.flush(run.server)
	return ran, must
}

// repeated reports whether the same agent asked for the same thing later.
func (r *ramble) repeated(a *ask) bool {
	return slices.ContainsFunc(r.asks, func(other *ask) bool {
		return other.agent == a.agent && other.thing == a.thing && other.place > a.place
	})
}

// must reports whether nothing speaks against a purchase: the prompt shows the thing, nobody
// asked for the same again, and all that the session showed before is what is now. What only
// came up afterwards is checked as well.
func (r *ramble) must(a *ask, alone bool) bool {
	if _, seen := a.shown[a.thing]; !seen || !alone || r.repeated(a) {
		return false
	}
	known := map[string]bool{}
	for i, found := range r.readings {
		if i < a.before {
			known[found.thing] = true
		}
		if (i < a.before || !known[found.thing]) && found.price != r.world[found.thing] {
			return false
		}
	}
	return true
}

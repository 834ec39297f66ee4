// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// pyReport is what the algorithm of the Python implementation returns.
type pyReport struct {
	total, stale int
	safe, failed bool
}

// pyCheck is that algorithm: the query failed or gave things, and the callback says whether each is
// available, or raises.
func pyCheck(query error, things []entity.Canonical, available func(string) (bool, error)) pyReport {
	if query != nil {
		return pyReport{failed: true}
	}
	r := pyReport{total: len(things)}
	for _, e := range things {
		is, err := available(e.Value)
		switch {
		case err != nil:
			r.failed = true
		case !is:
			r.stale++
		}
	}
	r.safe = !r.failed && r.stale == 0
	return r
}

// TestDifferentialAgrees compares the check with the algorithm on what is documented of it, for every
// way in which a few things may be there, be gone, or not be found out.
func TestDifferentialAgrees(t *testing.T) {
	seen := map[string]int{}
	rounds := 0
	for seed := range testsize.Seeds(t, 400, 4000) {
		rounds++
		rnd := rand.New(rand.NewPCG(seed, 5))
		var things []entity.Canonical
		gone, raises := map[string]bool{}, map[string]error{}
		for i := range 1 + rnd.IntN(4) {
			e := thing("Product", fmt.Sprint("P", i), values{"availability": entity.Bool(true)})
			things = append(things, e)
			switch rnd.IntN(6) {
			case 0:
				gone[e.Value] = true
			case 1:
				raises[e.Value] = []error{nil, errors.New("the ad server answers 503")}[rnd.IntN(2)]
			}
		}
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Checkers["Product"] = safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
				return safety.State{Attributes: values{"availability": entity.Bool(!gone[e.Value])}, AsOf: epoch}, raises[e.Value]
			})
		}, things...)
		if rnd.IntN(8) == 0 {
			b.record.err = errors.New("the query failed")
		}
		want := pyCheck(b.record.err, things, func(name string) (bool, error) { return !gone[name], raises[name] })
		r := b.check()
		got := pyReport{total: r.TotalEntities(), stale: r.StaleEntities(), safe: r.IsSafeToApprove(), failed: len(r.Failures()) > 0}
		if got != want {
			t.Fatalf("got %+v, the algorithm says %+v\n%s", got, want, r.Summary())
		}
		switch {
		case want.failed && want.total == 0:
			seen["query error"]++
		case want.failed:
			seen["callback raised"]++
		case want.safe:
			seen["all current"]++
		default:
			seen["drift"]++
		}
	}
	for _, outcome := range []string{"all current", "drift", "query error", "callback raised"} {
		if rounds > 1 && seen[outcome] < 10 {
			t.Errorf("%s came up %d times", outcome, seen[outcome])
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// This file holds the check against the algorithm of the Python implementation, written
// down anew: where its documentation says what comes of a check, both agree; where it
// says safe without proof, they differ on purpose.

// pyRow is one row of the join of entities and events that the algorithm reads.
type pyRow struct{ typ, value string }

// pyReport is what the algorithm returns.
type pyReport struct {
	total, stale int
	safe, failed bool
}

// pyTruth is the truth of a value in Python.
func pyTruth(v any) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case int:
		return x != 0
	case float64:
		return x != 0
	case string:
		return x != ""
	default:
		return true
	}
}

// pyCheck is the algorithm. read is the query; state is the callback, which is optional
// and raises by an error. A panic stands for what escapes from the algorithm: what the
// callback returns has to be a mapping.
func pyCheck(read func() ([]pyRow, error), state func(pyRow) (any, error)) pyReport {
	rows, err := read()
	if err != nil {
		return pyReport{failed: true}
	}
	r := pyReport{total: len(rows)}
	for _, row := range rows {
		if state == nil {
			continue
		}
		got, err := state(row)
		if err != nil {
			r.failed = true
			continue
		}
		available, given := got.(map[string]any)["available"]
		if given && !pyTruth(available) {
			r.stale++
		}
	}
	r.safe = !r.failed && r.stale == 0
	return r
}

// pyRows gives the rows of entities, one for each.
func pyRows(entities ...entity.Canonical) func() ([]pyRow, error) {
	return func() ([]pyRow, error) {
		var rows []pyRow
		for _, e := range entities {
			rows = append(rows, pyRow{e.Type, e.Value})
		}
		return rows, nil
	}
}

// pyState is the callback that its documentation shows, over the world of the tests. Of a
// thing that it does not know it says that it is available.
func pyState(b *bench) func(pyRow) (any, error) {
	return func(row pyRow) (any, error) {
		for _, e := range b.record.snap.Entities {
			if e.Type != row.typ || e.Value != row.value {
				continue
			}
			s, err := b.world.Check(context.Background(), e)
			available := s.Attributes["availability"]
			if v, isBool := available.AsBool(); isBool {
				return map[string]any{"available": v}, err
			}
		}
		return map[string]any{"available": true}, nil
	}
}

// TestDifferentialAgrees compares both on what is documented of the algorithm, for every
// way in which a few things may be there, be gone, or not be found out.
func TestDifferentialAgrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	seen := map[string]int{}
	for range 400 {
		var things []entity.Canonical
		for i := range 1 + rnd.IntN(4) {
			things = append(things, thing("Product", fmt.Sprint("P", i), values{"availability": entity.Bool(true)}))
		}
		raises := map[string]bool{}
		var b *bench
		b = newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
				if raises[e.Value] {
					return safety.State{}, errors.New("the ad server answers 503")
				}
				return b.world.Check(ctx, e)
			})
		}, things...)
		for _, e := range things {
			switch rnd.IntN(6) {
			case 0:
				b.world.put(e, "availability", entity.Bool(false))
			case 1:
				raises[e.Value] = rnd.IntN(2) == 0
			}
		}
		read := pyRows(things...)
		if rnd.IntN(8) == 0 {
			b.record.err = errors.New("the query failed")
			read = func() ([]pyRow, error) { return nil, b.record.err }
		}
		state := pyState(b)
		want := pyCheck(read, func(row pyRow) (any, error) {
			if raises[row.value] {
				return nil, errors.New("raised")
			}
			return state(row)
		})
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
		if seen[outcome] < 10 {
			t.Errorf("%s came up %d times", outcome, seen[outcome])
		}
	}
}

// TestDifferentialDiffers goes through what the algorithm takes for safe and this package
// does not: each hole by its number, with what the algorithm is given in this case and
// what is said here.
func TestDifferentialDiffers(t *testing.T) {
	available := func(pyRow) (any, error) { return map[string]any{"available": true}, nil }
	returning := func(v map[string]any) func(pyRow) (any, error) {
		return func(pyRow) (any, error) { return v, nil }
	}
	price := values{"price": usd("$40,000")}
	unsure, later := thing("Product", "P", fine), thing("Product", "P", fine)
	unsure.Confidence, later.LastSeen = 0.3, epoch.Add(time.Hour)
	for _, h := range []struct {
		hole     string
		input    string // what the algorithm is given
		entities []entity.Canonical
		change   func(*safety.GuardConfig)
		spoil    func(*bench)
		rows     func() ([]pyRow, error) // default: those of the entities
		state    func(pyRow) (any, error)
		drift    safety.DriftType // what is said here: a change, or
		reason   string           // why the check fails
	}{
		{hole: "W01", input: "no rows", state: available, reason: safety.ReasonNoEntities},
		{hole: "W02", input: "no callback", entities: []entity.Canonical{strava},
			change: func(cfg *safety.GuardConfig) { cfg.Checkers = nil }, reason: safety.ReasonNoChecker},
		{hole: "W03", input: "no rows under this session id", state: available,
			spoil: func(b *bench) { b.record.snap = safety.Snapshot{} }, reason: safety.ReasonIncompleteRecord},
		{hole: "W04", input: "rows, and nothing that says what was extracted", entities: []entity.Canonical{strava}, state: available,
			spoil: func(b *bench) { b.record.snap.Receipt = safety.Receipt{} }, reason: safety.ReasonIncompleteRecord},
		{hole: "W05", input: "the rows of an extraction before the last events", entities: []entity.Canonical{strava}, state: available,
			spoil: func(b *bench) { b.record.snap.Gaps = []string{"rows behind 12 are not read"} }, reason: safety.ReasonIncompleteRecord},
		{hole: "W06", input: "what an extraction that failed left over", entities: []entity.Canonical{strava}, state: available,
			spoil: func(b *bench) { b.record.snap.Receipt.Failed = 3 }, reason: safety.ReasonExtractionFailed},
		{hole: "W07", input: "what of the session got to the table", entities: []entity.Canonical{strava}, state: available,
			spoil: func(b *bench) { b.record.snap.Gaps = []string{"rows 3 to 5 are missing"} }, reason: safety.ReasonIncompleteRecord},
		{hole: "W08", input: "one entity less: its span has no row", entities: []entity.Canonical{strava, yahoo},
			spoil: func(b *bench) { b.world.put(yahoo, "availability", entity.Bool(false)) }, rows: pyRows(strava), drift: safety.Unavailable},
		{hole: "W12", input: "one entity less: a text told the model so", entities: []entity.Canonical{strava, yahoo},
			spoil: func(b *bench) { b.world.put(yahoo, "price", usd("$120,000")) }, rows: pyRows(strava), drift: safety.PriceChanged},
		{hole: "W13", input: "the entities in the part that was not cut off", entities: []entity.Canonical{strava}, state: available,
			spoil: func(b *bench) { b.record.snap.Receipt.Truncated = 1 }, reason: safety.ReasonIncompleteRecord},
		{hole: "W18", input: "a type that the callback does not know", entities: []entity.Canonical{thing("product", "Lower case", fine)},
			change: func(cfg *safety.GuardConfig) {
				cfg.Checkers = map[string]safety.Checker{"Product": cfg.Checkers["product"]}
			},
			state: available, reason: safety.ReasonNoChecker},
		{hole: "W19", input: "an entity with confidence 0.3", entities: []entity.Canonical{unsure}, state: available, reason: safety.ReasonLowConfidence},
		{hole: "W21", input: "{}", entities: []entity.Canonical{strava}, change: answering(safety.State{AsOf: epoch}, nil),
			state: returning(map[string]any{}), reason: safety.ReasonEmptyAnswer},
		{hole: "W21", input: `{"avaliable": false}`, entities: []entity.Canonical{strava},
			change: answering(safety.State{AsOf: epoch, Attributes: values{"avaliable": entity.Bool(false), "price": usd("$40,000")}}, nil),
			state:  returning(map[string]any{"avaliable": false}), reason: safety.ReasonMissingAttribute},
		{hole: "W22", input: `{"available": "false"}`, entities: []entity.Canonical{strava},
			change: answering(safety.State{AsOf: epoch, Attributes: values{"availability": entity.Text("false"), "price": usd("$40,000")}}, nil),
			state:  returning(map[string]any{"available": "false"}), reason: safety.ReasonTypeMismatch},
		{hole: "W23", input: `{"available": True, "current_value": "$75"}`, entities: []entity.Canonical{strava},
			spoil: func(b *bench) { b.world.put(strava, "price", usd("$75")) },
			state: returning(map[string]any{"available": true, "current_value": "$75"}), drift: safety.PriceChanged},
		{hole: "W24", input: `{"available": True, "drift_type": "price_changed", "severity": 0.99}`, entities: []entity.Canonical{thing("Product", "P", price)},
			change: answering(safety.State{AsOf: epoch, Attributes: values{"price": usd("$40,000"), "availability": entity.Bool(false)}}, nil),
			state:  returning(map[string]any{"available": true, "drift_type": "price_changed", "severity": 0.99}), drift: safety.Unavailable},
		{hole: "W28", input: "evaluated_at in the future", entities: []entity.Canonical{later}, state: available, reason: safety.ReasonNotSeen},
		{hole: "W30", input: "an answer from last week", entities: []entity.Canonical{strava},
			change: answering(safety.State{AsOf: epoch.Add(-7 * 24 * time.Hour), Attributes: strava.Attributes}, nil), state: available, reason: safety.ReasonStaleAnswer},
	} {
		t.Run(h.hole+" "+h.input, func(t *testing.T) {
			b := newBench(t, h.change, h.entities...)
			if h.spoil != nil {
				h.spoil(b)
			}
			rows := h.rows
			if rows == nil {
				rows = pyRows(h.entities...)
			}
			if h.hole == "W08" || h.hole == "W12" {
				h.state = pyState(b)
			}
			if py := pyCheck(rows, h.state); !py.safe || py.failed {
				t.Fatalf("the algorithm says %+v, want safe", py)
			}
			r := b.check()
			if h.reason != "" {
				wantFailure(t, r, h.reason)
			} else {
				wantDrift(t, r, h.drift)
			}
		})
	}
	// The holes between an unsafe answer and no answer at all: something escapes from the
	// algorithm, where the report here says what was wrong.
	for name, value := range map[string]any{"W25 None": nil, "W25 a bool": true, "W25 a coroutine": func() {}} {
		t.Run(name, func(t *testing.T) {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("nothing escapes")
					}
				}()
				pyCheck(pyRows(strava), func(pyRow) (any, error) { return value, nil })
			}()
			b := newBench(t, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) {
				return value.(safety.State), nil // of no other type is there an answer
			}), strava)
			wantFailure(t, b.check(), safety.ReasonPanic)
		})
	}
}

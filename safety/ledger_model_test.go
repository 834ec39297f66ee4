// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/ledgertest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMemoryLedger(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) safety.Ledger { return new(ledgertest.MemoryLedger) })
}

// model is the approval as the documentation describes it, in as few words as possible.
// Time is in seconds.
type model struct {
	state       safety.ApprovalState
	now         int
	moved       bool // the world is not what was seen
	lost        bool // the record has a gap
	permit      bool // there is a permit nobody has tried
	permitUntil int
	ran         int
}

const (
	modelLifetime = 60
	modelMaxAge   = 30
)

func (m *model) do(op string) {
	expired := m.now > modelLifetime
	open := m.state == safety.StatePending || m.state == safety.StateApproved
	switch op {
	case "approve":
		switch {
		case open && expired:
			m.state = safety.StateExpired
		case m.state != safety.StatePending:
		case m.moved:
			m.state = safety.StateBlocked
		case !m.lost:
			m.state = safety.StateApproved
		}
	case "reject":
		switch {
		case open && expired:
			m.state = safety.StateExpired
		case open:
			m.state = safety.StateRejected
		}
	case "permit":
		switch {
		case m.state != safety.StateApproved:
		case expired:
			m.state = safety.StateExpired
		case m.moved:
			m.state = safety.StateBlocked
		case !m.lost:
			m.state, m.permit, m.permitUntil = safety.StatePermitted, true, min(m.now+modelMaxAge, modelLifetime)
		}
	case "consume":
		if m.permit && m.now <= m.permitUntil {
			m.state = safety.StateExecuting
			m.ran++
		}
		m.permit = false
	case "tamper":
		m.permit = false
	case "done":
		if m.state == safety.StateExecuting {
			m.state = safety.StateExecuted
		}
	case "move":
		m.moved = !m.moved
	case "lose":
		m.lost = !m.lost
	case "wait":
		m.now += 25
	}
}

var modelOps = []string{"approve", "reject", "permit", "consume", "tamper", "done", "move", "lose", "wait"}

// compareWithModel does the operations with a guard and with the model.
func compareWithModel(t *testing.T, ops []string) {
	t.Helper()
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.RequestLifetime = modelLifetime * time.Second
		cfg.Policy.MaxAge = modelMaxAge * time.Second
	}, strava)
	b.ask()
	m := model{state: safety.StatePending}
	var p *safety.Permit
	ran := 0
	for i, op := range ops {
		m.do(op)
		switch op {
		case "approve", "reject":
			if out := b.answer(op == "approve"); out.Accepted && m.state != safety.StateApproved {
				t.Fatalf("%s: accepted where the model says %s", strings.Join(ops[:i+1], " "), m.state)
			}
		case "permit":
			if q, _, err := b.permit(); err == nil {
				p = q
			}
		case "consume":
			if p.Consume(t.Context(), b.args) == nil {
				ran++
			}
		case "tamper":
			if p.Consume(t.Context(), map[string]any{"total": 1}) == nil {
				ran += 100
			}
		case "done":
			p.Done(t.Context(), nil)
		case "move":
			price := usd("$40,000")
			if m.moved {
				price = usd("$52,000")
			}
			b.world.put(strava, "price", price)
		case "lose":
			b.record.snap.Gaps = nil
			if m.lost {
				b.record.snap.Gaps = []string{"a gap"}
			}
		case "wait":
			b.clock.Add(25 * time.Second)
		}
		if got := b.state(); got != m.state || ran != m.ran {
			t.Fatalf("%s: %s and ran %d times; the model says %s and %d", strings.Join(ops[:i+1], " "), got, ran, m.state, m.ran)
		}
	}
}

// TestModel compares every short sequence of operations, and some long ones, with the
// model.
func TestModel(t *testing.T) {
	length := testsize.Rounds(t, 3, 4)
	ops := make([]string, length)
	var all func(int)
	all = func(i int) {
		if i == length {
			compareWithModel(t, ops)
			return
		}
		for _, op := range modelOps {
			ops[i] = op
			all(i + 1)
		}
	}
	all(0)

	ranOnce, rounds := 0, 0
	for seed := range testsize.Seeds(t, 500, 3000) {
		rounds++
		r := rand.New(rand.NewPCG(seed, 2))
		// Long sequences that are likely to get somewhere.
		long := []string{"approve", "permit", "consume", "done"}
		for range 6 {
			at := r.IntN(len(long) + 1)
			long = append(long[:at], append([]string{modelOps[r.IntN(len(modelOps))]}, long[at:]...)...)
		}
		compareWithModel(t, long)
		m := model{state: safety.StatePending}
		for _, op := range long {
			m.do(op)
		}
		ranOnce += m.ran
	}
	if ranOnce == 0 && rounds > 1 {
		t.Error("no long sequence led to the effect")
	}
}

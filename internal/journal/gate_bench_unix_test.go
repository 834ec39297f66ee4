// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/ledgertest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// commits counts what a ledger makes durable: each is one transaction.
type commits struct {
	safety.Ledger
	n int
}

func (c *commits) Create(ctx context.Context, a safety.Approval) error {
	c.n++
	return c.Ledger.Create(ctx, a)
}

func (c *commits) Attach(ctx context.Context, id, confirmation string) error {
	c.n++
	return c.Ledger.Attach(ctx, id, confirmation)
}

func (c *commits) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	c.n++
	return c.Ledger.Transition(ctx, t)
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGate is what the guard and its ledger cost beside the checkers: of a request
// that is asked and answered, of the call that is carried out, and of both. The time is
// that of the processor, in milliseconds; the goal is half of one for the whole without
// the commits, which are counted: what they cost is a matter of SQLite and of the disk.
func BenchmarkGate(b *testing.B) {
	world := unchangedWorld{ledgertest.Pending(1)}
	allRead(&world.a)
	world.a.Receipt.Failed, world.a.Receipt.Truncated = 0, 0
	for i := range world.a.Entities {
		world.a.Entities[i].LastSeen = time.Now().Add(-time.Minute)
	}
	request := func(n int) safety.Request {
		return safety.Request{
			Session: world.a.Session, CallID: fmt.Sprint("call-", n), Tool: "buy", RunID: "run-1", DecisionNode: "node",
			Args: map[string]any{"campaign": "summer", "total": 200000.0, "placements": []any{"Strava", "Yahoo", "ESPN"}},
		}
	}
	ctx := b.Context()
	ask := func(b *testing.B, g *safety.Guard, n int) safety.Execution {
		r := request(n)
		a, err := g.Ask(ctx, r)
		if err != nil {
			b.Fatal(err)
		}
		confirmation := "conf-" + r.CallID
		if err := g.Attach(ctx, a.ID, confirmation); err != nil {
			b.Fatal(err)
		}
		out, err := g.Answer(ctx, safety.Answer{Session: r.Session, ConfirmationID: confirmation, Confirmed: true, RunID: "run-2"})
		if err != nil || !out.Accepted {
			b.Fatal(err, out.Reason, out.Report.Summary())
		}
		return safety.Execution{Session: r.Session, ApprovalID: a.ID, CallID: r.CallID, Tool: r.Tool, RunID: "run-2", Args: r.Args}
	}
	carryOut := func(b *testing.B, g *safety.Guard, e safety.Execution) {
		p, r, err := g.Permit(ctx, e)
		if err != nil {
			b.Fatal(err, r.Summary())
		}
		if err := p.Consume(ctx, e.Args); err != nil {
			b.Fatal(err)
		}
		if err := p.Done(ctx, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name          string
		asks, carries bool
		memory        bool // in place of the journal
	}{
		{"all, without the journal", true, true, true},
		{"all", true, true, false},
		{"ask and answer", true, false, false},
		{"carry out", false, true, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			ledger := &commits{Ledger: openJournal(b, nil).Ledger()}
			g, err := safety.NewGuard(safety.GuardConfig{
				Ledger: ledger, Evidence: world, Checkers: map[string]safety.Checker{"Product": world}, Policy: oncePolicy(),
			})
			if err != nil {
				b.Fatal(err)
			}
			var asked []safety.Execution
			if !bench.asks {
				for n := range b.N {
					asked = append(asked, ask(b, g, n))
				}
			}
			ledger.n = 0
			start := processorTime(b)
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				if bench.memory {
					ledger.Ledger = new(ledgertest.MemoryLedger)
				}
				var e safety.Execution
				if bench.asks {
					e = ask(b, g, n)
				} else {
					e = asked[n]
				}
				if bench.carries {
					carryOut(b, g, e)
				}
			}
			b.StopTimer()
			used := processorTime(b) - start
			b.ReportMetric(float64(used)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(ledger.n)/float64(b.N), "commits/op")
		})
	}
}

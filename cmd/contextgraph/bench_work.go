// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// benchSpans is how many spans the session has that is read.
	benchSpans = 1000
	// benchEntities is how many entities a check looks at.
	benchEntities = 10
)

// benchmark is what bench measures with.
type benchmark struct {
	journal  *journal.Journal
	duration time.Duration
}

// benchSession is the session with the number.
func benchSession(n int) record.Session {
	return record.Session{App: "bench", User: "bench", ID: fmt.Sprint("session-", n)}
}

// benchRow is a row of about 0.8 KB, as a tool of an agent gives them.
func benchRow(s record.Session, n int) record.Event {
	kind := record.ToolStarting
	if n%2 == 1 {
		kind = record.ToolCompleted
	}
	parent := ""
	if n > 1 {
		parent = fmt.Sprintf("%016x", 1)
	}
	return record.Event{
		Timestamp: time.Now().UnixMicro(), EventID: benchID(), EventType: kind, Status: record.StatusOK, Agent: "buyer",
		AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: "inv-" + s.ID, RunID: "run-" + s.ID, RunSeq: int64(n) + 1,
		TraceID: strings.Repeat("a", 32), SpanID: fmt.Sprintf("%016x", n/2+1), ParentSpanID: parent,
		Content:    []byte(`{"tool":"query","args":{"name":"` + strings.Repeat("x", 480) + `"}}`),
		Attributes: []byte(`{"adk":{"call_id":"call-` + fmt.Sprint(n/2) + `","branch":"` + strings.Repeat("y", 160) + `"}}`),
		LatencyMS:  []byte(`{"total_ms":12}`),
	}
}

func benchID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// rows stores rows of fifty sessions until the time is up.
func (b *benchmark) rows(ctx context.Context) ([]measurement, error) {
	start := time.Now()
	n := 0
	for ; time.Since(start) < b.duration; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !b.journal.Append(benchRow(benchSession(n%50), n/50)) {
			return nil, fmt.Errorf("the journal refused row %d: its disk does not keep up", n)
		}
	}
	if err := b.journal.Flush(ctx); err != nil {
		return nil, err
	}
	return []measurement{{
		Name: "rows", What: "rows of 0.8 KB, each made and stored", Unit: "rows/s", Count: n,
		Value: float64(n) / time.Since(start).Seconds(),
	}}, nil
}

func benchApproval(n int, policy string) safety.Approval {
	now := time.Now().UTC().Truncate(time.Microsecond)
	digest, args, _ := safety.ArgsDigest(nil) // no arguments have a digest
	a := safety.Approval{
		ID: benchID(), Session: benchSession(n), CallID: fmt.Sprint("call-", n), Tool: "buy", Agent: "buyer", InvocationID: "inv", RunID: benchID(),
		DecisionNode: "decision", TraceID: strings.Repeat("a", 32), SpanID: strings.Repeat("b", 16), ArgsDigest: digest, Args: args,
		Entities: benchThings(now), PolicyVersion: policy, Receipt: safety.Receipt{Watermark: 1, RowsRead: 1, Version: "bench"},
		Requester: "bench", RequestedAt: now, ExpiresAt: now.Add(time.Hour), State: safety.StatePending, UpdatedAt: now,
	}
	a.Fingerprint = safety.Fingerprint(a.Entities)
	return a
}

// benchThings are what a request rests on.
func benchThings(seen time.Time) []entity.Canonical {
	out := make([]entity.Canonical, benchEntities)
	for i := range out {
		e := entity.Entity{
			Type: "Product", Value: fmt.Sprint("Placement ", i), Attributes: map[string]entity.Value{"availability": entity.Bool(true)},
			Confidence: 1, Source: entity.SourceDeclared, SeenAt: seen,
		}
		out[i] = entity.Canonical{
			Key: e.Identity(), Type: e.Type, Value: e.Value, Attributes: e.Attributes, Confidence: 1,
			FirstSeen: seen, LastSeen: seen, Seen: []entity.Entity{e},
		}
	}
	return out
}

// durable stores requests for approvals, which are on the disk when that returns.
func (b *benchmark) durable(ctx context.Context) ([]measurement, error) {
	took, err := timed(ctx, b.duration, func(n int) error {
		return b.journal.Ledger().Create(ctx, benchApproval(n, "bench"))
	})
	if err != nil {
		return nil, err
	}
	return []measurement{times("durable", "a request for an approval, until the disk has it", took)}, nil
}

// benchRecord says what a request of benchApproval rests on.
type benchRecord struct{ safety.Approval }

func (r benchRecord) Collect(context.Context, safety.Session, safety.Decision) (safety.Snapshot, error) {
	return safety.Snapshot{Entities: r.Entities, Receipt: r.Receipt}, nil
}

// check makes checks whose answers are there at once.
func (b *benchmark) check(ctx context.Context) ([]measurement, error) {
	policy := safety.DefaultPolicy()
	a := benchApproval(0, policy.Version())
	guard, err := safety.NewGuard(safety.GuardConfig{
		Ledger: b.journal.Ledger(), Evidence: benchRecord{a}, Policy: policy,
		Checkers: map[string]safety.Checker{"Product": safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
		})},
	})
	if err == nil {
		err = b.journal.Ledger().Create(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	took, err := timed(ctx, b.duration, func(int) error {
		r, err := guard.Observe(ctx, a.Session, a.ID)
		if err == nil && !r.IsSafeToApprove() {
			err = fmt.Errorf("the check of nothing but sound answers is %s: %v", r.Verdict(), r.Failures())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measurement{times("check", fmt.Sprintf("a check of %d entities, without its checkers", benchEntities), took)}, nil
}

// look reads a session and makes all there is to see of it.
func (b *benchmark) look(ctx context.Context) ([]measurement, error) {
	s := record.Session{App: "bench", User: "bench", ID: "long"}
	for n := range 2 * benchSpans {
		if !b.journal.Append(benchRow(s, n)) {
			return nil, fmt.Errorf("the journal refused row %d of the long session", n)
		}
	}
	if err := b.journal.Flush(ctx); err != nil {
		return nil, err
	}
	src := inspect.NewJournal(b.journal)
	var record inspect.Record
	read, err := timed(ctx, b.duration, func(int) (err error) {
		record, err = src.Record(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	made, err := timed(ctx, b.duration, func(int) error {
		seen, err := inspect.New(record, time.Now())
		if err == nil && len(seen.Spans) != benchSpans {
			err = fmt.Errorf("the session has %d spans, not %d", len(seen.Spans), benchSpans)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measurement{
		times("read", fmt.Sprintf("the rows of a session with %d spans", benchSpans), read),
		times("graph", "its spans, graph, thoughts and approvals", made),
	}, nil
}

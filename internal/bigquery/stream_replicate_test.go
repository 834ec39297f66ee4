// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	testBatch    = 2 << 10
	testInFlight = 4
)

// newJournal returns a journal with count rows of testSessions sessions by turns.
func newJournal(t testing.TB, count, payload int) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{
		Journal: config.Journal{Path: journaltest.Path(t), OnFull: config.Block}, Logger: slog.New(slog.DiscardHandler), BlockTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Errorf("close the journal: %v", err)
		}
	})
	for i := range count {
		if !j.Append(newEvent(i, payload)) {
			t.Fatalf("row %d was not accepted", i)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return j
}

// outbox is a source that fails from a crash on, and checks the books: the cursor never
// passes a row that is not in the table of the server and no dead letter.
type outbox struct {
	store.Outbox
	t      testing.TB
	server *writefake.Server
	events []record.Event // by Seq, from 1
	// refuse says which rows the server never takes, in its words.
	refuse func(id string) string

	mu      sync.Mutex
	crashed bool
	cursor  int64
	handed  int64 // the last row that Rows returned
	dead    map[string]string
	peak    int // bytes of rows that were handed out, and that the server had not taken
}

var errCrashed = errors.New("the process has crashed")

func newOutbox(t testing.TB, j *journal.Journal, server *writefake.Server) *outbox {
	t.Helper()
	o := &outbox{Outbox: j.Outbox("bigquery:my-project.agents.agent_events"), t: t, server: server, refuse: none, dead: make(map[string]string)}
	for {
		rows, err := o.Outbox.Rows(t.Context(), int64(len(o.events)), 1000, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return o
		}
		o.events = append(o.events, rows...)
		if last := rows[len(rows)-1].Seq; last != int64(len(o.events)) {
			t.Fatalf("row %d has number %d", len(o.events), last)
		}
	}
}

// lessee has the lease of every process: one that was killed does not keep the next from it.
const lessee = "owner"

func (o *outbox) Acquire(ctx context.Context, _ string, ttl time.Duration) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.crashed {
		return 0, errCrashed
	}
	return o.Outbox.Acquire(ctx, lessee, ttl)
}

func (o *outbox) Release(ctx context.Context, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.crashed {
		return errCrashed
	}
	return o.Outbox.Release(ctx, lessee)
}

func (o *outbox) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.crashed {
		return nil, errCrashed
	}
	rows, err := o.Outbox.Rows(ctx, after, maxRows, maxBytes)
	if len(rows) > 0 {
		o.handed = rows[len(rows)-1].Seq
		held := 0
		for i := o.cursor; i < o.handed; i++ {
			if e := &o.events[i]; o.refuse(e.EventID) == "" && o.server.Applied(e.EventID) == 0 {
				held += wire.RowOf(e).Size()
			}
		}
		o.peak = max(o.peak, held)
	}
	return rows, err
}

func (o *outbox) Advance(ctx context.Context, _ string, to int64, dead []store.DeadLetter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.crashed {
		return errCrashed
	}
	for _, d := range dead {
		o.dead[o.events[d.Seq-1].EventID] = d.Reason
	}
	for seq := o.cursor + 1; seq <= to; seq++ {
		id := o.events[seq-1].EventID
		if _, buried := o.dead[id]; !buried && o.server.Applied(id) == 0 {
			o.t.Errorf("the cursor passes row %d, which is neither in the table nor a dead letter", seq)
		}
	}
	if err := o.Outbox.Advance(ctx, lessee, to, dead); err != nil {
		return err
	}
	o.cursor = max(o.cursor, to)
	return nil
}

// crash lets nothing more come from this process to the journal.
func (o *outbox) crash() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.crashed = true
}

// revive starts another process: with what the journal has.
func (o *outbox) revive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.crashed, o.handed = false, o.cursor
}

// replicator starts one over o.
func (o *outbox) replicator(target replicate.Target, mod func(*replicate.Config)) *replicate.Replicator {
	o.t.Helper()
	cfg := replicate.Config{
		Source: o, Target: target, BatchBytes: testBatch, BatchAge: time.Millisecond, InFlight: testInFlight,
		Logger: slog.New(slog.DiscardHandler),
	}
	if mod != nil {
		mod(&cfg)
	}
	r := replicate.New(cfg)
	r.Start()
	return r
}

// settled checks that every row is in the table, or a dead letter where the server never
// takes it, and that the rows of each session arrived in order.
func (o *outbox) settled() {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.events {
		words, dead := o.dead[e.EventID]
		if applied := o.server.Applied(e.EventID) > 0; applied == dead {
			o.t.Errorf("row %d: in the table %v, dead letter %v", e.Seq, applied, dead)
		}
		if want := o.refuse(e.EventID); (want != "") != dead || !strings.Contains(words, want) {
			o.t.Errorf("row %d: dead letter %v with %q, want words %q", e.Seq, dead, words, want)
		}
	}
	if n := o.server.Distinct(); n+len(o.dead) != len(o.events) {
		o.t.Errorf("%d rows in the table and %d dead letters, of %d rows", n, len(o.dead), len(o.events))
	}
	bySession := make(map[string][]string)
	for _, r := range o.server.Arrived() {
		bySession[r.Session] = append(bySession[r.Session], r.EventID)
	}
	for session, ids := range bySession {
		if !slices.IsSorted(ids) { // they ascend in the order of recording
			o.t.Errorf("session %s arrived as %v", session, ids)
		}
	}
	for i, c := range o.server.Connections() {
		if c.Requests > 0 && c.Schemas != 1 {
			o.t.Errorf("connection %d: %d requests have the schema, of %d", i, c.Schemas, c.Requests)
		}
	}
}

// bounded checks that what was read and not acknowledged, and what was sent and not
// answered, stayed within what the configuration allows.
func (o *outbox) bounded(batch, inFlight int) {
	o.t.Helper()
	// The window, the batch being filled, and what was read last: as much as a batch
	// holds of the payload alone, which is more than half of a row.
	if limit := (inFlight + 1 + 2 + 1) * batch; o.peak > limit {
		o.t.Errorf("%d bytes of rows were read and not taken, more than %d", o.peak, limit)
	}
	// Each connection sends the schema once, and the requests of three connections that
	// were given up may still lie with the server.
	const perRequest = 4 << 10
	if limit := (1 + 3) * inFlight * (batch + perRequest); o.server.MaxUnanswered() > limit {
		o.t.Errorf("%d bytes of requests had no answer, more than %d", o.server.MaxUnanswered(), limit)
	}
}

func none(string) string { return "" }

// closeReplicator ends r in order.
func closeReplicator(t testing.TB, r *replicate.Replicator) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// each runs a subtest for each of tests, all at a time: they wait, most of the time, and
// there are more of them than processors.
func each[T any](t *testing.T, tests []T, name func(T) string, run func(*testing.T, T)) {
	var all sync.WaitGroup
	for _, tt := range tests {
		all.Go(func() { t.Run(name(tt), func(t *testing.T) { run(t, tt) }) })
	}
	all.Wait()
}

// TestReplicateSchema streams to a table without one of the columns, until the upgrade
// adds it.
func TestReplicateSchema(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	var columns []string
	for _, c := range schema.Columns() {
		columns = append(columns, c.Name)
	}
	server.SetColumns(columns[:len(columns)-1]...)
	o := newOutbox(t, newJournal(t, 100, 50), server)
	target := newTarget(t, server)
	upgrades := 0
	bigquery.SetUpgrade(target, func(context.Context) error {
		if upgrades++; upgrades > 1 { // what was added is not known everywhere at once
			server.SetColumns(columns...)
		}
		return nil
	})
	r := o.replicator(target, nil)
	defer closeReplicator(t, r)
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.settled()
	if upgrades != 2 {
		t.Errorf("%d upgrades, want 2", upgrades)
	}
}

// TestReplicateStops shows what is said where somebody has to do something.
func TestReplicateStops(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	server.Schedule(func(writefake.Request) writefake.Answer {
		return writefake.EndBefore(status.Error(codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied"))
	})
	o := newOutbox(t, newJournal(t, 10, 50), server)
	r := o.replicator(newTarget(t, server), nil)
	err := r.Flush(t.Context())
	if err == nil || !strings.Contains(err.Error(), "roles/bigquery.dataEditor") || !strings.Contains(err.Error(), "TABLES_UPDATE_DATA") {
		t.Errorf("Flush: %v", err)
	}
	if n := server.Distinct(); n != 0 || len(o.dead) != 0 {
		t.Errorf("%d rows in the table, %d dead letters", n, len(o.dead))
	}
	if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "stay in the journal") {
		t.Errorf("Close: %v", err)
	}
}

// TestReplicateSchedules is the property of the whole way: whatever the server does by a
// seeded schedule, and however often this process crashes or the server goes away, every
// row lands or is a dead letter that the server refuses for ever, the cursor never
// passes one that is neither, the rows of a session arrive in their order, and memory
// stays bounded.
func TestReplicateSchedules(t *testing.T) {
	t.Parallel()
	var faults []writefake.Answer
	for _, f := range writefake.Transient() {
		faults = append(faults, f.Answer)
	}
	faults = append(faults, writefake.Answer{Delay: 5 * time.Millisecond}, writefake.Answer{Silent: true},
		writefake.Answer{Silent: true, NotApplied: true}, writefake.Answer{Missing: true}, writefake.Answer{Swapped: true})
	each(t, slices.Collect(testsize.Seeds(t, 2, 48)), func(seed uint64) string { return fmt.Sprint("seed=", seed) }, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		refuse := none
		server := newServer(t, writefake.Options{})
		if every := random.IntN(3); every > 0 {
			suffix := fmt.Sprintf("%x", random.IntN(16))
			refuse = func(id string) string {
				if strings.HasSuffix(id, suffix) && (every == 1 || strings.Contains(id, suffix+suffix)) {
					return "no such row"
				}
				return ""
			}
		}
		server.Refuse(func(r writefake.Row) string { return refuse(r.EventID) })

		// Accidents happen at certain requests.
		requests, next := 0, 3+random.IntN(10)
		accident := make(chan int, 1000)
		drawn := writefake.Seeded(seed, 3+random.IntN(6), faults...)
		server.Schedule(func(req writefake.Request) writefake.Answer {
			if requests++; requests == next {
				accident <- random.IntN(4)
				next += 3 + random.IntN(12)
			}
			return drawn(req)
		})

		o := newOutbox(t, newJournal(t, 300, 200), server)
		o.refuse = refuse
		target := newTarget(t, server)
		mod := func(c *replicate.Config) { c.AckTimeout = 300 * time.Millisecond }
		for {
			r := o.replicator(target, mod)
			flushed := make(chan error, 1)
			go func() { flushed <- r.Flush(t.Context()) }()
			crashed := false
			for !crashed {
				select {
				case err := <-flushed:
					if err != nil {
						t.Errorf("Flush: %v", err)
					}
					closeReplicator(t, r)
					o.settled()
					o.bounded(testBatch, testInFlight)
					return
				case what := <-accident:
					switch what {
					case 0:
						server.Restart()
					case 1:
						server.Drain()
					default:
						crashed = true
					}
				}
			}
			o.crash()
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = r.Close(ctx) // what is left of a process that has crashed
			<-flushed
			o.revive()
		}
	})
}

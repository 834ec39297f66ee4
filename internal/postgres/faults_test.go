// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	process "os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// rowIn returns row n of a session.
func rowIn(session string, n int) record.Event {
	return record.Event{
		Timestamp: int64(n), EventID: fmt.Sprintf("%s-%d", session, n), EventType: record.ToolCompleted, Status: record.StatusOK,
		AppName: "app", UserID: "u", SessionID: session, RunID: "run", RunSeq: int64(n), Content: []byte(`{"n":1}`),
	}
}

// wantNumbers checks that the rows of each session have the numbers from 1 on, and how many rows there are, unless it is negative.
func wantNumbers(t *testing.T, url string, rows int64) {
	t.Helper()
	s := opened(t, url)
	var bad []string
	found := int64(0)
	list, err := s.pool.Query(t.Context(), `SELECT s.session_id, s.number, s.events, count(r.*), coalesce(max(r.number), 0), coalesce(min(r.number), 1),
		count(DISTINCT r.number), coalesce(max(r.seq), 0) - s.last_seq FROM contextgraph.sessions AS s LEFT JOIN contextgraph.rows AS r ON r.session = s.key GROUP BY s.key`)
	if err != nil {
		t.Fatal(err)
	}
	for list.Next() {
		var id string
		var n [7]int64
		if err := list.Scan(&id, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]); err != nil {
			t.Fatal(err)
		}
		found += n[2]
		if n[0] != n[1] || n[0] != n[2] || n[0] != n[3] || n[0] > 0 && n[4] != 1 || n[0] != n[5] || n[6] != 0 {
			bad = append(bad, fmt.Sprint(id, n))
		}
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if len(bad) > 0 || rows >= 0 && found != rows {
		t.Errorf("%d rows, want %d; sessions with wrong numbers: %v", found, rows, bad)
	}
}

// TestNumbersOfManyProcesses lets three processes record in the same 50 sessions. Some rows come from two of them.
func TestNumbersOfManyProcesses(t *testing.T) {
	const sessions, each = 50, 3000
	if url := os.Getenv("PGSTORE_RECORDS"); url != "" {
		s := opened(t, url)
		for n := range each {
			e := rowIn(fmt.Sprint("s", n%sessions), n)
			if n%7 > 0 {
				e.EventID += os.Getenv("PGSTORE_NAME")
			}
			if !s.Append(e) {
				t.Fatal("a row was refused")
			}
			if n%97 == 0 {
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	url := pgtest.Database(t)
	var all sync.WaitGroup
	for i := range 3 {
		cmd := process.CommandContext(t.Context(), os.Args[0], "-test.run=TestNumbersOfManyProcesses$")
		cmd.Env = append(os.Environ(), "PGSTORE_RECORDS="+url, fmt.Sprint("PGSTORE_NAME=p", i))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	shared := int64(0)
	for n := range each {
		if n%7 == 0 {
			shared++
		}
	}
	wantNumbers(t, url, 3*(each-shared)+shared)
}

// TestLostCommitOfRows loses the statement that stores rows, or its answer after it has taken effect: no row is lost or
// doubled, and the numbers have no holes.
func TestLostCommitOfRows(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	s := opened(t, p.URL)
	n := 0
	for range 10 {
		for _, lose := range []func(string){p.LoseAnswer, p.LoseStatement} {
			lose("INSERT INTO contextgraph.rows")
			for range 20 {
				if n++; !s.Append(rowIn(fmt.Sprint("s", n%3), n)) {
					t.Fatal("a row was refused")
				}
			}
			err := s.Flush(t.Context())
			for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = s.Flush(t.Context()) {
				time.Sleep(10 * time.Millisecond)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if p.Lost() != 20 {
		t.Errorf("%d statements were lost, want 20", p.Lost())
	}
	if st := s.Stats(); st.Unaccounted() != 0 || st.Stored+st.Duplicates != uint64(n) || len(st.Lost) > 0 {
		t.Errorf("stats %+v", st)
	}
	wantNumbers(t, url, int64(n))
}

// TestLateCommitOfRows repeats rows while the first transaction with them is still open. It ends either way.
func TestLateCommitOfRows(t *testing.T) {
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(end, func(t *testing.T) {
			url := pgtest.Database(t)
			s := opened(t, url)
			conn, err := s.pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			if !s.Append(rowIn("s", 1)) || s.Flush(t.Context()) != nil {
				t.Fatal("the first row was not stored")
			}
			// As insert does, without the end.
			var g group
			for n := 2; n < 5; n++ {
				e := rowIn("s", n)
				g.add(&e, keyOf(e.Session()), digest(e.EventID))
			}
			for _, step := range []struct {
				text string
				args []any
			}{{"BEGIN", nil}, {statement("lock_sessions"), []any{g.sessions[:1]}}, {statement("insert_rows"), g.args()}} {
				if _, err := conn.Exec(t.Context(), step.text, step.args...); err != nil {
					t.Fatal(err)
				}
			}
			for n := 2; n < 6; n++ {
				s.Append(rowIn("s", n))
			}
			flushed := make(chan error, 1)
			go func() { flushed <- s.Flush(t.Context()) }()
			select {
			case err := <-flushed:
				t.Fatalf("nobody waited for the open transaction: %v", err)
			case <-time.After(200 * time.Millisecond):
			}
			if _, err := conn.Exec(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			wantNumbers(t, url, 5)
		})
	}
}

// TestLostAnswerOfALedger loses the answer to each change of an approval, or the change itself.
func TestLostAnswerOfALedger(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	s, other := opened(t, p.URL), opened(t, url)
	n := 0
	for _, took := range []bool{true, false} {
		for name, change := range map[string]struct {
			statement string
			from      safety.ApprovalState
			do        func(a safety.Approval) error
			done      func(a safety.Approval) bool
		}{
			"create": {"INSERT INTO contextgraph.approvals", "", func(a safety.Approval) error { return s.Create(t.Context(), a) },
				func(a safety.Approval) bool { return a.State == safety.StatePending }},
			"attach": {"SET confirmation_key", safety.StatePending, func(a safety.Approval) error { return s.Attach(t.Context(), a.ID, "c-"+a.ID) },
				func(a safety.Approval) bool { return a.ConfirmationID != "" }},
			"permit": {"UPDATE contextgraph.approvals SET", safety.StateApproved, func(a safety.Approval) error {
				_, err := s.Transition(t.Context(), storetest.Transition(a, safety.StatePermitted))
				return err
			}, func(a safety.Approval) bool { return a.State == safety.StatePermitted }},
			"execute": {"UPDATE contextgraph.approvals SET", safety.StatePermitted, func(a safety.Approval) error {
				_, err := s.Transition(t.Context(), storetest.Transition(a, safety.StateExecuting))
				return err
			}, func(a safety.Approval) bool { return a.State == safety.StateExecuting }},
		} {
			t.Run(fmt.Sprint(name, "/", took), func(t *testing.T) {
				n++
				a := storetest.Pending(n)
				if change.from != "" {
					a = approvalIn(t, other, n, change.from)
				}
				if p.LoseStatement(change.statement); took {
					p.LoseAnswer(change.statement)
				}
				err := change.do(a)
				got, getErr := safety.Get(t.Context(), other, a.ID)
				if took != (err == nil) {
					t.Errorf("%v; it took effect: %t", err, took)
				}
				if done := getErr == nil && change.done(got); done != took {
					t.Errorf("stored: %s with confirmation %q, %v", got.State, got.ConfirmationID, getErr)
				}
			})
		}
	}
	if p.Lost() != 8 {
		t.Errorf("%d answers were lost, want 8", p.Lost())
	}
}

// TestUnknownAnswerOfALedger loses the answer, and the server with it: nobody can tell, so the caller gets an error.
func TestUnknownAnswerOfALedger(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	s, other := opened(t, p.URL), opened(t, url)
	a := approvalIn(t, other, 1, safety.StatePermitted)
	p.Delay = time.Minute
	p.LoseAnswer("UPDATE contextgraph.approvals SET")
	failed := make(chan error, 1)
	go func() {
		_, err := s.Transition(t.Context(), storetest.Transition(a, safety.StateExecuting))
		failed <- err
	}()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got, err := safety.Get(t.Context(), other, a.ID); err != nil || got.InDoubt() {
			break
		}
	}
	p.Away(true)
	if err := <-failed; err == nil {
		t.Error("an effect may begin that nobody knows to be permitted")
	}
	p.Away(false)
	if got, err := safety.Get(t.Context(), other, a.ID); err != nil || !got.InDoubt() {
		t.Errorf("%s, %v: want in doubt", got.State, err)
	}
	if _, err := s.Transition(t.Context(), storetest.Transition(a, safety.StateExecuting)); !errors.Is(err, safety.ErrConflict) {
		t.Errorf("the permit is used again: %v", err)
	}
}

// TestBadRow has one row of many refused: it is found, counted, a gap, and holds up nobody.
func TestBadRow(t *testing.T) {
	url := pgtest.Database(t)
	s := opened(t, url)
	pgtest.Exec(t, url, "ALTER TABLE contextgraph.rows ADD CONSTRAINT bad CHECK (event_type <> 'BAD')")
	const rows = 500
	for n := range rows {
		e := rowIn(fmt.Sprint("s", n%5), n)
		if n == 123 || n == 321 {
			e.EventType = "BAD"
		}
		if !s.Append(e) {
			t.Fatal("a row was refused")
		}
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil { // which stores what was lost
		t.Fatal(err)
	}
	if st := s.Stats(); st.Lost[store.LostRejected] != 2 || st.Stored != rows-2 || st.Unaccounted() != 0 {
		t.Errorf("stats %+v", st)
	}
	wantNumbers(t, url, rows-2)
	other := opened(t, url)
	for id, want := range map[string]int{"s3": 1, "s1": 1, "s0": 0} {
		losses, err := other.Losses(t.Context(), record.Session{App: "app", User: "u", ID: id})
		if err != nil || len(losses) != want {
			t.Errorf("losses of %s: %v, %v", id, losses, err)
		}
	}
	if err := s.Commit(t.Context(), "s3-123"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Commit of a row that was refused: %v", err)
	}
}

// TestDatabaseAway records while the server does not answer.
func TestDatabaseAway(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	s := opened(t, p.URL)
	p.Away(true)
	for n := range 10 {
		if !s.Append(rowIn("s", n)) {
			t.Fatal("a row was refused")
		}
	}
	if err := s.Flush(t.Context()); err == nil {
		t.Error("Flush returned nil without a server")
	}
	if err := s.Create(t.Context(), storetest.Pending(1)); err == nil {
		t.Error("an approval was stored without a server")
	}
	if st := s.Stats(); st.QueuedRows != 10 || st.LastError == nil || st.FailingSince.IsZero() {
		t.Errorf("stats %+v", st)
	}
	p.Away(false)
	for end := time.Now().Add(time.Minute); s.Stats().QueuedRows > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if st := s.Stats(); st.QueuedRows != 0 || st.LastError != nil {
		t.Errorf("stats %+v", st)
	}
	wantNumbers(t, url, 10)
}

// TestCloseIsBounded closes without a server: soon, with an error, and again.
func TestCloseIsBounded(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	s, err := open(t.Context(), of(p.URL))
	if err != nil {
		t.Fatal(err)
	}
	p.Away(true)
	s.Append(rowIn("s", 1))
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for range 2 {
		if err := s.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 rows were not written") {
			t.Errorf("Close: %v", err)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("Close took %v", took)
	}
	if st := s.Stats(); st.Lost[store.LostUnwritten] != 1 || st.Unaccounted() != 0 {
		t.Errorf("stats %+v", st)
	}
}

// TestLeases holds that an effect is under way as long as its holder lives, and in doubt from then on.
func TestLeases(t *testing.T) {
	url := pgtest.Database(t)
	a, b := opened(t, url), opened(t, url)
	approval := approvalIn(t, a, 1, safety.StateExecuting)
	of := approval.Session
	running := func(what string, want bool) {
		t.Helper()
		for name, s := range map[string]*db{"the holder": a, "another": b} {
			if got := s.Running(of, approval.PermitRun); got != want {
				t.Errorf("%s, %s: running is %t", what, name, got)
			}
		}
	}
	running("at once", true)
	if b.Running(of, "another run") {
		t.Error("another run is under way")
	}
	pgtest.Exec(t, url, "UPDATE contextgraph.approvals SET lease_until = clock_timestamp() + interval '9 s'")
	if n, err := query(t.Context(), a.pool, "renew_leases", one[string], []string{approval.ID}, leaseTime.Seconds()); err != nil || len(n) != 1 {
		t.Errorf("renewed %v, %v", n, err)
	}
	var left float64
	if err := a.pool.QueryRow(t.Context(), "SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 FROM contextgraph.approvals").Scan(&left); err != nil || left < 10 {
		t.Errorf("after a renewal %v s are left, %v", left, err)
	}
	running("renewed", true)
	pgtest.Exec(t, url, "UPDATE contextgraph.approvals SET lease_until = clock_timestamp() - interval '1 ms'")
	running("over", false)
	if n, err := query(t.Context(), a.pool, "renew_leases", one[string], []string{approval.ID}, leaseTime.Seconds()); err != nil || len(n) != 0 {
		t.Errorf("a lease that is over was renewed: %v, %v", n, err)
	}
	// The holder may still say how it ended, and nobody twice.
	if _, err := a.Transition(t.Context(), storetest.Transition(approval, safety.StateExecuted)); err != nil {
		t.Error(err)
	}
	resolved := storetest.Transition(approval, safety.StateFailed)
	resolved.Resolved = true
	if _, err := b.Transition(t.Context(), resolved); !errors.Is(err, safety.ErrConflict) {
		t.Errorf("a second end: %v", err)
	}
}

// TestSenderBySomebodysClock holds that the lease of a destination goes by the clock of the database.
func TestSenderBySomebodysClock(t *testing.T) {
	url := pgtest.Database(t)
	a := opened(t, url)
	ahead := of(url)
	ahead.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	late, err := open(t.Context(), ahead)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close(t.Context())
	if _, err := a.Outbox("d").Acquire(t.Context(), "a", 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Outbox("d").Acquire(t.Context(), "b", 30*time.Second); !errors.Is(err, store.ErrLeased) {
		t.Errorf("a replica whose clock is ahead took the lease: %v", err)
	}
	pgtest.Exec(t, url, "UPDATE contextgraph.destinations SET lease_until = clock_timestamp()")
	if _, err := late.Outbox("d").Acquire(t.Context(), "b", 30*time.Second); err != nil {
		t.Errorf("the lease is over: %v", err)
	}
}

// TestSendersTakeTurns lets two handles send by turns, each looking before it takes the lease, as who brings graphs does.
func TestSendersTakeTurns(t *testing.T) {
	url := pgtest.Database(t)
	s, other := opened(t, url), opened(t, url)
	handles := []store.Outbox{s.Outbox("d"), other.Outbox("d")}
	got, n := 0, 0
	for turn := range 20 {
		for range 5 {
			n++
			s.Append(rowIn(fmt.Sprint("s", n%3), n))
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		o, owner := handles[turn%2], fmt.Sprint(turn%2)
		for try := 0; ; try++ {
			at, err := o.Position(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows, err := o.Rows(t.Context(), at, 99, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			now, err := o.Acquire(t.Context(), owner, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if now != at { // somebody else has sent since this handle looked
				if try > 1 {
					t.Fatalf("turn %d: the position is %d and %d for ever", turn, at, now)
				}
				continue
			}
			if len(rows) != 5 {
				t.Fatalf("turn %d: %d rows, want 5", turn, len(rows))
			}
			got += len(rows)
			if err := o.Advance(t.Context(), owner, rows[4].Seq, nil); err != nil {
				t.Fatal(err)
			}
			if l, err := handles[(turn+1)%2].Backlog(t.Context()); err != nil || l.Rows != 0 {
				t.Errorf("turn %d: the other handle lacks %d rows, %v", turn, l.Rows, err)
			}
			if err := o.Release(t.Context(), owner); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if got != n {
		t.Errorf("%d rows were sent, want %d", got, n)
	}
}

// TestRowsOnceMore reads more rows of one session than a page has, and the same again: none is passed over.
func TestRowsOnceMore(t *testing.T) {
	s := opened(t, pgtest.Database(t))
	const rows = 3*nextRows + 7
	for n := range rows {
		if !s.Append(rowIn("s", n+1)) {
			t.Fatal("a row was refused")
		}
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := s.Outbox("d")
	for range 2 {
		for _, after := range []int64{0, 1, nextRows, 2*nextRows + 1} {
			got, err := o.Rows(t.Context(), after, 2*rows, 1<<30)
			if err != nil || len(got) != rows-int(after) {
				t.Fatalf("%d rows behind %d, %v; want %d", len(got), after, err, rows-int(after))
			}
			for i, e := range got {
				if e.Seq != after+int64(i)+1 || e.RunSeq != e.Seq {
					t.Fatalf("row %d has position %d", e.RunSeq, e.Seq)
				}
			}
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestBounds holds what each transaction begins with, whatever the server does else, and that a connection keeps none of it.
func TestBounds(t *testing.T) {
	url := pgtest.Database(t)
	opened(t, url)
	pgtest.Exec(t, url, "ALTER DATABASE "+url[strings.LastIndexByte(url, '/')+1:]+" SET synchronous_commit = off")
	s := opened(t, url)
	const settings = "current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('synchronous_commit')"
	statements["settings"] = "SELECT " + settings
	defer delete(statements, "settings")
	got := make(map[string]string)
	var err [3]error
	got["one statement"], err[0] = only(query(t.Context(), s.pool, "settings", one[string]))
	err[1] = s.tx(t.Context(), func(tx pgx.Tx) error {
		list, err := query(t.Context(), tx, "settings", one[string])
		got["a transaction"], _ = only(list, err)
		return err
	})
	pgtest.Exec(t, url, "CREATE TABLE seen (t text); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen SELECT "+settings+
		"; RETURN NEW; END $$; CREATE TRIGGER note AFTER INSERT ON contextgraph.rows FOR EACH ROW EXECUTE FUNCTION note()")
	if !s.Append(rowIn("s", 1)) || s.Flush(t.Context()) != nil {
		t.Fatal("a row was not stored")
	}
	var row, after string
	err[2] = s.pool.QueryRow(t.Context(), "SELECT t FROM seen").Scan(&row)
	got["rows"] = row
	if err := errors.Join(append(err[:], s.pool.QueryRow(t.Context(), "SELECT "+settings).Scan(&after))...); err != nil {
		t.Fatal(err)
	}
	got["behind them"] = after
	bound := statementTime.String()
	for name, want := range map[string]string{
		"one statement": bound + " " + bound + " on", "a transaction": bound + " " + bound + " on",
		"rows": bound + " " + bound + " off", "behind them": "0 0 off",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestChangesOutOfOrder commits the rows of two sessions against the order of their numbers: who looks in between hears of
// the one that comes late.
func TestChangesOutOfOrder(t *testing.T) {
	url := pgtest.Database(t)
	s := opened(t, url)
	for _, id := range []string{"late", "early"} {
		if !s.Append(rowIn(id, 1)) || s.Flush(t.Context()) != nil {
			t.Fatal("a row was not stored")
		}
	}
	e := rowIn("late", 2)
	var g group
	g.add(&e, keyOf(e.Session()), digest(e.EventID))
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), statement("insert_rows"), g.args()...); err != nil {
		t.Fatal(err)
	}
	if !s.Append(rowIn("early", 2)) || s.Flush(t.Context()) != nil {
		t.Fatal("a row was not stored")
	}
	before, err := s.Changes(t.Context())
	if err = errors.Join(err, tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Changes(t.Context()); err != nil || after <= before {
		t.Errorf("Changes is %d, %v, as before the late row: %d", after, err, before)
	}
}

// asRole returns the URL of a database for a role.
func asRole(url, role string) string { return strings.Replace(url, "agent", role, 1) }

// TestMigrations brings the schema of an earlier version up to date, unless the role may not, and leaves a later one alone.
func TestMigrations(t *testing.T) {
	url := pgtest.Database(t)
	first, err := files.ReadFile(migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, string(first))
	pgtest.Exec(t, url, "INSERT INTO contextgraph.meta (version, id, secret) VALUES (1, 'store', '\\x00')")
	pgtest.Exec(t, url, "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lowly') THEN CREATE ROLE lowly LOGIN; END IF; END $$; "+
		"GRANT USAGE ON SCHEMA contextgraph TO lowly; GRANT SELECT ON ALL TABLES IN SCHEMA contextgraph TO lowly")
	reader := of(url)
	reader.Read = true
	for name, c := range map[string]Config{"a role without rights": of(asRole(url, "lowly")), "a reader": reader} {
		_, err := open(t.Context(), c)
		if !errors.Is(err, ErrSchemaOlder) || !strings.Contains(err.Error(), "contextgraph init --store") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 {
		if version, err := Init(t.Context(), of(url)); err != nil || version != len(migrations) {
			t.Fatalf("version %d, %v", version, err)
		}
	}
	s := opened(t, url)
	if s.ID() != "store" {
		t.Errorf("the store is another one: %s", s.ID())
	}
	approvalIn(t, s, 1, safety.StateExecuted)
	pgtest.Exec(t, url, "UPDATE contextgraph.meta SET version = version + 1")
	for name, c := range map[string]Config{"an agent": of(url), "a reader": reader} {
		if _, err := open(t.Context(), c); !errors.Is(err, ErrSchemaNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader = of(pgtest.Database(t))
	reader.Read = true
	if _, err := open(t.Context(), reader); err == nil || !strings.Contains(err.Error(), "no schema contextgraph") {
		t.Errorf("a database without a schema: %v", err)
	}
}

// TestOlderServer has a server of a version that lacks what is needed.
func TestOlderServer(t *testing.T) {
	err := server{version: 140012, encoding: "UTF8", made: true}.fault()
	if err == nil || err.Error() != "the server has version 14 of PostgreSQL" || remedyOf(err) != "use PostgreSQL 15 or a later one" {
		t.Errorf("%v", err)
	}
}

// TestRoles works with the roles of docs/production.md: that of an agent may do all that a store does, and remove no
// approval; that of a reader reads.
func TestRoles(t *testing.T) {
	page, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```sql\n")
	roles, _, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(roles, "GRANT") {
		t.Fatal("docs/production.md has no roles")
	}
	url := pgtest.Database(t)
	pgtest.Exec(t, url, "DROP ROLE IF EXISTS contextgraph_agent; DROP ROLE IF EXISTS contextgraph_reader")
	owner := opened(t, url)
	pgtest.Exec(t, url, roles)
	defer pgtest.Exec(t, url, "DROP OWNED BY contextgraph_agent, contextgraph_reader; DROP ROLE contextgraph_agent, contextgraph_reader")
	agent := of(asRole(url, "contextgraph_agent"))
	h, err := Examine(t.Context(), agent)
	if err != nil || len(h.Missing) > 0 || h.Schema != len(migrations) || h.Version < leastServer/10000 || h.Pooled || h.Standby || (h.Ahead.Abs()-h.Within) > time.Second {
		t.Errorf("%+v, %v", h, err)
	}
	s, err := open(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	a := approvalIn(t, s, 1, safety.StateExecuted)
	for n := range 3 {
		s.Append(rowIn("s", n))
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Outbox("d").Acquire(t.Context(), "a", time.Minute); err != nil {
		t.Error(err)
	}
	if err := s.Outbox("d").Release(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := s.Outbox("d").Forget(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.sweep(t.Context(), time.Now().Add(time.Hour), time.Minute); err != nil || s.Stats().RemovedRows != 3 {
		t.Errorf("%d rows removed, %v", s.Stats().RemovedRows, err)
	}
	reading := of(asRole(url, "contextgraph_reader"))
	reading.Read = true
	r, err := open(t.Context(), reading)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	if got, err := safety.Get(t.Context(), r, a.ID); err != nil || got.State != safety.StateExecuted {
		t.Errorf("%s, %v", got.State, err)
	}
	for _, tt := range []struct {
		s    *db
		text string
	}{
		{s, "DELETE FROM contextgraph.approvals"}, {s, "DELETE FROM contextgraph.steps"}, {s, "UPDATE contextgraph.steps SET step = ''"},
		{s, "DROP SCHEMA contextgraph CASCADE"}, {r, "DELETE FROM contextgraph.rows"}, {r, "UPDATE contextgraph.approvals SET state = 'approved'"},
		{r, "INSERT INTO contextgraph.steps VALUES ('', 1, '', '')"},
	} {
		if _, err := tt.s.pool.Exec(t.Context(), tt.text); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	if h, err := Examine(t.Context(), reading); err != nil || !slices.Contains(h.Missing, "INSERT on rows") {
		t.Errorf("rights that a reader lacks: %q, %v", h.Missing, err)
	}
	if list, err := owner.Sessions(t.Context(), store.Query{}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestExamineBehindAPool finds PgBouncer, and statements that it would lose.
func TestExamineBehindAPool(t *testing.T) {
	url := pgtest.Pooled(t, pgtest.Database(t))
	for dsn, prepared := range map[string]bool{url: false, url + "?default_query_exec_mode=cache_statement": true} {
		h, err := Examine(t.Context(), of(dsn))
		if err != nil || !h.Pooled || h.Prepared != prepared || h.Schema != 0 {
			t.Errorf("%s: %+v, %v", dsn, h, err)
		}
	}
	if _, err := Examine(t.Context(), of(strings.Replace(url, "/test", "/no", 1))); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

// TestPromotedStandby promotes a standby that lacks the last steps: open approvals are in doubt there, and people may say
// what came of them. Those that are asked from then on are as ever.
func TestPromotedStandby(t *testing.T) {
	url := pgtest.Database(t)
	s := opened(t, url)
	p := pgtest.NewProxy(t, url)
	follower, promote := pgtest.Standby(t, p)
	open := map[safety.ApprovalState]safety.Approval{}
	for n, state := range []safety.ApprovalState{safety.StatePending, safety.StateApproved, safety.StatePermitted, safety.StateExecuted} {
		open[state] = approvalIn(t, s, n, state)
	}
	reading := of(follower)
	reading.Read = true
	r, err := openUntil(t, reading, func(r *db) bool {
		got, err := safety.Get(t.Context(), r, open[safety.StateExecuted].ID)
		return err == nil && got.State == safety.StateExecuted
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	if h, err := Examine(t.Context(), of(url)); err != nil || !slices.Equal(h.Asynchronous, []string{"follower"}) {
		t.Errorf("standbys %q, %v", h.Asynchronous, err)
	}
	if h, err := Examine(t.Context(), of(follower)); err != nil || !h.Standby {
		t.Errorf("%+v, %v", h, err)
	}
	if got, err := safety.Get(t.Context(), r, open[safety.StatePending].ID); err != nil || got.State != safety.StatePending {
		t.Errorf("read from the standby: %s, %v", got.State, err)
	}
	p.Away(true) // so the standby hears no more
	if _, err := s.Transition(t.Context(), storetest.Transition(open[safety.StatePermitted], safety.StateExecuting)); err != nil {
		t.Fatal(err)
	}
	promote()
	now := opened(t, follower)
	for state, a := range open {
		got, err := safety.Get(t.Context(), now, a.ID)
		if state == safety.StateExecuted {
			if err != nil || got.State != state {
				t.Errorf("%s, %v: want executed", got.State, err)
			}
			continue
		}
		if err != nil || !got.InDoubt() {
			t.Errorf("%s is %s, %v: want in doubt", state, got.State, err)
		}
		for _, to := range []safety.ApprovalState{safety.StateApproved, safety.StatePermitted, safety.StateExecuting} {
			if _, err := now.Transition(t.Context(), storetest.Transition(a, to)); !errors.Is(err, safety.ErrConflict) {
				t.Errorf("from %s to %s: %v", state, to, err)
			}
		}
		end := storetest.Transition(got, safety.StateFailed)
		end.Resolved = true
		if done, err := now.Transition(t.Context(), end); err != nil || done.State != safety.StateFailed {
			t.Errorf("what came of %s: %s, %v", state, done.State, err)
		}
	}
	approvalIn(t, now, 9, safety.StateExecuted)
}

// openUntil opens a store until it has what is wanted.
func openUntil(t *testing.T, c Config, has func(*db) bool) (s *db, err error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s, err = open(t.Context(), c); err != nil {
			continue
		}
		if has(s) {
			return s, nil
		}
		err = errors.Join(errors.New("it lacks something"), s.Close(t.Context()))
	}
	return nil, fmt.Errorf("%s: %w", c.Store.Postgres.DSN, err)
}

// TestGateWhileTheDatabaseIsAway asks and answers without a database: nobody is asked, what was pending stays so, nothing
// runs. When it is back, the same yes counts.
func TestGateWhileTheDatabaseIsAway(t *testing.T) {
	f := newFleet(t)
	p := pgtest.NewProxy(t, f.url)
	f.url = p.URL
	a := f.replica()
	id, _ := a.Ask(cgtest.SessionID)
	p.Away(true)
	events, err := adktest.TryRun(t.Context(), a.Runner, cgtest.User, "other", adktest.UserText("buy a route"))
	told := adktest.Responses(events, "buy")
	if err != nil || len(adktest.Confirmations(events)) > 0 || len(told) == 0 || !strings.Contains(fmt.Sprint(told), safety.CodeStore) {
		t.Errorf("a request without a database: %v, the model is told %v, %v", adktest.Confirmations(events), told, err)
	}
	if _, err := adktest.TryRun(t.Context(), a.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(id, true)); f.bought() != 0 {
		t.Errorf("%d purchases without a database, %v", f.bought(), err)
	}
	p.Away(false)
	if as := a.Approvals(cgtest.SessionID); len(as) != 1 || as[0].State != safety.StatePending {
		t.Errorf("what was pending: %+v", as)
	}
	if got := a.Answer(cgtest.SessionID, id, true); got["status"] != "bought" || f.bought() != 1 {
		t.Errorf("%v, %d purchases", got, f.bought())
	}
}

// TestQueueWhileTheDatabaseIsAway records more than the queue may hold: what is dropped is counted, and known to all when
// the database is back.
func TestQueueWhileTheDatabaseIsAway(t *testing.T) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	c := of(p.URL)
	c.Journal.QueueBytes = 64 << 10
	s, err := open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	p.Away(true)
	const rows = 1000
	for n := range rows {
		s.Append(rowIn("s", n))
	}
	st := s.Stats()
	lost := lostIn(st)
	if st.QueuedBytes > int64(c.Journal.QueueBytes) || lost == 0 || int(lost)+st.QueuedRows != rows {
		t.Errorf("stats %+v", st)
	}
	p.Away(false)
	for end := time.Now().Add(time.Minute); s.Flush(t.Context()) != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	lost = lostIn(s.Stats())
	wantNumbers(t, url, rows-int64(lost))
	losses, err := opened(t, url).Losses(t.Context(), record.Session{App: "app", User: "u", ID: "s"})
	if err != nil || len(losses) != 1 || losses[0].Rows != int64(lost) {
		t.Errorf("%v, %v; want %d", losses, err, lost)
	}
}

func lostIn(st store.Stats) (n uint64) {
	for _, rows := range st.Lost {
		n += rows
	}
	return n
}

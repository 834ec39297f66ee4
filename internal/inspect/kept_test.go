// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func noNote(string, ...any) {}

// random is a journal that changes at random.
type random struct {
	*testing.T
	*rand.Rand
	path    string
	j       *journal.Journal
	src     inspect.Source
	now     time.Time
	n       int
	pending map[record.Session][]record.Event // rows that are still to come
	asked   []safety.Approval
	removed chan struct{}
}

// Handle hears that retention has removed what was due.
func (r *random) Handle(_ context.Context, l slog.Record) error {
	if strings.Contains(l.Message, "removed by retention") {
		select {
		case r.removed <- struct{}{}:
		default:
		}
	}
	return nil
}
func (r *random) Enabled(context.Context, slog.Level) bool { return true }
func (r *random) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *random) WithGroup(string) slog.Handler            { return r }

// open opens the journal, and closes it first.
func (r *random) open(keep config.Retention) {
	r.Helper()
	if r.j != nil {
		if err := r.j.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
	}
	now := r.now
	j, err := journal.Open(r.Context(), journal.Config{
		Journal: config.Journal{Path: r.path, Retention: keep}, SweepInterval: time.Hour, Logger: slog.New(r), Now: func() time.Time { return now },
	})
	if err != nil {
		r.Fatal(err)
	}
	r.j, r.src = j, inspect.NewJournal(j)
	inspect.SetClock(r.src, func() time.Time { return r.now })
}

// script returns the rows of a new session.
func (r *random) script() []record.Event {
	r.n++
	s := newScript(r.T)
	s.session = record.Session{App: []string{"shop", "desk"}[r.IntN(2)], User: []string{"ann", "bob"}[r.IntN(2)], ID: fmt.Sprintf("s-%03d", r.n)}
	verdict := []string{"safe", "drift", "check_failed"}[r.IntN(3)]
	switch r.IntN(7) {
	case 0:
		s.start("r1").row(record.UserMessageReceived, "root1", "", content(m{"text_summary": fmt.Sprintf("Question %d about Größe", r.n)})).
			row(record.LLMRequest, "llm1", "root1", agent("helper"), attributes(m{"model": "gemini"})).
			row(record.LLMResponse, "llm1", "root1", content(m{"usage": m{"prompt": r.IntN(9), "completion": 2, "total": 20}})).
			row(record.InvocationError, "root1", "", failed("boom"))
	case 1:
		s.asks()
	case 2:
		s.asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
	case 3:
		s.asks().answers("r2", m{"confirmed": false, "accepted": false, "reason": "rejected"}).over("r2")
	case 4:
		s.asks().answers("r2", accepted).checks("answer", verdict, "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
	case 5:
		s.asks().answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", verdict, "")
	case 6: // nobody enforces it
		s.asks().answers("r2", accepted).executes("r2", "", record.ToolCompleted).over("r2")
		for i := range s.rows {
			s.rows[i].Attributes = []byte(strings.ReplaceAll(string(s.rows[i].Attributes), `"enforced":true`, `"enforced":false`))
		}
	}
	// The request expires an hour after the script has begun, or never.
	begun := r.now.Add(-time.Duration(r.IntN(90)) * time.Minute).Truncate(time.Second)
	for i := range s.rows {
		e := &s.rows[i]
		e.Timestamp += begun.Sub(epoch).Microseconds()
		e.RunID = fmt.Sprintf("%s-%d", e.RunID, r.n)
		for _, field := range []*[]byte{&e.Content, &e.Attributes} {
			text := strings.ReplaceAll(string(*field), `"a-1"`, fmt.Sprintf(`"a-%d"`, r.n))
			text = strings.ReplaceAll(text, at(3600).Format(time.RFC3339), begun.Add(time.Hour).Format(time.RFC3339))
			text = strings.ReplaceAll(text, at(7).Format(time.RFC3339), begun.Add(7*time.Second).Format(time.RFC3339))
			*field = []byte(text)
		}
	}
	if r.IntN(2) == 0 {
		a := safety.Approval{
			ID: fmt.Sprintf("a-%d", r.n), Session: s.session, CallID: "c1", Tool: "buy", Agent: "buyer", RunID: fmt.Sprintf("r1-%d", r.n), State: safety.StatePending,
			RequestedAt: begun.Add(7 * time.Second), ExpiresAt: begun.Add(time.Hour),
		}
		if err := r.j.Ledger().Create(r.Context(), a); err != nil {
			r.Fatal(err)
		}
		r.asked = append(r.asked, a)
	}
	if r.IntN(4) == 0 { // a row that is lost
		i := r.IntN(len(s.rows))
		s.rows = slices.Delete(s.rows, i, i+1)
	}
	return s.rows
}

// step changes something, and says what.
func (r *random) step() string {
	ctx := r.Context()
	switch op := r.IntN(12); op {
	case 0, 1, 2:
		rows := r.script()
		r.pending[rows[0].Session()] = rows
		fallthrough
	case 3, 4: // the next rows of a session
		waiting := slices.SortedFunc(maps.Keys(r.pending), func(a, b record.Session) int { return strings.Compare(a.ID, b.ID) })
		if len(waiting) == 0 {
			return "nothing"
		}
		s := waiting[0]
		rows := r.pending[s]
		n := r.IntN(len(rows)) + 1
		put(r, r.j, rows[:n])
		if r.pending[s] = rows[n:]; n == len(rows) {
			delete(r.pending, s)
		}
		return fmt.Sprintf("%d rows of %s", n, s.ID)
	case 5, 6: // what happens to an approval
		if len(r.asked) == 0 {
			return "nothing"
		}
		a := r.asked[r.IntN(len(r.asked))]
		states := []safety.ApprovalState{
			safety.StateApproved, safety.StateRejected, safety.StateExpired, safety.StateBlocked, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted,
		}
		to, verdict := states[r.IntN(len(states))], []string{"safe", "drift", "check_failed"}[r.IntN(3)]
		report, err := json.Marshal(m{"id": fmt.Sprintf("check-l-%d", r.Int64()), "verdict": verdict, "entities": []m{}})
		if err != nil {
			r.Fatal(err)
		}
		t := safety.Transition{ID: a.ID, From: []safety.ApprovalState{safety.StatePending, safety.StateApproved, safety.StatePermitted, safety.StateExecuting}, To: to, At: r.now, Actor: "ana"}
		switch to {
		case safety.StateApproved:
			t.Set = safety.Update{Consent: safety.Consent{Who: "ana", Content: "c"}, Verdict: verdict, Report: report}
		case safety.StateRejected:
			t.Set = safety.Update{Approver: "ana"}
		case safety.StatePermitted:
			t.Set = safety.Update{PermitNonce: "n", PermitRun: "r", PermitExpiresAt: r.now.Add(time.Minute), Verdict: "safe", Report: report}
		case safety.StateExecuting:
			t.RequireNonce = "n"
		}
		_, err = r.j.Ledger().Transition(ctx, t)
		return fmt.Sprintf("%s to %s: %v", a.ID, to, err)
	case 7:
		r.now = r.now.Add([]time.Duration{time.Second, 5 * time.Minute, 3 * time.Hour}[r.IntN(3)])
		return "time"
	case 8:
		old := newScript(r.T)
		old.session.ID = fmt.Sprintf("old-%d", r.Int64())
		old.asks()
		for i := range old.rows {
			old.rows[i].Timestamp -= 1000 * time.Hour.Microseconds()
			old.rows[i].EventID = fmt.Sprint(old.session.ID, i)
		}
		put(r, r.j, old.rows)
		r.open(config.Retention{MaxAge: 2 * time.Hour})
		<-r.removed
		r.open(config.Retention{})
		return "retention"
	case 9:
		if err := inspect.KeepSummaries(ctx, r.src, r.now); err != nil {
			r.Fatal(err)
		}
		return "update"
	case 10:
		alter(r, r.path, "DELETE FROM summaries")
		return "no summaries"
	case 11:
		put(r, r.j, nil)
		r.lose()
		return "a loss"
	}
	return "nothing"
}

// lose notes in the file that a row of a session was lost, as any process does.
func (r *random) lose() {
	list, err := r.j.Sessions(r.Context(), store.Query{})
	if err != nil {
		r.Fatal(err)
	}
	if len(list) == 0 {
		return
	}
	s := list[r.IntN(len(list))].Session
	number := fmt.Sprintf("(SELECT number FROM sessions WHERE app_name = '%s' AND user_id = '%s' AND session_id = '%s')", s.App, s.User, s.ID)
	alter(r, r.path, "INSERT INTO lost_rows VALUES ("+number+", '', 1) ON CONFLICT DO UPDATE SET rows = rows + 1")
	alter(r, r.path, "DELETE FROM summaries WHERE session = "+number)
}

func alter(tb testing.TB, path, statement string) {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	conn.SetBusyTimeout(10 * time.Second)
	if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
		tb.Fatal(err)
	}
}

// plain is a source that reads all there is of each session.
type plain struct{ inspect.Source }

// compare compares the answers with those of every row.
func (r *random) compare(did []string) {
	ctx := r.Context()
	var all []inspect.Summary
	for s, err := range inspect.All(ctx, r.src, inspect.Query{}) {
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, s)
	}
	for _, q := range []inspect.Query{
		{}, {Search: "question 1"}, {Search: "GRÖ"}, {Search: "s-01"}, {Search: "helper"}, {Search: "in"}, {Search: "nothing has this"}, {App: "shop", Search: "buy"},
		{Status: []inspect.Status{inspect.StatusPending, inspect.StatusSafe}}, {Status: []inspect.Status{inspect.StatusExpired}}, {Status: []inspect.Status{inspect.StatusDrift}, User: "ann"},
		{Status: []inspect.Status{inspect.StatusInDoubt, inspect.StatusExecuted}}, {From: r.now.Add(-time.Hour), Status: []inspect.Status{inspect.StatusNone}}, {To: r.now.Add(-time.Hour), Search: "s-"},
	} {
		q.Limit = 3
		var got []inspect.Summary
		for {
			page, err := r.src.Sessions(ctx, q)
			if err != nil {
				r.Fatal(err)
			}
			got = append(got, page.Sessions...)
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		want := slices.DeleteFunc(slices.Clone(all), func(s inspect.Summary) bool {
			return !q.Selects(&s) || q.App != "" && q.App != s.Session.App || q.User != "" && q.User != s.Session.User ||
				s.End.Before(q.From) || !q.To.IsZero() && !s.End.Before(q.To)
		})
		if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
			r.Fatalf("after %q, %+v differs (-all +found):\n%s", did, q, d)
		}
	}
	for _, q := range []inspect.Query{{}, {App: "desk"}, {From: r.now.Add(-time.Hour)}} {
		want, err := inspect.Count(ctx, plain{r.src}, q, r.now, noNote)
		if err != nil {
			r.Fatal(err)
		}
		got, err := inspect.Count(ctx, r.src, q, r.now, noNote)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			r.Fatalf("after %q, %v, the count of %+v differs (-rows +summaries):\n%s", did, err, q, d)
		}
	}
}

// TestSummariesAnswerAsTheRows compares the answers with summaries and without them, of journals that
// change at random.
func TestSummariesAnswerAsTheRows(t *testing.T) {
	for seed := range testsize.Seeds(t, 1, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &random{
				T: t, Rand: rand.New(rand.NewPCG(seed, 21)), path: journaltest.Path(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
				pending: make(map[record.Session][]record.Event), removed: make(chan struct{}, 1),
			}
			r.open(config.Retention{})
			t.Cleanup(func() { _ = r.j.Close(context.WithoutCancel(t.Context())) })
			var did []string
			for range 40 {
				did = append(did, r.step())
				r.compare(did[max(0, len(did)-5):])
			}
			// What retention removed is gone.
			kept := count(t, r.path, "SELECT count(*) FROM summaries")
			if left := count(t, r.path, "SELECT count(*) FROM sessions WHERE events > 0"); kept > left {
				t.Errorf("%d summaries of %d sessions", kept, left)
			}
		})
	}
}

// count returns the number that a query returns.
func count(t *testing.T, path, query string) (n int) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt(0)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSummariesAreRead holds that the rows of sessions with a summary are not read: here they are gone or
// changed behind its back.
func TestSummariesAreRead(t *testing.T) {
	j := openJournal(t)
	put(t, j, sessions(t, 40))
	src, now := inspect.NewJournal(j), time.Now()
	want, err := inspect.Count(t.Context(), src, inspect.Query{}, now, noNote)
	if err != nil || want.Rows == 0 {
		t.Fatalf("%+v, %v", want, err)
	}
	of := func(s inspect.Status) int {
		page, err := src.Sessions(t.Context(), inspect.Query{Status: []inspect.Status{s}})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Sessions)
	}
	search := func() int {
		page, err := src.Sessions(t.Context(), inspect.Query{Search: "a zebra"})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Sessions)
	}
	none := of(inspect.StatusNone)
	alter(t, j.Path(), `UPDATE agent_events SET content = replace(content, 'Question 17', 'A zebra'), status = 'OK'`)
	alter(t, j.Path(), `UPDATE agent_events SET event_type = 'STATE_DELTA' WHERE event_type LIKE 'HITL%'`)
	got, err := inspect.Count(t.Context(), src, inspect.Query{}, now, noNote)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, the count differs (-before +after):\n%s", err, d)
	}
	if n := of(inspect.StatusNone); n != none {
		t.Errorf("%d sessions without a request, whose rows need not be read, want %d", n, none)
	}
	if n := search(); n != 0 {
		t.Errorf("%d sessions are found, whose rows need not be read", n)
	}
	alter(t, j.Path(), "DELETE FROM summaries")
	if n := search(); n != 1 {
		t.Errorf("%d sessions are found without summaries, want 1", n)
	}
	if again, err := inspect.Count(t.Context(), src, inspect.Query{}, now, noNote); err != nil || again.Errors == want.Errors {
		t.Errorf("%+v, %v: without summaries the rows count", again, err)
	}
}

// TestSummaryThatComesTooLate holds that what was read of a session is not kept if the session has
// changed by then.
func TestSummaryThatComesTooLate(t *testing.T) {
	j := openJournal(t)
	put(t, j, sessions(t, 5))
	src, looks := inspect.NewJournal(j), 0
	inspect.SetClock(src, func() time.Time {
		if looks++; looks == 5 { // once before the first session, and after each
			alter(t, j.Path(), `DELETE FROM agent_events WHERE session_id = 's-00000'`)
			alter(t, j.Path(), `UPDATE sessions SET events = 0 WHERE session_id = 's-00000'`)
		}
		return epoch
	})
	got, err := inspect.Count(t.Context(), src, inspect.Query{}, epoch, noNote)
	if err != nil || got.Sessions != 5 || looks < 5 {
		t.Errorf("%d sessions, %d looks, %v: the session should be there until the fourth is read", got.Sessions, looks, err)
	}
	if n := count(t, j.Path(), "SELECT count(*) FROM summaries"); n != 4 {
		t.Errorf("%d summaries, want 4", n)
	}
	if got, err = inspect.Count(t.Context(), src, inspect.Query{}, epoch, noNote); err != nil || got.Sessions != 4 {
		t.Errorf("%d sessions, %v, want 4", got.Sessions, err)
	}
}

// TestSummariesThatCannotBeKept holds that nothing is wrong for lack of them, and that people hear of it.
func TestSummariesThatCannotBeKept(t *testing.T) {
	j := openJournal(t)
	put(t, j, sessions(t, 5))
	alter(t, j.Path(), "DROP TABLE summaries")
	alter(t, j.Path(), "CREATE VIEW summaries AS SELECT number AS session, 0 AS last_seq, 0 AS until, '' AS status, 0 AS start, 0 AS \"end\", 0 AS errors, 0 AS turns, 0 AS prompt, 0 AS completion, 0 AS total, x'' AS words, NULL AS more FROM sessions WHERE 0")
	src, notes := inspect.NewJournal(j), ""
	got, err := inspect.Count(t.Context(), src, inspect.Query{}, epoch, func(format string, args ...any) { notes += fmt.Sprintf(format, args...) })
	if err != nil || got.Sessions != 5 {
		t.Errorf("%d sessions, %v, want 5", got.Sessions, err)
	}
	if !strings.Contains(notes, "cannot be kept") {
		t.Errorf("notes %q", notes)
	}
	if err := inspect.KeepSummaries(t.Context(), src, epoch); err == nil {
		t.Error("nothing is said")
	}
}

// TestSummariesMadeAtOnce makes the summaries of a journal several times at once.
func TestSummariesMadeAtOnce(t *testing.T) {
	j := openJournal(t)
	put(t, j, sessions(t, 20))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				var notes []string
				got, err := inspect.Count(t.Context(), inspect.NewJournal(j), inspect.Query{}, epoch, func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
				if err != nil || got.Sessions != 20 || len(notes) > 0 {
					t.Errorf("%d sessions, %v, notes %q", got.Sessions, err, notes)
				}
			}
		})
	}
	all.Wait()
	if n := count(t, j.Path(), "SELECT count(*) FROM summaries"); n != 20 {
		t.Errorf("%d summaries, want 20", n)
	}
}

// TestRunThatEndsByTime holds that a summary about a run under way does not count when the run counts as
// ended, which no row says.
func TestRunThatEndsByTime(t *testing.T) {
	j := openJournal(t)
	put(t, j, newScript(t).start("r1").row(record.InvocationStarting, "root1", "").rows)
	src, now := inspect.NewJournal(j), epoch
	inspect.SetClock(src, func() time.Time { return now })
	for _, tt := range []struct {
		after      time.Duration
		incomplete int
	}{{time.Minute, 0}, {2 * time.Minute, 0}, {time.Hour, 1}, {2 * time.Hour, 1}} {
		now = epoch.Add(tt.after)
		got, err := inspect.Count(t.Context(), src, inspect.Query{}, now, noNote)
		if err != nil || len(got.Incomplete) != tt.incomplete {
			t.Errorf("after %v: incomplete are %v, %v, want %d", tt.after, got.Incomplete, err, tt.incomplete)
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func openJournal(tb testing.TB) *journal.Journal {
	tb.Helper()
	j, err := journal.Open(tb.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(tb)}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := j.Close(tb.Context()); err != nil && !errors.Is(err, fs.ErrClosed) {
			tb.Log(err)
		}
	})
	return j
}

func put(tb testing.TB, j *journal.Journal, rows []record.Event) {
	tb.Helper()
	for _, e := range rows {
		e.Seq = 0
		if !j.Append(e) {
			tb.Fatalf("row %s was refused", e.EventID)
		}
	}
	if err := j.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// sessions are the rows of n sessions, of which the last is the newest: every tenth is
// pending, every tenth drifted, and the others asked nobody.
func sessions(tb testing.TB, n int) []record.Event { return sessionsFrom(tb, 0, n) }

// sessionsFrom are those of sessions from the one with a number on.
func sessionsFrom(tb testing.TB, first, n int) (rows []record.Event) {
	tb.Helper()
	for i := first; i < n; i++ {
		s := newScript(tb)
		s.session = record.Session{App: []string{"shop", "desk"}[i%2], User: []string{"ann", "bob", "cy"}[i%3], ID: fmt.Sprintf("s-%05d", i)}
		switch i % 10 {
		case 0:
			s.asks()
		case 1:
			s.asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
		default:
			s.start("r1").row(record.UserMessageReceived, "root1", "", content(m{"text_summary": fmt.Sprintf("Question %d about Größe", i)})).
				row(record.LLMRequest, "llm1", "root1", agent("helper"), attributes(m{"model": "gemini"})).
				row(record.LLMResponse, "llm1", "root1", content(m{"response": "text: 'hi'", "usage": m{"prompt": 3, "completion": 2, "total": 5}})).
				row(record.InvocationError, "root1", "", failed("boom"))
		}
		for r := range s.rows {
			e := &s.rows[r]
			e.RunID = fmt.Sprintf("%s-%d", e.RunID, i)
			e.Timestamp += int64(i) * time.Minute.Microseconds()
			if e.EventType == record.UserMessageReceived && i%10 < 2 && len(e.Content) > 25 {
				e.Content = encode(m{"text_summary": fmt.Sprintf("Buy %d", i)})
			}
			for _, field := range []*[]byte{&e.Content, &e.Attributes} {
				*field = []byte(strings.ReplaceAll(string(*field), `"a-1"`, fmt.Sprintf(`"a-%d"`, i)))
			}
		}
		rows = append(rows, s.rows...)
	}
	return rows
}

// sources are the same sessions read from a journal and from rows.
func sources(t *testing.T, rows []record.Event) map[string]inspect.Source {
	j := openJournal(t)
	put(t, j, rows)
	return map[string]inspect.Source{"journal": inspect.NewJournal(j), "rows": inspect.NewRows("rows", rows)}
}

func ids(p inspect.Page) (out []string) {
	for _, s := range p.Sessions {
		n, err := strconv.Atoi(strings.TrimPrefix(s.Session.ID, "s-"))
		if err != nil {
			panic(err)
		}
		out = append(out, strconv.Itoa(n))
	}
	return out
}

func TestSessions(t *testing.T) {
	rows := sessions(t, 40)
	end := func(i int) time.Time { return at(8).Add(time.Duration(i) * time.Minute) }
	tests := map[string]struct {
		query inspect.Query
		want  string
	}{
		"newest three":                  {inspect.Query{Limit: 3}, "39 38 37"},
		"app":                           {inspect.Query{App: "desk", Limit: 3}, "39 37 35"},
		"user":                          {inspect.Query{App: "desk", User: "bob", Limit: 3}, "37 31 25"},
		"none":                          {inspect.Query{App: "nope"}, ""},
		"id":                            {inspect.Query{Search: "S-0000"}, "9 8 7 6 5 4 3 2 1 0"},
		"title":                         {inspect.Query{Search: "question 17 "}, "17"},
		"title, any case of any letter": {inspect.Query{Search: "GRÖSSE"}, ""},
		"umlaut":                        {inspect.Query{Search: "about GRÖ", Limit: 2}, "39 38"},
		"agent":                         {inspect.Query{Search: "helper", Limit: 2}, "39 38"},
		"status":                        {inspect.Query{Status: []inspect.Status{inspect.StatusDrift}}, "31 21 11 1"},
		"two":                           {inspect.Query{Status: []inspect.Status{inspect.StatusDrift, inspect.StatusExpired}}, "31 30 21 20 11 10 1 0"},
		"both":                          {inspect.Query{Status: []inspect.Status{inspect.StatusDrift}, Search: "s-0002"}, "21"},
		"no such":                       {inspect.Query{Status: []inspect.Status{inspect.StatusFailed}}, ""},
		"from":                          {inspect.Query{From: end(37)}, "39 38"},
		"to":                            {inspect.Query{To: end(2).Add(-time.Minute + time.Second)}, "0"},
		"from, to":                      {inspect.Query{From: end(10), To: end(11)}, "10"},
	}
	for kind, src := range sources(t, rows) {
		for name, tt := range tests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				page, err := src.Sessions(t.Context(), tt.query)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(ids(page), " "); got != tt.want {
					t.Errorf("sessions %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// TestPages reads all sessions page by page: each is there once, whatever is selected.
func TestPages(t *testing.T) {
	rows := sessions(t, 40)
	for kind, src := range sources(t, rows) {
		for _, q := range []inspect.Query{{}, {Status: []inspect.Status{inspect.StatusDrift}}, {Search: "question"}, {App: "shop"}} {
			q.Limit = 500
			whole, err := src.Sessions(t.Context(), q)
			if err != nil || whole.Next != "" {
				t.Fatalf("%s: next %q, %v", kind, whole.Next, err)
			}
			for _, limit := range []int{1, 2, 3, 7, 40} {
				q.Limit, q.After = limit, ""
				var got []inspect.Summary
				for range 100 {
					page, err := src.Sessions(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, page.Sessions...); page.Next == "" {
						break
					}
					if len(page.Sessions) != limit {
						t.Fatalf("%s: a page of %d with a next one, want %d", kind, len(page.Sessions), limit)
					}
					q.After = page.Next
				}
				if d := cmp.Diff(whole.Sessions, got); d != "" {
					t.Errorf("%s: pages of %d differ from the whole (-whole +pages):\n%s", kind, limit, d)
				}
			}
		}
	}
}

// TestSummaryIsThatOfTheSession holds that the list says what the session says, although
// it reads less.
func TestSummaryIsThatOfTheSession(t *testing.T) {
	rows := sessions(t, 12)
	observed := newScript(t)
	observed.session = record.Session{App: "shop", User: "ann", ID: "observed"}
	observed.asks().answers("r2", accepted).executes("r2", "", record.ToolCompleted).over("r2")
	for i := range observed.rows {
		e := &observed.rows[i]
		e.Attributes = []byte(strings.ReplaceAll(string(e.Attributes), `"enforced":true`, `"enforced":false`))
	}
	rows = append(rows, observed.rows...)
	imported := newScript(t) // enforced elsewhere, and there is no ledger here
	imported.session = record.Session{App: "shop", User: "ann", ID: "imported"}
	imported.asks().answers("r2", accepted).executes("r2", "", record.ToolCompleted).over("r2")
	rows = append(rows, imported.rows...)
	for kind, src := range sources(t, rows) {
		page, err := src.Sessions(t.Context(), inspect.Query{})
		if err != nil || len(page.Sessions) != 14 {
			t.Fatalf("%s: %d sessions, %v", kind, len(page.Sessions), err)
		}
		for _, line := range page.Sessions {
			r, err := src.Record(t.Context(), line.Session)
			if err != nil {
				t.Fatal(err)
			}
			s, err := inspect.New(r, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s.Summary, line); d != "" {
				t.Errorf("%s: the list differs from the session (-session +list):\n%s", kind, d)
			}
			if (line.Session.ID == "observed" || line.Session.ID == "imported") && line.Status != inspect.StatusExecuted {
				t.Errorf("%s: what ran in session %s is %s", kind, line.Session.ID, line.Status)
			}
		}
	}
}

// TestRowsExpire holds that the list of rows says what is true when it is asked for.
func TestRowsExpire(t *testing.T) {
	s := newScript(t).asks()
	old := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for i := range s.rows {
		s.rows[i].Content = []byte(strings.ReplaceAll(string(s.rows[i].Content), at(3600).Format(time.RFC3339), old))
	}
	src := inspect.NewRows("rows", s.rows)
	for _, tt := range []struct {
		after time.Duration
		want  inspect.Status
	}{{0, inspect.StatusPending}, {2 * time.Hour, inspect.StatusExpired}, {3 * time.Hour, inspect.StatusExpired}} {
		inspect.SetClock(src, func() time.Time { return time.Now().Add(tt.after) })
		page, err := src.Sessions(t.Context(), inspect.Query{Status: []inspect.Status{tt.want}})
		if err != nil || len(page.Sessions) != 1 {
			t.Errorf("after %v: %d sessions are %s, %v", tt.after, len(page.Sessions), tt.want, err)
		}
	}
}

// TestUnknownToTheLedger holds that the list knows when a request expires that the ledger of
// the session does not have.
func TestUnknownToTheLedger(t *testing.T) {
	j := openJournal(t)
	s := newScript(t).asks()
	put(t, j, s.rows)
	err := j.Ledger().Create(t.Context(), safety.Approval{
		ID: "other", Session: session, CallID: "c0", Tool: "look", RunID: "r0", State: safety.StatePending, RequestedAt: at(1), ExpiresAt: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := inspect.NewJournal(j).Sessions(t.Context(), inspect.Query{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Status != inspect.StatusExpired || page.Sessions[0].Approvals != 2 {
		t.Errorf("%+v, %v, want one session that is expired", page.Sessions, err)
	}
}

func TestBadQueries(t *testing.T) {
	tests := map[string]struct {
		query inspect.Query
		says  string
	}{
		"limit":  {inspect.Query{Limit: -1}, "limit -1"},
		"time":   {inspect.Query{From: at(2), To: at(1)}, "the end is before the beginning"},
		"status": {inspect.Query{Status: []inspect.Status{"green"}}, `"green": use one of`},
		"cursor": {inspect.Query{After: "!"}, "use the next of the page before"},
		"json":   {inspect.Query{After: "e30x"}, "use the next of the page before"},
	}
	for kind, src := range sources(t, sessions(t, 1)) {
		for name, tt := range tests {
			if _, err := src.Sessions(t.Context(), tt.query); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, %s: error %v, want it to say %q", kind, name, err, tt.says)
			}
		}
		page, err := src.Sessions(t.Context(), inspect.Query{Limit: 1 << 30})
		if err != nil || len(page.Sessions) != 1 {
			t.Errorf("%s: %d sessions, %v: a limit that is too great is the greatest", kind, len(page.Sessions), err)
		}
	}
}

// TestMaxLimit holds that nobody gets more than the greatest page.
func TestMaxLimit(t *testing.T) {
	var rows []record.Event
	for i := range inspect.MaxLimit + 1 {
		rows = append(rows, record.Event{EventID: fmt.Sprint(i), EventType: record.StateDelta, Status: record.StatusOK, Timestamp: int64(i + 1), AppName: "a", UserID: "u", SessionID: fmt.Sprint(i)})
	}
	for kind, src := range sources(t, rows) {
		for limit, want := range map[int]int{0: inspect.DefaultLimit, 1 << 20: inspect.MaxLimit} {
			page, err := src.Sessions(t.Context(), inspect.Query{Limit: limit})
			if err != nil || len(page.Sessions) != want || page.Next == "" {
				t.Errorf("%s: %d sessions with limit %d, next %q, %v, want %d", kind, len(page.Sessions), limit, page.Next, err, want)
			}
		}
	}
}

func TestFind(t *testing.T) {
	rows := sessions(t, 3)
	twin := newScript(t)
	twin.session = record.Session{App: "other", User: "eve", ID: "s-00001"}
	twin.start("r9").row(record.UserMessageReceived, "x", "")
	for i := range twin.rows {
		twin.rows[i].EventID = "twin"
	}
	for kind, src := range sources(t, append(rows, twin.rows...)) {
		for _, tt := range []struct {
			key  record.Session
			want int
		}{
			{record.Session{ID: "s-00001"}, 2}, {record.Session{ID: "s-00001", User: "eve"}, 1}, {record.Session{ID: "s-00001", App: "desk"}, 1},
			{record.Session{ID: "s-0000"}, 4}, {record.Session{ID: "s-0000", App: "desk"}, 1}, {record.Session{ID: "s…1"}, 2}, {record.Session{ID: "0001"}, 0}, {record.Session{}, 0},
		} {
			got, err := src.Find(t.Context(), tt.key)
			if err != nil || len(got) != tt.want {
				t.Errorf("%s: Find(%+v) = %v, %v, want %d", kind, tt.key, got, err, tt.want)
			}
		}
		if _, err := src.Record(t.Context(), record.Session{App: "shop", User: "ann", ID: "nope"}); !errors.Is(err, inspect.ErrNotFound) {
			t.Errorf("%s: an unknown session: %v", kind, err)
		}
	}
}

// TestJournalRecord reads the ledger with its history.
func TestJournalRecord(t *testing.T) {
	j := openJournal(t)
	s := newScript(t).asks()
	put(t, j, s.rows)
	ctx := t.Context()
	a := safety.Approval{
		ID: "a-1", Session: session, CallID: "c1", Tool: "buy", Agent: "buyer", RunID: "r1", State: safety.StatePending,
		RequestedAt: at(7), ExpiresAt: at(3600),
	}
	if err := j.Ledger().Create(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := j.Ledger().Attach(ctx, "a-1", "q1"); err != nil {
		t.Fatal(err)
	}
	_, err := j.Ledger().Transition(ctx, safety.Transition{
		ID: "a-1", From: []safety.ApprovalState{safety.StatePending}, To: safety.StateRejected, At: at(20), Actor: "bob", Set: safety.Update{Approver: "bob"},
	})
	if err != nil {
		t.Fatal(err)
	}
	src := inspect.NewJournal(j)
	if src.Name() != "journal contextgraph.db" {
		t.Errorf("name %q", src.Name())
	}
	r, err := src.Record(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	got, err := inspect.New(r, at(60))
	if err != nil {
		t.Fatal(err)
	}
	one := got.Approvals[0]
	if one.Status != inspect.StatusRejected || len(one.History) != 2 || one.History[1].Actor != "bob" || !strings.Contains(one.Explanation, "by bob") {
		t.Errorf("%s, history %+v, %q", one.Status, one.History, one.Explanation)
	}
	page, err := src.Sessions(ctx, inspect.Query{Status: []inspect.Status{inspect.StatusRejected}})
	if err != nil || len(page.Sessions) != 1 {
		t.Errorf("%d sessions, %v: the list does not know what the ledger says", len(page.Sessions), err)
	}
}

// TestGaps tells rows that were lost from those that were never numbered.
func TestGaps(t *testing.T) {
	rows := newScript(t).asks().rows
	if got := inspect.Gaps(graphsync.Fold(nil, rows)); len(got) != 0 {
		t.Errorf("gaps %v in a whole record", got)
	}
	got := inspect.Gaps(graphsync.Fold(nil, slices.Delete(slices.Clone(rows), 2, 4)))
	if len(got) != 1 || !strings.Contains(got[0], "2 of 8 rows are missing") {
		t.Errorf("gaps %v, want 2 of 8 rows", got)
	}
	for i := range rows {
		rows[i].RunID, rows[i].RunSeq = "", 0
	}
	if got := inspect.Gaps(graphsync.Fold(nil, rows[3:])); len(got) != 0 {
		t.Errorf("gaps %v where nothing is numbered", got)
	}
}

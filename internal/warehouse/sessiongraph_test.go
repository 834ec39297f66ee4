// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestKeysOfRows(t *testing.T) {
	// echo -n '1:a7:informs1:b' | sha256sum
	if got := warehouse.EdgeKey("a", graphsync.Informs, "b"); got != "e7aa57bd8c3bbd2f6186551d448a03d8" {
		t.Errorf("EdgeKey = %s", got)
	}
	if warehouse.BizKey("n", "ab", "c") == warehouse.BizKey("n", "a", "bc") {
		t.Error("two entities have one key")
	}
}

func TestSessionGraphNeedsToKnowWhoReadWhen(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	row := record.Event{EventID: "e", EventType: record.UserMessageReceived, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "a", Timestamp: at.UnixMicro()}
	for _, o := range []warehouse.GraphOptions{{ReadAt: at}, {Recorder: "j"}} {
		if _, err := warehouse.GraphOfRows(s, []record.Event{row}, nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	o := warehouse.GraphOptions{Recorder: "j", ReadAt: at}
	if _, err := warehouse.GraphOfRows(s, nil, nil, o); !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("no rows: %v", err)
	}
	other := row
	other.SessionID, other.EventID = "s2", "f"
	if _, err := warehouse.GraphOfRows(s, []record.Event{row, other}, nil, o); err == nil || !strings.Contains(err.Error(), "s2") {
		t.Errorf("rows of two sessions: %v", err)
	}
}

func TestDecidedAt(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	var rows []record.Event
	for i, typ := range []string{record.ToolStarting, record.HITLConfirmationRequest, record.HITLConfirmationRequest, record.ToolCompleted} {
		rows = append(rows, record.Event{
			EventID: string(rune('a' + i)), EventType: typ, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "x",
			Timestamp: at.Add(time.Duration(i) * time.Second).UnixMicro(),
		})
	}
	for _, test := range []struct {
		rows     []record.Event
		approval bool
		want     time.Duration
	}{{rows, true, 2 * time.Second}, {rows[:1], false, 0}, {[]record.Event{rows[0], rows[3]}, false, 3 * time.Second}} {
		g, err := warehouse.GraphOfRows(s, test.rows, nil, warehouse.GraphOptions{Recorder: "j", ReadAt: at})
		if err != nil {
			t.Fatal(err)
		}
		n := g.Nodes[0]
		if n.Approval != test.approval || n.DecidedAt.Sub(at) != test.want {
			t.Errorf("approval %v, decided after %v; want %v, %v", n.Approval, n.DecidedAt.Sub(at), test.approval, test.want)
		}
	}
}

// A check whose content was lost still says its verdict and what it was about.
func TestCheckWithoutItsReport(t *testing.T) {
	s := record.Session{App: "shop", User: "alice", ID: "s1"}
	for _, content := range []string{"", "[]", `"text"`, "{"} {
		row := record.Event{
			EventID: "e", EventType: record.WorldChangeCheck, AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "a",
			Timestamp: 1, Content: []byte(content), Attributes: []byte(`{"adk":{"verdict":"check_failed","stage":"execution","approval_id":"a1"}}`),
		}
		g, err := warehouse.GraphOfRows(s, []record.Event{row}, nil, warehouse.GraphOptions{Recorder: "j", ReadAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		c := g.Checks[0]
		if c.CheckID != "e" || c.Verdict != "check_failed" || c.Stage != "execution" || c.ApprovalID != "a1" || c.EntitiesChecked != nil || c.Detail != nil {
			t.Errorf("content %q: %+v", content, c)
		}
	}
}

// Every condition over the target names the session and a time of the column that the
// table is partitioned by, all as parameters, so that cost can follow the session.
func TestSyncStatementsNameSessionAndPartition(t *testing.T) {
	names, err := warehouse.NamesOf(config.BigQuery{Project: "my-project", Dataset: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := names.Statement("sync_session", struct{ Nodes, Edges, Entities, Links, Checks string }{"n", "e", "b", "l", "c"})
	if err != nil {
		t.Fatal(err)
	}
	partition := make(map[string]string)
	for _, table := range warehouse.GraphTables() {
		partition[table.Name] = table.PartitionBy
	}
	target := regexp.MustCompile("^MERGE `my-project\\.agents\\.([a-z_]+)`")
	clause := regexp.MustCompile(`(?s)\n(?:ON |WHEN MATCHED|WHEN NOT MATCHED BY SOURCE)(.*?)(?:\nTHEN|\nWHEN)`)
	merges := make(map[string]int)
	for _, statement := range strings.Split(text, ";\n") {
		at := strings.Index(statement, "MERGE `")
		if at < 0 {
			continue
		}
		statement = statement[at:]
		table := target.FindStringSubmatch(statement)[1]
		merges[table]++
		// With both it is a full outer join, for which BigQuery reads all partitions:
		// https://cloud.google.com/bigquery/docs/using-dml-with-partitioned-tables
		adds, removes := strings.Contains(statement, "NOT MATCHED BY TARGET"), strings.Contains(statement, "NOT MATCHED BY SOURCE")
		if adds == removes || adds && strings.Contains(statement, "WHEN MATCHED") {
			t.Errorf("%s: one statement is to add rows, one to change and remove them:\n%s", table, statement)
		}
		// A clause ends where the next one begins: both ends count.
		found := clause.FindAllStringSubmatch(strings.ReplaceAll(statement, "\nWHEN", "\nWHEN\nWHEN"), -1)
		var conditions int
		for _, c := range found {
			if strings.TrimSpace(c[1]) == "" || removes && strings.HasPrefix(c[0], "\nON ") {
				continue
			}
			conditions++
			for _, want := range []string{"T.app_name = @app", "T.user_id = @user", "T.session_id = @session", "T." + partition[table] + " BETWEEN @"} {
				if !strings.Contains(c[1], want) {
					t.Errorf("%s: a condition lacks %q:%s", table, want, c[1])
				}
			}
		}
		if want := map[bool]int{false: 2, true: 1}[adds]; conditions != want {
			t.Errorf("%s has %d conditions over the target, want %d", table, conditions, want)
		}
	}
	want := make(map[string]int)
	for table := range partition {
		if table != warehouse.ExtractedRows {
			want[table] = 2
		}
	}
	if diff := cmp.Diff(want, merges); diff != "" {
		t.Errorf("MERGE statements by table (-want +got):\n%s", diff)
	}
	transaction, count, committed := strings.Cut(text, "\nCOMMIT TRANSACTION;\n")
	if before, _, begun := strings.Cut(transaction, "\nBEGIN TRANSACTION;\n"); !begun || !committed || strings.Contains(before, "MERGE `") || strings.Contains(count, "MERGE") {
		t.Error("the statements are not one transaction")
	}
	unique, err := names.Statement("sync_unique", nil)
	if err != nil {
		t.Fatal(err)
	}
	for table := range want {
		from := "FROM `my-project.agents." + table + "`"
		bounds := regexp.MustCompile(regexp.QuoteMeta(from) + `\n *WHERE app_name = @app AND user_id = @user AND session_id = @session AND ` + partition[table] + ` BETWEEN @from AND @to`)
		if len(bounds.FindAllString(count, -1)) != 1 || strings.Count(count, table) != 1 {
			t.Errorf("the duplicates of %s are not counted among the rows of the session:\n%s", table, count)
		}
		if len(bounds.FindAllString(unique, -1)) != 2 || strings.Count(unique, from) != 2 {
			t.Errorf("the duplicates of %s are not sought and removed among the rows of the session:\n%s", table, unique)
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// answering is a BigQuery that answers a query with the rows of the first entry whose
// words stand in it, each column a text, and takes all else. It notes the requests for
// jobs in asked.
func answering(t *testing.T, asked *[]string, answers map[string][]map[string]string) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	results := make(map[string]string) // by job, which words
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer := map[string]any{}
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs"):
			answer["jobReference"] = map[string]any{"jobId": fmt.Sprint("job", len(results)), "projectId": "my-project"}
			answer["status"], answer["configuration"] = map[string]any{"state": "DONE"}, map[string]any{"query": map[string]any{}}
			if strings.HasPrefix(r.URL.Path, "/upload/") {
				answer["configuration"] = map[string]any{"load": map[string]any{}}
				break
			}
			var job struct {
				Configuration struct{ Query struct{ Query string } }
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(body, &job)
			}
			if err != nil {
				t.Error(err)
			}
			*asked = append(*asked, string(body))
			words := ""
			for w := range answers {
				if strings.Contains(job.Configuration.Query.Query, w) {
					words = w
				}
			}
			results[fmt.Sprint("job", len(results))] = words
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/queries/"):
			var fields, rows []any
			for i, row := range answers[results[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]] {
				var cells []any
				for _, column := range slices.Sorted(maps.Keys(row)) {
					if i == 0 {
						name, kind, _ := strings.Cut(column, " ")
						fields = append(fields, map[string]any{"name": name, "type": kind})
					}
					cells = append(cells, map[string]any{"v": row[column]})
				}
				rows = append(rows, map[string]any{"f": cells})
			}
			answer = map[string]any{"jobComplete": true, "totalRows": strconv.Itoa(len(rows)), "schema": map[string]any{"fields": fields}, "rows": rows}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// What a model found in the dataset gets to the journal that has its session, and to no
// other, once.
func TestSyncFromTheDatasetGivesBack(t *testing.T) {
	t.Chdir(t.TempDir())
	mine := record.Session{App: "shop", User: "alice", ID: "s1"}
	recorded(t, mine)
	at := strconv.FormatInt(time.Now().UnixMicro(), 10)
	event := strings.Repeat("0", 31) + "a"
	var sessions, rows []map[string]string
	for _, id := range []string{"s1", "s2"} {
		sessions = append(sessions, map[string]string{
			"app STRING": "shop", "user STRING": "alice", "session STRING": id, "events INTEGER": "1", "first TIMESTAMP": at, "last TIMESTAMP": at,
		})
		rows = append(rows, map[string]string{
			"user STRING": "alice", "session STRING": id, "timestamp TIMESTAMP": at, "event_id STRING": event,
			"attributes STRING": "{}", "event_type STRING": record.UserMessageReceived, "trace_id STRING": "t", "span_id STRING": "root",
		})
		if id == "s1" {
			found := maps.Clone(rows[0])
			found["event_id STRING"], found["event_type STRING"] = "found", record.EntitiesFound
			found["attributes STRING"] = `{"adk":{"app_name":"shop","of":"` + event + `"},"entities":[{"type":"Product","value":"a route","confidence":0.5}]}`
			rows = append(rows, found)
		}
	}
	// The graph that is there begins before --since: it is made anew as a whole.
	began := time.Now().Add(-30 * 24 * time.Hour).UTC().Truncate(time.Second)
	var asked []string
	server := answering(t, &asked, map[string][]map[string]string{
		"COUNT(DISTINCT event_id) AS events": sessions,
		"AS run_seq":                         rows,
		"CURRENT_TIMESTAMP()": {{
			"now INTEGER": at, "app STRING": "shop", "user STRING": "alice", "session STRING": "s1", "node_key STRING": "k", "day DATE": "2026-03-04",
			"first TIMESTAMP": strconv.FormatInt(began.UnixMicro(), 10),
		}},
	})
	written := refusing(t, "")
	command := []string{"sync", "--all", "--from", "dataset", "--project", "my-project", "--dataset", "agents"}
	code, stdout, stderr := writing(t, server, written, command...)
	if code != exitOK || !strings.Contains(stdout, "1/2 s1: what models found in 1 rows is in the journal\n") || strings.Contains(stdout, "s2: ") {
		t.Fatalf("%d: %s%s", code, stdout, stderr)
	}
	var read int
	for _, job := range asked {
		if strings.Contains(job, "AS run_seq") {
			read++
			if !strings.Contains(job, began.Format("2006-01-02 15:04:05")) {
				t.Errorf("the rows are not read from the first step of the graph on: %s", job)
			}
		}
	}
	if read != 1 {
		t.Errorf("the rows of two sessions are read by %d queries", read)
	}
	// The session that is there keeps its day, and the version is BigQuery's time.
	for _, row := range written.Rows() {
		f, day := row.Fields(), int32(20516)
		if row.Session == "s2" {
			day = int32(time.Now().Unix() / 86400)
		}
		if got := f["session_day"].(int32); f["writer"] != "dataset" || fmt.Sprint(f["version"]) != at || got != day && got != day-1 {
			t.Errorf("%s: version %v on day %v of %v", row.Session, f["version"], f["session_day"], f["writer"])
		}
	}
	if n := len(written.Rows()); n != 2 {
		t.Errorf("%d graphs of two sessions", n)
	}
	if code, stdout, stderr = writing(t, server, written, command...); code != exitOK {
		t.Fatalf("the second time: %d: %s%s", code, stdout, stderr)
	}
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	if stored, err := store.Events(t.Context(), j, mine); err != nil || len(stored) != 2 || stored[1].EventType != record.EntitiesFound {
		t.Errorf("the journal has the rows %+v, %v; want one with what was found", stored, err)
	}
	folded, err := graphsync.NewSessions(j, nil).Fold(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if es := folded.Graph().Entities(); len(es) != 1 || es[0].Value != "a route" || es[0].Confidence != 0.5 {
		t.Errorf("entities of the journal: %+v", es)
	}
}

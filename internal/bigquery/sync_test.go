// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

const graphStream = "projects/my-project/datasets/agents/tables/session_graphs/streams/_default"

// graphStart is the time of the first row of twoSteps.
var graphStart = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

// twoSteps are the rows of a session with two steps, an edge and an entity, which one row has twice.
func twoSteps(id string) []record.Event {
	return []record.Event{
		{EventID: id + "1", EventType: record.UserMessageReceived, AppName: "shop", UserID: "alice", SessionID: id, TraceID: "t", SpanID: "root", Timestamp: graphStart.UnixMicro(),
			RunID: "r", RunSeq: 1, Status: record.StatusOK},
		{EventID: id + "2", EventType: record.EntitiesDeclared, AppName: "shop", UserID: "alice", SessionID: id, TraceID: "t", SpanID: "tool", ParentSpanID: "root", Timestamp: graphStart.UnixMicro() + 1,
			RunID: "r", RunSeq: 2, Status: record.StatusOK, Content: []byte(`{"tool":"find"}`),
			Attributes: []byte(`{"entities":[{"type":"Product","value":"<b>","confidence":0.5,"artifact_uri":"gs://plans/b"},{"type":"Product","value":"<b>","confidence":0.9,"artifact_uri":"gs://plans/b"}]}`)},
		{EventID: id + "3", EventType: record.ToolCompleted, AppName: "shop", UserID: "alice", SessionID: id, TraceID: "t", SpanID: "tool", ParentSpanID: "root", Timestamp: graphStart.UnixMicro() + 1,
			RunID: "r", RunSeq: 3, Status: record.StatusOK, Content: []byte(`{"tool":"find","result":{}}`), Attributes: []byte(`{}`)},
	}
}

func oneGraph(t *testing.T) warehouse.SessionGraph {
	t.Helper()
	g, err := warehouse.NewSessionGraph(named("s1"), graphsync.Fold(nil, twoSteps("s1")))
	if err != nil {
		t.Fatal(err)
	}
	g.Writer, g.WriterID, g.Version = warehouse.WriterJournal, "j1", 7
	return g
}

// writeGraph appends one graph.
func writeGraph(t *testing.T, d *bigquery.Dataset, g warehouse.SessionGraph) (bigquery.SyncReport, error) {
	t.Helper()
	w := d.GraphWriter()
	defer w.Close()
	return w.Write(t.Context(), g)
}

// Each graph has a sync id of its own. Of two with one version, readers see that with the greater one,
// which is the later.
func TestGraphWriter(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	w := newDataset(t, server, nil).GraphWriter()
	defer w.Close()
	for range 2 {
		r, err := w.Write(t.Context(), oneGraph(t))
		want := bigquery.SyncReport{Nodes: 2, Edges: 1, Entities: 1, Parts: 1, Bytes: r.Bytes}
		if err != nil || r != want || r.Bytes == 0 {
			t.Errorf("report %+v, %v, want %+v", r, err, want)
		}
	}
	rows := server.Rows()
	if len(rows) != 2 || len(server.Connections()) != 1 || server.Connections()[0].Stream != graphStream {
		t.Fatalf("%d rows over %+v", len(rows), server.Connections())
	}
	first, second := rows[0].Fields(), rows[1].Fields()
	if id, later := first["sync_id"].(string), second["sync_id"].(string); id == "" || later <= id {
		t.Errorf("two graphs of version %v have the sync ids %q and %q, in this order", first["version"], id, later)
	}
	steps := first["nodes"].([]any)
	delete(first, "nodes")
	delete(first, "sync_id")
	want := map[string]any{
		"app_name": "shop", "user_id": "alice", "session_id": "s1", "session_day": int32(graphStart.Unix() / 86400), "writer": "journal", "writer_id": "j1",
		"version": int64(7), "read_to": graphStart.UnixMicro() + 1, "part": int64(0), "parts": int64(1),
	}
	if diff := gocmp.Diff(want, first); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if found, _ := steps[0].(map[string]any)["entities"].([]any); len(found) != 0 {
		t.Errorf("a step that saw nothing has the entities %v", found)
	}
	tool := steps[1].(map[string]any)
	entities := tool["entities"].([]any)
	if e := entities[0].(map[string]any); len(entities) != 1 || e["node_value"] != "<b>" || e["node_type"] != "Product" || e["confidence"] != 0.9 || e["artifact_uri"] != "gs://plans/b" {
		t.Errorf("entities %v, want one Product <b> with its document and the greatest confidence", entities)
	}
	if tool["span_id"] != "tool" || len(tool["caused_by"].([]any)) != 1 {
		t.Errorf("step %v", tool)
	}
}

// A graph that is larger than a part may be goes in several rows, each of which a request can hold.
func TestGraphWriterParts(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	rows := twoSteps("s1")
	for i := range 30 {
		e := rows[1]
		e.EventID, e.SpanID, e.Timestamp = fmt.Sprint("large", i), fmt.Sprint("large", i), e.Timestamp+int64(i)
		e.EventType, e.Content = record.WorldChangeCheck, []byte(`{"x":"`+strings.Repeat("x", 400_000)+`"}`)
		rows = append(rows, e)
	}
	g, err := warehouse.NewSessionGraph(named("s1"), graphsync.Fold(nil, rows))
	if err != nil {
		t.Fatal(err)
	}
	r, err := writeGraph(t, newDataset(t, server, nil), g)
	if err != nil || r.Parts < 3 || r.Nodes != 32 {
		t.Fatalf("report %+v, %v", r, err)
	}
	steps := 0
	for i, row := range server.Rows() {
		f := row.Fields()
		if f["part"] != int64(i) || f["parts"] != int64(r.Parts) || f["sync_id"] != server.Rows()[0].Fields()["sync_id"] || row.Bytes > 5<<20 {
			t.Errorf("row %d of %d bytes: part %v of %v", i, row.Bytes, f["part"], f["parts"])
		}
		steps += len(f["nodes"].([]any))
	}
	if steps != 32 {
		t.Errorf("%d steps in all parts, want 32", steps)
	}
}

// A request that fails for reasons that pass is sent again; whatever happens, what arrives are whole
// rows of one version, perhaps twice.
func TestGraphWriterTriesAgain(t *testing.T) {
	t.Parallel()
	denied := status.Error(codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied")
	missing := writefake.TableNotFound("session_graphs")
	for name, c := range map[string]struct {
		answers []writefake.Answer
		rows    int
		class   replicate.Class
		err     string // empty: it gets there
	}{
		"the connection breaks after it":  {answers: []writefake.Answer{writefake.EndAfter(nil)}, rows: 2},
		"before it":                       {answers: []writefake.Answer{writefake.EndBefore(nil), writefake.EndBefore(status.Error(codes.Unavailable, "soon"))}, rows: 1},
		"the table was made a moment ago": {answers: []writefake.Answer{writefake.EndBefore(missing)}, rows: 1},
		"no permission":                   {answers: []writefake.Answer{writefake.EndBefore(denied)}, class: replicate.ClassPermanent, err: "roles/bigquery.dataEditor"},
		"a row is refused":                {answers: []writefake.Answer{{BadRows: []int{0}}}, class: replicate.ClassRows, err: "the script refuses this row"},
		"it never works": {answers: slices.Repeat([]writefake.Answer{writefake.EndBefore(status.Error(codes.Unavailable, "later"))}, 10),
			class: replicate.ClassTransient, err: "5 attempts failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			server.Script(c.answers...)
			_, err := writeGraph(t, newDataset(t, server, nil), oneGraph(t))
			if len(server.Rows()) != c.rows {
				t.Errorf("%d rows, want %d", len(server.Rows()), c.rows)
			}
			for _, row := range server.Rows() {
				if row.Fields()["sync_id"] != server.Rows()[0].Fields()["sync_id"] {
					t.Error("what was sent again is another version")
				}
			}
			if c.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*replicate.Error](err)
			if !ok || e.Class != c.class || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v of class %v, want %q of class %v", err, e, c.err, c.class)
			}
		})
	}
	_, err := writeGraph(t, newDataset(t, newServer(t, writefake.Options{}), nil), warehouse.SessionGraph{Session: named("s1")})
	if !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("a graph without steps: %v", err)
	}
}

// The graph of more rows has a greater version, and all versions stand under one day.
func TestJournalGraph(t *testing.T) {
	t.Parallel()
	j := newJournal(t, 0, 0)
	add := func(rows ...record.Event) {
		t.Helper()
		for _, e := range rows {
			j.Append(e)
		}
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	add(twoSteps("s1")...)
	sessions := graphsync.NewSessions(j, nil)
	day := graphStart.Truncate(24 * time.Hour)
	for rows := int64(3); rows < 6; rows++ {
		g, err := bigquery.JournalGraph(t.Context(), j, sessions, named("s1"))
		if err != nil {
			t.Fatal(err)
		}
		if g.Version != rows || !g.Day.Equal(day) || g.Writer != warehouse.WriterJournal || g.WriterID != j.ID() || len(g.Nodes) != int(rows)-1 {
			t.Errorf("version %d of %s %s on %v with %d steps, of %d rows", g.Version, g.Writer, g.WriterID, g.Day, len(g.Nodes), rows)
		}
		// A row of an earlier day comes late.
		e := twoSteps("s1")[0]
		e.EventID, e.SpanID, e.Timestamp, e.RunSeq = fmt.Sprint("late", rows), fmt.Sprint("late", rows), e.Timestamp-1e11*rows, rows+1
		add(e)
	}
	if _, err := bigquery.JournalGraph(t.Context(), j, sessions, named("other")); !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("a session without rows: %v", err)
	}
}

// said tells that something was logged with some words.
type said struct {
	words string
	heard chan struct{}
}

func (s said) Write(line []byte) (int, error) {
	if strings.Contains(string(line), s.words) {
		close(s.heard)
	}
	return len(line), nil
}

// A session that goes on after retention removed it is graphed by another writer: what was brought of
// it before stays.
func TestJournalGraphAfterRetention(t *testing.T) {
	t.Parallel()
	removed := said{"removed by retention", make(chan struct{})}
	cfg := journal.Config{
		Journal: config.Journal{Path: journaltest.Path(t)}, SweepInterval: time.Hour, Logger: slog.New(slog.NewTextHandler(removed, nil)),
	}
	var got []warehouse.SessionGraph
	for life := range 2 {
		j, err := journal.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if life > 0 {
			<-removed.heard
		}
		for _, e := range twoSteps("s1") {
			e.EventID = fmt.Sprint(e.EventID, life)
			j.Append(e)
		}
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, err := bigquery.JournalGraph(t.Context(), j, graphsync.NewSessions(j, nil), named("s1"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, g)
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		cfg.Retention = config.Retention{MaxAge: time.Hour}
	}
	if got[1].WriterID != got[0].WriterID+":3" || got[1].Version <= got[0].Version || len(got[1].Nodes) != 2 {
		t.Errorf("version %d of %s with %d steps, after %s", got[1].Version, got[1].WriterID, len(got[1].Nodes), got[0].WriterID)
	}
}

func TestKnownGraphs(t *testing.T) {
	t.Parallel()
	g := oneGraph(t)
	g.Day = graphStart.Truncate(24 * time.Hour)
	root, tool := g.Nodes[0].NodeKey, g.Nodes[1].NodeKey
	at := func(d time.Duration) string { return strconv.FormatInt(graphStart.Add(d).UnixMicro(), 10) }
	known := func(session, node, day string, first any) []any {
		return []any{"1772618400000000", "shop", "alice", session, node, day, first}
	}
	for name, c := range map[string]struct {
		known [][]any
		want  map[string]int // steps by day
		from  time.Time
	}{
		"nothing is there":         {want: map[string]int{"2026-03-04": 2}, from: graphStart},
		"another session is there": {known: [][]any{known("s2", "x", "2026-02-01", at(-time.Hour))}, want: map[string]int{"2026-03-04": 2}, from: graphStart},
		"all is there":             {known: [][]any{known("s1", root, "2026-03-02", at(-time.Hour)), known("s1", tool, "2026-03-02", at(0))}, want: map[string]int{"2026-03-02": 2}, from: graphStart.Add(-time.Hour)},
		"a step is new":            {known: [][]any{known("s1", root, "2026-03-03", at(time.Hour))}, want: map[string]int{"2026-03-03": 2}, from: graphStart},
		"two hosts began on two days": {
			known: [][]any{known("s1", root, "2026-03-02", at(0)), known("s1", tool, "2026-03-03", at(0)), known("s1", "gone", "2026-03-01", nil)},
			want:  map[string]int{"2026-03-02": 1, "2026-03-03": 1}, from: graphStart,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := &rowsAPI{t: t, known: c.known}
			known, err := api.dataset().KnownGraphs(t.Context(), []record.Session{named("s1")}, graphStart)
			if err != nil {
				t.Fatal(err)
			}
			if want := max(1, known.Version); known.Version != want {
				t.Errorf("version %d", known.Version)
			}
			got := make(map[string]int)
			for _, part := range known.Split(g) {
				got[part.Day.Format(time.DateOnly)] = len(part.Nodes)
				if part.Session != g.Session || part.Version != g.Version || part.ReadTo != g.ReadTo {
					t.Errorf("a part differs in more than day and steps: %+v", part)
				}
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("steps by day (-want +got):\n%s", diff)
			}
			if spans := known.Spans([]record.Session{named("s1")}, graphStart); !spans[0].From.Equal(c.from) {
				t.Errorf("rows are read from %v, want %v", spans[0].From, c.from)
			}
		})
	}
}

// What BigQuery says may quote the values of rows, and a proxy answers with a page: an
// error repeats a bounded part of it, and names what is needed where access is denied.
func TestErrorsAreBounded(t *testing.T) {
	secret := strings.Repeat("alice@example.com ", 500)
	for name, body := range map[string]string{
		"page":   "<html>" + secret,
		"denied": `{"error":{"code":403,"message":"Access Denied: ` + secret + `","errors":[{"reason":"accessDenied","message":"x"}],"details":[{"x":"` + secret + `"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, body)
			}))
			defer server.Close()
			d, err := bigquery.NewDataset(t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
				Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			_, known := d.KnownGraphs(t.Context(), []record.Session{named("s1")}, time.Now().Add(-time.Hour))
			_, asked := d.FindSessions(t.Context(), named("s1"), time.Now().Add(-time.Hour), time.Now())
			for _, err := range []error{known, asked} {
				if err == nil || len(err.Error()) > 900 || !strings.Contains(err.Error(), "roles/bigquery.dataEditor on my-project.agents") {
					t.Errorf("error of %d bytes: %.900v", len(err.Error()), err)
				}
				if api := new(googleapi.Error); !errors.As(err, &api) || api.Code != http.StatusForbidden {
					t.Errorf("the error hides what it is: %T", err)
				}
			}
		})
	}
}

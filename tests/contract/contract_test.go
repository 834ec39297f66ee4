// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// scenario is a script over real agents whose rows are compared with golden ones.
type scenario struct {
	name    string
	options []cgtest.Option
	// stops says that the consumer of a run stops before its end.
	stops bool
	// broken says that rows are lost.
	broken bool
	run    func(*testing.T, *cgtest.Harness)
}

// TestContract runs every scenario, compares its rows with the golden ones, and checks
// each row field by field: against its shape, the views over its type and what
// consumers read.
func TestContract(t *testing.T) {
	ct := loadContract(t)
	ran := 0
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			ran++
			h := cgtest.New(t, sc.options...)
			sc.run(t, h)
			rows := allRows(h)
			if len(rows) == 0 {
				t.Fatal("the scenario left no rows")
			}
			for i := range rows {
				ct.check(t, &rows[i], contract.Ours)
				if !sc.stops && rowtest.Field(t, rows[i].Attributes, "adk", "unfinished") != nil {
					t.Errorf("%s of %s is marked unfinished in a run that came to its end", rows[i].EventType, rows[i].Agent)
				}
			}
			for _, trace := range byTrace(rows) {
				if !sc.broken {
					cgtest.CheckTree(t, steps(t, trace))
				}
			}
			if !sc.broken {
				checkConserved(h, rows)
			}
			checkGraphs(t, rows)
			ct.golden(t, sc.name, rows)
		})
	}
	if ran == len(scenarios()) { // not with -run
		ct.checkCoverage(t)
	}
}

// TestContractOfPython checks rows in the shape of the Python plugin in the same way,
// and that the graph can be built over them. It brings the types that ADK for Go
// gives no cause for.
func TestContractOfPython(t *testing.T) {
	ct := loadContract(t)
	files, err := filepath.Glob("testdata/python/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("fixtures: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			rows := readRows(t, file)
			for i := range rows {
				ct.check(t, &rows[i], contract.Python)
			}
			g := graphsync.Fold(nil, rows).Graph()
			for _, e := range rows {
				n, ok := g.Node(graphsync.TechNodeKey(e.Session(), e.TraceID, e.SpanID))
				ofAgent := e.EventType == record.AgentStateCheckpoint || e.EventType == record.EventCompaction
				if !ok || ofAgent && (n.Kind != graphsync.KindAgent || n.Name != e.Agent) {
					t.Errorf("%s: the graph has %s %q for span %s", e.EventType, n.Kind, n.Name, e.SpanID)
				}
			}
		})
	}
	for _, e := range ct.shapes.Events {
		if e.Own == "" && !ct.seen[e.Type] {
			t.Errorf("no fixture has a row of %s", e.Type)
		}
	}
	for _, c := range ct.columns() {
		if c.Present != "never" && !ct.filled[c.Name] {
			t.Errorf("no fixture fills column %s", c.Name)
		}
	}
}

// checkGraphs checks that no edge leads out of the graph of a session, and that every step of a run
// is inside of another one.
func checkGraphs(t *testing.T, rows []record.Event) {
	t.Helper()
	sessions := make(map[record.Session][]record.Event)
	for _, e := range rows {
		sessions[e.Session()] = append(sessions[e.Session()], e)
	}
	for s, rows := range sessions {
		g := graphsync.Fold(nil, rows).Graph()
		contained := make(map[string]bool)
		for _, e := range g.Edges() {
			_, from := g.Node(e.From)
			_, to := g.Node(e.To)
			if !from || !to {
				t.Errorf("%s: edge %+v leads out of the graph", s.App, e)
			}
			contained[e.To] = contained[e.To] || e.Kind == graphsync.Contains
		}
		for _, n := range g.Nodes() {
			if n.Kind != graphsync.KindInvocation && n.InvocationID != "" && !contained[n.Key] {
				t.Errorf("%s: node %s %s is inside of none", s.App, n.Kind, n.Name)
			}
		}
	}
}

// contractTest is the contract, and what of it the rows so far have shown.
type contractTest struct {
	shapes    *contract.Shapes
	views     *contract.Views
	consumers []contract.Consumer
	seen      map[string]bool // event types
	filled    map[string]bool // columns of views, as type.name
	deviating map[string]bool // members that only our rows have, as type.path
	origins   map[string]bool // of tools
}

func loadContract(t *testing.T) *contractTest {
	t.Helper()
	ct := &contractTest{
		seen: make(map[string]bool), filled: make(map[string]bool), deviating: make(map[string]bool), origins: make(map[string]bool),
	}
	var err error
	if ct.shapes, err = contract.LoadShapes(); err != nil {
		t.Fatal(err)
	}
	if ct.views, err = contract.LoadViews(); err != nil {
		t.Fatal(err)
	}
	if ct.consumers, err = contract.LoadConsumers(); err != nil {
		t.Fatal(err)
	}
	return ct
}

// check reports everything in a row that is not as the contract has it.
func (ct *contractTest) check(t *testing.T, e *record.Event, by contract.Producer) {
	t.Helper()
	row := fmt.Sprintf("row %d of run %.6s", e.RunSeq, e.RunID)
	ct.seen[e.EventType] = true
	for _, f := range ct.shapes.Check(e, by) {
		t.Errorf("%s: %v", row, f)
	}
	for _, m := range ct.deviations(e.EventType) {
		c := contract.Column{From: m.From, Path: m.Path, As: "query"}
		if v, err := c.Value(e); err != nil {
			t.Errorf("%s: %s: %v", row, e.EventType, err)
		} else if v != nil {
			ct.deviating[e.EventType+"."+m.Path] = true
		}
	}
	if origin, ok := rowtest.Field(t, e.Content, "tool_origin").(string); ok {
		ct.origins[origin] = true
	}
	for _, v := range ct.views.Views {
		if v.EventType != e.EventType {
			continue
		}
		for _, c := range v.Columns {
			null, err := c.Check(e)
			if err != nil && !(by == contract.Python && c.Present == "never") {
				t.Errorf("%s: %s: view %s: %v", row, e.EventType, v.Suffix, err)
			}
			if !null {
				ct.filled[v.EventType+"."+c.Name] = true
			}
		}
	}
	for _, c := range ct.consumers {
		if len(c.Events) > 0 && !slices.Contains(c.Events, e.EventType) && c.Events[0] != "*" {
			continue
		}
		null, err := c.Check(e)
		if err != nil {
			t.Errorf("%s: %s: consumers: %v", row, e.EventType, err)
		}
		if !null {
			ct.filled["consumers."+c.Name] = true
		}
	}
}

// deviations returns where rows of the type hold something that those of the Python
// plugin do not.
func (ct *contractTest) deviations(eventType string) (places []contract.Place) {
	for _, e := range ct.shapes.Events {
		if e.Type != eventType {
			continue
		}
		for _, f := range e.Forms {
			for _, m := range f.Attributes {
				if m.Deviation != "" && m.Ours != contract.Never {
					places = append(places, contract.Place{From: "attributes", Path: m.Path})
				}
			}
		}
	}
	return places
}

// columns returns the columns of all views and the paths of consumers, named by the
// type of the view.
func (ct *contractTest) columns() (all []contract.Column) {
	for _, v := range ct.views.Views {
		for _, c := range v.Columns {
			c.Name = v.EventType + "." + c.Name
			all = append(all, c)
		}
	}
	for _, c := range ct.consumers {
		c.Name = "consumers." + c.Name
		all = append(all, c.Column)
	}
	return all
}

// checkCoverage checks that the scenarios together have a row of every type that ADK
// gives a cause for, everything that a deviation adds to one, a tool of every origin
// that needs no further module, and a value in every column that rows of ours fill.
func (ct *contractTest) checkCoverage(t *testing.T) {
	t.Helper()
	unproduced := make(map[string]bool)
	for _, e := range ct.shapes.Events {
		unproduced[e.Type] = e.Unproduced != ""
		switch {
		case e.Unproduced == "" && !ct.seen[e.Type]:
			t.Errorf("no scenario has a row of %s", e.Type)
		case e.Unproduced != "" && ct.seen[e.Type]:
			t.Errorf("%s has a row, and its shape says: %s", e.Type, e.Unproduced)
		}
	}
	for typ := range ct.seen {
		for _, p := range ct.deviations(typ) {
			if !ct.deviating[typ+"."+p.Path] {
				t.Errorf("no scenario has %s in %s of %s, which a deviation says rows of ours have", p.Path, p.From, typ)
			}
		}
	}
	for _, origin := range []string{"LOCAL", "SUB_AGENT", "A2A", "TRANSFER_AGENT", "TRANSFER_A2A", "UNKNOWN"} {
		if !ct.origins[origin] {
			t.Errorf("no scenario has a tool of origin %s", origin)
		}
	}
	for _, c := range ct.columns() {
		typ, _, _ := strings.Cut(c.Name, ".")
		if c.Present != "never" && !unproduced[typ] && !ct.filled[c.Name] {
			t.Errorf("no scenario fills column %s", c.Name)
		}
	}
}

// golden compares the normalised rows with those of the file.
func (ct *contractTest) golden(t *testing.T, name string, rows []record.Event) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	got := normalise(t, rows)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run the test with -update, and read what it writes", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("rows (-want +got); run the test with -update if they are meant to be so:\n%s", diff)
	}
}

// allRows returns the rows of all sessions, behind a barrier, in the order recorded.
func allRows(h *cgtest.Harness) []record.Event {
	h.T.Helper()
	if err := h.CG.Flush(h.T.Context()); err != nil {
		h.T.Fatalf("Flush: %v", err)
	}
	sessions, err := h.Store().Sessions(h.T.Context(), store.Query{})
	if err != nil {
		h.T.Fatalf("Sessions: %v", err)
	}
	var rows []record.Event
	for _, s := range sessions {
		of, err := store.Events(h.T.Context(), h.Store(), s.Session)
		if err != nil {
			h.T.Fatalf("Events: %v", err)
		}
		rows = append(rows, of...)
	}
	slices.SortFunc(rows, func(a, b record.Event) int { return int(a.Seq - b.Seq) })
	return rows
}

// steps returns the rows that begin or end a step, or stand inside of one. Chunks of an
// answer end nothing, nor does a further answer to a request that has one, which is on
// a span of its own; a result that a user message brings ends what began in another run.
func steps(t testing.TB, rows []record.Event) (out []record.Event) {
	t.Helper()
	asked := make(map[string]bool)
	for _, e := range rowtest.Of(rows, record.LLMRequest) {
		asked[e.SpanID] = true
	}
	for _, e := range rows {
		further := e.EventType == record.LLMResponse && !asked[e.SpanID]
		partial := rowtest.Field(t, e.Attributes, "adk", "partial") != nil
		brought := e.EventType == record.ToolCompleted && rowtest.Field(t, e.Attributes, "adk", "pause_kind") != nil
		if !partial && !brought && !further {
			out = append(out, e)
		}
	}
	return out
}

// byTrace returns the rows of each trace: the run of an agent that runs as a tool has
// a session of its own in the trace of the run that called it.
func byTrace(rows []record.Event) map[string][]record.Event {
	traces := make(map[string][]record.Event)
	for _, e := range rows {
		traces[e.TraceID] = append(traces[e.TraceID], e)
	}
	return traces
}

// checkConserved checks that every row that the recorder wrote is stored, that none
// was lost, and that no run has a gap in its numbers.
func checkConserved(h *cgtest.Harness, rows []record.Event) {
	h.T.Helper()
	s := h.CG.Stats()
	if err := s.Check(); err != nil {
		h.T.Error(err)
	}
	if len(s.Journal.Lost) != 0 || s.Journal.Stored != uint64(len(rows)) {
		h.T.Errorf("%d rows stored, %d read, lost: %v", s.Journal.Stored, len(rows), s.Journal.Lost)
	}
	if s.Recorder.Panics != 0 {
		h.T.Errorf("%d panics while recording", s.Recorder.Panics)
	}
	last := make(map[string]int64)
	for _, e := range rows {
		if e.RunID == "" {
			continue
		}
		if last[e.RunID]++; e.RunSeq != last[e.RunID] {
			h.T.Errorf("run %s: row %d follows row %d", e.RunID, e.RunSeq, last[e.RunID]-1)
			last[e.RunID] = e.RunSeq
		}
	}
}

// normaliser replaces what differs from run to run by names in the order of
// appearance.
type normaliser struct{ names map[string]string }

// volatile are the ids, digests and times inside of strings.
var volatile = regexp.MustCompile(`(adk-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
	`|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}` +
	`|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)` +
	`|\d\d:\d\d UTC` +
	`|127\.0\.0\.1:\d+` +
	`|file://[^"]*?/\d{4}-\d\d-\d\d/`)

// goroutine is what follows the message in a traceback.
var goroutine = regexp.MustCompile(`(?s)\ngoroutine .*`)

// longText is from which size a text is shortened, in bytes.
const longText = 2_000

func (n *normaliser) id(kind, id string) any {
	if id == "" {
		return nil
	}
	if n.names[id] == "" {
		count := 1
		for _, name := range n.names {
			if strings.TrimRight(name, "0123456789") == kind {
				count++
			}
		}
		n.names[id] = fmt.Sprint(kind, count)
	}
	return n.names[id]
}

func (n *normaliser) text(s string) string {
	s = goroutine.ReplaceAllString(s, "\n<stack>")
	if len(s) > longText {
		return fmt.Sprintf("%s... <%d bytes>", n.text(s[:longText/4]), len(s))
	}
	return volatile.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case strings.HasPrefix(m, "file:"):
			return "file:///<parts>/<date>/"
		case strings.HasPrefix(m, "127."):
			return "<address>"
		case strings.Contains(m, "T") && strings.Contains(m, ":"):
			return "<time>"
		}
		kind := "id"
		switch {
		case strings.HasPrefix(m, "adk-"):
			kind = "call"
		case len(m) == 64:
			kind = "digest"
		}
		return n.id(kind, m).(string)
	})
}

func (n *normaliser) value(key string, v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.HasSuffix(key, "_ms") {
			return "<ms>"
		}
	case string:
		if key == "age" { // a slow machine takes a second
			return "<age>"
		}
		return n.text(v)
	case []any:
		for i := range v {
			v[i] = n.value("", v[i])
		}
	case map[string]any:
		named := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			named[n.text(k)] = v[k]
		}
		for _, k := range slices.Sorted(maps.Keys(named)) {
			named[k] = n.value(k, named[k])
		}
		return named
	}
	return v
}

// json returns a JSON column, nil for NULL.
func (n *normaliser) json(t testing.TB, doc []byte) any {
	t.Helper()
	if doc == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("column is not JSON: %v\n%s", err, doc)
	}
	if v == nil {
		return json.RawMessage("null")
	}
	return n.value("", v)
}

// normalise renders rows as JSON objects, one column to a line, in the order of the
// table, without those that are NULL and without is_truncated where it is false.
func normalise(t testing.TB, rows []record.Event) []byte {
	t.Helper()
	n := &normaliser{names: make(map[string]string)}
	var b bytes.Buffer
	for _, e := range rows {
		b.WriteString("{")
		first := true
		for _, c := range []struct {
			name  string
			value any
		}{
			{"timestamp", "<time>"},
			{"event_id", n.id("event", e.EventID)},
			{"event_type", e.EventType},
			{"agent", orNull(e.Agent)},
			{"session_id", orNull(n.text(e.SessionID))},
			{"invocation_id", n.id("invocation", strings.TrimPrefix(e.InvocationID, "e-"))},
			{"user_id", orNull(e.UserID)},
			{"trace_id", n.id("trace", e.TraceID)},
			{"span_id", n.id("span", e.SpanID)},
			{"parent_span_id", n.id("span", e.ParentSpanID)},
			{"content", n.json(t, e.Content)},
			{"content_parts", n.json(t, e.ContentParts)},
			{"attributes", n.json(t, e.Attributes)},
			{"latency_ms", n.json(t, e.LatencyMS)},
			{"status", orNull(e.Status)},
			{"error_message", orNull(n.text(e.ErrorMessage))},
			{"is_truncated", orNull(e.IsTruncated)},
		} {
			if c.value == nil {
				continue
			}
			var v bytes.Buffer
			enc := json.NewEncoder(&v)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(c.value); err != nil {
				t.Fatal(err)
			}
			if !first {
				b.WriteString(",")
			}
			first = false
			fmt.Fprintf(&b, "\n  %q: %s", c.name, bytes.TrimSpace(v.Bytes()))
		}
		b.WriteString("\n}\n")
	}
	return b.Bytes()
}

// orNull returns nil, as NULL, for a zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// readRows reads rows as BigQuery exports them.
func readRows(t testing.TB, file string) []record.Event {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var lines bytes.Buffer
	for _, row := range list {
		if err := json.Compact(&lines, row); err != nil {
			t.Fatal(err)
		}
		lines.WriteByte('\n')
	}
	got, err := rowfile.Read(t.Context(), &lines, file, rowfile.Options{})
	if err != nil || len(got.Unknown) > 0 {
		t.Fatalf("%v; members that are no columns: %v", err, got.Unknown)
	}
	return got.Rows
}

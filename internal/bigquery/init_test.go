// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	api "google.golang.org/api/bigquery/v2"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

func initialize(t *testing.T, d *bigquery.Dataset, o bigquery.InitOptions) bigquery.InitReport {
	t.Helper()
	r, err := d.Init(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcomes returns "outcome kind name" of the objects that were not left alone.
func outcomes(r bigquery.InitReport) []string {
	var out []string
	for _, o := range r.Objects {
		if o.Outcome != bigquery.Unchanged {
			out = append(out, fmt.Sprintf("%s %s %s", o.Outcome, o.Kind, o.Name))
		}
	}
	return out
}

// oldEvents is the table of events as a version of the Python plugin without event_id
// made it, with what its owner set on it since: 12 columns, one of them nobody's.
func oldEvents() *api.Table {
	text := func(name string) *api.TableFieldSchema { return &api.TableFieldSchema{Name: name, Type: "STRING"} }
	secret := text("user_id")
	secret.PolicyTags = &api.TableFieldSchemaPolicyTags{Names: []string{"projects/p/locations/us/taxonomies/1/policyTags/2"}}
	parts := &api.TableFieldSchema{Name: "content_parts", Type: "RECORD", Mode: "REPEATED", Fields: []*api.TableFieldSchema{
		text("text"), {Name: "object_ref", Type: "RECORD", Fields: []*api.TableFieldSchema{text("uri")}}, text("mime_type"),
	}}
	return &api.Table{
		TableReference:   &api.TableReference{ProjectId: "my-project", DatasetId: "agents", TableId: "agent_events"},
		TimePartitioning: &api.TimePartitioning{Type: "DAY", Field: "timestamp"},
		Clustering:       &api.Clustering{Fields: []string{"event_type", "agent", "user_id"}},
		Labels:           map[string]string{"adk_schema_version": "1", "team": "ads"},
		Schema: &api.TableSchema{Fields: []*api.TableFieldSchema{
			{Name: "timestamp", Type: "TIMESTAMP", Mode: "REQUIRED"}, text("Event_Type"), text("agent"), text("session_id"),
			secret, text("trace_id"), text("span_id"), text("their_own"), {Name: "content", Type: "JSON"}, parts,
			{Name: "attributes", Type: "JSON"}, {Name: "is_truncated", Type: "BOOLEAN"},
		}},
	}
}

func columnNames(fields []*api.TableFieldSchema) string {
	var out []string
	for _, f := range fields {
		n := f.Name
		if len(f.Fields) > 0 {
			n += "(" + columnNames(f.Fields) + ")"
		}
		out = append(out, n)
	}
	return strings.Join(out, " ")
}

func TestInitFromNothing(t *testing.T) {
	s, server := newService(t)
	d := connect(t, server, func(c *config.BigQuery) { c.Location = "europe-west3" })
	var progress []bigquery.InitObject
	r := initialize(t, d, bigquery.InitOptions{Progress: func(o bigquery.InitObject) { progress = append(progress, o) }})
	if got := outcomes(r); len(got) != 1+3+41+1 || slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "created ") }) {
		t.Errorf("%d objects: %v", len(got), got)
	}
	if diff := cmp.Diff(r.Objects, progress); diff != "" {
		t.Errorf("progress:\n%s", diff)
	}
	if s.location != "europe-west3" || s.graphs != 1 {
		t.Errorf("the dataset is in %q, and %d statements made the graph", s.location, s.graphs)
	}
	events := s.tables["agent_events"]
	if p := events.TimePartitioning; p.Type != "DAY" || p.Field != "timestamp" {
		t.Errorf("partitions: %+v", p)
	}
	if events.Labels["adk_schema_version"] != "2" || events.Labels["contextgraph_schema_version"] != "1" || events.Labels["contextgraph_graph"] == "" {
		t.Errorf("labels: %v", events.Labels)
	}
	writes, _ := s.sent()
	if last := writes[len(writes)-1]; last != "PATCH tables agent_events" {
		t.Errorf("the last request is %s: the labels have to be last", last)
	}

	// Again, with everything looked at.
	if r := initialize(t, d, bigquery.InitOptions{}); r.Changed() || len(r.Notes) > 0 {
		t.Errorf("again: %v, %v", outcomes(r), r.Notes)
	}
	if writes, _ := s.sent(); len(writes) > 0 {
		t.Errorf("again: %v", writes)
	}

	// As at the start of a program.
	if r := initialize(t, d, bigquery.InitOptions{Quick: true}); len(r.Objects) > 0 {
		t.Errorf("quick: %v", r.Objects)
	}
	if writes, all := s.sent(); len(writes) != 0 || all != 2 {
		t.Errorf("quick: %d requests, %v", all, writes)
	}
	delete(s.tables, "v_llm_request")
	r = initialize(t, d, bigquery.InitOptions{Quick: true})
	if diff := cmp.Diff([]string{"created view v_llm_request"}, outcomes(r)); diff != "" {
		t.Errorf("quick without a view:\n%s", diff)
	}
	events = s.tables["agent_events"]
	events.Schema.Fields = events.Schema.Fields[:16]
	r = initialize(t, d, bigquery.InitOptions{Quick: true})
	if diff := cmp.Diff([]string{"upgraded table agent_events"}, outcomes(r)); diff != "" {
		t.Errorf("quick without a column:\n%s", diff)
	}
}

func TestInitUpgrades(t *testing.T) {
	s, server := newService(t)
	s.location = "US"
	s.put(oldEvents())
	view := oldEvents()
	view.TableReference.TableId, view.View, view.Labels = "v_llm_request", &api.ViewDefinition{Query: "SELECT 1"}, nil
	s.put(view)
	d := connect(t, server, nil)
	r := initialize(t, d, bigquery.InitOptions{})
	got := s.tables["agent_events"]
	const want = "timestamp Event_Type agent session_id user_id trace_id span_id their_own content " +
		"content_parts(text object_ref(uri version authorizer details) mime_type uri part_index part_attributes storage_mode) " +
		"attributes is_truncated event_id invocation_id parent_span_id latency_ms status error_message"
	if diff := cmp.Diff(want, columnNames(got.Schema.Fields)); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if p := got.Schema.Fields[4].PolicyTags; p == nil || len(p.Names) != 1 {
		t.Errorf("policy tags of user_id: %+v", p)
	}
	if got.Labels["adk_schema_version"] != "2" || got.Labels["team"] != "ads" {
		t.Errorf("labels: %v", got.Labels)
	}
	i := slices.IndexFunc(r.Objects, func(o bigquery.InitObject) bool { return o.Name == "agent_events" })
	if diff := cmp.Diff([]string{
		"event_id", "invocation_id", "parent_span_id", "content_parts.uri", "content_parts.object_ref.version", "content_parts.object_ref.authorizer",
		"content_parts.object_ref.details", "content_parts.part_index", "content_parts.part_attributes", "content_parts.storage_mode",
		"latency_ms", "status", "error_message",
	}, r.Objects[i].Added); diff != "" {
		t.Errorf("added:\n%s", diff)
	}
	if !slices.Contains(outcomes(r), "upgraded view v_llm_request") || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "v_llm_request") {
		t.Errorf("a view of somebody else: %v, %v", outcomes(r), r.Notes)
	}
	if r := initialize(t, d, bigquery.InitOptions{}); r.Changed() {
		t.Errorf("again: %v", outcomes(r))
	}
}

// Init changes no object of somebody else that has a name of contextgraph. The error says what to do.
func TestInitStopsAtForeignObjects(t *testing.T) {
	const ddl = "CREATE PROPERTY GRAPH `my-project.agents.contextgraph` NODE TABLES (`my-project.agents.agent_events` AS TechNode KEY (span_id))"
	table := func(name string, view bool) *api.Table {
		v := oldEvents()
		v.TableReference.TableId, v.Labels = name, nil
		if view {
			v.View = &api.ViewDefinition{Query: "SELECT 1"}
		}
		return v
	}
	for name, test := range map[string]struct {
		set    func(*service)
		object string
		want   string
		// planned says that Plan finds it too.
		planned bool
	}{
		"table":         {func(s *service) { s.put(table("session_graphs", false)) }, "session_graphs", "drop or rename it", true},
		"view as table": {func(s *service) { s.put(table("session_graphs", true)) }, "session_graphs", "drop or rename it", true},
		"view":          {func(s *service) { s.put(table("graph_steps", true)) }, "graph_steps", "somebody else made", true},
		"table as view": {func(s *service) { s.put(table("graph_steps", false)) }, "graph_steps", "drop or rename it", true},
		"graph":         {func(s *service) { s.graphDDL = ddl }, "contextgraph", "bigquery.graph.name", true},
		"hidden graph":  {func(s *service) { s.graphDDL, s.noGraphs, s.foreign = ddl, true, true }, "contextgraph", "no TechNode with session_day", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := newService(t)
			s.location = "US"
			test.set(s)
			before := s.tables[test.object]
			d := connect(t, server, nil)
			is := func(err error) bool {
				var conflict *bigquery.ConflictError
				return errors.As(err, &conflict) && conflict.Object == test.object && conflict.Remedy != "" && strings.Contains(err.Error(), test.want)
			}
			if _, _, err := d.Plan(t.Context()); is(err) != test.planned {
				t.Errorf("the plan says %v", err)
			}
			if _, err := d.Init(t.Context(), bigquery.InitOptions{}); !is(err) {
				t.Errorf("error: %v", err)
			}
			if s.tables[test.object] != before || s.graphDDL != "" && s.graphDDL != ddl && test.object == "contextgraph" {
				t.Error("it was changed")
			}
			if e := s.tables["agent_events"]; e.Labels["contextgraph_schema_version"] != "" {
				t.Error("the labels say that the dataset is up to date")
			}
		})
	}
}

// A table of graphs of another layout is refused, whatever it lacks, and stays as it is.
func TestInitRefusesAnotherLayout(t *testing.T) {
	for lacks, drop := range map[string]func(*api.Table){
		"sync_id": func(g *api.Table) {
			g.Schema.Fields = slices.DeleteFunc(g.Schema.Fields, func(f *api.TableFieldSchema) bool { return f.Name == "sync_id" })
		},
		"nodes.checks": func(g *api.Table) {
			nodes := g.Schema.Fields[len(g.Schema.Fields)-1]
			nodes.Fields = slices.DeleteFunc(nodes.Fields, func(f *api.TableFieldSchema) bool { return f.Name == "checks" })
		},
	} {
		t.Run(lacks, func(t *testing.T) {
			s, server := newService(t)
			d := connect(t, server, nil)
			initialize(t, d, bigquery.InitOptions{})
			drop(s.tables[warehouse.SessionGraphs])
			s.sent()
			want := "session_graphs is a table without " + lacks
			var conflict *bigquery.ConflictError
			if _, err := d.Init(t.Context(), bigquery.InitOptions{}); !errors.As(err, &conflict) || !strings.Contains(err.Error(), want) || conflict.Remedy == "" {
				t.Errorf("Init: %v, want %q with a remedy", err, want)
			}
			if statements, _, err := d.Plan(t.Context()); !errors.As(err, &conflict) || len(statements) > 0 {
				t.Errorf("Plan: %v, %v", statements, err)
			}
			if writes, _ := s.sent(); len(writes) > 0 {
				t.Errorf("Init sent %v", writes)
			}
		})
	}
}

// A graph of contextgraph is replaced when its definition is another one, and only then.
func TestInitReplacesItsGraph(t *testing.T) {
	s, server := newService(t)
	d := connect(t, server, nil)
	initialize(t, d, bigquery.InitOptions{})
	s.mu.Lock()
	s.tables["agent_events"].Labels["contextgraph_graph"] = "0"
	s.mu.Unlock()
	initialize(t, d, bigquery.InitOptions{})
	if !strings.Contains(s.graph, "OR REPLACE") {
		t.Errorf("statement: %s", s.graph)
	}
}

// The clusters of a table are those of the configuration where the table is made, and stay where it
// is there. Without views for event types none is made, and none is removed.
func TestInitClustersAndViews(t *testing.T) {
	s, server := newService(t)
	fields := []string{"session_id", "event_type"}
	plain := func(c *config.BigQuery) { c.ClusteringFields, c.CreateViews = fields, new(false) }
	r := initialize(t, connect(t, server, plain), bigquery.InitOptions{})
	events := s.tables["agent_events"]
	if events.Clustering == nil || !slices.Equal(events.Clustering.Fields, fields) || len(r.Notes) > 0 {
		t.Errorf("clustered by %v, notes %q", events.Clustering, r.Notes)
	}
	if s.tables["agent_events_unique"] == nil || s.tables["v_llm_request"] != nil {
		t.Errorf("tables and views: %q", slices.Sorted(maps.Keys(s.tables)))
	}
	if r := initialize(t, connect(t, server, plain), bigquery.InitOptions{Quick: true}); len(r.Objects) != 0 {
		t.Errorf("made again: %+v", r.Objects)
	}

	r = initialize(t, connect(t, server, nil), bigquery.InitOptions{})
	notes := strings.Join(r.Notes, "\n")
	if !strings.Contains(notes, "agent_events is not clustered by [event_type agent user_id] but by [session_id event_type], and stays so") ||
		!slices.Equal(s.tables["agent_events"].Clustering.Fields, fields) {
		t.Errorf("notes %q", r.Notes)
	}
	made := len(s.tables)
	if s.tables["v_llm_request"] == nil {
		t.Error("there is no view v_llm_request")
	}
	if initialize(t, connect(t, server, plain), bigquery.InitOptions{}); len(s.tables) != made {
		t.Errorf("%d tables and views, were %d", len(s.tables), made)
	}

	s, server = newService(t)
	initialize(t, connect(t, server, func(c *config.BigQuery) { c.ClusteringFields = []string{} }), bigquery.InitOptions{})
	if c := s.tables["agent_events"].Clustering; c != nil {
		t.Errorf("clustered by %q", c.Fields)
	}
}

func TestInitRaces(t *testing.T) {
	t.Run("created by another", func(t *testing.T) {
		s, server := newService(t)
		s.intercept = func(request string) (int, string, string) {
			if request == "POST tables agent_events" && s.tables["agent_events"] == nil {
				s.put(oldEvents())
			}
			if request == "POST datasets" && s.location == "" {
				s.location = "EU"
				return 409, "duplicate", "Already Exists"
			}
			return 0, "", ""
		}
		r := initialize(t, connect(t, server, nil), bigquery.InitOptions{})
		if got := outcomes(r); got[0] != "upgraded table agent_events" {
			t.Errorf("outcomes: %v", got)
		}
	})
	t.Run("changed by another", func(t *testing.T) {
		s, server := newService(t)
		s.location = "US"
		s.put(oldEvents())
		raced := false
		s.intercept = func(request string) (int, string, string) {
			if request == "PATCH tables agent_events" && !raced {
				raced = true
				other := *s.tables["agent_events"]
				other.Schema = &api.TableSchema{Fields: append(slices.Clone(other.Schema.Fields), &api.TableFieldSchema{Name: "theirs", Type: "STRING"})}
				s.put(&other)
			}
			return 0, "", ""
		}
		initialize(t, connect(t, server, nil), bigquery.InitOptions{})
		got := columnNames(s.tables["agent_events"].Schema.Fields)
		if !strings.Contains(got+" ", " theirs ") || !strings.Contains(got, " event_id ") {
			t.Errorf("columns: %s", got)
		}
	})
	t.Run("changed for ever", func(t *testing.T) {
		s, server := newService(t)
		s.location = "US"
		s.put(oldEvents())
		s.intercept = func(request string) (int, string, string) {
			if request == "PATCH tables agent_events" {
				s.put(oldEvents())
			}
			return 0, "", ""
		}
		if _, err := connect(t, server, nil).Init(t.Context(), bigquery.InitOptions{}); err == nil || !strings.Contains(err.Error(), "changed by others 5 times") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestInitConflicts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*api.Table)
		want   []string // in the error
	}{
		"retyped": {
			func(t *api.Table) { t.Schema.Fields[8].Type = "STRING" },
			[]string{"agent_events.content is NULLABLE STRING, not NULLABLE JSON", "rename or drop"},
		},
		"nested": {
			func(t *api.Table) { t.Schema.Fields[9].Fields[1].Fields[0].Type = "INTEGER" },
			[]string{"agent_events.content_parts.object_ref.uri is NULLABLE INTEGER, not NULLABLE STRING"},
		},
		"mode": {
			func(t *api.Table) { t.Schema.Fields[9].Mode = "NULLABLE" },
			[]string{"agent_events.content_parts is NULLABLE RECORD, not REPEATED STRUCT"},
		},
		"required": {
			func(t *api.Table) { t.Schema.Fields[2].Mode = "REQUIRED" },
			[]string{"agent_events.agent is REQUIRED STRING", "ALTER COLUMN agent DROP NOT NULL"},
		},
		"required by others": {
			func(t *api.Table) { t.Schema.Fields[7].Mode = "REQUIRED" },
			[]string{"agent_events.their_own is REQUIRED STRING", "ALTER COLUMN their_own DROP NOT NULL"},
		},
		"no table": {
			func(t *api.Table) { t.Type = "VIEW"; t.View = &api.ViewDefinition{Query: "SELECT 1"} },
			[]string{"agent_events is a VIEW, not a TABLE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := newService(t)
			s.location = "US"
			old := oldEvents()
			test.change(old)
			s.put(old)
			r, err := connect(t, server, nil).Init(t.Context(), bigquery.InitOptions{})
			var conflict *bigquery.ConflictError
			if !errors.As(err, &conflict) || conflict.Remedy == "" {
				t.Fatalf("error: %v", err)
			}
			for _, w := range test.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if diff := cmp.Diff(old, s.tables["agent_events"]); diff != "" {
				t.Errorf("the table was changed:\n%s", diff)
			}
			got := outcomes(r)
			if !slices.Contains(got, "created table session_graphs") || !slices.Contains(got, "skipped view v_llm_request") {
				t.Errorf("outcomes: %v", got)
			}
		})
	}
}

func TestInitRefused(t *testing.T) {
	for name, test := range map[string]struct {
		request        string
		status         int
		reason         string
		options        bigquery.InitOptions
		want, wantNone string
	}{
		"read":           {"GET tables agent_events", 403, "accessDenied", bigquery.InitOptions{}, "roles/bigquery.dataEditor on my-project.agents", ""},
		"create":         {"POST tables session_graphs", 403, "accessDenied", bigquery.InitOptions{}, "table session_graphs", ""},
		"quota":          {"POST tables session_graphs", 403, "quotaExceeded", bigquery.InitOptions{}, "table session_graphs", "roles/"},
		"location":       {"POST datasets", 400, "invalid", bigquery.InitOptions{}, `cannot be created in location "US"`, ""},
		"not to be made": {"", 0, "", bigquery.InitOptions{NoDataset: true}, "it does not exist: create it", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := newService(t)
			s.intercept = func(request string) (int, string, string) {
				if request == test.request {
					return test.status, test.reason, "No."
				}
				return 0, "", ""
			}
			_, err := connect(t, server, nil).Init(t.Context(), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.wantNone != "" && strings.Contains(err.Error(), test.wantNone) {
				t.Errorf("error: %v", err)
			}
			if e := s.tables["agent_events"]; e != nil && e.Labels["contextgraph_schema_version"] != "" {
				t.Error("the labels say that the dataset is up to date")
			}
		})
	}
}

// Labels are written when everything is there, so the next run goes on.
func TestInitGoesOn(t *testing.T) {
	s, server := newService(t)
	d := connect(t, server, nil)
	s.intercept = func(request string) (int, string, string) {
		if request == "POST tables v_llm_request" {
			return 400, "invalidQuery", "No."
		}
		return 0, "", ""
	}
	if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err == nil {
		t.Fatal("no error")
	}
	s.mu.Lock()
	s.intercept = nil
	s.mu.Unlock()
	r := initialize(t, d, bigquery.InitOptions{Quick: true})
	if diff := cmp.Diff([]string{"created view v_llm_request", "created graph contextgraph"}, outcomes(r)); diff != "" {
		t.Errorf("then:\n%s", diff)
	}
}

func TestInitLeavesNewerAlone(t *testing.T) {
	s, server := newService(t)
	s.location = "US"
	newer := oldEvents()
	newer.Labels["contextgraph_schema_version"] = "99"
	s.put(newer)
	r := initialize(t, connect(t, server, nil), bigquery.InitOptions{})
	if writes, _ := s.sent(); len(writes) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "newer version") {
		t.Errorf("requests %v, notes %v", writes, r.Notes)
	}
}

func TestInitReplacesChangedViews(t *testing.T) {
	s, server := newService(t)
	d := connect(t, server, nil)
	initialize(t, d, bigquery.InitOptions{})
	s.mu.Lock()
	s.tables["v_tool_error"].Labels["contextgraph_digest"] = "0"
	s.tables["agent_events"].Labels["contextgraph_definitions"] = "0"
	s.mu.Unlock()
	s.sent()
	r := initialize(t, d, bigquery.InitOptions{Quick: true})
	if diff := cmp.Diff([]string{"upgraded view v_tool_error"}, outcomes(r)); diff != "" || len(r.Notes) > 0 {
		t.Errorf("outcomes:\n%s%v", diff, r.Notes)
	}
	if writes, _ := s.sent(); !slices.Equal(writes, []string{"PATCH tables v_tool_error", "PATCH tables agent_events"}) {
		t.Errorf("requests: %v", writes)
	}
}

func TestInitLocation(t *testing.T) {
	s, server := newService(t)
	s.location = "EU"
	r := initialize(t, connect(t, server, func(c *config.BigQuery) { c.Location = "asia-east1" }), bigquery.InitOptions{})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "is in EU and stays there") || s.location != "EU" {
		t.Errorf("notes: %v", r.Notes)
	}
}

// A dataset may be set up to forget: one of the sandbox deletes its tables after 60 days.
func TestInitTableExpiration(t *testing.T) {
	s, server := newService(t)
	s.location, s.tableLife = "US", 60*24*time.Hour
	r := initialize(t, connect(t, server, nil), bigquery.InitOptions{})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1440h0m0s after it was made") {
		t.Errorf("notes: %v", r.Notes)
	}
}

func TestInitWithoutGraphs(t *testing.T) {
	unsupported := &api.ErrorProto{Reason: "invalidQuery", Message: "Property graphs are not supported in this edition"}
	t.Run("auto", func(t *testing.T) {
		s, server := newService(t)
		s.jobError = unsupported
		d := connect(t, server, nil)
		r := initialize(t, d, bigquery.InitOptions{})
		if o := r.Objects[len(r.Objects)-1]; o.Outcome != bigquery.Skipped || o.Kind != warehouse.KindGraph {
			t.Errorf("graph: %+v", o)
		}
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not supported in this edition") {
			t.Errorf("notes: %v", r.Notes)
		}
		if s.tables["agent_events"].Labels["contextgraph_graph"] != "" {
			t.Error("there is a label for a graph that is not there")
		}
		s.sent()
		initialize(t, d, bigquery.InitOptions{Quick: true})
		if _, all := s.sent(); all != 2 {
			t.Errorf("the next start sends %d requests", all)
		}
		// The edition has changed.
		s.jobError = nil
		r = initialize(t, d, bigquery.InitOptions{})
		if diff := cmp.Diff([]string{"created graph contextgraph"}, outcomes(r)); diff != "" {
			t.Errorf("then:\n%s", diff)
		}
	})
	t.Run("no graph is wanted", func(t *testing.T) {
		s, server := newService(t)
		initialize(t, connect(t, server, func(c *config.BigQuery) { c.Graph.GQL = new(false) }), bigquery.InitOptions{})
		if s.graph != "" {
			t.Errorf("graph: %s", s.graph)
		}
	})
	t.Run("other error", func(t *testing.T) {
		s, server := newService(t)
		s.jobError = &api.ErrorProto{Reason: "invalidQuery", Message: "Unrecognized name: node_key"}
		if _, err := connect(t, server, nil).Init(t.Context(), bigquery.InitOptions{}); err == nil {
			t.Error("a mistake in the graph is taken for an edition without graphs")
		}
	})
}

func TestPlan(t *testing.T) {
	s, server := newService(t)
	d := connect(t, server, nil)
	names := func() []string {
		t.Helper()
		statements, notes, err := d.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range statements {
			first, _, _ := strings.Cut(p.SQL, "\n")
			out = append(out, first)
		}
		return append(out, notes...)
	}
	if got := names(); len(got) != 1+3+41+1+1 {
		t.Errorf("without a dataset: %d statements: %q", len(got), got)
	}
	initialize(t, d, bigquery.InitOptions{})
	s.sent()
	if got := names(); len(got) != 0 {
		t.Errorf("when all is there: %q", got)
	}
	labels := s.tables["agent_events"].Labels
	labels["team"], labels["adk_schema_version"] = "ads", "3"
	old := oldEvents()
	old.Labels = labels
	s.put(old)
	delete(s.tables, "v_llm_request")
	want := []string{
		"ALTER TABLE `my-project.agents.agent_events`",
		"CREATE OR REPLACE VIEW `my-project.agents.v_llm_request`",
		"ALTER TABLE `my-project.agents.agent_events`",
		"table agent_events lacks the fields content_parts.uri, content_parts.object_ref.version, content_parts.object_ref.authorizer, content_parts.object_ref.details, content_parts.part_index, content_parts.part_attributes, content_parts.storage_mode: contextgraph init adds them, SQL cannot add a field to a STRUCT",
	}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Errorf("for an old table (-want +got):\n%s", diff)
	}
	// The statement sets all labels of the table: those of others and a newer version of
	// the plugin for Python have to be among them.
	statements, _, err := d.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := statements[len(statements)-1].SQL
	for _, label := range []string{"('team', 'ads')", "('adk_schema_version', '3')", "('contextgraph_graph', '" + labels["contextgraph_graph"] + "')"} {
		if !strings.Contains(set, label) {
			t.Errorf("the labels lack %s:\n%s", label, set)
		}
	}
	if writes, _ := s.sent(); len(writes) > 0 {
		t.Errorf("Plan sent %v", writes)
	}
	s.tables["agent_events"].Schema.Fields[8].Type = "STRING"
	if _, _, err := d.Plan(t.Context()); !errors.As(err, new(*bigquery.ConflictError)) {
		t.Errorf("with a conflict: %v", err)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/record"
)

func shapes(t testing.TB) *contract.Shapes {
	t.Helper()
	s, err := contract.LoadShapes()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every event type has a shape, every difference to the Python plugin has a name that
// stands in the list, and every name in the list is that of a difference.
func TestShapesAreClosed(t *testing.T) {
	s := shapes(t)
	var types []string
	listed, used := make(map[string]bool), make(map[string]bool)
	for _, d := range s.Deviations {
		if d.ID == "" || d.Text == "" || listed[d.ID] {
			t.Errorf("deviation %+v has no text, no name, or one that is taken", d)
		}
		listed[d.ID] = true
		used[d.ID] = d.Behaviour
	}
	rule := func(where string, r contract.Rule) {
		differs := r.Ours != "" && r.Ours != r.Need
		switch {
		case differs != (r.Deviation != ""):
			t.Errorf("%s: need %q, ours %q, deviation %q: a difference has a name, and only that", where, r.Need, r.Ours, r.Deviation)
		case differs && !listed[r.Deviation]:
			t.Errorf("%s: deviation %q is not in the list", where, r.Deviation)
		}
		for _, n := range []contract.Need{r.Need, r.Ours} {
			if !slices.Contains([]contract.Need{"", contract.Always, contract.Optional, contract.Never}, n) {
				t.Errorf("%s: unknown need %q", where, n)
			}
		}
		used[r.Deviation] = true
	}
	members := func(where string, list []contract.Member) {
		for _, m := range list {
			if _, err := jsonpath.Parse(m.Path); err != nil {
				t.Errorf("%s: %v", where, err)
			}
			for typ := range strings.SplitSeq(m.Type, "|") {
				if !slices.Contains(strings.Fields("string int number bool object array null any jsontext NULL"), typ) {
					t.Errorf("%s: %s: unknown type %q", where, m.Path, typ)
				}
			}
			rule(where+" "+m.Path, m.Rule)
		}
	}
	members("common", s.Common)
	members("content_parts", s.ContentParts)
	for _, e := range s.Events {
		types = append(types, e.Type)
		if e.Own != "" {
			used[e.Own] = true
			if !listed[e.Own] {
				t.Errorf("%s: deviation %q is not in the list", e.Type, e.Own)
			}
		}
		for i, f := range e.Forms {
			if (f.When == nil) != (i == len(e.Forms)-1) {
				t.Errorf("%s: the last form, and only that, has no condition", e.Type)
			}
			members(e.Type+" content", f.Content)
			members(e.Type+" attributes", f.Attributes)
			members(e.Type+" latency_ms", f.Latency)
			rule(e.Type+" error_message", f.ErrorMessage)
			rule(e.Type+" content_parts", f.ContentParts)
			if f.Status.Ours != nil {
				used[f.Status.Deviation] = true
			}
			if (f.Status.Ours != nil) != listed[f.Status.Deviation] {
				t.Errorf("%s: status: a difference has a name of the list, and only that", e.Type)
			}
		}
	}
	slices.Sort(types)
	want := slices.Sorted(slices.Values(record.EventTypes()))
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types with a shape (-want +got):\n%s", diff)
	}
	for id := range maps.Keys(listed) {
		if !used[id] {
			t.Errorf("deviation %q is in the list and nothing deviates by it", id)
		}
	}
}

// The Python plugin has a view for each of its types but the answers to requests, and
// what a column reads is something that rows of the type can hold.
func TestViewsReadWhatRowsHold(t *testing.T) {
	s := shapes(t)
	views, err := contract.LoadViews()
	if err != nil {
		t.Fatal(err)
	}
	consumers, err := contract.LoadConsumers()
	if err != nil {
		t.Fatal(err)
	}
	byType := make(map[string]contract.Event)
	var want, got []string
	for _, e := range s.Events {
		byType[e.Type] = e
		if e.Own == "" && !strings.HasSuffix(e.Type, "_REQUEST_COMPLETED") {
			want = append(want, e.Type)
		}
	}
	for _, v := range views.Views {
		got = append(got, v.EventType)
		if v.Suffix != strings.ToLower(v.EventType) {
			t.Errorf("view of %s has the suffix %q", v.EventType, v.Suffix)
		}
		for _, c := range v.Columns {
			readable(t, s, byType[v.EventType], c)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 25 {
		t.Errorf("%d views, want 25 (-want +got):\n%s", len(got), diff)
	}
	for _, c := range consumers {
		for _, typ := range c.Events {
			if typ != "*" {
				readable(t, s, byType[typ], c.Column)
			}
		}
	}
}

// readable checks that a path of a column leads to a member of a form, or below an
// open one, and that columns which are NULL at times say why.
func readable(t *testing.T, s *contract.Shapes, e contract.Event, c contract.Column) {
	t.Helper()
	if c.Present == "never" && c.Why == "" {
		t.Errorf("%s: column %s does not say why it is never present", e.Type, c.Name)
	}
	if c.As == "column" || c.Present == "never" {
		return
	}
	for _, f := range e.Forms {
		members := f.Content
		switch c.From {
		case "attributes":
			members = slices.Concat(s.Common, f.Attributes)
		case "latency_ms":
			members = f.Latency
		}
		for _, m := range members {
			if m.Path == c.Path || m.Open && strings.HasPrefix(c.Path, m.Path) {
				return
			}
		}
	}
	t.Errorf("%s: column %s reads %s of %s, which no form has", e.Type, c.Name, c.Path, c.From)
}

const hex32, hex16 = "0123456789abcdef0123456789abcdef", "0123456789abcdef"

// completed is a row that the contract allows.
func completed() record.Event {
	return record.Event{
		Timestamp: 1, EventID: hex32, EventType: record.ToolCompleted, Agent: "root", SessionID: "s", InvocationID: "i", UserID: "u",
		TraceID: hex32, SpanID: hex16, Status: record.StatusOK,
		Content: []byte(`{"tool":"search","result":{"n":1},"tool_origin":"LOCAL"}`),
		Attributes: []byte(`{"adk":{"schema_version":"1","app_name":"a","call_id":"c","result":"0123456789abcdef"},"root_agent_name":"root",
			"session_metadata":{"session_id":"s","app_name":"a","user_id":"u"}}`),
		LatencyMS: []byte(`{"total_ms":3}`),
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	replace := func(column *[]byte, old, with string) {
		if !strings.Contains(string(*column), old) {
			t.Errorf("%s is not in %s", old, *column)
		}
		*column = []byte(strings.Replace(string(*column), old, with, 1))
	}
	for name, tt := range map[string]struct {
		change func(*record.Event)
		want   []string
	}{
		"nothing": {change: func(*record.Event) {}},
		"unknown key": {func(e *record.Event) { replace(&e.Content, `"tool":`, `"tol":1,"tool":`) },
			[]string{`TOOL_COMPLETED: content $.tol: want nothing: neither the Python plugin nor the list of deviations has it, got 1`}},
		"missing key": {func(e *record.Event) { replace(&e.Content, `"tool":"search",`, ``) },
			[]string{`TOOL_COMPLETED: content $.tool: want string, got nothing`}},
		"missing key of an element": {func(e *record.Event) {
			e.EventType, e.Content, e.LatencyMS = record.EntitiesDeclared, []byte(`{"tool":"search"}`), nil
			replace(&e.Attributes, `"result":"0123456789abcdef"},`, `"of":"e"},"entities":[{"type":"T","confidence":1}],`)
		}, []string{`ENTITIES_DECLARED: attributes $.entities[*].value: want string, got nothing`}},
		"wrong type": {func(e *record.Event) { replace(&e.LatencyMS, `3`, `3.5`) },
			[]string{`TOOL_COMPLETED: latency_ms $.total_ms: want int, got 3.5`}},
		"wrong value": {func(e *record.Event) { replace(&e.Content, `LOCAL`, `HERE`) },
			[]string{`TOOL_COMPLETED: content $.tool_origin: want LOCAL or MCP or SUB_AGENT or A2A or TRANSFER_AGENT or TRANSFER_A2A or TOOLBOX or SKILL or UNKNOWN, got "HERE"`}},
		"not of this producer": {func(e *record.Event) { replace(&e.Attributes, `"adk":{`, `"adk":{"rewind_before_invocation_id":"x",`) },
			[]string{`TOOL_COMPLETED: attributes $.adk.rewind_before_invocation_id: want nothing from this producer, got "x"`}},
		"a key of pauses": {func(e *record.Event) { replace(&e.Attributes, `"adk":{`, `"adk":{"function_call_id":"c",`) },
			[]string{`TOOL_COMPLETED: attributes $.adk.function_call_id: want nothing: neither the Python plugin nor the list of deviations has it, got "c"`}},
		"column missing": {func(e *record.Event) { e.LatencyMS = nil },
			[]string{`TOOL_COMPLETED: latency_ms: want object, got NULL`}},
		"column too many": {func(e *record.Event) { e.ContentParts = []byte(`[]`) },
			[]string{`TOOL_COMPLETED: content_parts: want NULL, got []`}},
		"status":        {func(e *record.Event) { e.Status = record.StatusError }, []string{`TOOL_COMPLETED: status: want OK, got "ERROR"`}},
		"error_message": {func(e *record.Event) { e.ErrorMessage = "x" }, []string{`TOOL_COMPLETED: error_message: want NULL, got x`}},
		"ids": {func(e *record.Event) { e.SpanID, e.TraceID = "7", strings.ToUpper(hex32) }, []string{
			`TOOL_COMPLETED: trace_id: want 32 hexadecimal digits, got "0123456789ABCDEF0123456789ABCDEF"`,
			`TOOL_COMPLETED: span_id: want 16 hexadecimal digits, got "7"`}},
		"not JSON":     {func(e *record.Event) { e.Content = []byte(`{} {}`) }, []string{`TOOL_COMPLETED: content: want JSON, got more than one JSON value`}},
		"unknown type": {func(e *record.Event) { e.EventType = "TOOL_ENDED" }, []string{`TOOL_ENDED: event_type: want a type of the contract, got TOOL_ENDED`}},
		"another form": {func(e *record.Event) {
			replace(&e.Attributes, `"adk":{`, `"adk":{"pause_kind":"tool","function_call_id":"c",`)
		}, []string{
			"TOOL_COMPLETED: attributes $.adk.given: want string, got nothing",
			`TOOL_COMPLETED: content $.tool_origin: want nothing: neither the Python plugin nor the list of deviations has it, got "LOCAL"`,
			`TOOL_COMPLETED: latency_ms $: want NULL, got {"total_ms":3}`}},
	} {
		t.Run(name, func(t *testing.T) {
			e := completed()
			tt.change(&e)
			var got []string
			for _, f := range shapes(t).Check(&e, contract.Ours) {
				got = append(got, f.String())
			}
			if name == "another form" {
				slices.Sort(got) // members of an object come in any order
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// What is ours alone is a finding in a row of the Python plugin.
func TestCheckTellsProducersApart(t *testing.T) {
	e := completed()
	e.Attributes = []byte(`{"adk":{"schema_version":"1","app_name":"a","rewind_before_invocation_id":"x"},"root_agent_name":"root",
		"session_metadata":{"session_id":"s","app_name":"a","user_id":"u"}}`)
	if got := shapes(t).Check(&e, contract.Python); len(got) != 0 {
		t.Errorf("findings in a row of the Python plugin: %v", got)
	}
	if got := shapes(t).Check(&e, contract.Ours); len(got) != 3 {
		t.Errorf("findings = %v, want the call id and the digest that are missing and the key that ADK for Go does not have", got)
	}
	e = completed()
	if got := shapes(t).Check(&e, contract.Python); len(got) != 2 {
		t.Errorf("findings = %v, want the call id and the digest", got)
	}
	e.EventType = record.WorldChangeCheck
	if got := shapes(t).Check(&e, contract.Python); len(got) != 1 {
		t.Errorf("findings = %v, want that the type is ours", got)
	}
}

func TestColumn(t *testing.T) {
	e := &record.Event{
		Content:    []byte(`{"n":7,"f":1.5,"s":"text","b":true,"z":null,"o":{"x":[1,2]},"zero":0}`),
		Attributes: []byte(`{"a2a_metadata":{"a2a:task_id":"t"}}`),
	}
	for name, tt := range map[string]struct {
		column contract.Column
		want   any
		fails  bool
	}{
		"string":         {column: contract.Column{From: "content", Path: "$.s", As: "value", Type: "STRING"}, want: "text"},
		"number as text": {column: contract.Column{From: "content", Path: "$.n", As: "value", Type: "STRING"}, want: "7"},
		"int":            {column: contract.Column{From: "content", Path: "$.n", As: "value", Type: "INT64"}, want: int64(7)},
		"fraction":       {column: contract.Column{From: "content", Path: "$.f", As: "value", Type: "INT64"}, fails: true},
		"float":          {column: contract.Column{From: "content", Path: "$.f", As: "value", Type: "FLOAT64"}, want: 1.5},
		"seconds":        {column: contract.Column{From: "content", Path: "$.f", As: "seconds", Type: "TIMESTAMP"}, want: 1.5},
		"bool":           {column: contract.Column{From: "content", Path: "$.b", As: "value", Type: "BOOL"}, want: true},
		"null":           {column: contract.Column{From: "content", Path: "$.z", As: "value", Type: "STRING"}},
		"absent":         {column: contract.Column{From: "content", Path: "$.none", As: "query", Type: "JSON"}},
		"NULL column":    {column: contract.Column{From: "latency_ms", Path: "$.total_ms", As: "value", Type: "INT64"}},
		"not a scalar":   {column: contract.Column{From: "content", Path: "$.o", As: "value", Type: "STRING"}, fails: true},
		"query":          {column: contract.Column{From: "content", Path: "$.o", As: "query", Type: "JSON"}, want: json.RawMessage(`{"x":[1,2]}`)},
		"JSON null":      {column: contract.Column{From: "content", Path: "$.z", As: "query", Type: "JSON"}, want: json.RawMessage(`null`)},
		"json_type":      {column: contract.Column{From: "content", Path: "$.z", As: "json_type", Type: "STRING"}, want: "null"},
		"quoted name":    {column: contract.Column{From: "attributes", Path: "$.a2a_metadata['a2a:task_id']", As: "value", Type: "STRING"}, want: "t"},
		"column":         {column: contract.Column{From: "attributes", As: "column", Type: "JSON"}, want: json.RawMessage(e.Attributes)},
		"ratio": {column: contract.Column{From: "content", Path: "$.f", As: "ratio", Type: "FLOAT64", Over: &contract.Place{From: "content", Path: "$.f"}},
			want: 1.0},
		"ratio over zero": {column: contract.Column{From: "content", Path: "$.f", As: "ratio", Type: "FLOAT64", Over: &contract.Place{From: "content", Path: "$.zero"}}},
		"unknown column":  {column: contract.Column{From: "contents", Path: "$.f", As: "value", Type: "STRING"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.column.Value(e)
			if (err != nil) != tt.fails {
				t.Fatalf("error = %v, want one: %t", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && !tt.fails {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumnPresence(t *testing.T) {
	s, none := contract.Place{From: "content", Path: "$.s"}, contract.Place{From: "content", Path: "$.none"}
	e := &record.Event{Content: []byte(`{"s":"text"}`)}
	for name, tt := range map[string]struct {
		path, present string
		condition     *contract.Place // If for sometimes, Unless for always
		ok            bool
	}{
		"always, there":           {path: "$.s", present: "always", ok: true},
		"always, not there":       {path: "$.none", present: "always"},
		"always, excused":         {path: "$.none", present: "always", condition: &s, ok: true},
		"always, not excused":     {path: "$.none", present: "always", condition: &none},
		"excused and there":       {path: "$.s", present: "always", condition: &s},
		"never, there":            {path: "$.s", present: "never"},
		"never, not there":        {path: "$.none", present: "never", ok: true},
		"sometimes":               {path: "$.none", present: "sometimes", ok: true},
		"sometimes, required":     {path: "$.none", present: "sometimes", condition: &s},
		"sometimes, and there":    {path: "$.s", present: "sometimes", condition: &s, ok: true},
		"sometimes, not required": {path: "$.none", present: "sometimes", condition: &none, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := contract.Column{Name: "c", From: "content", Path: tt.path, As: "value", Type: "STRING", Present: tt.present}
			if tt.present == "always" {
				c.Unless = tt.condition
			} else {
				c.If = tt.condition
			}
			null, err := c.Check(e)
			if (err == nil) != tt.ok || null != (tt.path == "$.none") {
				t.Errorf("Check = %t, %v; want an error: %t", null, err, !tt.ok)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// readings is what the rows of a sink say that models had read.
type readings struct {
	rows  map[string]record.Event // LLM_RESPONSE, by event id
	names map[string]string       // event ids of them
	order []string
	tools map[string]string // what the row of a call holds, by its id and digest
}

func readingsOf(t testing.TB, rows []record.Event) *readings {
	t.Helper()
	out := &readings{rows: make(map[string]record.Event), names: make(map[string]string), tools: make(map[string]string)}
	for _, e := range rows {
		switch e.EventType {
		case record.LLMResponse:
			out.rows[e.EventID] = e
			out.order = append(out.order, e.EventID)
			out.names["r:"+e.EventID] = e.EventID
			var attrs struct {
				Calls []struct{ ID string } `json:"function_calls"`
			}
			if err := json.Unmarshal(e.Attributes, &attrs); err != nil {
				t.Fatal(err)
			}
			for _, c := range attrs.Calls {
				out.names["c:"+c.ID] = e.EventID
			}
		case record.AgentResponse:
			if id, ok := rowtest.Attribute(t, e, "adk", "source_event_id").(string); ok {
				out.names["e:"+id], _ = rowtest.Attribute(t, e, "adk", "answer_of").(string)
			}
		case record.ToolCompleted, record.ToolError:
			id, _ := rowtest.Attribute(t, e, "adk", "call_id").(string)
			digest, _ := rowtest.Attribute(t, e, "adk", "result").(string)
			out.tools[id+" "+digest] = string(e.Content)
		}
	}
	return out
}

// read returns what the call had read that a row ended, with all that it inherits.
func (rs *readings) read(t testing.TB, row string, seen map[string]bool) map[string]bool {
	t.Helper()
	out := make(map[string]bool)
	if seen[row] {
		return out
	}
	seen[row] = true
	read, _ := rowtest.Attribute(t, rs.rows[row], "adk", "read").(map[string]any)
	results, _ := read["results"].(map[string]any)
	for id, digest := range results {
		out[id+" "+digest.(string)] = true
	}
	for _, name := range named(read) {
		to, ok := rs.names[name.(string)]
		if !ok {
			t.Errorf("the answer %s is not on record", name)
		}
		maps.Copy(out, rs.read(t, to, seen))
	}
	return out
}

// named returns the answers that a list of what was read names, the base first.
func named(read map[string]any) (names []any) {
	if base := read["base"]; base != nil {
		names = append(names, base)
	}
	answers, _ := read["answers"].([]any)
	return append(names, answers...)
}

// calls returns the contents of the rows that the nth model call had read, in order.
func (rs *readings) calls(t testing.TB, n int) (out []string) {
	t.Helper()
	for key := range rs.read(t, rs.order[n], make(map[string]bool)) {
		content, ok := rs.tools[key]
		if !ok {
			t.Errorf("model call %d read the result %s, which no row has", n, key)
		}
		var v struct {
			Result, Args any
		}
		if err := json.Unmarshal([]byte(content), &v); err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(v.Result)
		out = append(out, string(data))
	}
	slices.Sort(out)
	return out
}

func (rs *readings) unmatched(t testing.TB, n int) int {
	t.Helper()
	v, _ := rowtest.Attribute(t, rs.rows[rs.order[n]], "adk", "read", "unmatched").(float64)
	return int(v)
}

// promptResults returns the results that a prompt holds, in parts or in texts.
func promptResults(req *model.LLMRequest) (out []string) {
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				data, _ := json.Marshal(p.FunctionResponse.Response)
				out = append(out, string(data))
			}
			if _, result, ok := strings.Cut(p.Text, "` tool returned result: "); ok {
				out = append(out, result)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// holdAgainst checks that each call of the model had read what its prompt holds. Results of
// transfers, confirmations and the like are left out; inherited is what calls of other
// agents had read besides.
func (rs *readings) holdAgainst(t testing.TB, requests []*model.LLMRequest, inherited ...string) {
	t.Helper()
	if len(requests) != len(rs.order) {
		t.Fatalf("%d requests, %d rows", len(requests), len(rs.order))
	}
	prices := func(list []string) []string {
		list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !strings.Contains(s, "price") })
		slices.Sort(list)
		return slices.Compact(list)
	}
	for n, req := range requests {
		want := promptResults(req)
		if len(inherited) > 0 && n == len(requests)-1 {
			want = append(want, inherited...)
		}
		if diff := cmp.Diff(prices(want), prices(rs.calls(t, n))); diff != "" {
			t.Errorf("model call %d has read (-prompt +record):\n%s", n, diff)
		}
	}
}

func TestReadsWhatThePromptHolds(t *testing.T) {
	search, buy := prices(t, "search", 40000, 52000.0, 61000), prices(t, "buy", "sold")
	for name, answers := range map[string][]*model.LLMResponse{
		"ids of the model": {
			adktest.Calls(call("c1", "search", nil)), adktest.Calls(call("c2", "search", nil)), adktest.Text("done"),
			adktest.Calls(call("c3", "search", nil)), adktest.Text("done"),
		},
		"ids of ADK": {
			adktest.Calls(call("", "search", m{"q": 1})), adktest.Calls(call("", "search", m{"q": 1})), adktest.Text("done"),
			adktest.Calls(call("", "search", m{"q": 1})), adktest.Text("done"),
		},
		"several at once": {
			adktest.Calls(call("", "search", m{"q": 1}), call("", "buy", nil), call("", "search", m{"q": 2})), adktest.Text("done"),
			adktest.Calls(call("", "buy", m{"q": 1})), adktest.Text("done"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(answers...)
			sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, search, buy))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			adktest.Run(t, r, "u", "s", adktest.UserText("again"))
			readingsOf(t, sink.Rows()).holdAgainst(t, mdl.Requests())
		})
	}
}

// What is asked for beside the call that decides was not read by the decision.
func TestSearchAndBuyAtOnce(t *testing.T) {
	mdl := adktest.Script(
		adktest.Calls(call("c1", "search", nil)),
		adktest.Calls(call("c2", "search", nil), call("c3", "buy", nil)), adktest.Text("done"))
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", 40000, 52000), prices(t, "buy", 1)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.Rows())
	rs.holdAgainst(t, mdl.Requests())
	diff(t, "what the decision had read", []string{`{"price":40000}`}, rs.calls(t, 1))
}

// A model may use one id again and again. ADK then shows the last result for each of them.
func TestCallIDsUsedAgain(t *testing.T) {
	mdl := adktest.Script(
		adktest.Calls(call("c1", "search", nil)), adktest.Text("one"),
		adktest.Calls(call("c1", "search", nil)), adktest.Text("two"))
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", 40000, 52000)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	adktest.Run(t, r, "u", "s", adktest.UserText("again"))
	rs := readingsOf(t, sink.Rows())
	diff(t, "what the last call had read", []string{`{"price":40000}`, `{"price":52000}`}, rs.calls(t, 3))
	if base := rowtest.Attribute(t, rs.rows[rs.order[3]], "adk", "read", "base"); base != "r:"+rs.order[2] {
		t.Errorf("base = %v, want the answer of %s", base, rs.order[2])
	}
}

// A value that comes back under an id that was used before was read again, and is listed.
func TestValueReadAgainUnderOneID(t *testing.T) {
	search := func() *model.LLMResponse { return adktest.Calls(call("c1", "search", nil)) }
	mdl := adktest.Script(search(), search(), search(), adktest.Text("done"))
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", 40000, 52000, 40000)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.Rows())
	for n, id := range rs.order[1:] {
		read, _ := rowtest.Attribute(t, rs.rows[id], "adk", "read").(map[string]any)
		if results, _ := read["results"].(map[string]any); len(results) != 1 {
			t.Errorf("model call %d lists %v, want the result before it", n+1, read)
		}
	}
}

// A row lists only what the call had not read that it names.
func TestReadsAreDifferences(t *testing.T) {
	var answers []*model.LLMResponse
	for i := range 40 {
		answers = append(answers, adktest.Calls(call(fmt.Sprint("c", i), "search", nil)))
	}
	mdl := adktest.Script(append(answers, adktest.Text("done"), adktest.Text("bye"))...)
	var next []any
	for i := range 40 {
		next = append(next, i)
	}
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", next...)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	adktest.Run(t, r, "u", "s", adktest.UserText("and?"))
	rs := readingsOf(t, sink.Rows())
	rs.holdAgainst(t, mdl.Requests())
	for n, id := range rs.order {
		read, _ := rowtest.Attribute(t, rs.rows[id], "adk", "read").(map[string]any)
		results, _ := read["results"].(map[string]any)
		answers := named(read)
		if len(results) > 1 || len(answers) > 1 || n > 0 && len(answers) != 1 {
			t.Errorf("row %d lists %d results and %d answers, want one", n, len(results), len(answers))
		}
	}
}

// Without memory of what earlier rows list, a row lists all, the newest first.
func TestReadsOfAnotherProcess(t *testing.T) {
	var answers []*model.LLMResponse
	var next []any
	for i := range 7 {
		var fcs []*genai.FunctionCall
		for j := range 100 {
			fcs = append(fcs, call(fmt.Sprintf("call-with-a-long-id-%06d", 100*i+j), "search", m{"q": j}))
			next = append(next, 100*i+j)
		}
		answers = append(answers, adktest.Calls(fcs...))
	}
	svc := session.InMemoryService()
	root := asks(t, "root", adktest.Script(append(answers, adktest.Text("done"))...), prices(t, "search", next...))
	first, second := &rowtest.Sink{}, &rowtest.Sink{}
	run := func(sink *rowtest.Sink, a agent.Agent, svc session.Service, text string) {
		rec := must(recorder.New(recorder.Config{Sink: sink}))
		r := must(runner.New(runner.Config{AppName: "app", Agent: a, SessionService: svc, AutoCreateSession: true, PluginConfig: recorder.Plugins(rec)}))
		adktest.Run(t, r, "u", "s", adktest.UserText(text))
	}
	run(first, root, svc, "go")
	// As a database returns it: numbers are floats, events are other values.
	mdl := adktest.Script(adktest.Text("bye"))
	run(second, asks(t, "root", mdl), restored(t, svc), "and?")
	rows := slices.Concat(first.Rows(), second.Rows())
	rs := readingsOf(t, rows)
	last := rowtest.Attribute(t, second.Of(record.LLMResponse)[0], "adk", "read").(map[string]any)
	if last["cut"] != true || last["unmatched"] != nil {
		t.Errorf("cut = %v, unmatched = %v", last["cut"], last["unmatched"])
	}
	results := last["results"].(map[string]any)
	if _, ok := results["call-with-a-long-id-000699"]; !ok || len(results) < 100 || len(results) == 700 {
		t.Errorf("%d results without the newest", len(results))
	}
	if size := len(must(json.Marshal(last))); size > 34<<10 {
		t.Errorf("the list takes %d bytes", size)
	}
	// The text of the earlier process is named by its event.
	if name := last["answers"].([]any)[0].(string); !strings.HasPrefix(name, "e:") || rs.names[name] == "" {
		t.Errorf("the newest answer is %s", name)
	}
	rs.calls(t, len(rs.order)-1) // each of them is on record
}

// restored returns a service with the session as it is read back from JSON.
func restored(t testing.TB, from session.Service) session.Service {
	t.Helper()
	got := must(from.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "u", SessionID: "s"}))
	svc := session.InMemoryService()
	created := must(svc.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s"}))
	for ev := range got.Session.Events().All() {
		var back session.Event
		if err := json.Unmarshal(must(json.Marshal(ev)), &back); err != nil {
			t.Fatal(err)
		}
		if err := svc.AppendEvent(t.Context(), created.Session, &back); err != nil {
			t.Fatal(err)
		}
	}
	return svc
}

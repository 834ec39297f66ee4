// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// script returns a model that gives the answers one after the other.
func script(answers ...*model.LLMResponse) *adktest.Model {
	var mu sync.Mutex
	return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			return nil, fmt.Errorf("the script is over")
		}
		next := answers[0]
		answers = answers[1:]
		return next, nil
	}}
}

func call(id, name string, args m) *genai.FunctionCall {
	return &genai.FunctionCall{ID: id, Name: name, Args: args}
}

// prices is a tool that gives the next price of an item, the last one again and again.
func prices(t testing.TB, name string, next ...any) tool.Tool {
	var mu sync.Mutex
	return functionTool(t, functiontool.Config{Name: name, Description: "gives the price"}, func(_ agent.Context, args m) (map[string]any, error) {
		mu.Lock()
		defer mu.Unlock()
		price := next[0]
		if len(next) > 1 {
			next = next[1:]
		}
		return m{"price": price}, nil
	})
}

// readings is what the rows of a sink say that models had read.
type readings struct {
	rows  map[string]schema.Event // LLM_RESPONSE, by event id
	names map[string]string       // event ids of them
	order []string
	tools map[string]string // what the row of a call holds, by its id and digest
}

func readingsOf(t testing.TB, rows []schema.Event) *readings {
	t.Helper()
	out := &readings{rows: make(map[string]schema.Event), names: make(map[string]string), tools: make(map[string]string)}
	for _, e := range rows {
		switch e.EventType {
		case schema.LLMResponse:
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
		case schema.AgentResponse:
			if id, ok := attribute(t, e, "adk", "source_event_id").(string); ok {
				out.names["e:"+id], _ = attribute(t, e, "adk", "answer_of").(string)
			}
		case schema.ToolCompleted, schema.ToolError:
			id, _ := attribute(t, e, "adk", "function_call_id").(string)
			digest, _ := attribute(t, e, "adk", "result").(string)
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
	read, _ := attribute(t, rs.rows[row], "adk", "read").(map[string]any)
	results, _ := read["results"].(map[string]any)
	for id, digest := range results {
		out[id+" "+digest.(string)] = true
	}
	answers, _ := read["answers"].([]any)
	for _, name := range answers {
		to, ok := rs.names[name.(string)]
		if !ok {
			t.Errorf("the answer %s is not on record", name)
		}
		maps.Copy(out, rs.read(t, to, seen))
	}
	return out
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
	v, _ := attribute(t, rs.rows[rs.order[n]], "adk", "read", "unmatched").(float64)
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

// asks returns an agent with the tools whose model follows the script.
func asks(t testing.TB, name string, mdl model.LLM, tools ...tool.Tool) agent.Agent {
	return llm(t, llmagent.Config{Name: name, Description: name, Model: mdl, Tools: tools})
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
			mdl := script(answers...)
			sink, r := recorded(t, recorder.Options{}, asks(t, "root", mdl, search, buy))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			adktest.Run(t, r, "u", "s", adktest.UserText("again"))
			readingsOf(t, sink.rows).holdAgainst(t, mdl.Requests())
		})
	}
}

// What is asked for beside the call that decides was not read by the decision.
func TestSearchAndBuyAtOnce(t *testing.T) {
	mdl := script(
		adktest.Calls(call("c1", "search", nil)),
		adktest.Calls(call("c2", "search", nil), call("c3", "buy", nil)), adktest.Text("done"))
	sink, r := recorded(t, recorder.Options{}, asks(t, "root", mdl, prices(t, "search", 40000, 52000), prices(t, "buy", 1)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.rows)
	rs.holdAgainst(t, mdl.Requests())
	diff(t, "what the decision had read", []string{`{"price":40000}`}, rs.calls(t, 1))
}

// A model may use one id again and again. ADK then shows the last result for each of them.
func TestCallIDsUsedAgain(t *testing.T) {
	mdl := script(
		adktest.Calls(call("c1", "search", nil)), adktest.Text("one"),
		adktest.Calls(call("c1", "search", nil)), adktest.Text("two"))
	sink, r := recorded(t, recorder.Options{}, asks(t, "root", mdl, prices(t, "search", 40000, 52000)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	adktest.Run(t, r, "u", "s", adktest.UserText("again"))
	rs := readingsOf(t, sink.rows)
	diff(t, "what the last call had read", []string{`{"price":40000}`, `{"price":52000}`}, rs.calls(t, 3))
	last := attribute(t, rs.rows[rs.order[3]], "adk", "read", "answers").([]any)
	if last[0] != "r:"+rs.order[2] {
		t.Errorf("answers = %v, want that of %s first", last, rs.order[2])
	}
}

// A row lists only what the call had not read that it names.
func TestReadsAreDifferences(t *testing.T) {
	var answers []*model.LLMResponse
	for i := range 40 {
		answers = append(answers, adktest.Calls(call(fmt.Sprint("c", i), "search", nil)))
	}
	mdl := script(append(answers, adktest.Text("done"), adktest.Text("bye"))...)
	var next []any
	for i := range 40 {
		next = append(next, i)
	}
	sink, r := recorded(t, recorder.Options{}, asks(t, "root", mdl, prices(t, "search", next...)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	adktest.Run(t, r, "u", "s", adktest.UserText("and?"))
	rs := readingsOf(t, sink.rows)
	rs.holdAgainst(t, mdl.Requests())
	for n, id := range rs.order {
		read, _ := attribute(t, rs.rows[id], "adk", "read").(map[string]any)
		results, _ := read["results"].(map[string]any)
		answers, _ := read["answers"].([]any)
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
	root := asks(t, "root", script(append(answers, adktest.Text("done"))...), prices(t, "search", next...))
	first, second := &memory{}, &memory{}
	run := func(sink *memory, a agent.Agent, svc session.Service, text string) {
		rec := must(recorder.New(recorder.Config{Sink: sink}))
		r := must(runner.New(runner.Config{AppName: "app", Agent: a, SessionService: svc, AutoCreateSession: true, PluginConfig: rec.PluginConfig()}))
		adktest.Run(t, r, "u", "s", adktest.UserText(text))
	}
	run(first, root, svc, "go")
	// As a database returns it: numbers are floats, events are other values.
	mdl := script(adktest.Text("bye"))
	run(second, asks(t, "root", mdl), restored(t, svc), "and?")
	rows := slices.Concat(first.rows, second.rows)
	rs := readingsOf(t, rows)
	last := attribute(t, second.of(schema.LLMResponse)[0], "adk", "read").(map[string]any)
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

// A delegate reads what the one who transfers had read, as texts, and the other way round.
func TestReadsOfOtherAgents(t *testing.T) {
	for _, id := range []string{"x", ""} {
		t.Run("id "+id, func(t *testing.T) {
			mdl := script(
				adktest.Calls(call(id, "search", m{"q": "<a&b>"})), adktest.Calls(call("t1", "transfer_to_agent", m{"agent_name": "sub"})),
				adktest.Calls(call("y", "look", nil)), adktest.Text("found it"), adktest.Text("bye"))
			sub := asks(t, "sub", mdl, prices(t, "look", 61000.5))
			root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{sub}})
			sink, r := recorded(t, recorder.Options{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			adktest.Run(t, r, "u", "s", adktest.UserText("and?"))
			rs := readingsOf(t, sink.rows)
			rs.holdAgainst(t, mdl.Requests())
			for n := range rs.order {
				if u := rs.unmatched(t, n); u != 0 {
					t.Errorf("model call %d: %d results unmatched", n, u)
				}
			}
		})
	}
}

// Agents side by side do not read one another's results.
func TestReadsOfParallelAgents(t *testing.T) {
	one := script(adktest.Calls(call("", "search", nil)), adktest.Text("one"))
	two := script(adktest.Calls(call("", "look", nil)), adktest.Text("two"))
	last := script(adktest.Text("all"))
	both := must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: []agent.Agent{
		asks(t, "one", one, prices(t, "search", 40000)), asks(t, "two", two, prices(t, "look", 52000)),
	}}}))
	sink, r := recorded(t, recorder.Options{}, sequential("root", both, asks(t, "last", last)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	for name, mdl := range map[string]*adktest.Model{"one": one, "two": two} {
		rows := slices.DeleteFunc(slices.Clone(sink.rows), func(e schema.Event) bool { return e.Agent != name })
		readingsOf(t, rows).holdAgainst(t, mdl.Requests())
	}
	rs := readingsOf(t, sink.rows)
	diff(t, "what the last agent had read", []string{`{"price":40000}`, `{"price":52000}`}, rs.calls(t, len(rs.order)-1))
}

// An agent without the history of its session reads what its turn holds.
func TestReadsWithoutContents(t *testing.T) {
	mdl := script(
		adktest.Calls(call("", "search", nil)), adktest.Text("same"),
		adktest.Calls(call("", "search", nil)), adktest.Text("same"),
		adktest.Text("same"), adktest.Calls(call("", "search", nil)), adktest.Text("same"))
	root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000, 52000, 61000)}, IncludeContents: llmagent.IncludeContentsNone})
	sink, r := recorded(t, recorder.Options{}, root)
	for range 4 {
		adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	}
	readingsOf(t, sink.rows).holdAgainst(t, mdl.Requests())
}

// Callbacks may change what the model gets. What it got counts.
func TestReadsWhatCallbacksLeave(t *testing.T) {
	drop := func(change func(*genai.Part) *genai.Part) llmagent.BeforeModelCallback {
		return func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			for _, c := range req.Contents {
				var parts []*genai.Part
				for _, p := range c.Parts {
					if p = change(p); p != nil {
						parts = append(parts, p)
					}
				}
				c.Parts = parts
			}
			return nil, nil
		}
	}
	dropped := 0
	for name, tt := range map[string]struct {
		change    func(*genai.Part) *genai.Part
		want      []string
		unmatched int
	}{
		"nothing": {func(p *genai.Part) *genai.Part { return p }, []string{`{"price":40000}`, `{"price":52000}`}, 0},
		"drops one": {func(p *genai.Part) *genai.Part {
			if fr := p.FunctionResponse; fr != nil && fmt.Sprint(fr.Response["price"]) == "52000" {
				dropped++
				return nil
			}
			return p
		}, []string{`{"price":40000}`}, 0},
		"rewrites one": {func(p *genai.Part) *genai.Part {
			if fr := p.FunctionResponse; fr != nil && fmt.Sprint(fr.Response["price"]) == "52000" {
				return &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: fr.Name, ID: fr.ID, Response: m{"price": 1}}}
			}
			return p
		}, []string{`{"price":40000}`}, 1},
		"drops all calls and one result": {func(p *genai.Part) *genai.Part {
			if p.FunctionCall != nil {
				return nil
			}
			return p
		}, []string{`{"price":40000}`, `{"price":52000}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := script(adktest.Calls(call("", "search", m{"q": 1}), call("", "search", m{"q": 2})), adktest.Text("done"))
			root := llm(t, llmagent.Config{
				Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000, 52000)},
				BeforeModelCallbacks: []llmagent.BeforeModelCallback{drop(tt.change)},
			})
			sink, r := recorded(t, recorder.Options{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.rows)
			diff(t, "what the model had read", tt.want, rs.calls(t, 1))
			if n := rs.unmatched(t, 1); n != tt.unmatched {
				t.Errorf("%d results unmatched, want %d", n, tt.unmatched)
			}
		})
	}
}

// Where calls with different arguments have one result and the request holds it once, only
// the call that stands in the request was read; if both do, nobody can tell.
func TestReadsOfEqualResults(t *testing.T) {
	keep := func(call string, both bool) llmagent.BeforeModelCallback {
		return func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			results := 0
			for _, c := range req.Contents {
				c.Parts = slices.DeleteFunc(c.Parts, func(p *genai.Part) bool {
					if p.FunctionResponse != nil {
						results++
						return results > 1
					}
					return p.FunctionCall != nil && !both && p.FunctionCall.Args["q"] != call
				})
			}
			return nil, nil
		}
	}
	for name, tt := range map[string]struct {
		both      bool
		want      int
		unmatched int
	}{"one call": {false, 1, 0}, "both calls": {true, 0, 1}} {
		t.Run(name, func(t *testing.T) {
			mdl := script(adktest.Calls(call("", "search", m{"q": "a"}), call("", "search", m{"q": "b"})), adktest.Text("done"))
			root := llm(t, llmagent.Config{
				Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)},
				BeforeModelCallbacks: []llmagent.BeforeModelCallback{keep("b", tt.both)},
			})
			sink, r := recorded(t, recorder.Options{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.rows)
			results, _ := attribute(t, rs.rows[rs.order[1]], "adk", "read", "results").(map[string]any)
			if len(results) != tt.want || rs.unmatched(t, 1) != tt.unmatched {
				t.Errorf("read %d results with %d unmatched, want %d and %d", len(results), rs.unmatched(t, 1), tt.want, tt.unmatched)
			}
			for id := range results {
				for _, e := range sink.of(schema.ToolStarting) {
					if attribute(t, e, "adk", "function_call_id") == id && !strings.Contains(string(e.Content), `"b"`) {
						t.Errorf("read the result of %s", e.Content)
					}
				}
			}
		})
	}
}

// A run holds a copy of its session: what another tab reads meanwhile is not in its prompts.
func TestReadsOfAnotherTab(t *testing.T) {
	var r *runner.Runner
	first := true
	search := prices(t, "search", 40000, 52000)
	mdl := &adktest.Model{}
	mdl.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
		switch {
		case first && len(req.Contents) > 1:
			first = false
			if _, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("other tab")); err != nil {
				return nil, err
			}
			return adktest.Calls(call("w", "wait", nil)), nil
		case adktest.LastResponse(req) != nil:
			return adktest.Text("done"), nil
		}
		return adktest.Calls(call("", "search", nil)), nil
	}
	sink := &memory{}
	sink, r = recorded(t, recorder.Options{}, asks(t, "root", mdl, search, prices(t, "wait", nil)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.rows)
	requests := mdl.Requests()
	// Rows stand in the order of answers, requests in that of prompts: the second call of
	// the first run ends after the other tab.
	requests = append(requests[:1:1], requests[2], requests[3], requests[1], requests[4])
	rs.holdAgainst(t, requests)
	diff(t, "what the first run had read", []string{`{"price":40000}`, `{"price":null}`}, rs.calls(t, 4))
}

// Delegates that ADK runs as tools and as tasks hand on what they had read.
func TestReadsOfDelegates(t *testing.T) {
	for name, tt := range map[string]struct {
		mode llmagent.Mode
		sub  []*model.LLMResponse
	}{
		"single turn": {llmagent.ModeSingleTurn, []*model.LLMResponse{adktest.Calls(call("", "look", nil)), adktest.Text("cheap")}},
		"task": {llmagent.ModeTask, []*model.LLMResponse{
			adktest.Calls(call("", "look", nil)), adktest.Calls(call("", "finish_task", m{"result": "cheap"})),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			own, mdl := script(tt.sub...), script(
				adktest.Calls(call("", "search", nil)), adktest.Calls(call("", "sub", m{"request": "go"})), adktest.Text("done"))
			sub := llm(t, llmagent.Config{Name: "sub", Description: "looks", Model: own, Mode: tt.mode, Tools: []tool.Tool{prices(t, "look", 61000)}})
			root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{sub}})
			sink, r := recorded(t, recorder.Options{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.rows)
			last := slices.DeleteFunc(rs.calls(t, len(rs.order)-1), func(s string) bool { return !strings.Contains(s, "price") })
			diff(t, "what the one who delegates had read", []string{`{"price":40000}`, `{"price":61000}`}, last)
			inner := slices.DeleteFunc(rs.calls(t, 2), func(s string) bool { return !strings.Contains(s, "price") })
			diff(t, "what the delegate began with", []string{`{"price":40000}`}, inner)
			if n := rs.unmatched(t, len(rs.order)-1); n != 0 {
				t.Errorf("%d results unmatched", n)
			}
		})
	}
}

// A node of a workflow begins with the words of the agent before it.
func TestReadsOfNodes(t *testing.T) {
	one, two := script(adktest.Calls(call("", "search", nil)), adktest.Text("it costs 40000")), script(adktest.Text("fine"))
	a := must(workflow.NewAgentNode(asks(t, "one", one, prices(t, "search", 40000)), workflow.NodeConfig{}))
	b := must(workflow.NewAgentNode(asks(t, "two", two), workflow.NodeConfig{}))
	sink, r := recorded(t, recorder.Options{}, workflowOf(t, workflow.Chain(workflow.Start, a, b)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.rows)
	diff(t, "what the second node had read", []string{`{"price":40000}`}, rs.calls(t, 2))
}

// A result that a callback behind the recorder changes is told of.
func TestRewrittenResults(t *testing.T) {
	mask := func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
		return m{"price": "hidden"}, nil
	}
	same := func(_ agent.Context, _ tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
		return m{"price": 4e4}, err
	}
	for name, tt := range map[string]struct {
		callback llmagent.AfterToolCallback
		other    *plugin.Plugin
		rows     int
	}{
		"an agent's callback": {callback: mask, rows: 2},
		"another plugin":      {other: refusing(t, plugin.Config{Name: "mask", AfterToolCallback: mask}), rows: 2},
		"the same value":      {callback: same},
		"none":                {},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := script(adktest.Calls(call("c1", "search", nil), call("c1", "search", nil)), adktest.Text("done"))
			cfg := llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}}
			if tt.callback != nil {
				cfg.AfterToolCallbacks = []llmagent.AfterToolCallback{tt.callback}
			}
			var others []*plugin.Plugin
			if tt.other != nil {
				others = append(others, tt.other)
			}
			_, sink, r := recordedBeside(t, recorder.Options{}, llm(t, cfg), others...)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rows := sink.of(schema.ToolResultRewritten)
			if len(rows) != tt.rows {
				t.Fatalf("%d rows, want %d", len(rows), tt.rows)
			}
			ends := byID(sink.of(schema.ToolCompleted))
			seen := make(map[string]bool)
			want := jsonenc.NewWriter(jsonenc.Limits{}).Digest(m{"price": "hidden"}).String()
			for _, e := range rows {
				of, _ := attribute(t, e, "adk", "of").(string)
				if ends[of].EventID == "" || seen[of] || ends[of].SpanID != e.SpanID {
					t.Errorf("the row is of %q", of)
				}
				seen[of] = true
				if got := attribute(t, e, "adk", "result"); got != want || attribute(t, e, "adk", "function_call_id") != "c1" || string(e.Content) != `{"tool":"search"}` {
					t.Errorf("digest %v, want %s; content %s", got, want, e.Content)
				}
			}
		})
	}
}

// The row that ends a call names the row that began it.
func TestEndsNameTheirBeginning(t *testing.T) {
	mdl := script(adktest.Calls(call("", "search", nil), call("", "fail", nil), call("", "nowhere", nil)), adktest.Text("done"))
	fail := functionTool(t, functiontool.Config{Name: "fail", Description: "fails"}, func(agent.Context, m) (map[string]any, error) { return nil, fmt.Errorf("no") })
	sink, r := recorded(t, recorder.Options{}, asks(t, "root", mdl, prices(t, "search", 40000), fail))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	starts := byID(sink.of(schema.ToolStarting))
	for _, e := range append(sink.of(schema.ToolCompleted), sink.of(schema.ToolError)...) {
		started, _ := attribute(t, e, "adk", "started").(string)
		if starts[started].SpanID != e.SpanID {
			t.Errorf("%s began with %q", e.Content, started)
		}
	}
	rs := readingsOf(t, sink.rows)
	if n := len(rs.read(t, rs.order[1], make(map[string]bool))); n != 3 || rs.unmatched(t, 1) != 0 {
		t.Errorf("the model had read %d results, want all three", n)
	}
	if rows := sink.of(schema.ToolResultRewritten); len(rows) != 0 {
		t.Errorf("%d results count as rewritten", len(rows))
	}
}

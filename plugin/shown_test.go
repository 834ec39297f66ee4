// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// answersOf returns the rows of models' answers, with what they list.
func answersOf(t testing.TB, rows []record.Event) (out []schema.ADK) {
	t.Helper()
	for _, e := range rowtest.Of(rows, record.LLMResponse) {
		var attrs schema.Attributes
		if err := json.Unmarshal(e.Attributes, &attrs); err != nil {
			t.Fatal(err)
		}
		out = append(out, attrs.ADK)
	}
	return out
}

func digestOf(v any) string { return jsonenc.NewWriter(jsonenc.Limits{}, nil).Digest(v).String() }

// book has the values of digests.
type book map[string]string

func (b book) add(v any) { b[digestOf(v)] = string(must(json.Marshal(v))) }

func (b book) of(digest string) string {
	if v, known := b[digest]; known || digest == "" {
		return v
	}
	return "?"
}

// bookOf returns a book of all values in rows.
func bookOf(t testing.TB, rows []record.Event) book {
	t.Helper()
	b := make(book)
	b.add(m{})
	for _, e := range rows {
		var content any
		if e.Content != nil {
			content = rowtest.Field(t, e.Content)
		}
		b.add(content) // as of a node
		b.add(rowtest.Attribute(t, e, "response_text"))
		b.add(m{"error": e.ErrorMessage})
		members, _ := content.(m)
		b.add(members["args"])
		b.add(members["result"])
		calls, _ := rowtest.Attribute(t, e, "function_calls").([]any)
		for _, c := range calls {
			args, _ := c.(m)["args"].(m)
			if args == nil {
				args = m{}
			}
			b.add(args)
			text := string(must(json.Marshal(args)))
			b[digestOf([]any{"call", c.(m)["name"], digestOf(args)})] = fmt.Sprint(c.(m)["name"], text)
			b[digestOf(text)] = "text of " + text
		}
	}
	return b
}

// shownIn returns a line for each answer: its agent, in brackets the answer whose list its own goes on, and
// the results that its request showed; with words also these.
func shownIn(t testing.TB, rows []record.Event, words bool) (lines []string) {
	t.Helper()
	values, places := bookOf(t, rows), map[string]string{"": ""}
	answers := answersOf(t, rows)
	for i, e := range rowtest.Of(rows, record.LLMResponse) {
		places[e.EventID] = fmt.Sprintf(" [%d]", i)
		list := answers[i].Shown
		line := e.Agent + places[list.Base]
		for _, s := range list.Results {
			line += " " + strings.TrimPrefix(s.By+".", ".") + s.Tool + strings.TrimSuffix("#"+s.Call, "#") + values.of(s.Args) + "=" + values.of(s.Result)
			if s.Client {
				line += " (client)"
			}
			if s.Agent {
				line += " (agent)"
			}
		}
		for _, w := range list.Words {
			if words {
				line += fmt.Sprintf(" %s:%s", w.By, values.of(w.Said))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// changed is an agent whose requests a callback changes: n counts them from 1.
func changed(t testing.TB, mdl model.LLM, change func(n int, req *model.LLMRequest), tools ...tool.Tool) agent.Agent {
	n := 0
	return llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: tools, BeforeModelCallbacks: []llmagent.BeforeModelCallback{
		func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			n++
			change(n, req)
			return nil, nil
		},
	}})
}

// without drops parts of requests.
func without(drop func(*genai.Part) bool) func(int, *model.LLMRequest) {
	return func(_ int, req *model.LLMRequest) {
		for _, c := range req.Contents {
			c.Parts = slices.DeleteFunc(c.Parts, drop)
		}
	}
}

func says(parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func TestShown(t *testing.T) {
	text, calls := adktest.Text, adktest.Calls
	search := func() *model.LLMResponse { return calls(call("", "search", nil)) }
	for name, tt := range map[string]struct {
		root  agent.Agent
		turns []*genai.Content // of users; if there are none, one says "go"
		words bool
		want  []string
	}{
		"ids of the model, and what is asked for at once": {
			root: asks(t, "root", adktest.Script(calls(call("c1", "search", m{"q": 1})), calls(call("c2", "search", nil), call("c3", "buy", nil)), text("done"), text("bye")),
				prices(t, "search", 40000, 52000.0), prices(t, "buy", "sold")),
			turns: []*genai.Content{adktest.UserText("go"), adktest.UserText("and?")},
			want: []string{
				"root",
				`root [0] search#c1{"q":1}={"price":40000}`,
				`root [1] search#c2{}={"price":52000} buy#c3{}={"price":"sold"}`,
				"root [2]",
			},
		},
		"ids of ADK": {
			root: asks(t, "root", adktest.Script(calls(call("", "search", m{"q": 1}), call("", "buy", nil), call("", "search", m{"q": 2})), calls(call("", "search", m{"q": 1})), text("done")),
				functionTool(t, functiontool.Config{Name: "search"}, func(_ agent.Context, args m) (map[string]any, error) { return m{"price": args["q"]}, nil }), prices(t, "buy", "sold")),
			want: []string{
				"root",
				`root [0] search{"q":1}={"price":1} buy{}={"price":"sold"} search{"q":2}={"price":2}`,
				`root [1] search{"q":1}={"price":1}`,
			},
		},
		"ids used again": { // ADK shows the last result for each of them
			root: asks(t, "root", adktest.Script(calls(call("c1", "search", nil)), calls(call("c1", "search", nil)), text("done")), prices(t, "search", 40000, 52000)),
			want: []string{
				"root",
				`root [0] search#c1{}={"price":40000}`,
				`root search#c1{}={"price":52000} search#c1{}={"price":52000}`,
			},
		},
		"a transfer, as texts": {
			root: func() agent.Agent {
				mdl := adktest.Script(calls(call("x", "search", m{"q": "<a&b>"})), calls(call("t", "transfer_to_agent", m{"agent_name": "sub"})), calls(call("y", "look", nil)), text("cheap"), text("bye"))
				return llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{asks(t, "sub", mdl, prices(t, "look", 61000.5))}})
			}(),
			turns: []*genai.Content{adktest.UserText("go"), adktest.UserText("and?")}, words: true,
			want: []string{
				"root",
				`root [0] search#x{"q":"\u003ca\u0026b\u003e"}={"price":40000} root:search{"q":"\u003ca\u0026b\u003e"}`,
				`sub root.search{"q":"\u003ca\u0026b\u003e"}={"price":40000} root.transfer_to_agent{"agent_name":"sub"}={} root:search{"q":"\u003ca\u0026b\u003e"} root:transfer_to_agent{"agent_name":"sub"}`,
				`sub [2] look#y{}={"price":61000.5} sub:look{}`,
				`sub [3] sub:"cheap"`,
			},
		},
		"agents side by side, and one behind them": {
			root: sequential("root", must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: []agent.Agent{
				asks(t, "one", adktest.Script(search(), text("one")), prices(t, "search", 40000)), asks(t, "two", adktest.Script(search(), text("two")), prices(t, "search", 52000)),
			}}})), asks(t, "last", adktest.Script(text("all")))),
			words: true,
			want: []string{
				`last one.search{}={"price":40000} one:"one" one:search{} two.search{}={"price":52000} two:"two" two:search{}`,
				"one",
				`one one:search{} search{}={"price":40000}`,
				"two",
				`two search{}={"price":52000} two:search{}`,
			},
		},
		"no contents": {
			root: llm(t, llmagent.Config{Name: "root", Model: adktest.Script(search(), text("same"), search(), text("same")),
				Tools: []tool.Tool{prices(t, "search", 40000, 52000)}, IncludeContents: llmagent.IncludeContentsNone}),
			turns: []*genai.Content{adktest.UserText("go"), adktest.UserText("go")},
			want: []string{
				"root",
				`root [0] search{}={"price":40000}`,
				"root",
				`root [2] search{}={"price":52000}`,
			},
		},
		"single turn": {
			root: delegates(t, llmagent.ModeSingleTurn, search(), text("cheap")), words: true,
			want: []string{
				"root",
				`root [0] search{}={"price":40000} root:search{}`,
				`sub :text of {"request":"go"} :{"request":"go"} request:?`,
				`sub [2] search{}={"price":61000} sub:search{}`,
				`root [1] sub{"request":"go"}={"result":"cheap"} (agent) root:sub{"request":"go"} sub:{"result":"cheap"} sub:"cheap"`,
			},
		},
		"task": {
			root: delegates(t, llmagent.ModeTask, search(), calls(call("", "finish_task", m{"result": "cheap"}))), words: true,
			want: []string{
				"root",
				`root [0] search{}={"price":40000} root:search{}`,
				`sub :text of {"request":"go"} :{"request":"go"} request:?`,
				`sub [2] search{}={"price":61000} sub:search{}`,
				`root [1] sub{"request":"go"}={"result":"cheap"} (agent) root:sub{"request":"go"} sub:{"result":"cheap"} sub:"cheap"`,
			},
		},
		"nodes of a workflow": {
			root: func() agent.Agent {
				one, two := asks(t, "one", adktest.Script(search(), text("it costs 40000")), prices(t, "search", 40000)), asks(t, "two", adktest.Script(text("fine")))
				quote := workflow.NewFunctionNode("quote", func(_ agent.Context, in any) (m, error) { return m{"one": in}, nil }, workflow.NodeConfig{})
				node := func(a agent.Agent) workflow.Node { return must(workflow.NewAgentNode(a, workflow.NodeConfig{})) }
				return workflowOf(t, workflow.Chain(workflow.Start, node(one), quote, node(two)))
			}(),
			words: true,
			want: []string{
				"one",
				`one [0] search{}={"price":40000} one:search{}`,
				`two :? :{"one":"it costs 40000"} one:"it costs 40000"`,
			},
		},
		"equal results of calls with other arguments, one call shown": {
			root: changed(t, adktest.Script(calls(call("", "search", m{"q": "a"}), call("", "search", m{"q": "b"})), text("done")),
				without(func(p *genai.Part) bool { return p.FunctionCall != nil && p.FunctionCall.Args["q"] == "a" }), prices(t, "search", 40000)),
			want: []string{
				"root",
				`root [0] search{"q":"b"}={"price":40000} search={"price":40000}`,
			},
		},
		"dropped calls": {
			root: changed(t, adktest.Script(calls(call("", "search", m{"q": 1})), text("done")),
				without(func(p *genai.Part) bool { return p.FunctionCall != nil }), prices(t, "search", 40000)),
			want: []string{
				"root",
				`root [0] search={"price":40000}`,
			},
		},
		"dropped results": {
			root: changed(t, adktest.Script(calls(call("", "search", nil), call("", "search", nil)), text("done")),
				without(func(p *genai.Part) bool {
					return len(recorder.Responses(says(p))) > 0 && p.FunctionResponse.Response["price"] == 52000.0
				}), prices(t, "search", 40000, 52000)),
			want: []string{
				"root",
				`root [0] search{}={"price":40000}`,
			},
		},
		"what users quote": {
			root: asks(t, "root", adktest.Script(text("well"), text("fine"))),
			turns: []*genai.Content{says(&genai.Part{Text: "For context:"}, &genai.Part{Text: "[sub] said: cheap"},
				&genai.Part{Text: `{"sub":"cheap"}`}, &genai.Part{Text: "[sub] `search` tool returned result: {\"price\":1}"})},
			words: true,
			want: []string{
				"root",
			},
		},
		"a result of a client under a known id, and of none": {
			root:  asks(t, "root", adktest.Script(calls(call("c1", "search", m{"q": 1})), text("well"), text("fine"), text("bye")), prices(t, "search", 40000)),
			turns: []*genai.Content{says(responds("c7", "buy", m{"price": 7}).Parts[0], &genai.Part{Text: "go"}), responds("c1", "search", m{"price": 1})},
			want: []string{
				`root buy#c7={"price":7} (client)`,
				`root search#c1{"q":1}={"price":40000}`,
				`root search#c1{"q":1}={"price":1} (client)`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sink, r := recorded(t, recorder.Config{}, tt.root)
			if tt.turns == nil {
				tt.turns = []*genai.Content{adktest.UserText("go")}
			}
			for _, msg := range tt.turns {
				adktest.Run(t, r, "u", "s", msg)
			}
			got := shownIn(t, sink.Rows(), tt.words)
			if strings.HasPrefix(name, "agents side by side") { // in any order
				for i, line := range got {
					list := slices.DeleteFunc(strings.Fields(line), func(s string) bool { return s[0] == '[' })
					slices.Sort(list[1:])
					got[i] = strings.Join(list, " ")
				}
				slices.Sort(got)
			}
			diff(t, "what requests showed", tt.want, got)
			checkWords(t, sink.Rows())
		})
	}
}

// checkWords checks that an output on record has words of each agent that a request shows.
func checkWords(t *testing.T, rows []record.Event) {
	t.Helper()
	answers, said := answersOf(t, rows), make(map[string]bool)
	for _, a := range answers {
		for _, digest := range a.Said {
			said[digest] = true
		}
	}
	for _, e := range rowtest.Of(rows, record.NodeOutput) {
		said[rowtest.Attribute(t, e, "adk", "result").(string)] = true
	}
	for i, a := range answers {
		by := make(map[string]bool)
		for _, w := range a.Shown.Words {
			by[w.By] = by[w.By] || said[w.Said]
		}
		for name, known := range by {
			if !known && name != "request" { // which is the name of an argument
				t.Errorf("answer %d: no row has what %q said", i, name)
			}
		}
	}
}

// delegates returns an agent that looks something up and then hands on.
func delegates(t *testing.T, mode llmagent.Mode, answers ...*model.LLMResponse) agent.Agent {
	sub := llm(t, llmagent.Config{Name: "sub", Description: "looks", Model: adktest.Script(answers...), Mode: mode, Tools: []tool.Tool{prices(t, "search", 61000)}})
	mdl := adktest.Script(adktest.Calls(call("", "search", nil)), adktest.Calls(call("", "sub", m{"request": "go"})), adktest.Text("done"))
	return llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{sub}})
}

// What follows the request before is listed. Any change of what stands in that makes the row list all anew.
func TestShownOfChangedRequests(t *testing.T) {
	response := func(req *model.LLMRequest, n int) (*genai.Content, *genai.FunctionResponse) {
		for _, c := range req.Contents {
			if frs := recorder.Responses(c); len(frs) > 0 {
				if n--; n < 0 {
					return c, frs[0]
				}
			}
		}
		t.Fatal("the request has no such response")
		return nil, nil
	}
	deep := func(n int) func(*model.LLMRequest) {
		return func(req *model.LLMRequest) {
			_, fr := response(req, n)
			fr.Response["price"].([]any)[0].(m)["eur"] = 7
		}
	}
	top := func(n int) func(*model.LLMRequest) {
		return func(req *model.LLMRequest) { _, fr := response(req, n); fr.Response["price"] = 7 }
	}
	gone := func(n int) func(*model.LLMRequest) {
		return func(req *model.LLMRequest) { c, _ := response(req, n); c.Parts = nil }
	}
	for name, tt := range map[string]struct {
		change func(req *model.LLMRequest)
		want   string
		given  []string // the rows of results that nobody gave
	}{
		"nothing":                      {func(*model.LLMRequest) {}, `root [4] search#c2{"q":"2"}={"price":[{"eur":2}]}`, nil},
		"an old result, deep inside":   {deep(0), `root search#c0{"q":"0"}=? search#c1{"q":"1"}={"price":[{"eur":1}]} search#c2{"q":"2"}={"price":[{"eur":2}]}`, nil},
		"an old result":                {top(0), `root search#c0{"q":"0"}={"price":7} search#c1{"q":"1"}={"price":[{"eur":1}]} search#c2{"q":"2"}={"price":[{"eur":2}]}`, []string{`TOOL_RESULT_REWRITTEN root: request search#c0{"q":"0"}={"price":7}`}},
		"an old result is gone":        {gone(0), `root search#c1{"q":"1"}={"price":[{"eur":1}]} search#c2{"q":"2"}={"price":[{"eur":2}]}`, nil},
		"the new result, deep inside":  {deep(2), `root [4] search#c2{"q":"2"}=?`, nil},
		"the new result":               {top(2), `root [4] search#c2{"q":"2"}={"price":7}`, []string{`TOOL_RESULT_REWRITTEN root: request search#c2{"q":"2"}={"price":7}`}},
		"the new result is gone":       {gone(2), "root [4]", nil},
		"the arguments of an old call": {func(req *model.LLMRequest) { req.Contents[1].Parts[0].FunctionCall.Args["q"] = "1" }, `root search#c0{"q":"1"}={"price":[{"eur":0}]} search#c1{"q":"1"}={"price":[{"eur":1}]} search#c2{"q":"2"}={"price":[{"eur":2}]}`, nil},
		"an old text":                  {func(req *model.LLMRequest) { req.Contents[0].Parts[0].Text += "!" }, `root search#c0{"q":"0"}={"price":[{"eur":0}]} search#c1{"q":"1"}={"price":[{"eur":1}]} search#c2{"q":"2"}={"price":[{"eur":2}]}`, nil},
		"a result that nobody gave": {func(req *model.LLMRequest) {
			req.Contents = append(req.Contents, genai.NewContentFromFunctionResponse("search", m{"price": 7}, genai.RoleUser))
		}, `root [4] search#c2{"q":"2"}={"price":[{"eur":2}]} search={"price":7}`, []string{`TOOL_RESULT_REWRITTEN root: request search#={"price":7}`}},
		"a result told of as another agent's": {func(req *model.LLMRequest) {
			req.Contents = append(req.Contents, genai.NewContentFromText("[sub] `search` tool returned result: {\"price\":7}", genai.RoleUser))
		}, `root [4] search#c2{"q":"2"}={"price":[{"eur":2}]} sub.search={"price":7}`, []string{`TOOL_RESULT_REWRITTEN root: request search#={"price":7}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var answers []*model.LLMResponse
			var next []any
			for i := range 3 {
				answers = append(answers, adktest.Calls(call(fmt.Sprint("c", i), "search", m{"q": fmt.Sprint(i)})), adktest.Text("done"))
				next = append(next, []any{m{"eur": float64(i)}})
			}
			sink, r := recorded(t, recorder.Config{}, changed(t, adktest.Script(append(answers, adktest.Text("bye"))...), func(n int, req *model.LLMRequest) {
				if n >= 6 { // a callback that changes something does so again
					tt.change(req)
				}
			}, prices(t, "search", next...)))
			for range 4 {
				adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			}
			lines := shownIn(t, sink.Rows(), false)
			diff(t, "what the changed request showed", tt.want, lines[5])
			diff(t, "rows of results", tt.given, givenIn(t, sink.Rows()))
		})
	}
}

// A recorder that knows no earlier row lists all, the newest first if that is too long. A session that was
// stored as JSON has the same digests.
func TestShownInAnotherProcess(t *testing.T) {
	var answers []*model.LLMResponse
	var next []any
	for i := range 4 {
		var fcs []*genai.FunctionCall
		for j := range 100 {
			fcs = append(fcs, call(fmt.Sprintf("call-with-a-long-id-%06d", 100*i+j), "search", m{"q": j}))
			next = append(next, []any{100 * i, float64(j) / 3, nil, "<&>"})
		}
		answers = append(answers, adktest.Calls(fcs...))
	}
	svc := session.InMemoryService()
	first, second := &rowtest.Sink{}, &rowtest.Sink{}
	run := func(sink *rowtest.Sink, mdl model.LLM, svc session.Service, texts ...string) {
		rec := must(recorder.New(recorder.Config{Sink: sink}))
		r := must(runner.New(runner.Config{AppName: "app", Agent: asks(t, "root", mdl, prices(t, "search", next...)), SessionService: svc, AutoCreateSession: true, PluginConfig: recorder.Plugins(rec)}))
		for _, text := range texts {
			adktest.Run(t, r, "u", "s", adktest.UserText(text))
		}
	}
	run(first, adktest.Script(append(answers, adktest.Text("done"))...), svc, "go")
	run(second, adktest.Script(adktest.Text("well"), adktest.Calls(call("last", "search", m{})), adktest.Text("bye")), restored(t, svc), "and?", "again")

	rows := make(map[string][2]string)
	for _, e := range append(first.Of(record.ToolCompleted), second.Of(record.ToolCompleted)...) {
		text := func(key string) string { return rowtest.Attribute(t, e, "adk", key).(string) }
		rows[text("call_id")] = [2]string{text("args_digest"), text("result")}
	}
	lists := append(answersOf(t, first.Rows()), answersOf(t, second.Rows())...)
	for i, want := range []int{0, 100, 100, 100, 100, -1, 0, 1} {
		results := lists[i].Shown.Results
		for _, s := range results {
			if rows[s.Call] != [2]string{s.Args, s.Result} {
				t.Errorf("answer %d lists %v, the row of the call has %v", i, s, rows[s.Call])
			}
		}
		row, _ := rowtest.Attribute(t, append(first.Of(record.LLMResponse), second.Of(record.LLMResponse)...)[i], "adk", "shown").(m)
		if size := len(must(json.Marshal(row["results"]))); (row["cut"] == true) != (want < 0) || size > 33<<10 {
			t.Errorf("answer %d: a list of %d bytes, cut = %v", i, size, row["cut"])
		}
		if want >= 0 && len(results) != want || (lists[i].Shown.Base == "") != (want <= 0 && i != 6) {
			t.Errorf("answer %d lists %d results behind %q, want %d", i, len(results), lists[i].Shown.Base, want)
		}
		if want < 0 && (len(results) < 100 || len(results) == 400 || results[len(results)-1].Call != "call-with-a-long-id-000399") {
			t.Errorf("%d results without the newest", len(results))
		}
	}
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

// Whatever agents say and callbacks change: what a row and those it goes on from list together is what a
// recorder lists that forgets each conversation, and the results are those of the request.
func TestShownOfRandomConversations(t *testing.T) {
	seeds, calls, based, listed := 0, 0, 0, 0
	for seed := range testsize.Seeds(t, 30, 2000) {
		seeds++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			changes, ids, again, n := rng.IntN(3) == 0, rng.IntN(2) == 0, rng.IntN(4) == 0, 0
			mdl := &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
				n++
				switch rng.IntN(7) {
				case 0:
					return adktest.Calls(call(fmt.Sprint("t", n), "transfer_to_agent", m{"agent_name": []string{"root", "sub"}[rng.IntN(2)]})), nil
				case 1, 2:
					return adktest.Text([]string{"fine", fmt.Sprint("number ", n)}[rng.IntN(2)]), nil
				}
				var fcs []*genai.FunctionCall
				for i := range 1 + rng.IntN(3) {
					id := "" // then ADK makes one, and leaves it out
					switch {
					case again:
						id = fmt.Sprint("c", i)
					case ids:
						id = fmt.Sprintf("c%d-%d", n, i)
					}
					fcs = append(fcs, call(id, []string{"search", "look"}[rng.IntN(2)], m{"q": rng.IntN(3)}))
				}
				return adktest.Calls(fcs...), nil
			}}
			var requests [][]shownDigest
			change := func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
				if n%9 == 8 { // models that go on and on are stopped
					n++
					requests = append(requests, resultsIn(req))
					return adktest.Text("enough"), nil
				}
				if at := rng.IntN(len(req.Contents) + 1); changes && rng.IntN(4) == 0 && at < len(req.Contents) {
					c := req.Contents[at]
					switch p := c.Parts[0]; rng.IntN(4) {
					case 0:
						req.Contents = append(req.Contents[:at:at], req.Contents[at+1:]...)
					case 1:
						req.Contents = append(req.Contents, c)
					case 2:
						if p.FunctionResponse != nil {
							p.FunctionResponse.Response["price"] = 1
						}
					case 3:
						c.Parts = append(c.Parts, &genai.Part{Text: "fine"})
					}
				}
				requests = append(requests, resultsIn(req))
				return nil, nil
			}
			var list []any
			for range 40 {
				list = append(list, []any{40000, 52000.0, "none"}[rng.IntN(3)])
			}
			cfg := llmagent.Config{Name: "sub", Description: "sub", Model: mdl, Tools: []tool.Tool{prices(t, "search", list...), prices(t, "look", list[3:]...)}, BeforeModelCallbacks: []llmagent.BeforeModelCallback{change}}
			sub := llm(t, cfg)
			cfg.Name, cfg.SubAgents = "root", []agent.Agent{sub}
			if rng.IntN(4) == 0 {
				cfg.IncludeContents = llmagent.IncludeContentsNone
			}
			all := &rowtest.Sink{}
			forgetful := must(recorder.New(recorder.Config{Sink: all}))
			second := forgetful.Observer()
			second.Name = "forgetful"
			second.BeforeModelCallback = func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
				recorder.Forget(forgetful)
				return forgetful.Observer().BeforeModelCallback(ctx, req)
			}
			_, sink, r := recordedBeside(t, recorder.Config{}, llm(t, cfg), must(plugin.New(second)))
			for i := range 5 {
				_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText(fmt.Sprint("turn ", i)))
			}
			got, want := answersOf(t, sink.Rows()), answersOf(t, all.Rows())
			if len(got) != len(want) || len(got) != len(requests) {
				t.Fatalf("%d answers and %d of another recorder to %d requests", len(got), len(want), len(requests))
			}
			places := make(map[string]int)
			for i, e := range sink.Of(record.LLMResponse) {
				places[e.EventID] = i
				a := &got[i].Shown
				calls++
				listed += len(a.Results)
				if a.Base != "" {
					based++
					before := got[places[a.Base]].Shown
					a.Results, a.Words = slices.Concat(before.Results, a.Results), slices.Concat(before.Words, a.Words)
				}
				diff(t, fmt.Sprint("results of request ", i), want[i].Shown.Results, a.Results)
				if d := cmp.Diff(wordsOf(want[i]), wordsOf(got[i])); d != "" || want[i].Shown.Base != "" {
					t.Errorf("words of request %d (-all +new): %s", i, d)
				}
				var shown []shownDigest
				for _, s := range a.Results {
					shown = append(shown, shownDigest{s.By, s.Tool, s.Call, s.Result})
				}
				diff(t, fmt.Sprint("what request has that is listed: ", i), requests[i], shown)
			}
		})
	}
	t.Logf("%d model calls, %d lists that go on, %d results listed", calls, based, listed)
	if seeds > 1 && calls > 0 && (calls < 5*seeds || based < calls/3 || listed < 5*seeds) { // not with -run
		t.Error("too little happens in the conversations")
	}
}

func wordsOf(a schema.ADK) map[schema.Words]bool {
	set := make(map[schema.Words]bool)
	for _, w := range a.Shown.Words {
		set[w] = true
	}
	return set
}

type shownDigest struct{ By, Tool, Call, Digest string }

// resultsIn returns the results that a request holds, in parts or in texts.
func resultsIn(req *model.LLMRequest) (out []shownDigest) {
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if fr := p.FunctionResponse; fr != nil {
				out = append(out, shownDigest{"", fr.Name, fr.ID, digestOf(fr.Response)})
			}
			head, result, ok := strings.Cut(p.Text, "` tool returned result: ")
			if by, name, ok2 := strings.Cut(strings.TrimPrefix(head, "["), "] `"); ok && ok2 {
				v, _ := jsonenc.Decode([]byte(result))
				out = append(out, shownDigest{by, name, "", digestOf(v)})
			}
		}
	}
	return out
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// givenIn returns a line for each row of a result that was given.
func givenIn(t testing.TB, rows []record.Event) (lines []string) {
	t.Helper()
	values := bookOf(t, rows)
	for _, e := range rows {
		text := func(key string) string { v, _ := rowtest.Attribute(t, e, "adk", key).(string); return v }
		if by := text("given"); by != "" {
			lines = append(lines, fmt.Sprintf("%s %s: %s %s#%s%s=%s", e.EventType, e.Agent, by, rowtest.Field(t, e.Content, "tool"), text("call_id"), values.of(text("args_digest")), values.of(text("result"))))
		}
	}
	return lines
}

// A result that a callback behind the recorder changes, or gives in the place of an error, has a row as the
// model read it.
func TestRewrittenResults(t *testing.T) {
	gives := func(result m) llmagent.AfterToolCallback {
		return func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			return result, nil
		}
	}
	for name, tt := range map[string]struct {
		callback llmagent.AfterToolCallback
		plugin   plugin.Config
		failing  bool
		ends     string
		rows     int
	}{
		"an agent's callback":   {callback: gives(m{"price": "hidden"}), ends: record.ToolCompleted, rows: 2},
		"another plugin":        {plugin: plugin.Config{AfterToolCallback: gives(m{"price": "hidden"})}, ends: record.ToolCompleted, rows: 2},
		"an error is made good": {callback: gives(m{"price": "hidden"}), failing: true, ends: record.ToolError, rows: 2},
		"the same value":        {callback: gives(m{"price": 4e4}), ends: record.ToolCompleted},
		"none":                  {ends: record.ToolCompleted},
		"an error":              {failing: true, ends: record.ToolError},
	} {
		t.Run(name, func(t *testing.T) {
			search := prices(t, "search", 40000)
			if tt.failing {
				search = functionTool(t, functiontool.Config{Name: "search"}, func(agent.Context, m) (map[string]any, error) { return nil, errors.New("no") })
			}
			cfg := llmagent.Config{Name: "root", Tools: []tool.Tool{search}, Model: adktest.Script(adktest.Calls(call("c1", "search", nil), call("c1", "search", nil)), adktest.Text("done"))}
			if tt.callback != nil {
				cfg.AfterToolCallbacks = []llmagent.AfterToolCallback{tt.callback}
			}
			_, sink, r := recordedBeside(t, recorder.Config{}, llm(t, cfg), refusing(t, tt.plugin))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			ends, starts, seen := byID(sink.Of(tt.ends)), byID(sink.Of(record.ToolStarting)), make(map[string]bool)
			rows := sink.Of(record.ToolResultRewritten)
			if len(rows) != tt.rows || len(ends) != 2 {
				t.Fatalf("%d rows beside %d ends, want %d", len(rows), len(ends), tt.rows)
			}
			for _, e := range rows {
				text := func(key string) string { v, _ := rowtest.Attribute(t, e, "adk", key).(string); return v }
				of := ends[text("of")]
				if of.EventID == "" || seen[of.EventID] || of.SpanID != e.SpanID || starts[text("started")].SpanID != e.SpanID {
					t.Errorf("the row is of %q, begun by %q", text("of"), text("started"))
				}
				seen[of.EventID] = true
				if text("result") != digestOf(m{"price": "hidden"}) || text("args_digest") != digestOf(m{}) || text("call_id") != "c1" || text("given") != "" ||
					string(e.Content) != `{"tool":"search","result":{"price":"hidden"},"tool_origin":"LOCAL"}` {
					t.Errorf("attributes %s; content %s", e.Attributes, e.Content)
				}
			}
			// The request shows what the rows say.
			result := rowtest.Attribute(t, slices.Concat(rows, sink.Of(tt.ends))[0], "adk", "result")
			for _, s := range answersOf(t, sink.Rows())[1].Shown.Results {
				if s.Result != result {
					t.Errorf("the request shows %v, want %v", s, result)
				}
			}
		})
	}
}

// The row that ends a call names the row that began it.
func TestEndsNameTheirBeginning(t *testing.T) {
	mdl := adktest.Script(adktest.Calls(call("", "search", nil), call("", "fail", nil), call("", "nowhere", nil)), adktest.Text("done"))
	fail := functionTool(t, functiontool.Config{Name: "fail"}, func(agent.Context, m) (map[string]any, error) { return nil, errors.New("no") })
	sink, r := recorded(t, recorder.Config{}, asks(t, "root", mdl, prices(t, "search", 40000), fail))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	starts, ends := byID(sink.Of(record.ToolStarting)), make(map[any]bool)
	for _, e := range append(sink.Of(record.ToolCompleted), sink.Of(record.ToolError)...) {
		started, _ := rowtest.Attribute(t, e, "adk", "started").(string)
		if starts[started].SpanID != e.SpanID {
			t.Errorf("%s began with %q", e.Content, started)
		}
		ends[rowtest.Attribute(t, e, "adk", "result")] = true
	}
	shown := answersOf(t, sink.Rows())[1].Shown.Results
	if slices.ContainsFunc(shown, func(s record.Shown) bool { return !ends[s.Result] }) || len(shown) != 3 || len(sink.Of(record.ToolResultRewritten)) != 0 {
		t.Errorf("the model was shown %v, want all three results and no other", shown)
	}
}

// A response that passes without a callback is the end of the call that a model asked for.
func TestPassedResults(t *testing.T) {
	streams := func(err error) tool.Tool {
		return must(functiontool.NewStreaming(functiontool.Config{Name: "search"}, func(agent.Context, m) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if yield("it costs ", nil) {
					yield("40000", err)
				}
			}
		}))
	}
	for name, tt := range map[string]struct {
		tool    tool.Tool
		ends    string
		content string
		message string
	}{
		"result": {streams(nil), record.ToolCompleted, `{"tool":"search","result":{"result":"it costs 40000"},"tool_origin":"UNKNOWN"}`, ""},
		"error":  {streams(errors.New("no")), record.ToolError, `{"tool":"search","args":{"q":1},"tool_origin":"UNKNOWN"}`, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			sink, r := recorded(t, recorder.Config{}, asks(t, "root", adktest.Script(adktest.Calls(call("c1", "search", m{"q": 1})), adktest.Text("done")), tt.tool))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			begin, end := one(t, sink, record.ToolStarting), one(t, sink, tt.ends)
			text := func(key string) any { return rowtest.Attribute(t, end, "adk", key) }
			if string(end.Content) != tt.content || end.ErrorMessage != tt.message || end.SpanID != begin.SpanID || text("started") != begin.EventID || string(begin.Content) != `{"tool":"search","args":{"q":1},"tool_origin":"UNKNOWN"}` {
				t.Errorf("began as %s; ended as %s with %q: %s", begin.Content, end.Content, end.ErrorMessage, end.Attributes)
			}
			if asked := sink.Of(record.LLMResponse)[0].EventID; text("asked") != asked || text("call_id") != "c1" {
				t.Errorf("attributes %s; want the answer %s", end.Attributes, asked)
			}
			diff(t, "what the model was shown", []record.Shown{{Tool: "search", Call: "c1", Args: text("args_digest").(string), Result: text("result").(string)}}, answersOf(t, sink.Rows())[1].Shown.Results)
			checkParents(t, sink.Rows())
		})
	}
}

// Every other result that a model got is given.
func TestGivenResults(t *testing.T) {
	host := func(id, name string, response m) agent.Agent {
		return codeAgent("host", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			ev := textEvent(ctx, "")
			ev.Content = responds(id, name, response)
			yield(ev, nil)
		})
	}
	done := func() agent.Agent { return asks(t, "root", adktest.Script(adktest.Text("done"))) }
	node := must(workflow.NewToolNode(prices(t, "search", 40000), workflow.NodeConfig{}))
	for name, tt := range map[string]struct {
		root  agent.Agent
		msg   *genai.Content
		event func(agent.InvocationContext, *session.Event) (*session.Event, error) // of another plugin
		want  []string
	}{
		"an agent of the host": {root: sequential("all", host("x", "search", m{"price": 1}), done()), want: []string{`TOOL_RESULT_REWRITTEN host: event search#x={"price":1}`}},
		"an agent of the host, with the id of a call": {
			root: sequential("all", asks(t, "root", adktest.Script(adktest.Calls(call("c1", "search", nil)), adktest.Text("done")), prices(t, "search", 40000)), host("c1", "search", m{"price": 1})),
			want: []string{`TOOL_RESULT_REWRITTEN host: event search#c1={"price":1}`},
		},
		"words of an agent": {root: sequential("all", host("x", "root", m{"result": "cheap"}), done())},
		"a node":            {root: workflowOf(t, workflow.Chain(workflow.Start, constant("one", "x"), node)), want: []string{`TOOL_RESULT_REWRITTEN wf: event search#={"price":40000}`}},
		"a client":          {root: done(), msg: says(responds("x", "search", m{"price": 1}).Parts[0], &genai.Part{Text: "go"}), want: []string{`TOOL_COMPLETED root: client search#x={"price":1}`}},
		"a callback, again and again": {
			root: changed(t, adktest.Script(adktest.Calls(call("c1", "search", nil)), adktest.Text("done")), func(_ int, req *model.LLMRequest) {
				req.Contents = append(req.Contents, responds("x", "buy", m{"price": 1}))
			}, prices(t, "search", 40000)),
			want: []string{`TOOL_RESULT_REWRITTEN root: request buy#x={"price":1}`},
		},
		"a plugin, with another event": {
			root: asks(t, "root", adktest.Script(adktest.Calls(call("c1", "search", m{"q": 1})), adktest.Text("done")), prices(t, "search", 40000)),
			event: func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) {
				if len(recorder.Responses(ev.Content)) == 0 {
					return nil, nil
				}
				other := *ev
				other.Content = responds("c1", "search", m{"price": 1})
				return &other, nil
			},
			want: []string{`TOOL_RESULT_REWRITTEN root: request search#c1{"q":1}={"price":1}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, sink, r := recordedBeside(t, recorder.Config{}, tt.root, refusing(t, plugin.Config{OnEventCallback: tt.event}))
			if tt.msg == nil {
				tt.msg = adktest.UserText("go")
			}
			adktest.Run(t, r, "u", "s", tt.msg)
			diff(t, "rows", tt.want, givenIn(t, sink.Rows()))
			checkParents(t, sink.Rows())
		})
	}
}

// A change in place, deep inside, changes the event too. So there is no row until somebody asks, and then none if
// the value is gone.
func TestGive(t *testing.T) {
	for name, tt := range map[string]struct {
		gone, elsewhere bool
		want            []string
	}{
		"the events have it": {want: []string{`TOOL_RESULT_REWRITTEN root: request search#c1{"q":1}={"price":{"eur":7}}`}},
		"its value is gone":  {gone: true},
		"in no run":          {elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			var inside m
			root := changed(t, adktest.Script(adktest.Calls(call("c1", "search", m{"q": 1})), adktest.Text("done")), func(n int, req *model.LLMRequest) {
				if n == 2 {
					inside = recorder.Responses(req.Contents[2])[0].Response["price"].(m)
					inside["eur"] = 7
				}
			}, prices(t, "search", m{"eur": 1.0}))
			var rec *recorder.Recorder
			var sink *rowtest.Sink
			asks := must(plugin.New(plugin.Config{Name: "asks", OnEventCallback: func(ctx agent.InvocationContext, ev *session.Event) (*session.Event, error) {
				lists := answersOf(t, sink.Rows())
				if len(lists) < 2 {
					return nil, nil
				}
				if got := givenIn(t, sink.Rows()); got != nil {
					t.Errorf("rows before anybody asked: %q", got)
				}
				if tt.gone {
					inside["eur"] = 8
				}
				list := lists[1].Shown.Results
				c, cancel := recorder.Detach(ctx, time.Minute)
				defer cancel()
				if tt.elsewhere {
					c = t.Context()
				}
				without := rec.Give(c, list)
				if (len(without) == 1) != (tt.gone || tt.elsewhere) {
					t.Errorf("without a value: %v of %v", without, list)
				}
				return nil, nil
			}}))
			var r *runner.Runner
			rec, sink, r = recordedBeside(t, recorder.Config{}, root, asks)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			diff(t, "rows", tt.want, givenIn(t, sink.Rows()))
		})
	}
}

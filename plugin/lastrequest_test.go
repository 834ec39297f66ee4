// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A request that begins as the one before it is matched with the events since then. Any change in
// what the model was shown before makes the recorder look at all events.
func TestRequestsThatGoOn(t *testing.T) {
	part := func(req *model.LLMRequest, is func(*genai.Part) bool) (*genai.Content, int) {
		for _, c := range req.Contents {
			for i, p := range c.Parts {
				if is(p) {
					return c, i
				}
			}
		}
		t.Fatal("the request has no such part")
		return nil, 0
	}
	result := func(n int) func(*genai.Part) bool {
		return func(p *genai.Part) bool {
			if p.FunctionResponse == nil {
				return false
			}
			n--
			return n < 0
		}
	}
	for name, tt := range map[string]struct {
		change    func(req *model.LLMRequest)
		indexed   bool
		unmatched int
	}{
		"nothing": {change: func(*model.LLMRequest) {}},
		"an old result, deep inside and in place": {func(req *model.LLMRequest) {
			c, i := part(req, result(0))
			c.Parts[i].FunctionResponse.Response["price"].([]any)[0].(m)["eur"] = 1
		}, true, 0},
		"an old result, in place": {func(req *model.LLMRequest) {
			c, i := part(req, result(0))
			c.Parts[i].FunctionResponse.Response["price"] = 1
		}, true, 1},
		"an old result is gone": {func(req *model.LLMRequest) {
			c, i := part(req, result(0))
			c.Parts = append(c.Parts[:i:i], c.Parts[i+1:]...)
		}, true, 0},
		"the arguments of an old call, in place": {func(req *model.LLMRequest) {
			c, i := part(req, func(p *genai.Part) bool { return p.FunctionCall != nil })
			c.Parts[i].FunctionCall.Args["q"] = "other"
		}, true, 0},
		"an old text": {func(req *model.LLMRequest) { req.Contents[0].Parts[0].Text += "!" }, true, 0},
		"the new result, deep inside and in place": {func(req *model.LLMRequest) {
			c, i := part(req, result(2))
			c.Parts[i].FunctionResponse.Response["price"].([]any)[0].(m)["eur"] = 1
		}, true, 1},
		"the new result is gone": {func(req *model.LLMRequest) {
			c, i := part(req, result(2))
			c.Parts = append(c.Parts[:i:i], c.Parts[i+1:]...)
		}, true, 0},
		"a result that nobody gave": {func(req *model.LLMRequest) {
			req.Contents = append(req.Contents, genai.NewContentFromFunctionResponse("search", m{"price": 7}, genai.RoleUser))
		}, true, 1},
		"a result told of as another agent's": {func(req *model.LLMRequest) {
			req.Contents = append(req.Contents, genai.NewContentFromText("[sub] `search` tool returned result: {\"price\":7}", genai.RoleUser))
		}, true, 1},
		"a text that nobody said": {func(req *model.LLMRequest) {
			req.Contents = append(req.Contents, genai.NewContentFromText("It is noon.", genai.RoleUser))
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var answers []*model.LLMResponse
			var next []any
			for i := range 3 {
				answers = append(answers, adktest.Calls(call(fmt.Sprint("c", i), "search", m{"q": fmt.Sprint(i)})), adktest.Text("done"))
				next = append(next, []any{m{"eur": 40000 + float64(i)}})
			}
			mdl, n := adktest.Script(answers...), 0
			root := llm(t, llmagent.Config{
				Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", next...)},
				BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
					if n++; n == 6 {
						tt.change(req)
					}
					return nil, nil
				}},
			})
			var rec *recorder.Recorder
			var indexed []bool
			sees := must(plugin.New(plugin.Config{Name: "sees", OnEventCallback: func(ctx agent.InvocationContext, _ *session.Event) (*session.Event, error) {
				indexed[len(indexed)-1] = recorder.Indexed(rec, ctx)
				return nil, nil
			}}))
			var sink *rowtest.Sink
			var r *runner.Runner
			rec, sink, r = recordedBeside(t, recorder.Config{}, root, sees)
			for range 3 {
				indexed = append(indexed, false)
				adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			}
			// The first request of a conversation has none before it.
			if diff := cmp.Diff([]bool{true, false, tt.indexed}, indexed); diff != "" {
				t.Errorf("indexes of all events (-want +got):\n%s", diff)
			}
			rs := readingsOf(t, sink.Rows())
			if u := rs.unmatched(t, 5); u != tt.unmatched {
				t.Errorf("%d results unmatched, want %d", u, tt.unmatched)
			}
			if name == "nothing" {
				rs.holdAgainst(t, mdl.Requests())
			}
			// What the row lists of the result that was changed, is what the model read.
			read, _ := rowtest.Attribute(t, rs.rows[rs.order[5]], "adk", "read").(map[string]any)
			if results, _ := read["results"].(map[string]any); name == "an old result, deep inside and in place" && (len(results) != 2 || results["c0"] == nil) {
				t.Errorf("the row lists %v, want the new result and the changed one", results)
			}
		})
	}
}

// Whatever agents say and callbacks change: a recorder that matches requests with the events since
// the one before lists what another one lists that matches each with all events.
func TestRequestsThatGoOnListTheSame(t *testing.T) {
	seeds, rows, indexed, runs := 0, 0, 0, 0
	for seed := range testsize.Seeds(t, 20, 1500) {
		seeds++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			changes, ids := rng.IntN(3) == 0, rng.IntN(2) == 0
			n := 0
			mdl := &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
				n++
				switch rng.IntN(7) {
				case 0:
					return adktest.Calls(call(fmt.Sprint("t", n), "transfer_to_agent", m{"agent_name": []string{"root", "sub"}[rng.IntN(2)]})), nil
				case 1, 2, 3:
					return adktest.Text([]string{"fine", fmt.Sprint("number ", n)}[rng.IntN(2)]), nil
				}
				var fcs []*genai.FunctionCall
				for i := range 1 + rng.IntN(3) {
					id := "" // then ADK makes one, and leaves it out
					if ids {
						id = fmt.Sprintf("c%d-%d", n, i)
					}
					fcs = append(fcs, call(id, []string{"search", "look"}[rng.IntN(2)], m{"q": rng.IntN(3)}))
				}
				return adktest.Calls(fcs...), nil
			}}
			change := func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
				if n%9 == 8 {
					n++
					return adktest.Text("enough"), nil
				}
				if !changes || rng.IntN(4) > 0 || len(req.Contents) == 0 {
					return nil, nil
				}
				at := rng.IntN(len(req.Contents))
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
				return nil, nil
			}
			var list []any
			for range 40 {
				list = append(list, []any{40000, 52000.0, "none"}[rng.IntN(3)])
			}
			tools := []tool.Tool{prices(t, "search", list...), prices(t, "look", list[3:]...)}
			sub := llm(t, llmagent.Config{Name: "sub", Description: "sub", Model: mdl, Tools: tools, BeforeModelCallbacks: []llmagent.BeforeModelCallback{change}})
			root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: tools, SubAgents: []agent.Agent{sub}, BeforeModelCallbacks: []llmagent.BeforeModelCallback{change}})

			all := &rowtest.Sink{}
			forgetful := must(recorder.New(recorder.Config{Sink: all}))
			second := forgetful.Observer()
			second.Name = "forgetful"
			before := second.AfterModelCallback
			second.AfterModelCallback = func(ctx agent.Context, resp *model.LLMResponse, err error) (*model.LLMResponse, error) {
				recorder.Forget(forgetful)
				return before(ctx, resp, err)
			}
			var rec *recorder.Recorder
			made := false
			sees := must(plugin.New(plugin.Config{Name: "sees", OnEventCallback: func(ctx agent.InvocationContext, _ *session.Event) (*session.Event, error) {
				made = recorder.Indexed(rec, ctx)
				return nil, nil
			}}))
			var sink *rowtest.Sink
			var r *runner.Runner
			rec, sink, r = recordedBeside(t, recorder.Config{}, root, must(plugin.New(second)), sees)
			for i := range 5 {
				if made {
					indexed++
				}
				runs, made = runs+1, false
				_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText(fmt.Sprint("turn ", i)))
			}
			got, want := listsOf(t, sink), listsOf(t, all)
			rows += len(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what models had read (-all events +the events since):\n%s", diff)
			}
		})
	}
	t.Logf("%d lists in %d runs, %d of them with an index of all events", rows, runs, indexed)
	if runs == 5*seeds && seeds > 1 && (rows < 5*seeds || indexed > runs*3/4) { // not with -run
		t.Error("too few requests go on")
	}
}

// listsOf returns what the rows of models list, with the numbers of rows for their ids.
func listsOf(t testing.TB, sink *rowtest.Sink) (lists []any) {
	t.Helper()
	numbers := make(map[string]string)
	for i, e := range sink.Of(record.LLMResponse) {
		numbers["r:"+e.EventID] = fmt.Sprint("row ", i)
	}
	name := func(v any) any {
		if n, ok := numbers[fmt.Sprint(v)]; ok {
			return n
		}
		return v
	}
	for _, e := range sink.Of(record.LLMResponse) {
		read, _ := rowtest.Attribute(t, e, "adk", "read").(map[string]any)
		if base := read["base"]; base != nil {
			read["base"] = name(base)
		}
		answers, _ := read["answers"].([]any)
		for i := range answers {
			answers[i] = name(answers[i])
		}
		lists = append(lists, read)
	}
	return lists
}

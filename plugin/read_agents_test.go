// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A delegate reads what the one who transfers had read, as texts, and the other way round.
func TestReadsOfOtherAgents(t *testing.T) {
	for _, id := range []string{"x", ""} {
		t.Run("id "+id, func(t *testing.T) {
			mdl := adktest.Script(
				adktest.Calls(call(id, "search", m{"q": "<a&b>"})), adktest.Calls(call("t1", "transfer_to_agent", m{"agent_name": "sub"})),
				adktest.Calls(call("y", "look", nil)), adktest.Text("found it"), adktest.Text("bye"))
			sub := asks(t, "sub", mdl, prices(t, "look", 61000.5))
			root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{sub}})
			sink, r := recorded(t, recorder.Config{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			adktest.Run(t, r, "u", "s", adktest.UserText("and?"))
			rs := readingsOf(t, sink.Rows())
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
	one := adktest.Script(adktest.Calls(call("", "search", nil)), adktest.Text("one"))
	two := adktest.Script(adktest.Calls(call("", "look", nil)), adktest.Text("two"))
	last := adktest.Script(adktest.Text("all"))
	both := must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: []agent.Agent{
		asks(t, "one", one, prices(t, "search", 40000)), asks(t, "two", two, prices(t, "look", 52000)),
	}}}))
	sink, r := recorded(t, recorder.Config{}, sequential("root", both, asks(t, "last", last)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	for name, mdl := range map[string]*adktest.Model{"one": one, "two": two} {
		rows := slices.DeleteFunc(slices.Clone(sink.Rows()), func(e record.Event) bool { return e.Agent != name })
		readingsOf(t, rows).holdAgainst(t, mdl.Requests())
	}
	rs := readingsOf(t, sink.Rows())
	diff(t, "what the last agent had read", []string{`{"price":40000}`, `{"price":52000}`}, rs.calls(t, len(rs.order)-1))
}

// An agent without the history of its session reads what its turn holds.
func TestReadsWithoutContents(t *testing.T) {
	mdl := adktest.Script(
		adktest.Calls(call("", "search", nil)), adktest.Text("same"),
		adktest.Calls(call("", "search", nil)), adktest.Text("same"),
		adktest.Text("same"), adktest.Calls(call("", "search", nil)), adktest.Text("same"))
	root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000, 52000, 61000)}, IncludeContents: llmagent.IncludeContentsNone})
	sink, r := recorded(t, recorder.Config{}, root)
	for range 4 {
		adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	}
	readingsOf(t, sink.Rows()).holdAgainst(t, mdl.Requests())
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
	sink := &rowtest.Sink{}
	sink, r = recorded(t, recorder.Config{}, asks(t, "root", mdl, search, prices(t, "wait", nil)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.Rows())
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
			own, mdl := adktest.Script(tt.sub...), adktest.Script(
				adktest.Calls(call("", "search", nil)), adktest.Calls(call("", "sub", m{"request": "go"})), adktest.Text("done"))
			sub := llm(t, llmagent.Config{Name: "sub", Description: "looks", Model: own, Mode: tt.mode, Tools: []tool.Tool{prices(t, "look", 61000)}})
			root := llm(t, llmagent.Config{Name: "root", Model: mdl, Tools: []tool.Tool{prices(t, "search", 40000)}, SubAgents: []agent.Agent{sub}})
			sink, r := recorded(t, recorder.Config{}, root)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			rs := readingsOf(t, sink.Rows())
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
	one, two := adktest.Script(adktest.Calls(call("", "search", nil)), adktest.Text("it costs 40000")), adktest.Script(adktest.Text("fine"))
	a := must(workflow.NewAgentNode(asks(t, "one", one, prices(t, "search", 40000)), workflow.NodeConfig{}))
	b := must(workflow.NewAgentNode(asks(t, "two", two), workflow.NodeConfig{}))
	sink, r := recorded(t, recorder.Config{}, workflowOf(t, workflow.Chain(workflow.Start, a, b)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.Rows())
	diff(t, "what the second node had read", []string{`{"price":40000}`}, rs.calls(t, 2))
}

// So it does where a node without a model stands between them.
func TestReadsBehindANodeWithoutAModel(t *testing.T) {
	one, two := adktest.Script(adktest.Calls(call("", "search", nil)), adktest.Text("it costs 40000")), adktest.Script(adktest.Text("fine"))
	a := must(workflow.NewAgentNode(asks(t, "one", one, prices(t, "search", 40000)), workflow.NodeConfig{}))
	b := must(workflow.NewAgentNode(asks(t, "two", two), workflow.NodeConfig{}))
	quote := workflow.NewFunctionNode("quote", func(_ agent.Context, in any) (m, error) { return m{"quote": in}, nil }, workflow.NodeConfig{})
	sink, r := recorded(t, recorder.Config{}, workflowOf(t, workflow.Chain(workflow.Start, a, quote, b)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	rs := readingsOf(t, sink.Rows())
	diff(t, "what the second agent had read", []string{`{"price":40000}`}, rs.calls(t, 2))
}

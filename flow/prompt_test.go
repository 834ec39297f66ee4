// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// prompt returns what a model was shown, a part a line.
func prompt(req *model.LLMRequest) string {
	var b strings.Builder
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				args, _ := json.Marshal(p.FunctionCall.Args)
				fmt.Fprintf(&b, "%s: call %s%s\n", c.Role, p.FunctionCall.Name, args)
			case p.FunctionResponse != nil:
				result, _ := json.Marshal(p.FunctionResponse.Response)
				fmt.Fprintf(&b, "%s: result %s%s\n", c.Role, p.FunctionResponse.Name, result)
			default:
				fmt.Fprintf(&b, "%s: %s\n", c.Role, p.Text)
			}
		}
	}
	return b.String()
}

// TestPrompts holds what the agent of a node is shown before and after an answer, with the history of the run and
// without, in both services.
func TestPrompts(t *testing.T) {
	for where, service := range services() {
		for _, form := range []string{"history", "input"} {
			t.Run(where+"/"+form, func(t *testing.T) {
				var seen strings.Builder
				w := graphWorld(t, service(), func(w *world, g *flow.Graph) {
					search, err := functiontool.New(functiontool.Config{Name: "search", Description: "search"},
						func(agent.Context, struct {
							For string `json:"for"`
						}) (map[string]any, error) {
							return map[string]any{"price": 40}, nil
						})
					if err != nil {
						t.Fatal(err)
					}
					reader, err := llmagent.New(llmagent.Config{Name: "reader", Tools: []tool.Tool{search},
						Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
							if adktest.LastResponse(req) == nil {
								return adktest.Call("search", map[string]any{"for": "routes"}), nil
							}
							return adktest.Text("It costs 40."), nil
						}}})
					if err != nil {
						t.Fatal(err)
					}
					var opts []flow.AgentOption
					if form == "input" {
						opts = append(opts, flow.InputOnly())
					}
					g.Node("read", flow.AgentNode(reader))
					g.Node("buy", flow.AgentNode(watch("buyer", &seen), opts...))
					g.Edge(flow.Start, "read")
					g.Edge("read", "buy")
					g.Edge("buy", "read", flow.When("twice", func(s flow.State) bool { return s.Visits("buy") < 2 }))
					g.End("buy")
				})
				events, err := w.run(adktest.UserText("Buy a route."))
				if err != nil {
					t.Fatal(err)
				}
				seen.WriteString("= after the answer\n")
				events, err = w.run(yes(events, true))
				if err != nil {
					t.Fatal(err)
				}
				seen.WriteString("= after the second answer\n")
				if _, err = w.run(yes(events, true)); err != nil {
					t.Fatal(err)
				}
				path := "testdata/prompts_" + form + ".txt"
				if os.Getenv("UPDATE") != "" {
					if err := os.WriteFile(path, []byte(seen.String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if seen.String() != string(want) {
					t.Errorf("the agent was shown\n%s\nwant\n%s", seen.String(), want)
				}
			})
		}
	}
}

// watch has the agent's model note what it is shown.
func watch(name string, to *strings.Builder) agent.Agent {
	watched, err := llmagent.New(llmagent.Config{
		Name: name, Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			fmt.Fprintf(to, "- prompt\n%s", prompt(req))
			if last := adktest.LastResponse(req); last != nil {
				return adktest.Text("Bought."), nil
			}
			return adktest.Call("buy", map[string]any{"item": "route"}), nil
		}},
		Tools: []tool.Tool{confirmed},
	})
	if err != nil {
		panic(err)
	}
	return watched
}

var confirmed = func() tool.Tool {
	t, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buy", RequireConfirmation: true},
		func(agent.Context, struct {
			Item string `json:"item"`
		}) (map[string]any, error) {
			return map[string]any{"status": "bought"}, nil
		})
	if err != nil {
		panic(err)
	}
	return t
}()

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/record"
)

// rules are the configuration of the examples: get_price shows a drink and its price, order_drink acts on a drink.
const rules = `
extract:
  - {name: prices, tool: get_price, type: Drink, value: $.drink, attributes: {price: {path: $.price, type: money}}}
  - {name: orders, tool: order_drink, in: action, type: Drink, value: $.drink}
`

// cafe is the world of the examples: a menu with one drink, two tools, and an agent that follows a script.
type cafe struct {
	price     string // of a flat white, now
	getPrice  tool.Tool
	order     tool.Tool
	directory string
}

// drink is the argument and the result of both tools.
type drink struct {
	Drink string `json:"drink"`
	Price string `json:"price,omitempty"`
}

// newCafe opens a cafe where a flat white costs $4.20.
func newCafe() *cafe {
	c := &cafe{price: "$4.20"}
	var err error
	if c.directory, err = os.MkdirTemp("", "cafe"); err != nil {
		log.Fatal(err)
	}
	c.getPrice, err = functiontool.New(functiontool.Config{Name: "get_price", Description: "Returns the price of a drink."},
		func(_ agent.Context, d drink) (drink, error) { return drink{d.Drink, c.price}, nil })
	if err != nil {
		log.Fatal(err)
	}
	c.order, err = functiontool.New(functiontool.Config{Name: "order_drink", Description: "Orders a drink."},
		func(_ agent.Context, d drink) (drink, error) {
			fmt.Println("ran:", d.Drink)
			return d, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// close removes the journal.
func (c *cafe) close() { _ = os.RemoveAll(c.directory) }

// open opens an instance with the rules and more of a configuration file.
func (c *cafe) open(more string, opts ...contextgraph.Option) *contextgraph.Instance {
	file := filepath.Join(c.directory, "contextgraph.yaml")
	journal := fmt.Sprintf("journal: {path: %s}\n", filepath.Join(c.directory, "contextgraph.db"))
	if err := os.WriteFile(file, []byte(journal+rules+more), 0o600); err != nil {
		log.Fatal(err)
	}
	opts = append(opts, contextgraph.WithLogger(slog.New(slog.DiscardHandler)))
	cg, err := contextgraph.FromFile(file, opts...)
	if err != nil {
		log.Fatal(err)
	}
	return cg
}

// barista returns the agent with these tools.
func (c *cafe) barista(tools ...tool.Tool) agent.Agent {
	a, err := llmagent.New(llmagent.Config{Name: "barista", Model: script{}, Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// visit serves a guest who asks for a coffee, is asked, and says yes. meanwhile is called before the yes. It prints
// what the guest is asked, and the verdict.
func visit(cg *contextgraph.Instance, barista agent.Agent, meanwhile func()) {
	ctx := context.Background()
	r, err := runner.New(runner.Config{
		AppName: "cafe", Agent: barista, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		log.Fatal(err)
	}
	guest := record.Session{App: "cafe", User: "guest", ID: "table-1"}
	say := func(part *genai.Part) {
		message := genai.NewContentFromParts([]*genai.Part{part}, genai.RoleUser)
		for _, err := range r.Run(ctx, guest.User, guest.ID, message, agent.RunConfig{}) {
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	say(genai.NewPartFromText("A flat white, please."))
	asked, err := cg.Approvals(ctx, guest)
	if err != nil {
		log.Fatal(err)
	}
	if len(asked) == 0 {
		log.Fatal(errors.New("nobody was asked"))
	}
	fmt.Println("asked:", asked[0].Tool)
	meanwhile()
	yes := genai.NewPartFromFunctionResponse(toolconfirmation.FunctionCallName, map[string]any{"confirmed": true})
	yes.FunctionResponse.ID = asked[0].ConfirmationID
	say(yes)
	answered, err := cg.Approvals(ctx, guest)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("verdict: %s, %s\n", answered[0].Verdict, answered[0].State)
}

// nothing happens between question and answer.
func nothing() {}

// script is a model that looks the price up, orders, and reports the result.
type script struct{}

func (script) Name() string { return "script" }

func (script) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	flatWhite := map[string]any{"drink": "flat white"}
	next := genai.NewPartFromFunctionCall("get_price", flatWhite)
	for _, content := range req.Contents {
		for _, part := range content.Parts {
			switch result := part.FunctionResponse; {
			case result == nil:
			case result.Name == "get_price":
				next = genai.NewPartFromFunctionCall("order_drink", flatWhite)
			default:
				next = genai.NewPartFromText(strings.TrimSpace(fmt.Sprint(result.Response["message"])))
			}
		}
	}
	answer := &model.LLMResponse{Content: genai.NewContentFromParts([]*genai.Part{next}, genai.RoleModel)}
	return func(yield func(*model.LLMResponse, error) bool) { yield(answer, nil) }
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Agent is the smallest agent with an action behind the gate: go run ./examples/agent. It answers with Gemini when
// GOOGLE_API_KEY is set, else with a scripted model. The journal is contextgraph.db in the working directory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph"
)

func main() {
	if err := run(context.Background(), "examples/agent/contextgraph.yaml", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// drink is the argument and the result of both tools.
type drink struct {
	Drink string `json:"drink"`
	Price string `json:"price,omitempty"`
}

func run(ctx context.Context, config string, out io.Writer) (err error) {
	cg, err := contextgraph.FromFile(config, options()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cg.Close(ctx)) }()
	menu := map[string]string{"flat white": "$4.20"} // the world
	price, err1 := functiontool.New(functiontool.Config{Name: "get_price", Description: "Returns the price of a drink."},
		func(_ agent.Context, d drink) (drink, error) { return drink{d.Drink, menu[d.Drink]}, nil })
	order, err2 := functiontool.New(functiontool.Config{Name: "order_drink", Description: "Orders a drink."},
		func(_ agent.Context, d drink) (drink, error) {
			_, err := fmt.Fprintln(out, "ran      order_drink")
			return d, err
		})
	llm, err3 := newModel(ctx, os.Getenv("GOOGLE_API_KEY"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	order = cg.Protect(order)                          // it runs only with an approval
	if price, err = cg.Replayable(price); err != nil { // it only reads, so that a check may call it
		return err
	}
	barista, err := llmagent.New(llmagent.Config{
		Name: "barista", Model: llm, Instruction: "Look up the price of a drink, then order it.", Tools: []tool.Tool{price, order},
	})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{
		AppName: "cafe", Agent: barista, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		return err
	}
	unchanged := visit(ctx, out, cg, r, func() {})
	changed := visit(ctx, out, cg, r, func() { menu["flat white"] = "$5.00" })
	return errors.Join(unchanged, changed)
}

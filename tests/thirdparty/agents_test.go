// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/mcptoolset"
)

// The agents below are those ADK's own tests recorded. Every name, description
// and instruction is part of a recorded request and must not change.

type weatherInput struct {
	City string `json:"city" jsonschema:"city name"`
}

type weatherOutput struct {
	WeatherSummary string `json:"weather_summary" jsonschema:"weather summary in the given city"`
}

func weather(_ context.Context, _ *mcp.CallToolRequest, in weatherInput) (*mcp.CallToolResult, weatherOutput, error) {
	return nil, weatherOutput{WeatherSummary: fmt.Sprintf("Today in %q is sunny", in.City)}, nil
}

// weatherAgent returns an agent whose one tool is served by an MCP server in
// this process; cfg says which calls need a confirmation.
func weatherAgent(t *testing.T, llm model.LLM, cfg mcptoolset.Config) agent.Agent {
	t.Helper()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	server := mcp.NewServer(&mcp.Implementation{Name: "weather_server", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Description: "returns weather in the given city"}, weather)
	if _, err := server.Connect(t.Context(), serverTransport, nil); err != nil {
		t.Fatal(err)
	}
	cfg.Transport = clientTransport
	set, err := mcptoolset.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{
		Name:        "weather_time_agent",
		Model:       llm,
		Description: "Agent to answer questions about the time and weather in a city.",
		Instruction: "I can answer your questions about the time and weather in a city.",
		Toolsets:    []tool.Toolset{set},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type sumArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sumResult struct {
	Sum int `json:"sum"`
}

func sum(_ agent.Context, in sumArgs) (sumResult, error) {
	return sumResult{Sum: in.A + in.B}, nil
}

// calculatorAgent returns an agent with one function tool.
func calculatorAgent(t *testing.T, llm model.LLM) agent.Agent {
	t.Helper()
	sumTool, err := functiontool.New(functiontool.Config{Name: "sum", Description: "sums two integers"}, sum)
	if err != nil {
		t.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{
		Name:        "calculator",
		Description: "A calculator that can add two integers",
		Instruction: "You are a calculator assistant. You will recieve requests to add two integers. Respond with the sum of the two integers and you must use the sum tool to calculate the sum.",
		Model:       llm,
		Tools:       []tool.Tool{sumTool},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

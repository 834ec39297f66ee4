// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Agent is the smallest agent with contextgraph on. It answers with Gemini when GOOGLE_API_KEY is set, else with a
// scripted model. The journal is contextgraph.db in the working directory.
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
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/record"
)

func main() {
	if err := run(context.Background(), contextgraph.Config{}, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, cfg contextgraph.Config, out io.Writer, opts ...contextgraph.Option) (err error) {
	llm, err := newModel(ctx, os.Getenv("GOOGLE_API_KEY"))
	if err != nil {
		return err
	}
	price, err := functiontool.New(functiontool.Config{Name: "get_price", Description: "Returns the price of a drink."}, getPrice)
	if err != nil {
		return err
	}
	barista, err := llmagent.New(llmagent.Config{
		Name: "barista", Model: llm, Instruction: "Tell what drinks cost. Look prices up.", Tools: []tool.Tool{price},
	})
	if err != nil {
		return err
	}
	graph, err := contextgraph.Open(ctx, cfg, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.Close(ctx)) }()
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: "cafe", Agent: barista, SessionService: sessions, PluginConfig: graph.PluginConfig()})
	if err != nil {
		return err
	}
	s, err := sessions.Create(ctx, &session.CreateRequest{AppName: "cafe", UserID: "guest"})
	if err != nil {
		return err
	}
	question := genai.NewContentFromText("What does a flat white cost?", genai.RoleUser)
	for event, err := range r.Run(ctx, "guest", s.Session.ID(), question, agent.RunConfig{}) {
		if err != nil {
			return err
		}
		if event.IsFinalResponse() && event.Content != nil && len(event.Content.Parts) > 0 {
			fmt.Fprintln(out, event.Content.Parts[0].Text)
		}
	}
	g, err := graph.Graph(ctx, record.Session{App: "cafe", User: "guest", ID: s.Session.ID()})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "recorded %d rows in %s\n", len(g.Trace().Timeline), graph.JournalPath())
	return nil
}

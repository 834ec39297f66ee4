// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/cmd/launcher"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// An existing agent is recorded and guarded by what stands between FromFile and
// New.
func Example_runner() {
	var root agent.Agent // the agent as it is

	cg, err := contextgraph.FromFile("contextgraph.yaml")
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())

	r, err := runner.New(runner.Config{
		AppName:        "shop",
		Agent:          root,
		SessionService: session.InMemoryService(),
		PluginConfig:   cg.PluginConfig(),
	})
	if err != nil {
		log.Fatal(err)
	}
	_ = r
}

// A launcher takes the same value.
func Example_launcher() {
	var root agent.Agent // the agent as it is

	cg, err := contextgraph.FromFile("contextgraph.yaml")
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())

	config := &launcher.Config{
		AgentLoader:  agent.NewSingleLoader(root),
		PluginConfig: cg.PluginConfig(),
	}
	_ = config // goes to the launcher's Execute as before
}

// A tool whose effect matters is handed to its agent through Protect.
func ExampleInstance_Protect() {
	var cg *contextgraph.Instance
	var buy tool.Tool

	tools := []tool.Tool{cg.Protect(buy)}
	_ = tools // llmagent.Config.Tools
}

// A tool that knows exactly what it evaluated says so.
func ExampleInstance_RecordEntity() {
	var cg *contextgraph.Instance

	quote := func(ctx agent.Context, item string) (string, error) {
		price, err := entity.ParseMoney("$40,000", "USD")
		if err != nil {
			return "", err
		}
		err = cg.RecordEntity(ctx, entity.Entity{
			Type: "Product", Value: item,
			Attributes: map[string]entity.Value{"price": price},
		})
		return price.String(), err
	}
	_ = quote
}

// A checker in Go says what is true now.
func ExampleWithChecker() {
	stock := safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		available := true // ask the warehouse about e.Value
		return safety.State{
			Attributes: map[string]entity.Value{"availability": entity.Bool(available)},
			AsOf:       time.Now(),
		}, nil
	})
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithChecker("Product", stock))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cg.Close(context.Background())
}

// The checker over HTTP of a configuration file, from code.
func ExampleHTTPChecker() {
	products, err := contextgraph.HTTPChecker(nil, config.HTTP{
		URL:     "https://ads.example.com/v1/placements/{value}",
		AsOf:    "$.as_of",
		Version: "etag",
		Attributes: map[string]config.Answer{
			"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithChecker("Product", products))
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())
}

// The checker over SQL of a configuration file, from code.
func ExampleSQLChecker() {
	var db *sql.DB // opened with any driver

	budgets, err := contextgraph.SQLChecker(db, config.SQL{
		Database: "finance",
		Query:    "SELECT remaining, read_at, revision FROM budgets WHERE name = $1",
		Args:     []string{"{value}"},
		AsOf:     "read_at",
		Version:  "revision",
		Attributes: map[string]config.Column{
			"amount": {Column: "remaining", Type: entity.KindMoney, Currency: "USD"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithChecker("Budget", budgets))
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bqstream_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream"
)

// An agent streams to the dataset of its configuration with one more argument. Close
// sends what is left, in three quarters of the time that it gets.
func ExampleOption() {
	cg, err := contextgraph.FromFile("contextgraph.yaml", bqstream.Option())
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		if err := cg.Close(ctx); err != nil {
			log.Print(err)
		}
	}()

	// ... run the agent with cg.PluginConfig() ...

	s := cg.Stats().BigQuery
	fmt.Printf("%d rows behind, the oldest for %.0f s; %d dead letters; last error: %v\n", s.LagRows, s.LagSeconds, s.DeadLetters, s.LastError)
}

// Clients with other credentials, or another endpoint.
func ExampleWith() {
	clients := bqstream.Clients{
		Query: []option.ClientOption{option.WithEndpoint("https://bigquery-agents.p.googleapis.com/bigquery/v2/")},
		Write: []option.ClientOption{option.WithEndpoint("bigquerystorage-agents.p.googleapis.com:443")},
	}
	cg, err := contextgraph.FromFile("contextgraph.yaml", bqstream.With(clients))
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())
}

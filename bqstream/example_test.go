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
	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
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

// Why did the session ask for an approval?
func ExampleDataset_Graph() {
	ctx := context.Background()
	var ds *bqstream.Dataset // see NewDataset

	g, err := ds.Graph(ctx, ask.Scope{
		Session: record.Session{App: "shop", User: "alice", ID: "sess-1"},
		From:    time.Now().AddDate(0, 0, -7), // reads the partitions of these days alone
	})
	if err != nil {
		log.Fatal(err) // ask.ErrUnknownSession: not there yet, or another application, user or time
	}
	decision, ok := g.Decision()
	if !ok {
		log.Fatal("the session asked for no approval")
	}
	reasons, err := g.Why(decision)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range reasons {
		fmt.Printf("%s %q, %d hops before the request:\n", r.Entity.Type, r.Entity.Value, r.Hops)
		for _, step := range r.Path {
			fmt.Printf("  %s %s -%s->\n", step.Node.Agent, step.Node.Name, step.Edge)
		}
	}
	for _, c := range g.Checks {
		fmt.Println(c.CheckedAt, c.Stage, c.Verdict, c.Stale, "of", c.Checked, "changed")
	}
}

// Which approvals rest on this product?
func ExampleDataset_EntityAcrossSessions() {
	ctx := context.Background()
	var ds *bqstream.Dataset // see NewDataset

	uses, err := ds.EntityAcrossSessions(ctx, ask.EntityQuestion{
		Window: ask.Window{App: "shop", From: time.Now().AddDate(0, 0, -30)},
		Entity: entity.Entity{Type: "Product", Value: "Instagram Reels"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range uses.Approvals {
		fmt.Println(u.DecidedAt, u.Session.User, u.Session.ID, u.Name, u.Value)
	}
	if uses.Truncated {
		fmt.Println("there are more: ask about a shorter time, or raise the limit")
	}
}

// How often had the world changed before an action ran, and what?
func ExampleDataset_DriftStatistics() {
	ctx := context.Background()
	var ds *bqstream.Dataset // see NewDataset

	drift, err := ds.DriftStatistics(ctx, ask.Window{App: "shop", From: time.Now().AddDate(0, 0, -30)})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range drift.Verdicts {
		fmt.Println(v.Day.Format(time.DateOnly), v.Tool, v.Stage, v.Safe, v.Drift, v.Failed)
	}
	for _, c := range drift.Changes {
		fmt.Println(c.EntityType, c.Value, c.DriftType, c.Alerts, "times, last", c.Last)
	}
}

// How long did people take to answer?
func ExampleDataset_WaitingTimes() {
	ctx := context.Background()
	var ds *bqstream.Dataset // see NewDataset

	times, err := ds.WaitingTimes(ctx, ask.Window{From: time.Now().AddDate(0, 0, -30)})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range times.Groups {
		fmt.Printf("%s of %s for %s: %d of %d answered, median %s, 95 of 100 within %s\n",
			w.Kind, w.Agent, w.Tool, w.Answered, w.Requests, w.P50, w.P95)
	}
}

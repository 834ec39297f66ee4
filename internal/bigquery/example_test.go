// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// An agent streams to the dataset of its configuration with one more argument. Close
// sends what is left, in three quarters of the time that it gets.
func ExampleOpen() {
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithWarehouse(bigquery.Open))
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

	w := cg.Stats().Warehouse
	fmt.Printf("%d rows behind, the oldest for %.0f s; %d dead letters; last error: %v\n",
		w.LagRows, w.LagSeconds, w.DeadLetters, w.LastError)
}

// Clients with other credentials, or another endpoint.
func ExampleWith() {
	open := bigquery.With(bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint("https://bigquery-agents.p.googleapis.com/bigquery/v2/")},
		Write:  []option.ClientOption{option.WithEndpoint("bigquerystorage-agents.p.googleapis.com:443")},
	})
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithWarehouse(open))
	if err != nil {
		log.Fatal(err)
	}
	defer cg.Close(context.Background())
}

// Rows that BigQuery refused wait in the journal for somebody to decide: here they are
// sent again, after the reason is gone, and those that it refuses once more are given up.
func ExampleDataset_Resend() {
	ctx := context.Background()
	var cg *contextgraph.Instance // the instance of the program
	var ds *bigquery.Dataset      // see NewDataset

	box := cg.Journal().Outbox(ds.Names().Destination())
	letters, err := box.DeadLetters(ctx, 0) // the first 100
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range letters {
		fmt.Println(l.At, l.Session.ID, l.EventType, l.EventID, l.Code, l.Reason)
	}

	var refused []string
	report, err := ds.Resend(ctx, cg.Journal(), bigquery.ResendOptions{
		Refused: func(l journal.DeadLetter) { refused = append(refused, l.EventID) },
	})
	fmt.Println(report.Acknowledged, "rows are in the dataset now,", report.Refused, "were refused again")
	if err != nil {
		log.Fatal(err)
	}
	// For good: BigQuery never gets these rows, and retention may remove them.
	if _, err := box.Discard(ctx, refused); err != nil {
		log.Fatal(err)
	}
}

// What "contextgraph init" does, in a program.
func ExampleDataset_Init() {
	ctx := context.Background()
	cfg := warehouse.Config{Project: "my-project-123", Dataset: "agents", Location: "EU"}
	ds, err := bigquery.NewDataset(ctx, cfg, bigquery.DatasetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close()

	report, err := ds.Init(ctx, bigquery.InitOptions{})
	for _, o := range report.Objects {
		fmt.Println(o.Outcome, o.Kind, o.Name, o.Added)
	}
	for _, note := range report.Notes {
		fmt.Println("note:", note)
	}
	if err != nil {
		log.Fatal(err) // it names every object that failed; the others were made
	}
}

// Why did the session ask for an approval?
func ExampleDataset_ReasoningChain() {
	ctx := context.Background()
	var ds *bigquery.Dataset // see NewDataset

	why, err := ds.ReasoningChain(ctx, bigquery.ReasoningQuestion{Scope: bigquery.Scope{
		Session: contextgraph.Session{App: "shop", User: "alice", ID: "sess-1"},
		From:    time.Now().AddDate(0, 0, -7), // reads the partitions of these days alone
		To:      time.Now(),
	}})
	switch {
	case errors.Is(err, bigquery.ErrUnknownSession):
		log.Fatal(err) // not there yet, or another application, user or time
	case errors.Is(err, bigquery.ErrNoDecision):
		log.Fatal(err) // it asked for no approval
	case err != nil:
		log.Fatal(err)
	}
	for _, r := range why.Reasons {
		fmt.Printf("%s %q, %d hops before the request of %s:\n", r.Entity.Type, r.Entity.Value, r.Hops, why.DecidedAt)
		for _, step := range r.Path {
			fmt.Printf("  %s %s -%s->\n", step.Node.Agent, step.Node.Name, step.Edge)
		}
	}
}

// Which approvals rest on this product?
func ExampleDataset_EntityAcrossSessions() {
	ctx := context.Background()
	var ds *bigquery.Dataset // see NewDataset

	uses, err := ds.EntityAcrossSessions(ctx, bigquery.EntityQuestion{
		Window: bigquery.Window{App: "shop", From: time.Now().AddDate(0, 0, -30)},
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

// How long did people take to answer?
func ExampleDataset_WaitingTimes() {
	ctx := context.Background()
	var ds *bigquery.Dataset // see NewDataset

	times, err := ds.WaitingTimes(ctx, bigquery.Window{From: time.Now().AddDate(0, 0, -30)})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range times.Groups {
		fmt.Printf("%s of %s for %s: %d of %d answered, median %s, 95 of 100 within %s\n",
			w.Kind, w.Agent, w.Tool, w.Answered, w.Requests, w.P50, w.P95)
	}
}

// How often had the world changed before an action ran, and what?
func ExampleDataset_DriftStatistics() {
	ctx := context.Background()
	var ds *bigquery.Dataset // see NewDataset

	drift, err := ds.DriftStatistics(ctx, bigquery.Window{App: "shop", From: time.Now().AddDate(0, 0, -30)})
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream"
	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

// showSession is what a page shows for the session of TestCode; that test compares the two.
func showSession(ctx context.Context) error {
	// Open the instance.
	cg, err := contextgraph.FromFile("contextgraph.yaml")
	if err != nil {
		return err
	}
	defer cg.Close(context.WithoutCancel(ctx))
	session := record.Session{App: "shop", User: "alice", ID: "s-1"}

	// Extract the entities.
	graph, err := cg.Graph(ctx, session)
	if err != nil {
		return err
	}
	for _, e := range graph.Canonical() { // 0 entities
		fmt.Println(e.Type, e.Value, e.Confidence, e.Attributes)
	}

	// Link them to the steps that showed them.
	for _, e := range graph.Entities() {
		fmt.Println(e.TechNode, e.Type, e.Value, e.ArtifactURI)
	}

	// Create the graph: what caused what.
	for _, e := range graph.Edges() { // 2 edges
		fmt.Println(e.From, e.Kind, e.To)
	}

	// Trace the session.
	for _, event := range graph.Trace().Timeline { // 3 rows
		fmt.Println(event.EventType, event.Agent, event.Status)
	}

	// Explain the decision.
	reasons, err := cg.Why(ctx, session) // what the request to run buy rests on
	if err != nil {
		return err
	}
	for _, r := range reasons {
		fmt.Println(r.Entity.Type, r.Entity.Value, r.Hops)
		for _, step := range r.Path {
			fmt.Println("  ", step.Node.Agent, step.Node.Name, step.Edge)
		}
	}

	// Check whether the world has changed.
	report, err := cg.Check(ctx, session)
	if err != nil {
		return err
	}
	fmt.Println(report.Summary())
	if !report.IsSafeToApprove() { // also when anything could not be checked
		for _, alert := range report.Alerts() {
			fmt.Println(alert.Entity, alert.Attribute, alert.Before, alert.After, alert.Recommendation)
		}
		for _, failure := range report.Failures() {
			fmt.Println(failure)
		}
	}

	// Read who did what.
	history, err := cg.History(ctx, session, "approval")
	if err != nil {
		return err
	}
	for _, step := range history {
		fmt.Println(step.At, step.From, step.To, step.Actor, step.Verdict, step.Note)
	}

	// Ask the dataset the same.
	dataset, err := bqstream.NewDataset(ctx, config.BigQuery{
		Project: "my-project-123", Dataset: "agents", Location: "EU",
	}, bqstream.Clients{})
	if err != nil {
		return err
	}
	defer dataset.Close()
	kept, err := dataset.Graph(ctx, ask.Scope{
		Session: session,
		From:    time.UnixMicro(1772712000000001), To: time.UnixMicro(1772712000000003),
	})
	if err != nil {
		return err
	}
	fmt.Println(len(kept.Nodes()), "steps,", len(kept.Entities()), "entities,", len(kept.Checks), "checks")
	return nil
}

var _ = showSession

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package bqstream streams the record of an agent to BigQuery, and keeps the graph of each
// session there. It is an optional part of contextgraph: a program that does not import it does
// not link Google's client. The configuration names the dataset, in the section bigquery; the
// program gives one more option:
//
//	cg, err := contextgraph.FromFile("contextgraph.yaml", bqstream.Option())
//
// Rows are delivered at least once: SQL of your own reads the view agent_events_unique or a
// typed view, which show each event once. The command line asks a dataset questions, sends rows
// again that were refused, and has a model find entities; docs/bigquery.md is the guide.
//
// Credentials are those that Google's libraries find in the environment. [With] takes others.
package bqstream

import (
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

// Clients are options of Google's clients, such as credentials or an endpoint.
type Clients struct {
	// Query is for the client of BigQuery. Defaults to what the environment says.
	Query []option.ClientOption
	// Write is for the clients of the Storage Write API, which streams over gRPC. Defaults to
	// Query, which will not do if that has an endpoint or an HTTP client.
	Write []option.ClientOption
}

// Option streams to the dataset that the configuration names, if it names one.
func Option() contextgraph.Option { return With(Clients{}) }

// With is as [Option], with clients of its own.
func With(c Clients) contextgraph.Option {
	return contextgraph.WithPart(bigquery.With(bigquery.DatasetOptions{Client: c.Query, Write: c.Write}))
}

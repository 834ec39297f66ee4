// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package bigquery is the BigQuery client of contextgraph: it creates what a dataset
// holds, streams the rows of a journal to it, keeps the graph of each session there and
// asks questions about one session or all of them. Package warehouse has the names and
// the statements, package config the section of the configuration; docs/bigquery.md is the
// guide.
//
// A program streams with an option of package bqstream, which gives what [With] returns to the
// instance. Rows are delivered at least once: SQL of your own reads the view agent_events_unique or
// a typed view, which show each event once.
//
// Everything else is a method of [Dataset]: [Dataset.Init] makes what is missing,
// [GraphWriter.Write] brings a graph, [Dataset.Extract] lets a model find entities,
// [Dataset.Resend] sends rows again that were refused, and the questions are
// [Dataset.ReasoningChain], [Dataset.ExplainDecision], [Dataset.CausalChain],
// [Dataset.Trace], [Dataset.WorldChangeInputs], [Dataset.EntityAcrossSessions],
// [Dataset.WaitingTimes] and [Dataset.DriftStatistics]. Those about the graph are asked in
// recursive SQL, or in GQL where [config.Queries] says so. MaxBytesBilled of the configuration bounds what
// each query may cost.
//
// Credentials are those that Google's libraries find in the environment; [DatasetOptions] can
// give others.
package bigquery

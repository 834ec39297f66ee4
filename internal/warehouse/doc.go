// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package warehouse says what stands in BigQuery: which tables, views and property
// graph a dataset of contextgraph has, what they are called, and every statement that
// is run against them. [Definitions] returns everything that "contextgraph init" makes,
// [Status] says how far a dataset is behind its journal.
//
// It holds texts and types alone. Package
// [github.com/adk-contextgraph/contextgraph/internal/bigquery] is the client that
// uses them; a program that does not import it does not link a BigQuery client.
//
// The guide is docs/bigquery.md. No statement has been run on BigQuery itself:
// docs/internal/statements.md says what was done with each of them instead.
package warehouse

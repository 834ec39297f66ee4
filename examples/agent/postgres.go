// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/pgstore"
)

var database = flag.String("postgres", "", "keep rows and approvals in the PostgreSQL database with this URL, in place of the journal")

// options are those of an agent that may use a database.
func options() []contextgraph.Option {
	if flag.Parse(); *database != "" {
		os.Setenv("CONTEXTGRAPH_STORE_POSTGRES_DSN", *database)
	}
	return []contextgraph.Option{pgstore.Option()}
}

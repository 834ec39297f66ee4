// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program clientonly links ADK and the BigQuery clients that contextgraph is used with,
// without contextgraph, and prints what they registered.
package main

import (
	"log"
	"os"

	_ "cloud.google.com/go/bigquery"
	_ "cloud.google.com/go/bigquery/storage/managedwriter"
	_ "google.golang.org/adk/v2/agent"
	_ "google.golang.org/adk/v2/plugin"
	_ "google.golang.org/adk/v2/runner"
	_ "google.golang.org/adk/v2/session"
	_ "google.golang.org/adk/v2/tool"
	_ "google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
)

func main() {
	if err := globals.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

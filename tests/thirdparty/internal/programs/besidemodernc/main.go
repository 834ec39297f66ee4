// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program besidemodernc links contextgraph and its BigQuery client beside modernc.org/sqlite, uses both,
// and prints what is registered then.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	_ "modernc.org/sqlite"

	_ "github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/programs"
)

func main() {
	ctx := context.Background()
	if err := errors.Join(programs.UseDriver(ctx), programs.UseJournal(ctx), globals.Write(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

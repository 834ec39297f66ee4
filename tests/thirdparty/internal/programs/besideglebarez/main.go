// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program besideglebarez links contextgraph and its BigQuery client beside github.com/glebarez/sqlite, uses both,
// and prints what is registered then.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	_ "github.com/glebarez/sqlite"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/programs"
	_ "github.com/adk-contextgraph/contextgraph/warehouse/bigquery"
)

func main() {
	ctx := context.Background()
	if err := errors.Join(programs.UseDriver(ctx), programs.UseJournal(ctx), globals.Write(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

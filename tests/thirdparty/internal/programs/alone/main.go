// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program alone links and uses contextgraph and prints what is registered then.
package main

import (
	"context"
	"log"
	"os"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/programs"
)

func main() {
	if err := programs.UseJournal(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := globals.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

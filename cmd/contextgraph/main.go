// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Command contextgraph looks after the dataset of contextgraph in BigQuery: see
// "contextgraph --help". It ends with 0 when it did what it was asked, with 1 when it
// could not, and with 2 when it was asked in a way that it does not know.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends what is under way in order, the second one ends the program.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], &app{stdout: os.Stdout, stderr: os.Stderr})
	stop()
	os.Exit(code)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Command contextgraph shows what agents did and why, lists requests for approvals, and checks
// whether the world has changed since. It also looks after the dataset in BigQuery. "contextgraph
// --help" has the commands and the exit codes.
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

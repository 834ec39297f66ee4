// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Adcp is a media-buying demo in the manner of the Ad Context Protocol: agents plan three campaigns and ask a person
// before they spend, the world changes before the answer, and contextgraph lets only the plan run that still holds.
//
// It needs no key and no network: an ad server on loopback and a scripted model stand in for both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `Plan three ad campaigns with agents, ask before spending, and let the world change meanwhile.

Usage:
  go run ./examples/adcp [--dir DIR] [--flow]

Flags:
  --dir DIR   folder for the journal and the page (default "contextgraph-demo"); a later run replaces them there
  --flow      run the agents as a graph of package flow; the verdicts are the same

Examples:
  go run ./examples/adcp
  go run ./examples/adcp --dir /tmp/demo

The exit status is 0 when all three sessions end as they must, 1 when one does not, and 2 for a wrong flag.
`

// errUsage marks errors of the command line.
var errUsage = errors.New("run with --help for the flags")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "adcp:", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// run is the program without the process around it.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("adcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("dir", "contextgraph-demo", "")
	asFlow := flags.Bool("flow", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err := io.WriteString(stdout, usage)
		return err
	case err != nil:
		return fmt.Errorf("%w; %w", err, errUsage)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; %w", flags.Arg(0), errUsage)
	case *dir == "":
		return fmt.Errorf("--dir is empty; %w", errUsage)
	}
	journal, err := prepareFolder(*dir)
	if err != nil {
		return err
	}
	agents := newAgents
	if *asFlow {
		agents = newFlow
	}
	if err := runDemo(ctx, journal, agents, stdout); err != nil {
		return err
	}
	page, err := writePage(ctx, journal)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "journal     %s\npage        %s\ntry next    go run ./cmd/contextgraph approvals --journal %q\n            sqlite3 %q %q\n", journal, page, journal, journal, nextQuery)
	return err
}

// nextQuery is a query that the demo suggests.
const nextQuery = "SELECT session_id, tool, state, verdict FROM approvals"

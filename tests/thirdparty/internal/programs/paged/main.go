// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program paged links contextgraph with its page, uses both, and prints what is registered then.
// The page of a new journal is an error that names the journal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/page"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
)

func main() {
	if err := errors.Join(show(context.Background()), globals.Write(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

func show(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "contextgraph-program-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var cfg contextgraph.Config
	cfg.Journal.Path = filepath.Join(dir, "contextgraph.db")
	in, err := contextgraph.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close(ctx)) }()
	err = page.Write(ctx, in.JournalPath(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), in.JournalPath()) {
		return fmt.Errorf("the page of a journal without sessions: %v, want an error that names %s", err, in.JournalPath())
	}
	return nil
}

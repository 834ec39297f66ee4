// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program streaming links and uses contextgraph with its BigQuery client and prints what
// is registered then. It has nothing to stream.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
)

func main() {
	if err := errors.Join(stream(context.Background()), globals.Write(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

func stream(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "contextgraph-program-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := contextgraph.Config{BigQuery: config.BigQuery{Project: "my-project", Dataset: "agents", Init: new(false)}}
	cfg.Journal.Path = filepath.Join(dir, "contextgraph.db")
	in, err := contextgraph.Open(ctx, cfg, bqstream.With(bqstream.Clients{Query: []option.ClientOption{option.WithoutAuthentication()}}))
	if err != nil {
		return err
	}
	return errors.Join(in.FlushBigQuery(ctx), in.Close(ctx))
}

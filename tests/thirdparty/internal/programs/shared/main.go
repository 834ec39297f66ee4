// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Program shared links contextgraph with its client for PostgreSQL and prints what is registered then. It has no database.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/pgstore"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
)

func main() {
	if err := errors.Join(share(context.Background()), globals.Write(os.Stdout)); err != nil {
		log.Fatal(err)
	}
}

func share(ctx context.Context) error {
	const nobody = "postgres://agent@127.0.0.1:1/app"
	in, err := contextgraph.Open(ctx, contextgraph.Config{Store: config.Store{Postgres: config.Postgres{DSN: nobody}}}, pgstore.Option())
	if err == nil {
		return fmt.Errorf("opened a database that is not there: %w", in.Close(ctx))
	}
	return nil
}

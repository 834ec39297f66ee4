// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Querier is a database that a checker asks. A [*sql.DB] is one. Where it has BeginTx as well,
// the query runs in a read-only transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// HTTPChecker returns the checker that cfg describes, for [WithChecker]. It is the one that a
// configuration file gets for checkers[].http, with the same defaults. The client sends the
// requests, for example with a certificate of its own. A nil client is one over
// [http.DefaultTransport]. No client follows redirects: a redirect is no answer. All mistakes in
// cfg are reported at once, as [config.Error]s that name the fields. The checker is safe for
// concurrent use.
func HTTPChecker(client *http.Client, cfg config.HTTP) (safety.Checker, error) {
	checker, err := source.HTTP(cfg, client, nil)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: %w", err)
	}
	return checker, nil
}

// SQLChecker returns the checker that cfg describes, for [WithChecker]. It is the one that a
// configuration file gets for checkers[].sql, with the same defaults, and it asks db. Here
// cfg.Database only names db in errors and reports; it defaults to "database". All mistakes in
// cfg are reported at once, as [config.Error]s that name the fields. The checker is safe for
// concurrent use and never closes db.
func SQLChecker(db Querier, cfg config.SQL) (safety.Checker, error) {
	cfg.Database = cmp.Or(cfg.Database, "database")
	checker, err := source.SQL(cfg, db, safety.OriginSQL, nil)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: %w", err)
	}
	return checker, nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bqstream

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// featureChecker is the label sdk_feature of the queries of a [Checker].
const featureChecker = "checker"

// CheckerConfig configures a [Checker].
type CheckerConfig struct {
	// Project runs and pays for the queries. Required.
	Project string
	// Location is where they run. Default: where the tables are that they read.
	Location string
	// Query is the query for one entity, with a ? for each parameter. It must give
	// one row, or none if the entity does not exist. Required.
	Query string
	// Args are the arguments of the parameters, in order. In each of them {value}, {type} and
	// {attributes.NAME} stand for those of the entity. They are never part of the query. An
	// argument that is one attribute and nothing else has its type. Amounts of money and numbers
	// with a fraction are exact texts: compare CAST(? AS NUMERIC).
	Args []string
	// Attributes says what to read. At least one is required. NUMERIC and BIGNUMERIC are
	// read exactly. NULL means that the answer does not have the attribute. Conversion is
	// strict: a text is no boolean. The integers 0 and 1 are.
	Attributes map[string]config.Column
	// AsOf is "fetch" (default) for the time the query was sent, or the name of a column of
	// type TIMESTAMP. Where a pipeline fills the table, "fetch" is wrong: the answer is as
	// old as the last load.
	AsOf string
	// Version is the name of a column with the revision of the row; "" for none.
	Version string
	// MaxBytesBilled bounds what one query may read: one that would read more fails and
	// costs nothing. Default 10 GiB.
	MaxBytesBilled config.Size
	// Labels are set on every query, beside those that begin with sdk, which are ours.
	Labels map[string]string
	// Timeout bounds one query. Default: the timeout of the check of one entity.
	Timeout time.Duration
	// Client are options of the client, such as credentials. Default: what the
	// environment says.
	Client []option.ClientOption
	// Now is the clock of "fetch". Default [time.Now].
	Now func() time.Time
}

// Checker is a [safety.Checker] that asks BigQuery, for WithChecker of package
// contextgraph. Results of earlier queries are not used again. It is safe for
// concurrent use. The caller closes it, after the instance that uses it.
type Checker struct {
	client  *bq.Client
	db      *sql.DB
	checker safety.Checker
	timeout time.Duration
}

// NewChecker checks cfg and makes a client. It sends nothing yet.
func NewChecker(ctx context.Context, cfg CheckerConfig) (*Checker, error) {
	var errs []error
	if cfg.Project == "" {
		errs = append(errs, errors.New("Project is missing: somebody has to pay for the queries"))
	}
	if cfg.MaxBytesBilled < 0 {
		errs = append(errs, fmt.Errorf("MaxBytesBilled is %d: it must not be negative", cfg.MaxBytesBilled))
	}
	if cfg.Timeout < 0 {
		errs = append(errs, fmt.Errorf("Timeout is %v: it must not be negative", cfg.Timeout))
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Labels)) {
		if strings.HasPrefix(key, "sdk") {
			errs = append(errs, fmt.Errorf("label %q: those that begin with sdk are set here; give it another name", key))
		}
	}
	q := &querier{location: cfg.Location, maxBytes: int64(cmp.Or(cfg.MaxBytesBilled, config.Default().BigQuery.MaxBytesBilled))}
	q.labels = map[string]string{"sdk": "contextgraph", "sdk_version": bigquery.Version(), "sdk_surface": "go", "sdk_feature": featureChecker}
	maps.Copy(q.labels, cfg.Labels)
	db := sql.OpenDB(q)
	checker, err := source.SQL(config.SQL{
		Database: cmp.Or(cfg.Project, "bigquery"), Query: cfg.Query, Args: cfg.Args,
		Attributes: cfg.Attributes, AsOf: cfg.AsOf, Version: cfg.Version,
	}, db, safety.OriginBigQuery, cfg.Now)
	if err = errors.Join(append(errs, err)...); err == nil {
		// A client keeps the context it is made with.
		q.client, err = bq.NewClient(context.WithoutCancel(ctx), cfg.Project, cfg.Client...)
		err = bigquery.Brief(err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bigquery checker: %w", err), db.Close())
	}
	return &Checker{client: q.client, db: db, checker: checker, timeout: cfg.Timeout}, nil
}

// Check implements [safety.Checker].
func (c *Checker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	return c.checker.Check(ctx, e)
}

// Close ends the client. Checks under way fail.
func (c *Checker) Close() error { return errors.Join(c.db.Close(), c.client.Close()) }

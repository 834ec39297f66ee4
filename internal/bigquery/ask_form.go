// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
)

// asked is one question in both forms.
type asked[T any] struct {
	recursive, gql func(ctx context.Context) ([]T, error)
}

// both makes a question of the statements name and name_gql, with the same parameters
// but for those in sqlOnly, which only the recursive form has. Both return the same
// columns, of which read makes a part of the answer.
func both[T any](d *Dataset, name string, bounds any, read func(*row) T, params []bq.QueryParameter, sqlOnly ...bq.QueryParameter) asked[T] {
	recursive := askJob(name, nil, append(params[:len(params):len(params)], sqlOnly...))
	gql := askJob(name+"_gql", bounds, params)
	return asked[T]{
		recursive: func(ctx context.Context) ([]T, error) { return all(ctx, d, recursive, read) },
		gql:       func(ctx context.Context) ([]T, error) { return all(ctx, d, gql, read) },
	}
}

// answer asks a question in the form that the configuration says: in GQL with
// [config.QueriesGQL], and in recursive SQL with the others.
//
// SQL has the bounds of a question where the table is read. The graph stands on views, and
// BigQuery's documents do not say that a bound passes through them. So nobody asks in GQL who did
// not choose it.
func answer[T any](ctx context.Context, d *Dataset, q asked[T]) ([]T, ask.Form, error) {
	if d.cfg.Graph.Queries != config.QueriesGQL {
		rows, err := q.recursive(ctx)
		return rows, ask.FormRecursive, err
	}
	rows, err := q.gql(ctx)
	switch {
	case tooCostly(err):
		return nil, ask.FormGQL, fmt.Errorf("%w (graph.queries is gql: ask about a shorter time or fewer hops, or set it to auto: recursive SQL follows each edge once)", err)
	case err != nil:
		return nil, ask.FormGQL, fmt.Errorf("%w (graph.queries is gql: the dataset needs the property graph %s, and the project on-demand pricing or a reservation of an edition that has graphs; with auto or recursive none is needed)", err, d.names.Graph())
	}
	return rows, ask.FormGQL, nil
}

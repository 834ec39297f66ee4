// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
)

// graphState is what is known of the property graph of a dataset. The zero value is
// that nothing is.
type graphState struct{ missing atomic.Bool }

// asked is one question in both forms.
type asked[T any] struct {
	recursive, gql func(ctx context.Context) ([]T, error)
}

// both makes a question of the statements name and name_gql, with the same parameters
// but for those in sqlOnly, which only the recursive form has. Both return the same
// columns.
func both[T any](d *Dataset, name string, bounds any, params []bq.QueryParameter, sqlOnly ...bq.QueryParameter) asked[T] {
	recursive := askJob(name, nil, append(params[:len(params):len(params)], sqlOnly...))
	gql := askJob(name+"_gql", bounds, params)
	return asked[T]{
		recursive: func(ctx context.Context) ([]T, error) { return all[T](ctx, d, recursive) },
		gql:       func(ctx context.Context) ([]T, error) { return all[T](ctx, d, gql) },
	}
}

// answer asks a question in the form that the configuration says: in GQL where it says
// so or where the dataset may have the graph, and in recursive SQL otherwise, and where
// GQL gave no rows: the edges of a graph can be missing while the tables have them.
//
// With [config.QueriesAuto] a question that BigQuery cannot read as GQL is asked
// again in recursive SQL, and so is every later one of the Dataset. One that needs too
// much as GQL is asked again too, and later ones are not. All other errors are returned: a
// graph that somebody may not read is not a graph that is not there.
func answer[T any](ctx context.Context, d *Dataset, q asked[T]) ([]T, ask.Form, error) {
	mode := d.cfg.Graph.Queries
	if mode == config.QueriesRecursive || mode == config.QueriesAuto && d.graph.missing.Load() {
		rows, err := q.recursive(ctx)
		return rows, ask.FormRecursive, err
	}
	rows, err := q.gql(ctx)
	switch {
	case tooCostly(err) && mode == config.QueriesGQL:
		return nil, ask.FormGQL, fmt.Errorf("%w (graph.queries is gql: ask about a shorter time or fewer hops; with auto the question is asked again in recursive SQL, which follows each edge once)", err)
	case err != nil && mode == config.QueriesGQL:
		return nil, ask.FormGQL, fmt.Errorf("%w (graph.queries is gql: the dataset needs the property graph %s, and the project on-demand pricing or a reservation of an edition that has graphs; with auto or recursive none is needed)", err, d.names.Graph())
	case err != nil && !noGraph(err) && !tooCostly(err):
		return nil, ask.FormGQL, err
	case err == nil && len(rows) > 0:
		return rows, ask.FormGQL, nil
	}
	again, recursiveErr := q.recursive(ctx)
	switch {
	case recursiveErr != nil && err != nil:
		return nil, ask.FormRecursive, fmt.Errorf("%w; before that, in GQL: %w", recursiveErr, err)
	case recursiveErr != nil:
		return nil, ask.FormRecursive, recursiveErr
	case tooCostly(err):
		d.log.InfoContext(ctx, "contextgraph: a graph query needed too much and was asked again in recursive SQL",
			"dataset", d.names.Dataset(), "graph", d.names.Graph(), "error", err)
	case err != nil && !d.graph.missing.Swap(true):
		d.log.InfoContext(ctx, "contextgraph: the dataset answers no graph queries; questions are asked in recursive SQL",
			"dataset", d.names.Dataset(), "graph", d.names.Graph(), "error", err)
	}
	return again, ask.FormRecursive, nil
}

// counted asks a question that follows no path. The graph has nothing there that the
// tables have not, and only the sessions that were brought to it: it is asked where the
// configuration insists on GQL, and where it has no rows then, SQL is.
func counted[T any](ctx context.Context, d *Dataset, q asked[T]) ([]T, ask.Form, error) {
	if d.cfg.Graph.Queries == config.QueriesGQL {
		return answer(ctx, d, q)
	}
	rows, err := q.recursive(ctx)
	return rows, ask.FormRecursive, err
}

// noGraph reports whether BigQuery could not read a statement, or did not find what it
// names: what a dataset without the graph and an edition without graphs answer.
func noGraph(err error) bool {
	var status *googleapi.Error
	if errors.As(err, &status) {
		if tooCostly(err) {
			return false
		}
		return status.Code == http.StatusBadRequest || status.Code == http.StatusNotFound || status.Code == http.StatusNotImplemented
	}
	var reason *bq.Error
	if errors.As(err, &reason) {
		switch reason.Reason {
		case "invalid", "invalidQuery", "notFound", "notImplemented":
			return true
		}
		// Not every server gives a statement it cannot read the reason invalidQuery.
		return strings.Contains(reason.Message, "Syntax error")
	}
	return false
}

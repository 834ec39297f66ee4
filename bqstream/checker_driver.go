// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bqstream

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// querier is BigQuery as package [database/sql] asks it: queries alone, and of their rows
// as many as it takes to know whether there is exactly one.
type querier struct {
	client   *bq.Client
	location string
	maxBytes int64
	labels   map[string]string
}

var (
	_ driver.Connector      = (*querier)(nil)
	_ driver.QueryerContext = (*querier)(nil)
)

// errQueriesOnly is returned for every statement but a query.
var errQueriesOnly = errors.New("only queries are possible here")

// Connect implements [driver.Connector].
func (q *querier) Connect(context.Context) (driver.Conn, error) { return q, nil }

// Driver implements [driver.Connector].
func (q *querier) Driver() driver.Driver { return q }

// Open implements [driver.Driver].
func (q *querier) Open(string) (driver.Conn, error) { return nil, errQueriesOnly }

// Prepare implements [driver.Conn].
func (q *querier) Prepare(string) (driver.Stmt, error) { return nil, errQueriesOnly }

// Begin implements [driver.Conn].
func (q *querier) Begin() (driver.Tx, error) { return nil, errQueriesOnly }

// Close implements [driver.Conn]. A connection is nothing of its own.
func (q *querier) Close() error { return nil }

// QueryContext implements [driver.QueryerContext].
func (q *querier) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	query := q.client.Query(text)
	for _, a := range args {
		query.Parameters = append(query.Parameters, bq.QueryParameter{Value: a.Value})
	}
	query.Location, query.MaxBytesBilled, query.Labels = q.location, q.maxBytes, maps.Clone(q.labels)
	query.DisableQueryCache = true
	it, err := query.Read(ctx)
	if err != nil {
		return nil, brief(err)
	}
	// The first answer brings them; a page size would cost a second request.
	const enough = 2
	rows := new(fetched)
	for len(rows.rows) < enough {
		var row []bq.Value
		err := it.Next(&row)
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return nil, brief(err)
		}
		rows.rows = append(rows.rows, row)
	}
	for _, f := range it.Schema {
		rows.columns = append(rows.columns, f.Name)
	}
	return rows, nil
}

// brief shortens an error of BigQuery, and names one of the service itself as such.
func brief(err error) error {
	short := bigquery.Brief(err)
	if api, is := errors.AsType[*googleapi.Error](err); is && api.Code >= http.StatusInternalServerError {
		return &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: short}
	}
	return short
}

// fetched are the rows of a query.
type fetched struct {
	columns []string
	rows    [][]bq.Value
}

func (f *fetched) Columns() []string { return f.columns }
func (f *fetched) Close() error      { return nil }

// Next implements [driver.Rows]. A NUMERIC becomes its exact digits.
func (f *fetched) Next(dest []driver.Value) error {
	if len(f.rows) == 0 {
		return io.EOF
	}
	for i, v := range f.rows[0] {
		switch x := v.(type) {
		case time.Time:
		case *big.Rat:
			digits, _ := x.FloatPrec()
			v = x.FloatString(digits)
		case fmt.Stringer: // dates and times without a zone
			v = x.String()
		}
		dest[i] = v
	}
	f.rows = f.rows[1:]
	return nil
}

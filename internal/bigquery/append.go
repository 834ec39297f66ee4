// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// appender sends rows to one table, one request after another, on a stream that it opens when it
// needs one. It is for rows that come now and then; a replicator sends what never ends. The caller
// disconnects it, and calls its methods from one goroutine.
type appender struct {
	target replicate.Target
	// timeout bounds one attempt.
	timeout time.Duration

	stream replicate.Stream // nil when none is open
}

// appendAttempts is how often in succession a request may fail for reasons that pass.
const appendAttempts = 5

// appendTo returns an appender of rows to a table beside that of events. encodeRows makes them.
func (d *Dataset) appendTo(t warehouse.Table) *appender {
	return &appender{target: d.target(t.Name, wire.DescriptorOf(t.Name, t.Columns)), timeout: d.ackTimeout}
}

// encodeRows returns rows as the table takes them. Each is a value that encoding/json encodes with a
// member for each column that is not NULL.
func encodeRows[T any](t warehouse.Table, rows []T) ([][]byte, error) {
	out := make([][]byte, len(rows))
	for i := range rows {
		text, err := json.Marshal(&rows[i])
		if err == nil {
			out[i], err = wire.AppendJSON(nil, t.Columns, text)
		}
		if err != nil {
			return nil, fmt.Errorf("encode row %d of %s: %w", i, t.Name, err)
		}
	}
	return out, nil
}

// refuses reports whether an error says that a request was refused for what it holds.
func refuses(err error) bool {
	class := replicate.ClassOf(err)
	return class == replicate.ClassRows || class == replicate.ClassTooLarge
}

// all sends rows in as few requests as their sizes allow, and returns nil when each is
// acknowledged.
func (a *appender) all(ctx context.Context, rows [][]byte) error {
	for first := 0; first < len(rows); {
		size, end := len(rows[first]), first+1
		for end < len(rows) && size+len(rows[end]) <= replicate.DefaultBatchBytes {
			size += len(rows[end])
			end++
		}
		if err := a.request(ctx, rows[first:end]); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// request sends one request, again while it fails for reasons that may pass, and returns
// nil when it is acknowledged.
func (a *appender) request(ctx context.Context, rows [][]byte) error {
	upgraded := false
	for attempts := 1; ; attempts++ {
		err := a.attempt(ctx, rows)
		if err == nil || refuses(err) {
			return err
		}
		a.disconnect()
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		class := replicate.ClassOf(err)
		switch {
		case class == replicate.ClassPermanent, ctx.Err() != nil:
			return err
		case attempts == appendAttempts:
			return fmt.Errorf("%d attempts failed: %w", attempts, err)
		case class == replicate.ClassSchema && !upgraded:
			upgraded = true
			if err := a.target.Upgrade(ctx); err != nil {
				return err
			}
		}
		if stop := sleep(ctx, replicate.LongestPause(class, attempts)); stop != nil {
			return fmt.Errorf("%w: %w", stop, err)
		}
	}
}

// attempt sends one request and waits for the answer.
func (a *appender) attempt(ctx context.Context, rows [][]byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("the stream has answered nothing for %v", a.timeout))
	defer cancel()
	if a.stream == nil {
		s, err := a.target.Open(ctx)
		if err != nil {
			return err
		}
		a.stream = s
	}
	pending, err := a.stream.Append(ctx, rows)
	if err != nil {
		return err
	}
	if err = pending.Wait(ctx); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// disconnect ends the stream. Its answer concerns nobody: every request was
// answered, or is sent again on another one.
func (a *appender) disconnect() {
	if a.stream != nil {
		_ = a.stream.Close()
		a.stream = nil
	}
}

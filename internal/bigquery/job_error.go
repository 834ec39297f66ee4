// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// maxWords bounds what an error repeats of BigQuery's words, in bytes. They can quote the
// values of rows, which do not belong into logs, and a page of a proxy in between.
const maxWords = 400

// briefError says in short what BigQuery said.
type briefError struct{ err error }

// Brief shortens the text of an error of BigQuery. errors.As and errors.Is see the whole
// error. A context that ended and nil stay as they are.
func Brief(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return briefError{err}
}

// Unwrap returns the error of BigQuery.
func (e briefError) Unwrap() error { return e.err }

// Error returns the first line of what was said, without the details of the protocol.
func (e briefError) Error() string {
	words := e.err.Error()
	if job, ok := e.err.(*bq.Error); ok {
		words = job.Message
		if job.Reason != "" {
			words += " (" + job.Reason + ")"
		}
	}
	words, _, _ = strings.Cut(strings.TrimSpace(words), "\n")
	return text.Clip(words, maxWords)
}

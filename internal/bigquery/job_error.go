// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"net/http"
	"strings"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"

	"github.com/adk-contextgraph/contextgraph/internal/clip"
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
	return clip.Text(words, maxWords)
}

// refusedError says that a table was not made.
type refusedError struct{ error }

// Unwrap returns why.
func (e refusedError) Unwrap() error { return e.error }

// turnedDown reports whether the service understood a request and did not do it.
func turnedDown(err error) bool {
	var e *googleapi.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return false
}

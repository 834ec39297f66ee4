// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"errors"
	"fmt"
	"strings"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// ConflictError says that something of the name of an object is there and cannot be
// upgraded by adding to it.
type ConflictError struct {
	// Object is the table or view.
	Object string
	// Column is the column, with dots between it and its fields; empty when the whole
	// object is of another kind.
	Column string
	// Found is what is there, Want what is needed.
	Found, Want string
	// Remedy says what can be done about it.
	Remedy string
}

// Error names the column, what was found, what is needed and the remedy.
func (e *ConflictError) Error() string {
	name := e.Object
	if e.Column != "" {
		name += "." + e.Column
	}
	return fmt.Sprintf("%s is %s, not %s: %s", name, e.Found, e.Want, e.Remedy)
}

// HasStatus reports whether the service answered with the HTTP status.
func HasStatus(err error, status int) bool {
	var e *googleapi.Error
	return errors.As(err, &e) && e.Code == status
}

// explain puts the object before the error, and what to do about it after it where that
// is known.
func (d *Dataset) explain(what string, err error) error {
	// What is too much has the same status: https://cloud.google.com/bigquery/docs/error-messages.
	if HasStatus(err, 403) && !HasReason(err, "quotaExceeded", "rateLimitExceeded", "billingNotEnabled", reasonTier) {
		return fmt.Errorf("bigquery: %s: %w (needed: roles/bigquery.dataEditor on %s.%s, or roles/bigquery.user on the project for a new dataset, and roles/bigquery.jobUser on %s)",
			what, err, d.names.Project(), d.names.Dataset(), d.cfg.BillingProject)
	}
	return fmt.Errorf("bigquery: %s: %w", what, err)
}

// HasNoGraphs reports whether the error says that this project, edition or server
// has no property graphs. What BigQuery says there is not documented. So an error counts
// when it is one of the statement and not of what it names (invalidQuery, invalid,
// notImplemented, or HTTP 400 and 501), and its text speaks of graphs and of their not
// being offered, or stumbles over the words PROPERTY GRAPH or GRAPH_TABLE.
func HasNoGraphs(err error) bool {
	var text string
	var api *googleapi.Error
	var job *bq.Error
	switch {
	case errors.As(err, &api):
		if api.Code != 400 && api.Code != 501 {
			return false
		}
		text = api.Message + " " + api.Body
	case errors.As(err, &job):
		switch job.Reason {
		case "invalidQuery", "invalid", "notImplemented":
		default:
			return false
		}
		text = job.Message
	default:
		return false
	}
	text = strings.ToLower(text)
	if !strings.Contains(text, "graph") && !strings.Contains(text, "property") {
		return false
	}
	for _, s := range []string{
		"not supported", "unsupported", "not available", "unavailable", "not enabled", "not implemented", "unimplemented",
		"edition", "reservation", "allowlist", "syntax error", "unexpected keyword", "unexpected identifier",
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

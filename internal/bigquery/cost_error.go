// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"errors"
	"fmt"
	"slices"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// Reasons for which BigQuery does not answer a query that it can read, as
// https://cloud.google.com/bigquery/docs/error-messages names them.
const (
	reasonBytes     = "bytesBilledLimitExceeded"
	reasonTier      = "billingTierLimitExceeded"
	reasonResources = "resourcesExceeded"
)

// HasReason reports whether BigQuery gave one of the reasons, for a request or for a job.
func HasReason(err error, reasons ...string) bool {
	var job *bq.Error
	if errors.As(err, &job) && slices.Contains(reasons, job.Reason) {
		return true
	}
	var status *googleapi.Error
	return errors.As(err, &status) && slices.ContainsFunc(status.Errors, func(e googleapi.ErrorItem) bool {
		return slices.Contains(reasons, e.Reason)
	})
}

// limited adds what to do to the error of a query that was refused for its bytes.
func (d *Dataset) limited(err error) error {
	if !HasReason(err, reasonBytes) {
		return err
	}
	return fmt.Errorf("%w (bigquery.max_bytes_billed is %d; nothing was billed: ask about a shorter time, or raise it; for clustered tables the estimate is an upper bound, and less may be read)",
		err, d.cfg.MaxBytesBilled)
}

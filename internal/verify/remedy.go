// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// AnswerError says that BigQuery answered otherwise than the journal.
type AnswerError struct {
	// Missing are lines of the journal's answer that BigQuery's has not, Extra the other way round.
	// Where both are empty the order differs.
	Missing, Extra []string
}

// Error names the first lines.
func (e *AnswerError) Error() string {
	if len(e.Missing)+len(e.Extra) == 0 {
		return "the answer has the lines of the journal's in another order"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the answer is not that of the journal: it lacks %d lines and has %d others", len(e.Missing), len(e.Extra))
	for _, l := range e.Missing[:min(len(e.Missing), 2)] {
		fmt.Fprintf(&b, "\n- %s", l)
	}
	for _, l := range e.Extra[:min(len(e.Extra), 2)] {
		fmt.Fprintf(&b, "\n+ %s", l)
	}
	return b.String()
}

// compare returns an AnswerError where two answers differ, also where one has a line more often.
func compare(want, got []string) error {
	if slices.Equal(want, got) {
		return nil
	}
	e := new(AnswerError)
	left := make(map[string]int)
	for _, l := range got {
		left[l]++
	}
	for _, l := range want {
		if left[l]--; left[l] < 0 {
			e.Missing = append(e.Missing, l)
		}
	}
	for _, l := range got {
		if left[l] > 0 {
			left[l]--
			e.Extra = append(e.Extra, l)
		}
	}
	return e
}

// unordered is compare without regard to the order.
func unordered(want, got []string) error {
	return compare(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
}

const report = "attach the report (--report) to an issue of contextgraph"

// remedy says what to do about an error, where that is known and the error does not say so.
func (r *run) remedy(step string, err error) string {
	var refused *replicate.Error
	switch {
	case step == stepRemove:
		return fmt.Sprintf("remove it yourself: %s; its tables expire in %s", r.removal(), config.FormatDuration(life))
	case errors.As(err, new(*BoundError)):
		return "the statement did not run. On your data it reads more than the guide says: " + report
	case errors.As(err, new(*AnswerError)):
		return report
	case errors.As(err, &refused):
		return cmp.Or(refused.Remedy, report)
	case bigquery.HasReason(err, "quotaExceeded", "rateLimitExceeded"):
		return "wait, or ask for more of the quota that BigQuery names, then run it again"
	case bigquery.HasReason(err, "billingNotEnabled"):
		return fmt.Sprintf("enable billing in %s: BigQuery does not stream in its free tier", r.cfg.BigQuery.Project)
	case bigquery.HasStatus(err, http.StatusForbidden), bigquery.HasReason(err, "accessDenied"):
		return fmt.Sprintf("give the account roles/bigquery.user on %s, and on %s where that is another project; new grants take some minutes",
			r.cfg.BigQuery.Project, r.cfg.BigQuery.BillingProject)
	case bigquery.HasNoGraphs(err):
		return "use on-demand pricing or a reservation of an edition with graphs; if it is one, " + report
	case errors.Is(err, context.DeadlineExceeded):
		return "give it more time with --timeout"
	case step == stepDataset && bigquery.HasStatus(err, http.StatusBadRequest):
		return "name a place that BigQuery has, such as EU or europe-west3, with --location"
	case bigquery.HasStatus(err, http.StatusNotFound):
		return "see that the project is right (--project) and that the BigQuery API is enabled in it"
	}
	return ""
}

// removal is the command that removes the dataset.
func (r *run) removal() string {
	return fmt.Sprintf("bq rm -r -f -d %s:%s", r.cfg.BigQuery.Project, r.cfg.BigQuery.Dataset)
}

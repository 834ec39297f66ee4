// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Outcome says how a check ended.
type Outcome string

// The outcomes.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed"
	// Skipped checks were not made, for a reason that is no failure of what they check.
	Skipped Outcome = "skipped"
)

// Result is one check and how it ended.
type Result struct {
	Step    string  `json:"step"`
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Reason says why it failed or was skipped, Remedy what to do about it.
	Reason string `json:"reason,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Estimate and Billed are the bytes of all statements, by their dry runs and by their bill.
	Estimate     int64       `json:"estimated_bytes"`
	Billed       int64       `json:"billed_bytes"`
	Milliseconds int64       `json:"milliseconds"`
	Statements   []Statement `json:"statements,omitempty"`
}

// Statement is one statement that a check ran.
type Statement struct {
	Name         string `json:"name"`
	Estimate     int64  `json:"estimated_bytes"`
	Bound        int64  `json:"bound_bytes"`
	Billed       int64  `json:"billed_bytes"`
	Milliseconds int64  `json:"milliseconds"`
	Error        string `json:"error,omitempty"`
}

// Report says what a run found.
type Report struct {
	// Version is that of contextgraph.
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Location string    `json:"location"`
	// Edition is that of the reservation which ran the statements; empty for on-demand pricing, and
	// where BigQuery did not say.
	Edition string   `json:"edition,omitempty"`
	Passed  bool     `json:"passed"`
	Billed  int64    `json:"billed_bytes"`
	Checks  []Result `json:"checks"`

	project string
}

// Count returns how many checks ended so.
func (r *Report) Count(o Outcome) (n int) {
	for i := range r.Checks {
		if r.Checks[i].Outcome == o {
			n++
		}
	}
	return n
}

// WriteJSON writes the report for programs and for everybody to read: the id of the project
// stands nowhere in it.
func (r *Report) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("verify: report: %w", err)
	}
	out := string(text)
	if r.project != "" {
		out = strings.ReplaceAll(out, r.project, "PROJECT")
	}
	_, err = io.WriteString(w, out+"\n")
	return err
}

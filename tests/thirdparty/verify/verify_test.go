// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/verify"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The order of work, the removal, and every answer that the emulator can give.
func TestVerify(t *testing.T) {
	s := newService(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	report, err := verify.Run(ctx, verify.Config{
		BigQuery: config.BigQuery{Project: emulator.Project},
		Options:  bigquery.DatasetOptions{Client: s.clients(), Write: s.WriteOptions(), BatchAge: 20 * time.Millisecond, AckTimeout: 10 * time.Minute},
		Only:     strings.Fields(os.Getenv("ONLY")),
		Progress: func(r verify.Result) {
			t.Log(fmt.Sprintf("%s %s %s %s: %dms %s | %s", r.Outcome, r.Step, r.Name, r.Form, r.Milliseconds, r.Reason, r.Remedy))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = report
}

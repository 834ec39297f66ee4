// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/verify"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The order of work, the removal, and every answer that the emulator can give.
func TestVerify(t *testing.T) {
	server := emulator.StartEmpty(t)
	cfg := server.Config()
	report, err := verify.Run(t.Context(), verify.Config{
		BigQuery: cfg, Options: bigquery.DatasetOptions{Client: server.LiteralOptions(), Write: server.WriteOptions(), BatchAge: 20 * time.Millisecond, AckTimeout: 10 * time.Minute},
		Progress: func(r verify.Result) { t.Logf("%s %s %s %s: %dms %s | %s", r.Outcome, r.Step, r.Name, r.Form, r.Milliseconds, r.Reason, r.Remedy) },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = report
}

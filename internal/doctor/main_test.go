// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Metrics of the client libraries, started when their package is loaded.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
	)
}

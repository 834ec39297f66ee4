// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Metrics of the client libraries, started when their package is loaded.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// managedwriter v1.86.0 starts this for every connection. It sleeps for 20
		// seconds, ends a context that has no more use, and is gone.
		goleak.IgnoreAnyFunction("cloud.google.com/go/bigquery/storage/managedwriter.(*connection).getStream.func1"),
	)
}

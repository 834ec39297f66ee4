// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package mistakes_test makes the mistakes that people make, and holds the message or the denial of
// each. docs/mistakes.md is its golden file: the list that a user searches.
package mistakes_test

import (
	"testing"

	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	otel.SetTracerProvider(spans)
	goleak.VerifyTestMain(m)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A rule that found nothing is logged once, and never after it found something.
func TestLogIdle(t *testing.T) {
	idle := func(rule string) graphsync.Tally {
		return graphsync.Tally{Rule: rule, Rows: 2, Nearly: "$ is a text, without .x"}
	}
	var log bytes.Buffer
	tallied := LogIdle(slog.New(slog.NewTextHandler(&log, nil)))
	s := record.Session{ID: "s1"}
	tallied(s, []graphsync.Tally{{Rule: "works", Rows: 1, Found: 1}, {Rule: "empty", Rows: 1}, idle("wrong")})
	tallied(s, []graphsync.Tally{idle("works"), idle("wrong")})
	got := log.String()
	if strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, `rule \"wrong\" read 2 rows and found nothing: $ is a text, without .x`) || !strings.Contains(got, "contextgraph rules s1") {
		t.Errorf("logged:\n%s", got)
	}
	if n := notes([]graphsync.Tally{idle("wrong"), {Rule: "empty", Rows: 1}}); len(n) != 1 || !strings.Contains(n[0], "wrong") {
		t.Errorf("notes %q", n)
	}
}

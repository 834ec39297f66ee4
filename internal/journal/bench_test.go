// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// benchEvents returns rows with payloads of about 0.8 KB, of as many sessions, with
// the ids that id gives.
func benchEvents(n, sessions int, id func(i int) string) []record.Event {
	trace, span, parent := strings.Repeat("a", 32), strings.Repeat("b", 16), strings.Repeat("c", 16)
	content := []byte(`{"tool":"query","result":"` + strings.Repeat("x", 500) + `"}`)
	attributes := []byte(`{"adk":{"app_name":"shop","branch":"` + strings.Repeat("y", 200) + `"}}`)
	names := make([]string, sessions)
	for i := range names {
		names[i] = fmt.Sprint("session-", i)
	}
	rows := make([]record.Event, n)
	for i := range rows {
		rows[i] = record.Event{
			Timestamp: 1_700_000_000_000_000 + int64(i), EventID: id(i), EventType: record.ToolCompleted,
			AppName: "shop", UserID: "ann", SessionID: names[i%sessions], InvocationID: "inv-run", Agent: "buyer",
			RunID: "run", RunSeq: int64(i/sessions) + 1, Status: record.StatusOK,
			TraceID: trace, SpanID: span, ParentSpanID: parent,
			Content: content, Attributes: attributes, LatencyMS: []byte(`{"total_ms":12}`),
		}
	}
	return rows
}

// timeOrdered returns an event id as the recorder mints them: a UUID of version 7
// without its dashes, here with a millisecond for every 30 rows.
func timeOrdered(i int) string {
	return fmt.Sprintf("%012x7%03x8%015x", 1_700_000_000_000+i/30, rand.Uint32N(1<<12), rand.Uint64N(1<<60))
}

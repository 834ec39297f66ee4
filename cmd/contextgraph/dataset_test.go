// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Commands that read sessions read those of the dataset. tests/thirdparty/warehouse tests the answers
// of the statements.
func TestReadsTheDataset(t *testing.T) {
	t.Chdir(t.TempDir())
	at := strconv.FormatInt(time.Now().UnixMicro(), 10)
	session := map[string]string{
		"app STRING": "shop", "user STRING": "alice", "session STRING": "s1", "events INTEGER": "1", "first TIMESTAMP": at, "last TIMESTAMP": at,
	}
	row := map[string]string{
		"app STRING": "shop", "user STRING": "alice", "session STRING": "s1", "timestamp TIMESTAMP": at, "event_id STRING": "e1",
		"event_type STRING": record.UserMessageReceived, "trace_id STRING": "t", "span_id STRING": "root", "content STRING": `{"text_summary":"plan it"}`,
	}
	for command, want := range map[string]string{
		"sessions": "plan it", "sessions --output json": `"id": "s1"`, "trace s1": "s1 of alice in shop", "view --all --output json": `"id": "s1"`,
	} {
		var asked []string
		server := answering(t, &asked, map[string][]map[string]string{"MAX(timestamp) AS last": {session}, "AS run_seq": {row}})
		code, stdout, stderr := in(t, server, strings.Fields(command+" --from dataset --project my-project --dataset agents")...)
		if code != exitOK || !strings.Contains(stdout, want) || len(asked) == 0 {
			t.Errorf("contextgraph %s = %d after %d queries, want 0 and %q\n%s%s", command, code, len(asked), want, stdout, stderr)
		}
	}
}

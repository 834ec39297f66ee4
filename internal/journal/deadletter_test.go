// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

func letters(tb testing.TB, o store.Outbox, limit int) []store.DeadLetter {
	tb.Helper()
	list, err := o.DeadLetters(tb.Context(), limit)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestDeadLetterIsBounded: a server may say as much as it likes.
func TestDeadLetterIsBounded(t *testing.T) {
	j := openJournal(t, nil)
	recordRows(t, j, testSession, 1)
	o := j.Outbox(dataset)
	acquire(t, o, "a")
	for _, tt := range []struct{ reason, want string }{
		{"", ""},
		{strings.Repeat("x", store.MaxReason), strings.Repeat("x", store.MaxReason)},
		{strings.Repeat("x", store.MaxReason+1), strings.Repeat("x", store.MaxReason-3) + "…"},
		{strings.Repeat("ä", store.MaxReason), strings.Repeat("ä", (store.MaxReason-3)/2) + "…"},
		{"bad \xff byte", "bad \ufffd byte"},
		// As long as may be, and longer when it is repaired.
		{strings.Repeat("x\xff", store.MaxReason/2), strings.Repeat("x\ufffd", store.MaxReason/4-1) + "x…"},
	} {
		advance(t, o, "a", 1, store.DeadLetter{Seq: 1, Reason: tt.reason, Code: tt.reason})
		l := letters(t, o, 0)
		if len(l) != 1 || l[0].Reason != tt.want || !utf8.ValidString(l[0].Code) || len(l[0].Code) > 128 {
			t.Errorf("%d letters, the reason is %.40q, %d bytes, want %.40q, %d bytes; the code has %d bytes",
				len(l), l[0].Reason, len(l[0].Reason), tt.want, len(tt.want), len(l[0].Code))
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Sessions are kept up to a bound of bytes, the last one at any size.
func TestReadingsAreBounded(t *testing.T) {
	var r readings
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	half := make([]byte, MaxBytes/2)
	read := func(id string, bytes int) {
		s := &inspect.Session{Rows: []inspect.Row{{Content: half[:bytes/2]}, {Attributes: half[:bytes-bytes/2]}}}
		s.Session = record.Session{ID: id}
		r.keep(s, now)
	}
	kept := func() (ids string) {
		for _, id := range []string{"a", "b", "c"} {
			if r.rows(record.Session{ID: id}, now) != nil {
				ids += id
			}
		}
		return ids
	}
	for _, tc := range []struct {
		id    string
		bytes int
		want  string
	}{
		{"a", MaxBytes / 2, "a"}, {"b", MaxBytes / 2, "ab"}, {"c", 1, "bc"}, {"a", 1, "abc"}, {"a", MaxBytes, "a"}, {"b", MaxBytes, "b"},
	} {
		if read(tc.id, tc.bytes); kept() != tc.want {
			t.Errorf("after %d bytes of %s: %q are kept, want %q", tc.bytes, tc.id, kept(), tc.want)
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestExamine(t *testing.T) {
	path := journaltest.Path(t)
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for _, id := range []string{"a", "b", "c"} {
		j.Append(record.Event{
			EventID: id, EventType: "USER_MESSAGE_RECEIVED", Status: "OK", AppName: "shop", UserID: "alice", SessionID: "s" + id,
			RunID: "run", RunSeq: 1, Timestamp: at.UnixMicro(),
		})
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := j.Outbox("bigquery:p.d.t")
	if _, err := o.Acquire(t.Context(), "me", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := o.Advance(t.Context(), "me", 2, []store.DeadLetter{{Seq: 1, Reason: "no"}}); err != nil {
		t.Fatal(err)
	}
	h, err := journal.Examine(t.Context(), path, false) // beside the one who writes
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Damage) > 0 || h.Bytes+h.LogBytes == 0 {
		t.Errorf("%+v", h)
	}
	if h.Sessions != 3 || h.Rows != 3 || !h.First.Equal(at) || !h.Last.Equal(at) || h.LostRows != 0 {
		t.Errorf("%+v", h)
	}
	if len(h.Destinations) != 1 {
		t.Fatalf("%+v", h.Destinations)
	}
	d := h.Destinations[0]
	if d.Name != o.Destination() || d.Rows != 1 || d.DeadLetters != 1 || d.LeasedUntil.IsZero() {
		t.Errorf("%+v", d)
	}
}

func TestExamineDamage(t *testing.T) {
	whole, err := os.ReadFile(journaltest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	for i := len(broken) / 3; i < len(broken); i++ {
		broken[i] = 0xAA
	}
	dir := t.TempDir()
	for name, test := range map[string]struct {
		data []byte
		want string // of the damage or the error
	}{
		"pages.db":   {broken, ""},
		"text.db":    {bytes.Repeat([]byte("no database\n"), 500), "not a SQLite database"},
		"missing.db": {nil, "missing.db"},
	} {
		path := filepath.Join(dir, name)
		if test.data != nil {
			if err := os.WriteFile(path, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, err := journal.Examine(t.Context(), path, false)
		if err == nil && len(h.Damage) == 0 || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("a journal was created")
	}
}

// TestExamineLargeFile holds that a large file is searched for damage only if somebody asks for it.
func TestExamineLargeFile(t *testing.T) {
	path := journaltest.Path(t)
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	prompt := []byte(`{"prompt":"` + strings.Repeat("x", 1<<20) + `"}`)
	for n := range journal.CheckedBytes>>20 + 1 {
		j.Append(record.Event{
			EventID: fmt.Sprint(n), EventType: record.LLMRequest, Status: record.StatusOK, AppName: "shop", UserID: "alice", SessionID: "s",
			RunID: "run", RunSeq: int64(n + 1), Timestamp: int64(n + 1), Content: prompt,
		})
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xAA}, 1<<20), journal.CheckedBytes/2)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		h, err := journal.Examine(t.Context(), path, whole)
		if err != nil || h.Checked != whole || (len(h.Damage) > 0) != whole || h.Rows != journal.CheckedBytes>>20+1 {
			t.Errorf("whole %t: %+v, %v", whole, h, err)
		}
	}
}

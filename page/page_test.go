// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
	"github.com/adk-contextgraph/contextgraph/page"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded makes a journal with a row of each session.
func recorded(t *testing.T, sessions ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.db")
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range sessions {
		j.Append(record.Event{
			EventID: id, EventType: record.UserMessageReceived, Timestamp: time.Now().UnixMicro(), AppName: "shop", UserID: "alice", SessionID: id,
			RunID: id, RunSeq: 1, Content: []byte(`{"text_summary":"</script> of ` + id + `"}`), Attributes: []byte(`{}`), Status: record.StatusOK,
		})
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := page.Write(t.Context(), recorded(t, "s-1", "s-2"), &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	data := string(viewertest.Data(t, text))
	for _, want := range []string{`"id":"s-1"`, `"id":"s-2"`, "All sessions of journal agent.db (2). The page holds", `</script> of s-2`} {
		if !strings.Contains(data, want) {
			t.Errorf("the page does not hold %s", want)
		}
	}
	if !strings.HasPrefix(strings.ToLower(text), "<!doctype html>") || strings.Contains(text, "</script> of") {
		t.Errorf("it is no page, or has what a user wrote as markup: %.40s", text)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.db")
	var out bytes.Buffer
	if err := page.Write(t.Context(), missing, &out); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("without a journal: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal was made: %v", err)
	}
	empty := recorded(t)
	if err := page.Write(t.Context(), empty, &out); err == nil || !strings.Contains(err.Error(), empty+" has no sessions") {
		t.Errorf("without a session: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := page.Write(canceled, recorded(t, "s-1"), &out); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes of no page were written", out.Len())
	}
	if err := page.Write(t.Context(), recorded(t, "s-1"), full{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
}

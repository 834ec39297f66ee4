// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// The commands reach an agent through its handler.
func TestCheckpointCommands(t *testing.T) {
	h := cgtest.New(t)
	cps := checkpoint.New(h.CG)
	h.Sessions = cps.Sessions(h.Sessions)
	h.Serve(cgtest.RootAgent(t, adktest.Says("Hello.")))
	h.Say("one")
	h.Say("two")
	server := httptest.NewServer(cps.Handler())
	defer server.Close()
	t.Setenv(checkpointsVariable, server.URL)
	list, err := cps.List(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "session.json")
	for _, tt := range []struct {
		args string
		code int
		out  string
	}{
		{"checkpoints s1 --app shop --user alice", exitOK, "before: two"},
		{"checkpoints s1 --app shop --user bob", exitNotFound, ""},
		{"checkpoints s1", exitUsage, ""},
		{"checkpoints name s1 end --app shop --user alice", exitOK, "end"},
		{"checkpoints name s1 end --app shop --user alice", exitError, ""},
		{"checkpoints export s1 " + list[0].ID + " --app shop --user alice", exitOK, `"sha256"`},
		{"checkpoints import " + file + " --to copy", exitOK, "made session copy"},
		{"fork s1 " + list[0].ID + " --app shop --user alice --to fork", exitOK, "made session fork"},
		{"rewind s1 " + list[0].ID + " --app shop --user alice --dry-run", exitOK, "left 2 events"},
		{"rewind s1 " + list[0].ID + " --app shop --user alice", exitOK, "left 2 events"},
		{"rewind s1 " + list[0].ID + " --app shop --user alice", exitNotFound, ""},
		{"rewind s1 x --app shop --user alice --agent-header broken", exitUsage, ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(tt.args), &app{stdout: &stdout, stderr: &stderr})
		if code != tt.code || !strings.Contains(stdout.String(), tt.out) {
			t.Errorf("%s: code %d, want %d\n%s%s", tt.args, code, tt.code, &stdout, &stderr)
		}
		if strings.Contains(tt.args, "export") {
			if err := os.WriteFile(file, stdout.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := h.Session(cgtest.User, cgtest.SessionID).Events().Len(); n != 2 {
		t.Errorf("the session has %d events, want 2", n)
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/adk/v2/model"

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

// A yes met drift: the card offers the redo, the command shows its plan and does it, and the card of the new request has
// both plans.
func TestRedoCommand(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			if last == nil || last.Name != "search" || !strings.Contains(fmt.Sprint(last.Response), "$40,000") {
				return cgtest.Shopper(req)
			}
			return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 2}), nil
		}
	})
	cps := checkpoint.New(h.CG, checkpoint.Reads("search"))
	h.Sessions = cps.Sessions(h.Sessions)
	h.Serve(cgtest.RootAgent(t, h.Model, h.Tools...))
	server := httptest.NewServer(cps.Handler(h.Runner))
	defer server.Close()
	t.Setenv(checkpointsVariable, server.URL)
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	h.Answer(cgtest.SessionID, id, true)
	old := h.Approvals(cgtest.SessionID)[0].ID
	say := func(args string, code int) string {
		t.Helper()
		if err := h.CG.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &app{stdout: &stdout, stderr: &stderr}); got != code {
			t.Fatalf("%s: code %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
		}
		return strings.Join(strings.Fields(stdout.String()), " ")
	}
	card := "approvals --journal " + h.Path + " "
	has := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("it does not say %q: %s", w, out)
			}
		}
	}
	has(say(card+old, exitOK), "contextgraph redo "+old)
	has(say(card+old+" --output json", exitOK), `"redo"`)
	has(say("redo "+old+" --dry-run", exitOK), "send again: buy a route", "again: search: it read what has changed")
	if n := len(h.Approvals(cgtest.SessionID)); n != 1 {
		t.Errorf("a dry run made %d requests", n-1)
	}
	has(say("redo "+old, exitOK), "asked anew: ")
	now := h.Approvals(cgtest.SessionID)[1].ID
	has(say(card+now, exitOK), "Replaces "+old, "The plan before:", `"count": 2`, `"count": 1`, "$40,000 → $52,000")
	if out := say(card+old, exitOK); strings.Contains(out, "contextgraph redo") {
		t.Errorf("it is offered once more: %s", out)
	}
	say("redo "+old, exitError)
	say("redo none", exitNotFound)
}

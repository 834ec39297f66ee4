// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/record"
)

// TestPrefixes: the beginning of an id is as good as the id where nothing else begins with it.
func TestPrefixes(t *testing.T) {
	demo(t)
	rows := rowsFileFrom(t, "demo.db")
	hold(t, func(args ...string) (int, string, string) {
		if !slices.Contains(args, "--from") {
			args = append(args, "--journal", "demo.db")
		}
		return runCommand(t, args...)
	}, []said{
		{"trace sess-…mmer", exitOK, "sess-nike-summer of buyer-agent"},
		{"trace sess-", exitUsage, "sess-tesla-q1 of buyer-agent in adcp"},
		{"trace s --app nobody", exitNotFound, "for these --app and --user"},
		{"why sess-n --approval adk-f783", exitOK, nikeApproval},
		{"rules chat", exitOK, ""},
		{"export sess-n", exitOK, `"session_id":"sess-nike-summer"`},
		{"check sess-n --approval e43c --output json", exitChanged, "no contextgraph.yaml"},
		{"approvals sess-n", exitOK, "e43c5bd8"},
		{"approvals adk-f7", exitOK, nikeApproval},
		{"approvals --approval 855a", exitOK, "855a0b19a1c48f184c668b725e7a905d"},
		{"approvals --approval adk-", exitOK, nikeApproval}, // the only one of the ledger
		{"approvals --approval adk- --from " + rows, exitUsage, "855a0b19a1c48f184c668b725e7a905d of provision_campaign in session sess-tesla-q1 (expired)"},
		{"approvals sess-t --approval adk-f7", exitNotFound, "has no approval"},
		{"trace sess-n --from " + rows, exitOK, "sess-nike-summer of buyer-agent"},
		{"approvals e43c --from " + rows, exitOK, nikeConfirmation},
	})
}

// TestSyncTakesPrefixes: an id that is there as it stands wins.
func TestSyncTakesPrefixes(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s-1"}, record.Session{App: "shop", User: "alice", ID: "s-10"}, record.Session{App: "shop", User: "alice", ID: "t-2"})
	for id, want := range map[string]struct {
		code int
		said string
	}{
		"s-1": {exitOK, "1/1 s-1 of alice"}, "t": {exitOK, "1/1 t-2 of alice"}, "s": {exitUsage, "s-10 of alice in shop"}, "u": {exitError, "no rows of session"},
	} {
		code, stdout, stderr := in(t, taking(t), "sync", "--session", id, "--project", "my-project", "--dataset", "agents")
		if code != want.code || !strings.Contains(stdout+stderr, want.said) {
			t.Errorf("sync --session %s = %d\n%s%s", id, code, stdout, stderr)
		}
	}
}

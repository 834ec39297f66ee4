// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompletions: ids come with what they are, and what goes wrong completes nothing.
func TestCompletions(t *testing.T) {
	demo(t)
	rows := rowsFileFrom(t, "demo.db")
	sessions := []string{
		"chat-1\tHello red world <b> (- no approval)",
		"sess-tesla-q1\tPlan this campaign and provision it once it is … (○ expired)", "sess-nike-summer\tPlan this campaign and provision it once it is … (≠ changed since it was read)",
	}
	tesla, nike := "855a0b19a1c48f184c668b725e7a905d\tprovision_campaign in sess-tesla-q1 (○ expired)", nikeApproval+"\tprovision_campaign in sess-nike-summer (≠ changed since it was read)"
	for args, want := range map[string][]string{
		"trace --journal demo.db|":                 sessions,
		"trace --journal demo.db|sess-":            sessions[1:],
		"trace --journal demo.db chat-1|":          nil, // it takes one
		"view --journal demo.db sess-nike-summer|": sessions[:2],
		"check --journal demo.db|ch":               sessions[:1],
		"why --from " + rows + "|ch":               sessions[:1],
		"why --from dataset|":                      nil, // which is billed
		"why --journal missing.db|":                nil,
		"sync --journal demo.db --session|ch":      sessions[:1],
		"approvals --journal demo.db --approval|":  {tesla, nike},
		"approvals --journal demo.db|e4":           {nike},
		"approvals --journal demo.db|":             append(append([]string(nil), sessions...), tesla, nike),
		"approve --journal demo.db|":               nil, // none is open
		"init --journal demo.db --from|ch":         sessions[:1],
		"sync --from|":                             {"journal", "dataset"},
		"sessions --status|dr":                     {"drift"},
		"sessions --status|drift,exe":              {"drift,executed"},
		"sessions --output|":                       {"table", "json", "ndjson"},
		"sessions --from|":                         {"journal", "dataset"},
		"sessions --journal demo.db|":              nil,
	} {
		before, word, _ := strings.Cut(args, "|")
		code, stdout, stderr := runCommand(t, append(append([]string{"__complete"}, strings.Fields(before)...), word)...)
		var got []string
		for line := range strings.Lines(stdout) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ":") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || code != exitOK || strings.Contains(stderr, "rror") {
			t.Errorf("%s: %d, %s(-want +got):\n%s", args, code, stderr, diff)
		}
	}
}

// TestDatasetFlags: what names a dataset is there where one is read, and nowhere else.
func TestDatasetFlags(t *testing.T) {
	demo(t)
	for args, want := range map[string]string{
		"sessions --project p":                  "--project goes with --from dataset",
		"sessions --from rows.ndjson --table x": "--table goes with --from dataset",
		"trace chat-1 --within 3d":              "--within goes with --from dataset",
		"check chat-1 --dataset d":              "check reads no dataset",
		"approve x --within 3d":                 "approve reads no dataset",
		"sessions --from dataset --dataset d":   "project is missing",
	} {
		if code, stdout, stderr := runCommand(t, strings.Fields(args)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("contextgraph %s = %d, want %q\n%s%s", args, code, want, stdout, stderr)
		}
	}
	for command, want := range map[string]bool{"": false, "sessions": false, "check": false, "approve": false, "init": true, "sync": true, "extract": true, "dead-letters": true, "verify": true} {
		_, stdout, _ := runCommand(t, append(strings.Fields(command), "--help")...)
		if got := strings.Contains(stdout, "--billing-project"); got != want {
			t.Errorf("the help of %q names the flags of the dataset: %v, want %v", command, got, want)
		}
	}
}

// TestGroups: each command is in a group, so that the help is not one long list.
func TestGroups(t *testing.T) {
	for _, c := range (&app{}).root().Commands() {
		if c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	_, stdout, _ := runCommand(t, "--help")
	for _, group := range []string{"Look:", "Decide:", "Check and guard:", "Page:", "Rows in and out:", "BigQuery:"} {
		if !strings.Contains(stdout, "\n"+group+"\n") {
			t.Errorf("the help has no group %s\n%s", group, stdout)
		}
	}
}

// TestColorsOfKinds: red, yellow and green mean something, so no kind of span has them.
func TestColorsOfKinds(t *testing.T) {
	for _, class := range []string{"user", "agent", "model", "tool", "hitl", "check", "other"} {
		if s := classStyle(class); s == red || s == yellow || s == green {
			t.Errorf("%s has the colour %s", class, s)
		}
	}
}

// TestCheckWithoutConfiguration says which file is missing, and blames no configuration.
func TestCheckWithoutConfiguration(t *testing.T) {
	asking(t, nil)
	if err := os.Remove(defaultConfig); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runCommand(t, "check", "sess")
	if code != exitCheckFailed || !strings.Contains(stderr, "there is no contextgraph.yaml here") || !strings.Contains(stderr, "name it with --config") ||
		strings.Contains(stdout, "the configuration declares") || !strings.Contains(stdout, "no configuration with a checker for it was given") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

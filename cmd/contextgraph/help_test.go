// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

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

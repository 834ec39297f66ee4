// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/record"
)

func TestReplaceable(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"page.html":  {"<!doctype html>\n<html>", true},
		"other.html": {"<!DOCTYPE HTML><title>page</title>", true},
		"empty":      {"", true},
		"notes.txt":  {"notes", false},
		"a.db":       {"SQLite format 3\x00", false},
	} {
		if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replaceable(name); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := replaceable("not-there"); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	if replaceable("dir") == nil {
		t.Error("a directory is replaceable")
	}
}

// The page is bounded, in its number of sessions and in what they hold, and says so.
func TestViewIsBounded(t *testing.T) {
	t.Chdir(t.TempDir())
	var all []record.Session
	for i := range viewNewest + 3 {
		all = append(all, record.Session{App: "shop", User: "alice", ID: "s" + string(rune('a'+i))})
	}
	recorded(t, all...)
	for _, test := range []struct {
		args []string
		want int
		said string
	}{
		{nil, viewNewest, "others are left out"},
		{[]string{"--last", "2"}, 2, "others are left out"},
		{[]string{"--last", "100"}, len(all), "All sessions of journal contextgraph.db (23)"},
		{[]string{"--all"}, len(all), "All sessions"},
		{[]string{"--all", "--user", "alice"}, len(all), "others are left out"},
		{[]string{"sa", "sb", "sa"}, 2, "(sa, sb), and no other"},
	} {
		code, stdout, stderr := in(t, nil, append([]string{"view", "--output", "json"}, test.args...)...)
		if code != exitOK || strings.Count(stdout, `"app": "shop"`) != test.want || !strings.Contains(stdout, test.said) {
			t.Errorf("view %v: %d, %d sessions\n%s%s", test.args, code, strings.Count(stdout, `"app": "shop"`), stdout, stderr)
		}
		info, err := os.Stat(defaultPage)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("the page: %v, %v", info, err)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 4 {
		t.Errorf("files were left: %v, %v", entries, err)
	}
}

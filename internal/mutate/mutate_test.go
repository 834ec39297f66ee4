// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const toy = `package toy

type Door struct{ Open, Locked bool }

// May has one test for each condition but one.
func (d *Door) May(key int) bool {
	if d.Locked && key == 0 {
		return false
	}
	return d.Open || key > 100
}
`

const toyTest = `package toy

import "testing"

func TestMay(t *testing.T) {
	for want, d := range map[bool]Door{true: {Open: true}, false: {}} {
		if d.May(0) != want || d.May(99) != want || !d.May(101) {
			t.Error(want)
		}
	}
	if (&Door{Open: true, Locked: true}).May(0) {
		t.Error("locked")
	}
}
`

// write makes a module with the toy package and goes there.
func write(t *testing.T, survivors string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module toy\n\ngo 1.26\n", "toy.go": toy, "toy_test.go": toyTest, "testdata/survivors.txt": survivors,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const survivor = "file: toy.go\nfunc: (*Door).May\nmutation: key > 100 => key >= 100\n"

func TestMutate(t *testing.T) {
	accepted := func(entries ...string) string {
		var b strings.Builder
		b.WriteString("# Doors.\n")
		for _, e := range entries {
			b.WriteString("\n" + e + "argument: it is a toy,\n and stays one\n")
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		survivors string
		want      []string // in the error, line by line; none for success
	}{
		"none accepted": {"", []string{"survived: toy.go:10: (*Door).May: key > 100 => key >= 100"}},
		"accepted":      {accepted(survivor), nil},
		"accepted, and killed": {
			accepted(survivor, "file: toy.go\nfunc: (*Door).May\nmutation: false => true\n"),
			[]string{"not a survivor any more"},
		},
		"no such change": {
			accepted(survivor, "file: toy.go\nfunc: May\nmutation: key == 0 => key == 2\n"),
			[]string{"no such change: toy.go: May: key == 0 => key == 2"},
		},
		"no argument": {"file: toy.go\nfunc: May\nmutation: a => b\n", []string{"an entry has file, func, mutation and argument"}},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, test.survivors)
			var out strings.Builder
			err := mutate(context.Background(), options{pkg: ".", verbose: true}, &out)
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("got %q, want %q\n%s", got, test.want, &out)
			}
		})
	}
}

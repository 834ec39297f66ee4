// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/globals"
)

// runProgram builds and runs one of the small programs and returns what was
// registered in it.
func runProgram(t *testing.T, name string) globals.Registered {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "run", "./internal/programs/"+name).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("program %s: %v\n%s", name, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var r globals.Registered
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("program %s wrote %q: %v", name, out, err)
	}
	return r
}

// TestRegistersNothing compares programs that use contextgraph with ones that link what
// it stands on only.
func TestRegistersNothing(t *testing.T) {
	for _, program := range []struct{ without, with string }{{"adkonly", "alone"}, {"adkonly", "paged"}, {"adkonly", "shared"}, {"clientonly", "streaming"}} {
		t.Run(program.with, func(t *testing.T) {
			without, with := runProgram(t, program.without), runProgram(t, program.with)
			if len(with.SQLDrivers) != 0 {
				t.Errorf("SQL drivers %q are registered, want none", with.SQLDrivers)
			}
			if d := cmp.Diff(without, with); d != "" {
				t.Errorf("registered (-without +with contextgraph):\n%s", d)
			}
		})
	}
}

// TestPartsLinkNothingOfEachOther lists what a program links that uses no optional part, or one of
// them.
func TestPartsLinkNothingOfEachOther(t *testing.T) {
	const module = "github.com/adk-contextgraph/contextgraph/"
	ofBigQuery := []string{
		module + "bqstream", module + "bqstream/ask", module + "internal/bigquery", module + "internal/replicate",
		"cloud.google.com/go/bigquery", "cloud.google.com/go/bigquery/storage/managedwriter", "github.com/apache/arrow/go/v15/arrow",
	}
	ofPage := []string{module + "page", module + "internal/viewer", module + "internal/inspect"}
	ofPostgres := []string{module + "pgstore", module + "internal/postgres", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool"}
	// Package inspect reads both a journal and a dataset.
	ofPageOnly := ofPage[:2]
	for _, program := range []struct {
		name      string
		has, lack []string
	}{
		{"alone", nil, slices.Concat(ofBigQuery, ofPage, ofPostgres)},
		{"streaming", ofBigQuery, slices.Concat(ofPageOnly, ofPostgres)},
		{"paged", ofPage, slices.Concat(ofBigQuery, ofPostgres)},
		{"shared", ofPostgres, slices.Concat(ofBigQuery, ofPage)},
	} {
		t.Run(program.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./internal/programs/"+program.name).Output()
			if err != nil {
				t.Fatal(err)
			}
			linked := strings.Fields(string(out))
			for _, path := range program.has {
				if !slices.Contains(linked, path) {
					t.Errorf("%s is not linked: is the list of the part out of date?", path)
				}
			}
			for _, path := range program.lack {
				if slices.Contains(linked, path) {
					t.Errorf("%s is linked", path)
				}
			}
		})
	}
}

// TestStartsBesideSQLDrivers links contextgraph beside each of the two drivers
// that register the name "sqlite". A third registration would panic at start.
func TestStartsBesideSQLDrivers(t *testing.T) {
	for _, name := range []string{"besideglebarez", "besidemodernc"} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff([]string{"sqlite"}, runProgram(t, name).SQLDrivers); d != "" {
				t.Errorf("SQL drivers (-want +got):\n%s", d)
			}
		})
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"encoding/json"
	"errors"
	"os/exec"
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
	for _, program := range []struct{ without, with string }{{"adkonly", "alone"}, {"clientonly", "streaming"}} {
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

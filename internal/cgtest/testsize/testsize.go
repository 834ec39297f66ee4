// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package testsize says how much a test by number does: a random schedule, an exploration of
// states, a soak, a sweep, a row of killed processes.
//
// Such a test has two sizes. The quick one runs with "go test ./...". The thorough one runs with
// CONTEXTGRAPH_THOROUGH=1, once a night and before a release. Both make the same assertions.
//
// The package imports nothing of the module, so that the tests of each package can import it.
package testsize

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// The variables of the environment.
const (
	thoroughEnv = "CONTEXTGRAPH_THOROUGH" // "1" for the thorough size
	seedEnv     = "CONTEXTGRAPH_SEED"     // the one seed to try
)

// Thorough reports whether tests have their thorough size. With the race detector, which makes
// everything about ten times slower and sees nothing more in more rounds, they have the quick one.
func Thorough() bool { return !Race && os.Getenv(thoroughEnv) == "1" }

// Rounds returns quick, or thorough if [Thorough] says so.
func Rounds(t testing.TB, quick, thorough int) int {
	t.Helper()
	if v := os.Getenv(thoroughEnv); v != "" && v != "0" && v != "1" {
		t.Fatalf("%s is %q: use 1 for the thorough size", thoroughEnv, v)
	}
	if Thorough() {
		return thorough
	}
	return quick
}

// Seeds returns the seeds of a random test, as many as [Rounds] says, and logs them. The quick size
// begins at 1, so that the tests of a commit always try the same. The thorough size begins anywhere.
// With CONTEXTGRAPH_SEED=N there is one seed, N, which repeats a failure.
func Seeds(t testing.TB, quick, thorough int) iter.Seq[uint64] {
	t.Helper()
	first, rounds := uint64(1), Rounds(t, quick, thorough)
	if Thorough() {
		first = uint64(rand.Uint32())
	}
	if v := os.Getenv(seedEnv); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v: give a whole number", seedEnv, err)
		}
		first, rounds = n, 1
	}
	last := first + uint64(rounds) - 1
	t.Logf("seeds %d to %d; %s=N tries N alone", first, last, seedEnv)
	return func(yield func(uint64) bool) {
		for seed := first; seed <= last; seed++ {
			if !yield(seed) {
				return
			}
		}
	}
}

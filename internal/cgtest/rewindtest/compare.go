// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rewindtest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/session"
)

type ctx = context.Context

// Compare plays random sessions over services that service makes, and compares prompts, state, evidence and results of the
// last part with those of a session that never went further.
func Compare(t *testing.T, rounds int, service func() session.Service) {
	for seed := range rounds {
		s := random(rand.New(rand.NewPCG(uint64(seed), 51)), Shapes[seed%len(Shapes)])
		got, want := text(t, play(t, s, service())), text(t, play(t, s.straight(), service()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (%s): parts %+v, back %v: (-never went further +went back)\n%s", seed, s.shape, s.parts, s.back, diff)
		}
	}
}

func text(t *testing.T, e ending) string {
	t.Helper()
	data, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// A person sees the shown keys of the state, and that something could not be kept.
func TestSurroundingsAreShown(t *testing.T) {
	for unbound, want := range map[int]string{1: "1 key of the state, or artifact", 2: "2 keys of the state, or artifacts"} {
		b := newBench(t, nil, strava)
		b.ask()
		a := b.approval.Clone()
		a.Surroundings = safety.Surroundings{Shown: map[string]string{"cluster": "test"}, Unbound: unbound}
		if hint := a.Hint("deploy"); !strings.Contains(hint, "state cluster test") || !strings.Contains(hint, want) {
			t.Errorf("the hint says %q", hint)
		}
		shown := a.Shown()
		if fmt.Sprint(shown["state"]) != "map[cluster:test]" || !strings.Contains(fmt.Sprint(shown["warnings"]), want) {
			t.Errorf("the card has %v and %v", shown["state"], shown["warnings"])
		}
	}
}

// A shown key that has changed ends the approval, before the world is asked.
func TestPermitOfAChangedState(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	e := b.execution()
	e.Changed = "The key has changed"
	p, _, err := b.guard.Permit(t.Context(), e)
	wantRefusal(t, err, safety.CodeStateChanged)
	if p != nil || b.state() != safety.StateBlocked {
		t.Errorf("permit %v, state %s", p, b.state())
	}
}

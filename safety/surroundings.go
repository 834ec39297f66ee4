// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"fmt"
	"maps"
	"slices"
)

// Surroundings are what a call can read beside its arguments, as it was when its approval was asked:
// the state of the session, and artifacts. They hold no value but those that people are shown.
type Surroundings struct {
	// State has a digest of each value, by key. Artifacts has one of each content, by name.
	State     map[string]string `json:"state,omitempty"`
	Artifacts map[string]string `json:"artifacts,omitempty"`
	// Shown has the values of the keys that people are shown, as text. Each is in State too, if the
	// state had it.
	Shown map[string]string `json:"shown,omitempty"`
	// Unbound counts the keys and artifacts that have no digest, because there were too many of them
	// or they were too large.
	Unbound int `json:"unbound,omitempty"`
	// Watched says that the reads of the call are compared with State and Artifacts.
	Watched bool `json:"watched,omitempty"`
}

// clone returns a copy that shares nothing with s.
func (s Surroundings) clone() Surroundings {
	s.State, s.Artifacts, s.Shown = maps.Clone(s.State), maps.Clone(s.Artifacts), maps.Clone(s.Shown)
	return s
}

// shown returns the keys that people are shown, with their values.
func (s Surroundings) shown() map[string]any {
	out := make(map[string]any, len(s.Shown))
	for key, value := range s.Shown {
		out[oneLine(key)] = oneLine(value)
	}
	return out
}

// hints names the same in a few words each: "state cluster test".
func (s Surroundings) hints() (items []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Shown)) {
		items = append(items, "state "+word(key)+" "+word(s.Shown[key]))
	}
	return items
}

// unboundHint says how much has no digest.
func unboundHint(n int) string {
	if n == 1 {
		return "1 key of the state, or artifact"
	}
	return fmt.Sprintf("%d keys of the state, or artifacts", n)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import "github.com/adk-contextgraph/contextgraph/internal/schema"

// SetRemembered bounds what s remembers.
func SetRemembered(s *Syncer, limit int) { s.sessions.limit = limit }

// Remembered returns how many rows and entities s remembers, and whether of session.
func Remembered(s *Syncer, session schema.Session) (weight int, known bool) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	sum := 0
	for _, f := range s.sessions.list.Values() {
		sum += f.weight()
	}
	if sum != s.sessions.weight {
		panic("the weight of the memory is not that of what is in it")
	}
	return sum, s.sessions.list.Contains(session)
}

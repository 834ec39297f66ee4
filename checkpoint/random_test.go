// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"flag"
	"testing"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rewindtest"
)

var rounds = flag.Int("rewinds", 300, "how many random sessions go back")

// Prompts, state and evidence after a rewind are those of a session that never went further.
func TestRandomRewinds(t *testing.T) { rewindtest.Compare(t, *rounds, session.InMemoryService) }

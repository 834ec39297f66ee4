// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// InputsQuestion asks what a check of the world before a decision has to look at.
type InputsQuestion struct {
	Scope
	// Decision is the key of a node. Defaults to the session's latest request for a
	// confirmation.
	Decision string
}

// Inputs are the entities of a session before a decision.
type Inputs struct {
	// Decision is the key of the node, DecidedAt the time that nothing later counts for.
	Decision  string
	DecidedAt time.Time
	// Entities are by type, then key, with the latest values seen and when each was.
	Entities []entity.Canonical
	// Truncated is true when there were more entities and steps that saw them than the
	// limit: those last seen are missing.
	Truncated bool
	Form      Form
}

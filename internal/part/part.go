// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package part says what the optional packages of the module get of an instance. It also has the frame of the handlers
// that programs mount.
package part

import (
	"context"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Host is what an optional part gets of the instance it belongs to.
type Host struct {
	// Store has the rows and the approvals; nil while recording is off.
	Store    store.Store
	Recorder *plugin.Recorder
	// Replayable reports whether a tool of that name only reads.
	Replayable func(tool string) bool
	// Guarded reports whether no call of a tool of that name runs without an approval.
	Guarded func(tool string) bool
	// OfferRedo has refusals say that a turn can be done again.
	OfferRedo func()
	// Who returns the person that ctx is of, and whether somebody has shown that it is.
	Who func(ctx context.Context, s record.Session) (name string, authenticated bool)
}

// Guest is an optional part that works on an instance.
type Guest interface{ Attach(Host) }

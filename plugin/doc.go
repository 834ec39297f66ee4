// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin connects contextgraph to ADK-Go: it turns the callbacks of a run
// into rows with a closed span tree, and stands as the gate before a tool.
//
// It gives the runner two plugins. The observer is registered first, because the
// plugin chain of ADK ends at the first plugin that returns a value and an
// observer behind such a plugin would see nothing. The gate is registered last,
// so that it sees arguments as every other plugin left them. Callbacks of an
// agent still run after the gate; [Recorder.Protect] puts the gate around the
// tool itself.
//
// Observation never costs a run: callbacks return nil values, recover their own
// panics and do no I/O. The gate is the opposite: whatever it cannot establish,
// it denies.
package plugin

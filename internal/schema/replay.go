// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

// ReplayReady is the value of attributes.adk.replay in the TOOL_STARTING row of a call
// that can be repeated: its tool was registered for that, and the row holds its arguments
// exactly. Any other text there says why it cannot; nothing there, that the tool was not
// registered. The row that ends the call may say why it cannot be repeated after all.
const ReplayReady = "ready"

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package answer brings the answer of a human to the agent that asked, over ADK's REST API. The page
// and the command line use it. It decides nothing: the gate of the agent takes the answer or
// refuses it, and checks the world before anything runs.
package answer

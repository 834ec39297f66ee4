// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rewindtest

import "google.golang.org/adk/v2/session"

type vertexai struct{ session.Service }

// NewVertexai returns a service whose type has the name of the package of Vertex AI.
func NewVertexai() session.Service { return vertexai{session.InMemoryService()} }

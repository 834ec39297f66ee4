// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
)

// SchemaVersion is the version of what a dataset holds. A program that knows a lower one
// changes nothing in the dataset: of two versions that share it, the newer one wins. It
// is raised with every release that changes a table, a view or the graph.
const SchemaVersion = 1

// The labels by which a dataset is known to be up to date. Those of the version are
// labels of the table of events and are written when all else is there.
const (
	// VersionLabel holds [SchemaVersion].
	VersionLabel = "contextgraph_schema_version"
	// DefinitionsLabel holds the digest of all definitions.
	DefinitionsLabel = "contextgraph_definitions"
	// GraphLabel holds the digest of the property graph. Without a graph it is absent.
	GraphLabel = "contextgraph_graph"
	// DigestLabel is a label of each view and holds the digest of its query.
	DigestLabel = "contextgraph_digest"
	// PythonVersionLabel is the one that the plugin for Python reads and writes.
	PythonVersionLabel = "adk_schema_version"
)

// digest returns 32 hexadecimal digits for the texts: what fits into a label.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(t))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

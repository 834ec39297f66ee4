// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"iter"
	"strings"
)

// Branches yields a branch of attributes.adk.branch, then each branch around it. The last one is
// "", the main branch.
func Branches(branch string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(branch) && branch != "" {
			branch = branch[:max(strings.LastIndexByte(branch, '.'), 0)]
		}
	}
}

// BranchIn reports whether branch was split off from above, directly or not.
func BranchIn(branch, above string) bool {
	if above == "" {
		return branch != ""
	}
	return strings.HasPrefix(branch, above+".")
}

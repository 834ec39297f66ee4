// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import "github.com/adk-contextgraph/contextgraph/config"

// VersionOf returns the version of the policy of a guard.
func VersionOf(g config.Guard) string {
	b, err := compile(g)
	if err != nil {
		panic(err)
	}
	return b.version
}

// Public returns a failure as a model may read it.
func Public(f Failure) Failure { return f.public() }

// InParallel lets a guard check n entities at a time.
func InParallel(g *Guard, n int) { g.parallel = n }

// OnReport lets f hear of every report of a guard before anything follows from it.
func OnReport(g *Guard, f func(Report)) { g.onReport = f }

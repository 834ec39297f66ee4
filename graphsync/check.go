// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
)

// Check reports rules that do not compile. It is a [config.Check].
func Check(k config.Key, c *config.Config) {
	for i, e := range c.Extract {
		at := k.Of(&c.Extract).Index(i)
		if _, err := Compile([]config.Extract{e}); err != nil && at.Sound() {
			at.Wrong(strings.ReplaceAll(err.Error(), "\n", ", "), "correct this part")
		}
	}
}

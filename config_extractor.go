// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"fmt"

	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// Extractor returns what finds entities by the rules of the configuration: the same that
// an [Instance] opened with it uses. It is for programs that make graphs of rows that
// they have from elsewhere.
func (c Config) Extractor() (*graphsync.Extractor, error) {
	rules, err := c.rules()
	if err != nil {
		return nil, err
	}
	x, err := graphsync.Compile(rules)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: configuration: extract: %w", err)
	}
	return x, nil
}

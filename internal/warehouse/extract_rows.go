// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ModelRows returns the rows of what a model found in a session, and the links to them.
// TechNode, SpanID, EventID and SeenAt of each entity are set; traces has the trace ids
// of the nodes by key. at is when they were found.
func ModelRows(s record.Session, es []entity.Entity, traces map[string]string, at time.Time) ([]BizNodeRow, []CrossLinkRow, error) {
	rows := make([]BizNodeRow, 0, len(es))
	links := make([]CrossLinkRow, 0, len(es))
	for _, e := range es {
		row, err := bizNodeRow(e, s, traces[e.TechNode], RecorderDataset, micros(at))
		if err != nil {
			return nil, nil, fmt.Errorf("warehouse: %w", err)
		}
		rows, links = append(rows, row), append(links, row.link(e))
	}
	return rows, links, nil
}

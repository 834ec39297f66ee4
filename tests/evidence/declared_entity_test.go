// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

func TestRecordEntityOutsideOfACall(t *testing.T) {
	h := cgtest.New(t)
	err := h.CG.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product", Value: "x"})
	if err == nil {
		t.Fatal("RecordEntity outside of a recorded call succeeded")
	}
	if err := h.CG.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product"}); err == nil || !strings.Contains(err.Error(), "value") {
		t.Errorf("RecordEntity of an entity without a value = %v, want an error that names the value", err)
	}
}

// nowhere is the context of a run that contextgraph does not know.
type nowhere struct{ agent.StrictContextMock }

func (*nowhere) Artifacts() agent.Artifacts                                          { return nil }
func (*nowhere) RunConfig() *agent.RunConfig                                         { return nil }
func (*nowhere) InvocationID() string                                                { return "e-nowhere" }
func (*nowhere) Session() session.Session                                            { return nil }
func (n *nowhere) WithICDelta(*agent.InvocationContextDelta) agent.InvocationContext { return n }

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// approvalRow is an approval with its lists as JSON.
type approvalRow struct {
	safety.Approval
	entities, receipt, gaps, notChosen, surroundings, difference, consents []byte
}

func encodeApproval(a safety.Approval) (r *approvalRow, err error) {
	encode := func(what string, value any) []byte {
		data, cause := json.Marshal(value)
		if cause != nil {
			err = fmt.Errorf("%s: %w", what, cause)
		}
		return data
	}
	r = &approvalRow{
		Approval:     a,
		entities:     encode("entities", withNeeds(a)),
		receipt:      encode("receipt", a.Receipt),
		gaps:         encode("gaps", a.Gaps),
		notChosen:    encode("not chosen", a.NotChosen),
		surroundings: encode("surroundings", a.Surroundings),
		consents:     encode("consents", a.Consents),
	}
	// Copies, because the writer may still use them when the caller's context has ended.
	r.Args, r.Report = bytes.Clone(a.Args), bytes.Clone(a.Report)
	if r.Replaces != "" {
		r.difference = encode("difference", a.Difference)
	}
	return r, err
}

// approvalEntity is an entity with the conditions on its attributes, as one element of the column
// entities.
type approvalEntity struct {
	entity.Canonical
	Needs map[string]safety.Need `json:",omitempty"`
}

func withNeeds(a safety.Approval) []approvalEntity {
	out := make([]approvalEntity, len(a.Entities))
	for i, e := range a.Entities {
		out[i] = approvalEntity{e, a.Needs[e.Key]}
	}
	return out
}

// setEntities sets the entities with their needs.
func setEntities(a *safety.Approval, list []approvalEntity) {
	if list != nil {
		a.Entities = make([]entity.Canonical, len(list))
	}
	for i, e := range list {
		a.Entities[i] = e.Canonical
		if len(e.Needs) == 0 {
			continue
		}
		if a.Needs == nil {
			a.Needs = make(map[string]map[string]safety.Need)
		}
		a.Needs[e.Key] = e.Needs
	}
}

// bind sets the parameters of insert_approval; session is the number of the session.
func (r *approvalRow) bind(b *binder, session int64) {
	b.text(r.ID, r.Session.App, r.Session.User, r.Session.ID)
	b.optional(r.ConfirmationID)
	b.text(r.CallID, r.Tool, r.Agent, r.InvocationID, r.RunID, r.DecisionNode, r.Answer, r.After, r.TraceID, r.SpanID, r.ArgsDigest)
	b.json(r.Args, r.entities)
	b.text(r.Fingerprint, r.PolicyVersion)
	b.json(r.receipt, r.gaps)
	b.optional(r.Replaces)
	b.integer(int64(r.Chain))
	b.json(r.difference)
	b.text(r.Requester)
	b.time(r.RequestedAt, r.ExpiresAt)
	bindState(b, r.Approval, r.consents)
	b.json(r.notChosen)
	b.boolean(r.RequesterAuthenticated)
	b.integer(int64(r.Approvers))
	b.text(r.Declaration)
	b.integer(session)
	b.json(r.surroundings)
}

// bindState sets what a transition may change, in the order of both statements.
func bindState(b *binder, a safety.Approval, consents []byte) {
	b.text(string(a.State))
	b.optional(a.Approver)
	b.time(a.DecidedAt)
	b.optional(a.PermitNonce, a.PermitRun)
	b.time(a.PermitExpiresAt)
	b.optional(a.Verdict)
	b.json(a.Report)
	b.time(a.UpdatedAt)
	b.json(consents)
	b.optional(a.Change)
	b.boolean(a.Overridden)
}

// scanApproval reads a row of select_approvals.
func scanApproval(stmt *sqlite.Stmt) (safety.Approval, error) {
	a := safety.Approval{
		ID:              stmt.ColumnText(0),
		Session:         columnSession(stmt, 1),
		ConfirmationID:  stmt.ColumnText(4),
		CallID:          stmt.ColumnText(5),
		Tool:            stmt.ColumnText(6),
		Agent:           stmt.ColumnText(7),
		InvocationID:    stmt.ColumnText(8),
		RunID:           stmt.ColumnText(9),
		DecisionNode:    stmt.ColumnText(10),
		Answer:          stmt.ColumnText(11),
		After:           stmt.ColumnText(12),
		TraceID:         stmt.ColumnText(13),
		SpanID:          stmt.ColumnText(14),
		ArgsDigest:      stmt.ColumnText(15),
		Args:            columnJSON(stmt, 16),
		Fingerprint:     stmt.ColumnText(18),
		PolicyVersion:   stmt.ColumnText(19),
		Requester:       stmt.ColumnText(22),
		RequestedAt:     columnTime(stmt, 23),
		ExpiresAt:       columnTime(stmt, 24),
		State:           safety.ApprovalState(stmt.ColumnText(25)),
		Approver:        stmt.ColumnText(26),
		DecidedAt:       columnTime(stmt, 27),
		PermitNonce:     stmt.ColumnText(28),
		PermitRun:       stmt.ColumnText(29),
		PermitExpiresAt: columnTime(stmt, 30),
		Verdict:         stmt.ColumnText(31),
		Report:          columnJSON(stmt, 32),
		UpdatedAt:       columnTime(stmt, 33),
		Replaces:        stmt.ColumnText(34),
		Chain:           stmt.ColumnInt(35),
		Approvers:       stmt.ColumnInt(39),
		Change:          stmt.ColumnText(41),
		Overridden:      stmt.ColumnBool(42),
		Declaration:     stmt.ColumnText(43),

		RequesterAuthenticated: stmt.ColumnBool(38),
	}
	var entities []approvalEntity
	for col, dst := range map[int]any{17: &entities, 20: &a.Receipt, 21: &a.Gaps, 36: &a.Difference, 37: &a.NotChosen, 40: &a.Consents, 44: &a.Surroundings} {
		if stmt.ColumnIsNull(col) {
			continue // left out, or there is none
		}
		if err := json.Unmarshal(columnJSON(stmt, col), dst); err != nil {
			return safety.Approval{}, fmt.Errorf("approval %s is damaged: %w", a.ID, err)
		}
	}
	setEntities(&a, entities)
	return a, nil
}

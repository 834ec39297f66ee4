// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// snapshot is evidence that never changes.
type snapshot safety.Snapshot

func (s snapshot) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return safety.Snapshot(s), nil
}

// FuzzApproval damages one column of an approval that was given, or puts something else
// there. Reading it never panics, and it leads to a permit only if it still is the
// approval of this call, with the values that were seen, before it expires.
func FuzzApproval(f *testing.F) {
	columns := []string{
		"entities", "receipt", "gaps", "args", "args_digest", "fingerprint", "policy_version", "state", "tool", "call_id", "agent",
		"user_id", "session_id", "app_name", "expires_at", "requested_at", "decided_at", "decision_node", "permit_nonce",
	}
	for i := range columns {
		for _, s := range []string{
			"", "null", "[]", "{}", "{", `""`, "0", "-1", "9223372036854775807", `[{"type":"Product"}]`, `{"rows_read":1}`, "approved", "pending", "\xff\x00",
			`[{"type":"Product","value":"Strava Sponsored Routes","key":"k","attributes":{"price":{"kind":"money","value":"1","currency":"USD"}}}]`,
		} {
			f.Add(uint8(i), s)
		}
	}
	j := openJournal(f, nil)
	conn := connect(f, j.Path(), sqlite.OpenReadWrite)
	policy, err := policyVersion(f.Context(), config.Guard{})
	if err != nil {
		f.Fatal(err)
	}
	pending := storetest.Pending(0)
	allRead(&pending)
	now := pending.RequestedAt.Add(time.Minute)
	receipt := record.Receipt{Watermark: 9, RowsRead: 7, Version: "rules"}
	guard, err := safety.NewGuard(safety.GuardConfig{
		Ledger: j.Ledger(), Now: func() time.Time { return now },
		Evidence: snapshot{Evidence: entity.Evidence{Entities: pending.Entities}, Receipt: receipt},
		Checkers: map[string]safety.Checker{"Product": safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			return safety.State{Attributes: pending.Entities[0].Attributes, AsOf: now}, nil
		})},
	})
	if err != nil {
		f.Fatal(err)
	}
	n := 0
	f.Fuzz(func(t *testing.T, column uint8, value string) {
		n++
		args := map[string]any{"n": float64(n)}
		a := storetest.Pending(n)
		allRead(&a)
		a.ArgsDigest, a.Args, err = safety.ArgsDigest(args)
		if err != nil {
			t.Fatal(err)
		}
		a.PolicyVersion, a.Receipt, a.Gaps = policy, receipt, nil
		a.RequestedAt, a.ExpiresAt, a.UpdatedAt = pending.RequestedAt, pending.ExpiresAt, pending.UpdatedAt
		if err := j.Ledger().Create(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		a, err := j.Ledger().Transition(t.Context(), safety.Transition{
			ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateApproved, At: a.RequestedAt, Actor: "ana",
			Set: safety.Update{Consent: safety.Consent{Who: "ana"}, Verdict: "safe", Report: []byte(`{}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if a, err = safety.Get(t.Context(), j.Ledger(), a.ID); err != nil {
			t.Fatal(err)
		}
		name := columns[int(column)%len(columns)]
		err = sqlitex.ExecuteTransient(conn, fmt.Sprintf("UPDATE approvals SET %s = ? WHERE id = ?", name), &sqlitex.ExecOptions{Args: []any{value, a.ID}})
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint {
			return // a column of numbers takes no text
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := safety.Get(t.Context(), j.Ledger(), a.ID)
		if err != nil && got.ID != "" {
			t.Errorf("%s = %q: an approval beside %v", name, value, err)
		}
		_, _ = j.Ledger().List(t.Context(), safety.Query{Session: a.Session})
		_, _ = j.Ledger().List(t.Context(), safety.Query{Session: a.Session})

		permit, report, _ := guard.Permit(t.Context(), safety.Execution{
			Session: a.Session, ApprovalID: a.ID, CallID: a.CallID, Tool: a.Tool, Agent: a.Agent, RunID: "run", Args: args, Declaration: a.Declaration,
		})
		if permit == nil {
			return
		}
		if !report.IsSafeToApprove() {
			t.Errorf("%s = %q: a permit beside\n%s", name, value, report.Summary())
		}
		// What a decision rests on is as it was.
		want := a
		for _, x := range []*safety.Approval{&want, &got} {
			x.Args, x.Report = nil, nil // shown, and read by nothing
			x.DecisionNode, x.PermitNonce = "", ""
			x.RequestedAt, x.DecidedAt, x.ExpiresAt, x.UpdatedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
			x.Entities = attributesOf(x.Entities)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s = %q gives a permit (-approved +read):\n%s", name, value, diff)
		}
		if err := permit.Consume(t.Context(), map[string]any{"n": -1.0}); err == nil {
			t.Errorf("%s = %q: other arguments run", name, value)
		}
		if text, err := json.Marshal(report); err != nil || len(text) == 0 {
			t.Error(err)
		}
	})
}

// attributesOf leaves what the check of entities depends on.
func attributesOf(entities []entity.Canonical) []entity.Canonical {
	var out []entity.Canonical
	for _, e := range entities {
		out = append(out, entity.Canonical{Type: e.Type, Value: e.Value, Key: e.Key, Attributes: e.Attributes})
	}
	return out
}

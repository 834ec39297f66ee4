// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestCheckFailedZeroEntities(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		cgtest.WantCheckFailed(t, h, safety.ReasonNoEntities)
	}, func(o *cgtest.Options) {
		// Nothing is extracted, whatever covers the tool.
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"items": []any{}}, nil
		}
		for i := range o.Config.Extract {
			if o.Config.Extract[i].Name == "bought" {
				o.Config.Extract[i].Each = "$.nothing[*]"
			}
		}
	})
}

func TestCheckFailedNoCheckerForType(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Config.CheckFuncs = nil })
	cgtest.WantCheckFailed(t, h, safety.ReasonNoChecker)
}

func TestCheckFailedCheckerErrors(t *testing.T) {
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{}, errors.New("the shop is closed")
	}))
	cgtest.WantCheckFailed(t, h, safety.ReasonError)
}

func TestCheckFailedCheckerPanics(t *testing.T) {
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) { panic("boom") }))
	cgtest.WantCheckFailed(t, h, safety.ReasonPanic)
}

func TestCheckFailedCheckerHangs(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		<-release // deaf to its context
		return safety.State{}, nil
	}), func(o *cgtest.Options) { o.Config.Guard.CheckTimeout = 20 * time.Millisecond })
	cgtest.WantCheckFailed(t, h, safety.ReasonTimeout)
}

func TestCheckFailedCheckerReturnsZeroValue(t *testing.T) {
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) { return safety.State{}, nil }))
	cgtest.WantCheckFailed(t, h, safety.ReasonEmptyAnswer)
}

func TestCheckFailedAnswerTooOld(t *testing.T) {
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: time.Now().Add(-time.Hour), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, "$40,000"), "availability": entity.Bool(true),
		}}, nil
	}))
	cgtest.WantCheckFailed(t, h, safety.ReasonStaleAnswer)
}

func TestCheckFailedRowsLostBeforeTheRequest(t *testing.T) {
	h := cgtest.New(t)
	// The file takes a row of the first turn for stored, and does not have it.
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.ExecuteScript(conn, `CREATE TRIGGER lose BEFORE INSERT ON agent_events
		WHEN new.event_type = 'TOOL_COMPLETED' AND new.content LIKE '%"search"%'
		BEGIN SELECT RAISE(IGNORE); END;`, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Ask(cgtest.SessionID)
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, `DROP TRIGGER lose`, nil); err != nil {
		t.Fatal(err)
	}
	rows := h.Rows(cgtest.SessionID)
	if len(rowtest.Of(rows, record.ToolStarting)) != 2 || len(rowtest.Of(rows, record.ToolCompleted)) != 1 {
		t.Fatal("no row was lost")
	}
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy another route"))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		t.Fatalf("confirmation requests = %d, want 1", len(calls))
	}
	h.Answer(cgtest.SessionID, calls[0].ID, true)
	h.WantBought(0)
	report, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict() != safety.CheckFailed {
		t.Fatalf("verdict = %v, want check_failed\n%s", report.Verdict(), report.Summary())
	}
	if f := report.Failures(); len(f) == 0 || f[0].Reason != safety.ReasonIncompleteRecord {
		t.Errorf("failures = %+v, want incomplete_record", f)
	}
}

// The journal cannot be written when the approval is asked: the request is never
// answerable, and the model is told.
func TestJournalUnwritableWhenAsked(t *testing.T) {
	h := cgtest.New(t)
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// No row can be stored without this table, and nobody waits for a lock.
	if err := sqlitex.ExecuteTransient(conn, "ALTER TABLE sessions RENAME TO away", nil); err != nil {
		t.Fatal(err)
	}
	events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if calls := adktest.Confirmations(events); len(calls) != 0 {
		t.Fatalf("a human is asked %d times, want never", len(calls))
	}
	for _, ev := range events {
		if len(ev.Actions.RequestedToolConfirmations) != 0 {
			t.Errorf("event %s still requests a confirmation", ev.ID)
		}
	}
	told := adktest.Responses(events, "buy")
	if len(told) != 1 || told[0]["status"] != "blocked" || told[0]["reason"] != "not_recorded" {
		t.Fatalf("buy answered %v, want a refusal that says it was not recorded", told)
	}
	last := h.Model.Requests()[len(h.Model.Requests())-1]
	if fr := adktest.LastResponse(last); fr == nil || fr.Response["reason"] != "not_recorded" {
		t.Errorf("the model was not told; its last request ends with %+v", fr)
	}
	if err := sqlitex.ExecuteTransient(conn, "ALTER TABLE away RENAME TO sessions", nil); err != nil {
		t.Fatal(err)
	}
	h.WantBought(0)
}

func TestDriftBlocksAndModelCanReplan(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, _ := h.Ask(cgtest.SessionID)
		h.Shop.Set("$52,000", true)
		got := h.Answer(cgtest.SessionID, id, true)
		h.WantBought(0)
		alerts, _ := got["alerts"].([]any)
		if got["status"] != "blocked" || len(alerts) != 1 {
			t.Fatalf("buy answered %v, want a refusal with one alert", got)
		}
		alert, _ := alerts[0].(map[string]any)
		for k, want := range map[string]any{"drift_type": "price_changed", "before": "$40,000", "after": "$52,000"} {
			if alert[k] != want {
				t.Errorf("alert[%q] = %v, want %v", k, alert[k], want)
			}
		}
		if alert["recommendation"] == "" || alert["recommendation"] == nil {
			t.Error("the alert has no recommendation")
		}
		// The plan is dead even if the world turns back: it must be asked anew.
		h.Shop.Set("$40,000", true)
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(0)
		// A new request with the new world is a new approval.
		h.Shop.Set("$52,000", true)
		events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("then at the new price"))
		calls := adktest.Confirmations(events)
		if len(calls) != 1 {
			t.Fatalf("the re-plan asked %d times, want once", len(calls))
		}
		if got := h.Answer(cgtest.SessionID, calls[0].ID, true); got["status"] != "bought" {
			t.Errorf("the new approval was answered %v", got)
		}
		h.WantBought(1)
	})
}

func TestWorldChangesBetweenAnswerAndExecution(t *testing.T) {
	var calls int
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		calls++
		price := "$40,000"
		if calls > 1 { // the second check is the one right before the effect
			price = "$52,000"
		}
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, price), "availability": entity.Bool(true),
		}}, nil
	}))
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
	if calls != 2 {
		t.Errorf("the world was asked %d times, want twice", calls)
	}
}

func TestCheckFailureIsNotFinal(t *testing.T) {
	down := true
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		if down {
			return safety.State{}, errors.New("unreachable")
		}
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, "$40,000"), "availability": entity.Bool(true),
		}}, nil
	}))
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
	down = false
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("the second answer came to %v, want it bought", got)
	}
	h.WantBought(1)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// callerKey is the key of who calls, as a host's middleware sets it.
type callerKey struct{}

// known names the people of the tests, approvers of them have to approve, and eva, tom and ann may
// override.
func known(approvers int) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.Identity = func(ctx context.Context) (string, error) {
			who, _ := ctx.Value(callerKey{}).(string)
			if who == "" {
				return "", errors.New("no token")
			}
			return who, nil
		}
		o.Config.Guard.Approvals = map[string]config.Approvals{"b*": {Approvers: approvers, Override: []string{"eva", "tom", "ann"}}}
	}
}

// turn lets somebody send a message, and returns the events of the run.
func turn(h *cgtest.Harness, who string, msg *genai.Content) []*session.Event {
	h.T.Helper()
	events, err := adktest.TryRun(context.WithValue(h.T.Context(), callerKey{}, who), h.Runner, cgtest.User, cgtest.SessionID, msg)
	if err != nil {
		h.T.Logf("the run ended with: %v", err)
	}
	return events
}

// sends lets somebody send a message, and returns what buy came to.
func sends(h *cgtest.Harness, who string, msg *genai.Content) map[string]any {
	h.T.Helper()
	got := adktest.Responses(turn(h, who, msg), "buy")
	if len(got) == 0 {
		return nil
	}
	return cgtest.Unstreamed(got[len(got)-1])
}

// asks lets somebody ask for an approval.
func asks(h *cgtest.Harness, who string) (id string, events []*session.Event) {
	h.T.Helper()
	events = turn(h, who, adktest.UserText("buy a route"))
	return cgtest.OnlyRequest(h.T, adktest.Confirmations(events)).ID, events
}

// says is an answer with words under payload.contextgraph.
func says(id string, yes bool, key, words string) *genai.Content {
	msg := adktest.Answer(id, yes)
	msg.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"contextgraph": map[string]any{key: words}}
	return msg
}

func wantReason(t *testing.T, got map[string]any, reason, message string) {
	t.Helper()
	if text, _ := got["message"].(string); got["reason"] != reason || !strings.Contains(text, message) {
		t.Errorf("buy answered %v, want %s with %q", got, reason, message)
	}
}

func TestTwoPeople(t *testing.T) {
	h := cgtest.New(t, known(2))
	id, _ := asks(h, "bob")
	for _, who := range []string{"eva", "Eva"} {
		got := sends(h, who, adktest.Answer(id, true))
		h.WantBought(0)
		wantReason(t, got, safety.CodeMoreApprovers, "eva approved; 1 of 2 people have")
	}
	wantReason(t, sends(h, "bob", adktest.Answer(id, true)), safety.CodeNotAuthorized, "")
	other := adktest.Answer(id, true)
	other.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"days": 365}
	wantReason(t, sends(h, "tom", other), safety.CodeOtherAnswer, "differs from that of eva")
	h.WantBought(0)
	sends(h, "tom", adktest.Answer(id, true))
	h.WantBought(1)
	sends(h, "ann", adktest.Answer(id, true))
	h.WantBought(1)
	answers := rowtest.Of(h.Rows(cgtest.SessionID), record.HITLConfirmationRequestCompleted)
	if got := rowtest.Field(t, answers[4].Attributes, "adk", "consents"); len(got.([]any)) != 2 {
		t.Errorf("consents on record: %v", got)
	}
	if got := rowtest.Field(t, answers[0].Attributes, "adk", "approvers"); got != 2.0 {
		t.Errorf("approvers on record: %v", got)
	}
}

var shopDown = &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("connection refused")}

func TestBreakGlass(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	isDown := false
	var h *cgtest.Harness
	h = cgtest.New(t, known(1), cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		mu.Lock()
		defer mu.Unlock()
		if isDown {
			return safety.State{}, shopDown
		}
		price, stock := h.Shop.Get()
		return safety.State{AsOf: h.Clock.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, price), "availability": entity.Bool(stock),
		}}, nil
	}), func(o *cgtest.Options) { o.Config.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	set := func(down bool) { mu.Lock(); defer mu.Unlock(); isDown = down }
	id, _ := asks(h, "bob")
	set(true)
	wantReason(t, sends(h, "eva", adktest.Answer(id, true)), safety.CodeCheckFailed, "")
	wantReason(t, sends(h, "max", says(id, true, "override", "by phone")), safety.CodeNotAuthorized, "no right to override")
	wantReason(t, sends(h, "bob", says(id, true, "override", "by phone")), safety.CodeNotAuthorized, "may not give it")
	wantReason(t, sends(h, "eva", says(id, true, "override", "by phone")), safety.CodeCheckFailed, "")
	wantReason(t, sends(h, "eva", says(id, true, "override", "by phone, again")), safety.CodeCheckFailed, "")
	h.WantBought(0)
	sends(h, "tom", says(id, true, "override", "I was there"))
	h.WantBought(1)
	sends(h, "ann", says(id, true, "override", "once more"))
	h.WantBought(1)

	a := h.Approvals(cgtest.SessionID)[0]
	if !a.Overridden || a.State != safety.StateExecuted {
		t.Errorf("approval %+v", a)
	}
	rows := h.Rows(cgtest.SessionID)
	checks := rowtest.Of(rows, record.WorldChangeCheck)
	last := checks[len(checks)-1]
	if rowtest.Field(t, last.Attributes, "adk", "overridden") != true || !strings.Contains(last.ErrorMessage, "people let the call run") {
		t.Errorf("the check of the call: %s, %q", last.Attributes, last.ErrorMessage)
	}
	answers := rowtest.Of(rows, record.HITLConfirmationRequestCompleted)
	if got := rowtest.Field(t, answers[len(answers)-2].Attributes, "adk", "override"); got != "I was there" {
		t.Errorf("override on record: %v", got)
	}
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "a call runs although its check failed") {
		t.Errorf("log:\n%s", text)
	}
}

// A wish for a change reaches the model, ends the request, and the next one says what differs.
func TestChangeThis(t *testing.T) {
	h := cgtest.New(t, known(1))
	id, _ := asks(h, "bob")
	got := sends(h, "eva", says(id, false, "change", "only if it costs less than $30,000"))
	wantReason(t, got, safety.CodeChange, "wants another plan: only if it costs less than $30,000")
	if next, _ := got["next"].(string); !strings.Contains(next, "Plan anew as the message says") {
		t.Errorf("next %q", next)
	}
	h.WantBought(0)
	a := h.Approvals(cgtest.SessionID)[0]
	if a.State != safety.StateRejected || a.Change != "only if it costs less than $30,000" || a.Approver != "eva" {
		t.Errorf("approval %+v", a)
	}
	if got := rowtest.Field(t, rowtest.Of(h.Rows(cgtest.SessionID), record.HITLConfirmationRequestCompleted)[0].Attributes, "adk", "change"); got != a.Change {
		t.Errorf("change on record: %v", got)
	}
	h.Shop.Set("$29,000", true)
	id, events := asks(h, "bob")
	summary, _ := cgtest.ShownBy(t, adktest.Confirmations(events)[0]).Payload["contextgraph"].(map[string]any)
	if summary["replaces"] != a.ID {
		t.Errorf("the next request shows %v, want that it replaces %q", summary, a.ID)
	}
	sends(h, "eva", adktest.Answer(id, true))
	h.WantBought(1)
}

// A rejection with a reason stays ADK's own, and the model reads the reason.
func TestNoBecause(t *testing.T) {
	cgtest.OnEveryGuard(t, func(t *testing.T, h *cgtest.Harness) {
		id, _ := asks(h, "bob")
		// The reason of somebody who may not reject is not told.
		got := sends(h, "", says(id, false, "reason", "too expensive"))
		if text, _ := got["error"].(string); !strings.HasSuffix(text, "call is rejected") {
			t.Errorf("buy answered %v", got)
		}
		if a := h.Approvals(cgtest.SessionID)[0]; a.State != safety.StatePending {
			t.Errorf("the request is %s", a.State)
		}
		msg := says(id, false, "reason", "too expensive,\nmy token is ghp_0123456789abcdefghijklmnopqrstuvwxyz")
		got = sends(h, "eva", msg)
		text, _ := got["error"].(string)
		if want := `error tool "buy" call is rejected by a person, who says: too expensive, my token`; !strings.HasPrefix(text, want) {
			t.Errorf("buy answered %v, want an error with %q", got, want)
		}
		h.WantBought(0)
		if a := h.Approvals(cgtest.SessionID)[0]; a.State != safety.StateRejected || a.Change != "" || a.Approver != "eva" {
			t.Errorf("approval %+v", a)
		}
		rows := rowtest.Of(h.Rows(cgtest.SessionID), record.HITLConfirmationRequestCompleted)
		because, _ := rowtest.Field(t, rows[1].Attributes, "adk", "because").(string)
		if !strings.HasPrefix(because, "too expensive,") || strings.Contains(because, "ghp_0123") {
			t.Errorf("because on record: %q, want it without the token", because)
		}
		if reason := rowtest.Field(t, rows[1].Attributes, "adk", "reason"); reason != safety.CodeRejected || rows[1].ErrorMessage != "" {
			t.Errorf("reason %v, error %q", reason, rows[1].ErrorMessage)
		}
	}, known(1))
}

// Words that an answer cannot have are refused by name, and leave the request open.
func TestWordsOfAnAnswer(t *testing.T) {
	h := cgtest.New(t, known(1))
	id, _ := asks(h, "bob")
	number := adktest.Answer(id, false)
	number.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"contextgraph": map[string]any{"change": 7}}
	both := says(id, false, "reason", "too expensive")
	both.Parts[0].FunctionResponse.Response["payload"].(map[string]any)["contextgraph"].(map[string]any)["change"] = "less"
	for name, msg := range map[string]*genai.Content{
		"a change that approves":     says(id, true, "change", "less"),
		"a reason that approves":     says(id, true, "reason", "cheap"),
		"a reason and a change":      both,
		"a reason that is too long":  says(id, false, "reason", strings.Repeat("x", safety.MaxWords+1)),
		"an override that rejects":   says(id, false, "override", "down"),
		"a change that is no text":   number,
		"a change that is too long":  says(id, false, "change", strings.Repeat("x", safety.MaxWords+1)),
		"an override without reason": says(id, true, "override", strings.Repeat("x", safety.MaxWords+1)),
	} {
		sends(h, "eva", msg)
		if a := h.Approvals(cgtest.SessionID)[0]; a.State != safety.StatePending {
			t.Fatalf("%s: the request is %s", name, a.State)
		}
	}
	h.WantBought(0)
	sends(h, "eva", adktest.Answer(id, true))
	h.WantBought(1)
}

// People who have to be known are asked for at the start.
func TestPeopleNobodyNames(t *testing.T) {
	for name, approvals := range map[string]config.Approvals{"two": {Approvers: 2}, "override": {Override: []string{"eva", "tom"}}} {
		var o cgtest.Options
		o.Config.Journal.Path = t.TempDir() + "/journal.db"
		o.Config.Logger = cgtest.Quiet()
		o.Config.Guard.Approvals = map[string]config.Approvals{"buy": approvals}
		if _, err := o.Config.Open(t.Context()); err == nil || !strings.Contains(err.Error(), `to approve "buy", and this program names nobody; give Open WithIdentity`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

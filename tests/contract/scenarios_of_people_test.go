// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// callerKey is the key of who calls.
type callerKey struct{}

// people has two people approve, who may override.
func people(o *cgtest.Options) {
	o.Config.Identity = func(ctx context.Context) (string, error) {
		who, _ := ctx.Value(callerKey{}).(string)
		return who, nil
	}
	o.Config.Guard.Tools = map[string]config.ToolSettings{"buy": {Approvers: 2, Override: []string{"eva", "tom"}}}
}

// shopGoesDown has no source for a check.
func shopGoesDown(o *cgtest.Options) {
	cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{}, &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("connection refused")}
	})(o)
}

// send lets somebody send a message.
func send(t *testing.T, h *cgtest.Harness, who string, msg *genai.Content) error {
	_, err := adktest.TryRun(context.WithValue(t.Context(), callerKey{}, who), h.Runner, cgtest.User, cgtest.SessionID, msg)
	return err
}

// reviewedByTwo guards the inputs of the node review, which two people answer.
func reviewedByTwo(o *cgtest.Options) {
	people(o)
	o.Config.Guard.Inputs = map[string]config.InputSettings{"review": {Approvers: 2}}
}

func changedAndOverridden(t *testing.T, h *cgtest.Harness) {
	says := func(who string, yes bool, key, words string) {
		calls := h.Approvals(cgtest.SessionID)
		msg := adktest.Answer(calls[len(calls)-1].ConfirmationID, yes)
		msg.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"contextgraph": map[string]any{key: words}}
		if err := send(t, h, who, msg); err != nil {
			t.Fatal(err)
		}
	}
	h.Ask(cgtest.SessionID)
	says("eva", false, "change", "tomorrow")
	h.Ask(cgtest.SessionID)
	says("eva", true, "override", "by phone")
	says("tom", true, "override", "I was there")
	h.WantBought(1)
	h.Ask(cgtest.SessionID)
	says("eva", false, "reason", "too expensive")
}

func inputOfTwo(t *testing.T, h *cgtest.Harness) {
	id := askInput(t, h)
	if err := send(t, h, "eva", cgtest.InputAnswer(id, "yes")); err == nil {
		t.Error("the run began after one of two")
	}
	if err := send(t, h, "tom", cgtest.InputAnswer(id, "no")); err == nil {
		t.Error("the run began after two answers that differ")
	}
	if err := send(t, h, "tom", cgtest.InputAnswer(id, "yes")); err != nil {
		t.Error(err)
	}
}

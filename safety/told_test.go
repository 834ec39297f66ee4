// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// A model is told no addresses, whatever a checker says.
func TestTold(t *testing.T) {
	for name, tt := range map[string]struct {
		reason, detail, want string
	}{
		"an error":         {safety.ReasonError, "GET http://ads.internal/x: status 500", "its checker returned an error, which the record has"},
		"a panic":          {safety.ReasonPanic, "/srv/app", "its checker broke down"},
		"a timeout":        {safety.ReasonTimeout, "dial ads.internal", "its source gave no answer in time"},
		"a source":         {safety.ReasonSourceDown, "lookup ads.internal", "its source is away"},
		"another process":  {safety.ReasonNeedsAgent, "/srv", "only the process of the agent can ask for it"},
		"the record":       {safety.ReasonStore, "open /var/lib/j.db", "the record could not be read"},
		"the clock":        {safety.ReasonClock, "ntp.internal", "the clock cannot be trusted"},
		"the caller":       {safety.ReasonCanceled, "peer 10.0.0.1", "the run ended before the check did"},
		"a URL":            {safety.ReasonMissingAttribute, `GET https://ads.internal:8443/v1/x?k=1: price at $.price`, "GET [address] price at $.price"},
		"a host":           {safety.ReasonNoAsOf, "asked db.internal:5432 and localhost:80", "asked [address] and [address]"},
		"an IP":            {safety.ReasonTypeMismatch, "10.1.2.3 and 10.1.2.3:80 and [fe80::1]:80 say", "[address] and [address] and [address] say"},
		"a line":           {safety.ReasonNothingSeen, "rule (contextgraph.yaml:120) and (a.yml:12)", "rule (contextgraph.yaml:120) and (a.yml:12)"},
		"no address":       {safety.ReasonNothingSeen, "price is 10.5 of 12:30", "price is 10.5 of 12:30"},
		"our own, in full": {safety.ReasonIncompleteRecord, strings.Repeat("x", 400), strings.Repeat("x", 400)},
	} {
		f := safety.Failure{EntityType: "Product", Entity: "Strava", Reason: tt.reason, Detail: tt.detail}
		got := f.Told()
		if got.Detail != tt.want || got.EntityType != f.EntityType || got.Entity != f.Entity || got.Reason != f.Reason {
			t.Errorf("%s: %+v, want the detail %q", name, got, tt.want)
		}
	}
}

func TestRefusalTellsNoAddress(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.world.down[strava.Key] = &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: errors.New("GET http://ads.internal/x")}
	_, r, err := b.permit()
	refusal := wantRefusal(t, err, safety.CodeCheckFailed)
	if detail := refusal.Map()["failures"].([]any)[0].(map[string]any)["detail"]; detail != "GET [address]" {
		t.Errorf("detail %q", detail)
	}
	if got := r.Failures()[0].Detail; !strings.Contains(got, "http://ads.internal/x") {
		t.Errorf("the report says %q", got)
	}
}

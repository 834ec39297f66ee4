// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A source that says that a thing does not exist gives an answer: the world has changed.
func TestGone(t *testing.T) {
	wantGone := func(t *testing.T, c safety.Checker, asOf time.Time) {
		t.Helper()
		s, err := c.Check(t.Context(), strava)
		if err != nil || len(s.Attributes) != 1 || s.Attributes[safety.Exists] != entity.Bool(false) || !s.AsOf.Equal(asOf) {
			t.Errorf("%+v, error %v; want that it does not exist, as of %s", s, err, asOf)
		}
		if r := check(t, c); r.Verdict() != safety.Drift {
			t.Errorf("the verdict is %v, want drift\n%s", r.Verdict(), r.Summary())
		}
	}
	empty := placementTable()
	empty.rows = nil
	wantGone(t, sqlChecker(t, placementQuery(), empty.open(t)), epoch)

	cfg := placement("http://ads.example")
	cfg.Gone = []int{404, 410}
	none := strings.NewReader("no such page")
	dated := http.Header{"Date": {epoch.Add(-2 * time.Second).Format(http.TimeFormat)}}
	wantGone(t, httpChecker(t, cfg, replying(410, nil, none)), epoch)
	cfg.AsOf = "$.as_of"
	wantGone(t, httpChecker(t, cfg, replying(404, nil, none)), epoch)
	cfg.AsOf = config.AsOfDateHeader
	wantGone(t, httpChecker(t, cfg, replying(404, dated, none)), epoch.Add(-2*time.Second))

	if s, err := httpChecker(t, cfg, replying(404, nil, none)).Check(t.Context(), strava); err == nil || !strings.Contains(err.Error(), "Date header") {
		t.Errorf("without a date: %+v, error %v", s, err)
	}
	cfg.Gone = nil
	if r := check(t, httpChecker(t, cfg, replying(404, dated, none))); r.Verdict() != safety.CheckFailed {
		t.Errorf("a status that nobody calls gone: %s", r.Summary())
	}
}

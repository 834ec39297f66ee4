// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// atOnce is a session service in which the result of a turn and what follows have one time. The database gives such
// events back in any order, in truth reversed.
type atOnce struct {
	session.Service
	at time.Time
}

func (a *atOnce) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	switch {
	case a.at.IsZero() && ev.Content != nil && ev.Content.Parts[0].FunctionResponse != nil:
		a.at = ev.Timestamp
	case !a.at.IsZero():
		ev.Timestamp = a.at
	}
	return a.Service.AppendEvent(ctx, to, ev)
}

// look takes a turn that looks the product up, in a process that ends, and returns the folder.
func look(t *testing.T, lost string, opts ...cgtest.Option) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, opts...)
	s.next = []*model.LLMResponse{looking("routes")}
	s.Say("what is there?")
	if err := s.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost != "" {
		db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), `DELETE FROM agent_events WHERE `+lost); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Events of one microsecond come back reversed, and integers beyond 2^53 as the nearest numbers. Honest purchases run, after
// at most one look-up, and an old price never counts.
func TestEventsThatComeBackOtherwise(t *testing.T) {
	sameTime := func(o *cgtest.Options) {
		change := o.ChangeRunner
		o.ChangeRunner = func(rc *runner.Config) {
			change(rc)
			rc.SessionService = &atOnce{Service: rc.SessionService}
		}
	}
	large := func(o *cgtest.Options) {
		search := o.Search
		o.BeforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, called tool.Tool, _ map[string]any) (map[string]any, error) {
			if called.Name() != "search" {
				return nil, nil
			}
			found, err := search(ctx, cgtest.SearchArgs{})
			found["request"] = int64(1<<53 + 1)
			return found, err
		}}
	}
	const fromTheResultOn = `event_type = 'TOOL_COMPLETED' OR run_seq > (SELECT min(run_seq) FROM agent_events WHERE event_type = 'TOOL_COMPLETED')`
	for name, tt := range map[string]struct {
		opt    cgtest.Option
		lost   string
		atOnce bool // a purchase without another look-up runs if the price is as it was
	}{
		"reversed":            {sameTime, "", true},
		"reversed and broken": {sameTime, fromTheResultOn, false},
		"large":               {large, "", true},
		"large and broken":    {large, fromTheResultOn, false},
	} {
		for _, price := range []string{"$40,000", "$52,000"} {
			t.Run(name+", then "+price, func(t *testing.T) {
				dir := look(t, tt.lost, tt.opt)
				s := open(t, dir, tt.opt)
				s.Shop.Set(price, true)
				if name != "large" && name != "large and broken" {
					events := s.Session(cgtest.User, cgtest.SessionID).Events()
					last := events.At(events.Len() - 1)
					if len(adktest.Responses([]*session.Event{last}, "search")) == 0 {
						t.Fatalf("the last event is %v, want the result", last)
					}
				}
				why := s.buy(buying())
				if ran := s.Bought.Load() == 1; ran != (tt.atOnce && price == "$40,000") {
					t.Errorf("asked at once: runs: %t: %s", ran, why)
				}
				if s.Bought.Load() == 0 {
					why := s.buy(looking("routes"), buying())
					if s.Bought.Load() != 1 {
						t.Errorf("looked up, and did not run: %s", why)
					}
				}
			})
		}
	}
}

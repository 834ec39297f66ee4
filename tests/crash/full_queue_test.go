// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The queue was full in one turn, because the file was locked, and the result of a look-up had no place in it. Whoever
// looks it up again can go on.
func TestFullQueue(t *testing.T) {
	const results = 16 // of one turn: more than the queue has room for
	for name, tt := range map[string]struct {
		second []*model.LLMResponse
		rises  bool // the price, while the turn is over
		bought int64
		why    string
	}{
		"asked at once":                       {second: []*model.LLMResponse{buying()}, why: "look it up, then ask again"},
		"looked up again":                     {second: []*model.LLMResponse{looking("routes"), buying()}, bought: 1},
		"looked up again, at a higher price":  {second: []*model.LLMResponse{looking("routes"), buying()}, rises: true, bought: 1},
		"asked at once, and the price is new": {second: []*model.LLMResponse{buying()}, rises: true, why: "look it up, then ask again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill := make([]*genai.FunctionCall, results)
			for i := range fill {
				fill[i] = searching("others")
			}
			script := adktest.Script(append(append([]*model.LLMResponse{adktest.Calls(fill...), looking("routes"), adktest.Text("There.")}, tt.second...), adktest.Text("Done."))...)
			h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked, func(o *cgtest.Options) {
				o.Answer = script.Answer
				o.Config.Journal.QueueBytes, o.Config.Journal.OnFull = 1<<20, config.Block
				o.Config.Record.MaxRow, o.Config.Record.MaxString = 256<<10, 200<<10
				search := o.Search
				o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (found map[string]any, err error) {
					if found, err = search(ctx, a); a.Query == "others" {
						found["items"] = []any{}
					}
					found["notes"] = strings.Repeat("x", 90_000)
					return found, err
				}
			})
			unlock := lockJournal(t, h.Path)
			h.Say("what is there?")
			unlock()
			for _, e := range rowtest.Of(h.Rows(cgtest.SessionID), record.ToolCompleted) {
				if strings.Contains(string(e.Content), cgtest.Item) {
					t.Fatal("the result is on record")
				}
			}
			if lost := h.CG.Stats().Journal.Lost["queue_full"]; lost == 0 {
				t.Fatal("the queue was not full")
			}
			if tt.rises {
				h.Shop.Set("$52,000", true)
			}
			id, _ := h.Ask(cgtest.SessionID)
			got := h.Answer(cgtest.SessionID, id, true)
			if said := fmt.Sprint(got, reasons(got)); h.Bought.Load() != tt.bought || !strings.Contains(said, tt.why) {
				t.Errorf("the tool ran %d times, want %d; it answered %s, want %q", h.Bought.Load(), tt.bought, said, tt.why)
			}
		})
	}
}

// lockJournal holds the write lock of a journal.
func lockJournal(t *testing.T, path string) (unlock func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := sqlitex.ExecuteTransient(conn, "ROLLBACK", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A selection looks at rows that wait in the queue, or are stored and not extracted, without
// waiting for the disk. It selects what it would select after all of them were extracted.
func TestSelectionWithRowsThatWait(t *testing.T) {
	x, err := graphsync.Compile([]config.Extract{
		{Name: "found", Tool: "find", Type: "Product", Value: "$.name", Attributes: map[string]config.Attribute{
			"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: true},
		}},
		{Name: "wanted", Tool: "find", In: config.InArgs, Type: "Product", Value: "$.name"},
		{Name: "offers", Tool: "list", Each: "$.offers[*]", Type: "Offer", Value: "$.name", Alternatives: true},
		{Name: "taken", Tool: "take", In: config.InAction, Each: "$.offers[*]", Type: "Offer", Value: "$.name"},
	})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{
		Path: filepath.Join(t.TempDir(), "j.db"), CommitInterval: time.Second,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	waited, compared := 0, 0
	for seed := range testsize.Seeds(t, 15, 600) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		rows := scribble(t, rnd, 40)
		stored := graphsync.NewEvidence(j.Evidence(), x)
		for i := range rows {
			e := rows[i]
			e.EventID, e.SessionID, e.Attributes = fmt.Sprint("w", seed, e.EventID), fmt.Sprint(e.SessionID, "-w", seed), ofSeed(e.Attributes, seed)
			// Most rows change nothing that a decision rests on.
			switch rnd.IntN(8) {
			case 0:
			case 1:
				e.EventType, e.Content = record.ToolStarting, []byte(`{"tool":"take","args":{"offers":[{"name":"O1"}]}}`)
			case 2:
				e.EventType, e.Content, e.Attributes = record.InvocationCompleted, nil, nil
			default:
				e.EventType = []string{record.UserMessageReceived, record.EventCompaction, record.StateDelta, record.LLMError, record.AgentCompleted, record.InvocationError, record.InvocationStarting, record.AgentStarting, record.LLMRequest, record.HITLConfirmationRequest, record.WorldChangeCheck}[rnd.IntN(11)]
				e.IsTruncated = rnd.IntN(10) == 0
			}
			if e.RunSeq = int64(i); rnd.IntN(6) == 0 {
				e.RunSeq = int64(rnd.IntN(i + 1))
			}
			if rnd.IntN(3) > 0 {
				e.SessionID, e.RunID = fmt.Sprint("s0-w", seed), "s0r"+fmt.Sprint(rnd.IntN(2))
			}
			if !j.Append(e) {
				t.Fatal("the row was refused")
			}
			rows[i] = e
			if rnd.IntN(4) > 0 {
				continue
			}
			s := record.Session{App: cgtest.App, User: cgtest.User, ID: fmt.Sprint("s0-w", seed)}
			d := graphsync.Decision{}
			of := rows[rnd.IntN(i+1)]
			switch rnd.IntN(3) {
			case 0:
				d.Answer = of.EventID
			case 1:
				d.Run, d.After = of.RunID, of.EventID
			}
			if rnd.IntN(3) > 0 {
				d.Tool, d.Args = "take", encoded(map[string]any{"offers": offers(rnd)})
			}
			before := j.Stats()
			got, err := stored.Select(t.Context(), s, d, []string{"i1", "i2"}, nil)
			if after := j.Stats(); after.Commits == before.Commits && before.QueuedRows > 0 {
				waited++
			}
			want, err2 := graphsync.NewEvidence(graphsync.NewRecorded(j), x).Select(t.Context(), s, d, []string{"i1", "i2"}, nil)
			if (err == nil) != (err2 == nil) {
				t.Fatalf("seed %d: in memory %v, with rows that wait %v", seed, err2, err)
			}
			compared++
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(graphsync.Progress{}, "Watermark", "Rows", "Rules"), cmpopts.IgnoreFields(graphsync.Run{}, "First"),
				cmpopts.SortSlices(func(a, b graphsync.Run) bool { return a.ID < b.ID }), cmpopts.SortSlices(func(a, b string) bool { return a < b }),
				cmp.AllowUnexported(entity.Value{})); diff != "" {
				t.Fatalf("seed %d, row %d, %+v: (-all extracted +rows that wait):\n%s", seed, i, d, diff)
			}
		}
	}
	t.Logf("%d of %d selections looked at rows that waited", waited, compared)
	if waited < compared/10 {
		t.Errorf("%d of %d selections looked at rows that waited: the test shows little of them", waited, compared)
	}
}

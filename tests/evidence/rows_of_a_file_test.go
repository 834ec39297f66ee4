// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The same rows give the same evidence, graph and reasons from a journal and from a file of rows, which
// have no numbers there. Agents that ran as tools are among them.
func TestRowsOfAFile(t *testing.T) {
	j, x := openJournal(t, time.Millisecond), offerRules(t)
	for seed := range testsize.Seeds(t, 10, 300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		of := fmt.Sprint("f", seed, "-")
		file := scribble(t, rnd, of, 60)
		if err := store.Import(t.Context(), j, file); err != nil {
			t.Fatal(err)
		}
		s := record.Session{App: cgtest.App, User: cgtest.User, ID: of + "s0"}
		d := record.Decision{Answer: file[rnd.IntN(len(file))].EventID, Tool: "take", Args: encoded(map[string]any{"offers": offers(rnd)})}
		// A file may be in any order.
		rnd.Shuffle(len(file), func(a, b int) { file[a], file[b] = file[b], file[a] })
		var told []any
		for _, rows := range []graphsync.Rows{j, graphsync.RowsOf(file)} {
			sessions := graphsync.NewSessions(rows, x)
			sel, err := sessions.Select(t.Context(), s, d, "i1")
			if err != nil {
				t.Fatal(err)
			}
			folded, err := sessions.Fold(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			g := folded.Graph()
			why := make(map[string][]graphsync.Reason)
			for _, n := range g.Nodes() {
				if why[n.Key], err = g.Why(n.Key); err != nil {
					t.Fatal(err)
				}
			}
			told = append(told, []any{sel, folded.Counts(), folded.Runs(), g.Nodes(), g.Edges(), g.Entities(), why})
		}
		numbers := cmp.Options{
			cmpopts.IgnoreFields(graphsync.Counts{}, "Watermark"), cmpopts.IgnoreFields(entity.Counted{}, "Row"), cmpopts.IgnoreFields(graphsync.Run{}, "First"),
		}
		if diff := cmp.Diff(told[0], told[1], numbers, cmp.AllowUnexported(entity.Value{})); diff != "" {
			t.Fatalf("seed %d: (-journal +file):\n%s", seed, diff)
		}
	}
}

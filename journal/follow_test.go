// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/journal"
)

// followed publishes something from the rows of testSession and returns the mark of that.
func followed(t *testing.T, j *journal.Journal) graphsync.Mark {
	t.Helper()
	mark, err := j.Follow(t.Context(), testSession)
	if err != nil || mark == 0 {
		t.Fatal(mark, err)
	}
	mark, err = j.PublishSince(t.Context(), publication(3, found("Product", "A", "a", "e-a", entity.SourceRule)), mark)
	if err != nil || mark == 0 {
		t.Fatal(mark, err)
	}
	return mark
}

// change adds a node, an edge and an entity to what followed published.
func change() graphsync.Change {
	return graphsync.Change{
		Session: testSession, Receipt: graphsync.Receipt{Watermark: 5, RowsRead: 5, Version: "v", Errors: []string{"one"}}, At: testTime,
		Nodes:    []graphsync.PlacedNode{{TechNode: node("c"), Position: 2}},
		Edges:    []graphsync.Edge{edge("b", "c", graphsync.Contains)},
		Entities: []graphsync.PlacedEntity{{Entity: found("Product", "B", "c", "e-c", entity.SourceRule), TraceID: "t"}},
	}
}

// TestMarkHolds does something between two publications: the second is stored as a change
// only when nobody wrote anything that the first does not know of.
func TestMarkHolds(t *testing.T) {
	elsewhere := testSession
	elsewhere.ID = "s-2"
	statement := func(text string) func(*testing.T, *journal.Journal) {
		return func(t *testing.T, j *journal.Journal) {
			t.Helper()
			conn := connect(t, j.Path(), sqlite.OpenReadWrite)
			for _, one := range strings.Split(text, "; ") {
				if err := sqlitex.ExecuteTransient(conn, one, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, tt := range []struct {
		name  string
		do    func(t *testing.T, j *journal.Journal)
		holds bool
	}{
		{"nothing", func(*testing.T, *journal.Journal) {}, true},
		{"rows of this journal", func(t *testing.T, j *journal.Journal) {
			appendAll(t, j, event(testSession, "r", 4, "X"), event(elsewhere, "r", 1, "X"))
			flush(t, j)
		}, true},
		{"another session", func(t *testing.T, j *journal.Journal) {
			p := publication(9)
			p.Session, p.Nodes, p.Edges = elsewhere, nil, nil
			publish(t, j, p)
			if err := j.AddEntities(t.Context(), elsewhere, modelEntities("M")); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"followed again", func(t *testing.T, j *journal.Journal) {
			if _, err := j.Follow(t.Context(), testSession); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a log that begins anew", func(t *testing.T, j *journal.Journal) {
			for _, e := range aged(elsewhere, "r", 300, day) {
				appendAll(t, j, e)
				flush(t, j)
			}
			if err := j.LimitWAL(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			flush(t, j)
		}, true},
		{"somebody who reads", statement("BEGIN; SELECT count(*) FROM agent_events; COMMIT"), true},
		{"somebody who changed nothing in the end", statement("BEGIN IMMEDIATE; DELETE FROM agent_events; ROLLBACK"), true},
		{"the same published", func(t *testing.T, j *journal.Journal) { publish(t, j, publication(3)) }, false},
		{"an older graph published", func(t *testing.T, j *journal.Journal) { publish(t, j, publication(1)) }, false},
		{"an entity added", func(t *testing.T, j *journal.Journal) { addEntities(t, j, modelEntities("M")...) }, false},
		{"rows removed", func(t *testing.T, j *journal.Journal) { sweep(t, j, journal.Retention{MaxAge: day}) }, false},
		{"a row changed", statement("UPDATE agent_events SET content = '7' WHERE seq = 1"), false},
		{"a node removed", statement("DELETE FROM tech_nodes"), false},
		{"rows of another process", func(t *testing.T, j *journal.Journal) {
			other := reopen(t, journal.Config{Path: j.Path()})
			appendAll(t, other, event(elsewhere, "r", 9, "X"))
			flush(t, other)
		}, false},
		{"too many sessions", func(t *testing.T, j *journal.Journal) {
			for n := range journal.MaxMarks {
				if _, err := j.Follow(t.Context(), named(fmt.Sprint(n))); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, aged(testSession, "r", 3, 2*day)...)
			mark := followed(t, j)
			tt.do(t, j)
			before := graphOf(t, j)
			next, err := j.PublishChange(t.Context(), change(), mark)
			if !tt.holds {
				if !errors.Is(err, graphsync.ErrMoved) || next != 0 {
					t.Errorf("mark %d, %v, want ErrMoved", next, err)
				}
				if d := cmp.Diff(names(before.Entities), names(graphOf(t, j).Entities)); d != "" {
					t.Errorf("changed all the same:\n%s", d)
				}
				return
			}
			if err != nil || next == 0 || next == mark {
				t.Fatalf("mark %d after %d, %v", next, mark, err)
			}
			got := graphOf(t, j)
			if len(got.Nodes) != 3 || len(got.Edges) != 2 || len(got.Entities) != 2 || got.Receipt.Watermark != 5 || len(got.Receipt.Errors) != 1 {
				t.Errorf("stored %+v", got)
			}
			if _, err := j.PublishChange(t.Context(), change(), mark); !errors.Is(err, graphsync.ErrMoved) {
				t.Errorf("the mark of the first publication again: %v", err)
			}
			if _, err := j.PublishChange(t.Context(), change(), next); err != nil {
				t.Errorf("the mark of the second: %v", err)
			}
		})
	}
}

// A publication gets no mark when something else may be stored.
func TestPublishSinceGivesNoMark(t *testing.T) {
	for name, publish := range map[string]func(t *testing.T, j *journal.Journal, held graphsync.Mark) (graphsync.Mark, error){
		"no mark before": func(t *testing.T, j *journal.Journal, _ graphsync.Mark) (graphsync.Mark, error) {
			return j.PublishSince(t.Context(), publication(4), 0)
		},
		"an old mark": func(t *testing.T, j *journal.Journal, held graphsync.Mark) (graphsync.Mark, error) {
			addEntities(t, j, modelEntities("M")...)
			return j.PublishSince(t.Context(), publication(4), held)
		},
		"a newer graph is stored": func(t *testing.T, j *journal.Journal, held graphsync.Mark) (graphsync.Mark, error) {
			return j.PublishSince(t.Context(), publication(2), held)
		},
		"the rows are gone": func(t *testing.T, j *journal.Journal, _ graphsync.Mark) (graphsync.Mark, error) {
			sweep(t, j, journal.Retention{MaxAge: day})
			held, err := j.Follow(t.Context(), testSession)
			if err != nil {
				t.Fatal(err)
			}
			return j.PublishSince(t.Context(), publication(3), held)
		},
		"it cannot be stored": func(t *testing.T, j *journal.Journal, held graphsync.Mark) (graphsync.Mark, error) {
			p := publication(4)
			p.Edges = append(p.Edges, edge("a", "nowhere", graphsync.Informs))
			mark, err := j.PublishSince(t.Context(), p, held)
			if err == nil || !strings.Contains(err.Error(), "unknown node") {
				t.Errorf("an edge to nowhere: %v", err)
			}
			return mark, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, aged(testSession, "r", 3, 2*day)...)
			if mark, err := publish(t, j, followed(t, j)); err != nil || mark != 0 {
				t.Errorf("mark %d, %v, want none", mark, err)
			}
		})
	}
}

// A change that cannot be stored changes nothing.
func TestPublishChangeFailsAsAWhole(t *testing.T) {
	for want, spoil := range map[string]func(*graphsync.Change){
		"belongs to session": func(c *graphsync.Change) { c.Nodes[0].Session = schema.Session{ID: "other"} },
		"unknown node":       func(c *graphsync.Change) { c.Edges = append(c.Edges, edge("c", "nowhere", graphsync.Informs)) },
		"confidence":         func(c *graphsync.Change) { c.Entities[0].Confidence = 2 },
	} {
		j := openJournal(t, nil)
		mark := followed(t, j)
		before, c := graphOf(t, j), change()
		spoil(&c)
		if next, err := j.PublishChange(t.Context(), c, mark); err == nil || next != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: mark %d, %v", want, next, err)
		}
		after := graphOf(t, j)
		if len(after.Nodes) != len(before.Nodes) || len(after.Entities) != len(before.Entities) || after.Receipt.Watermark != before.Receipt.Watermark {
			t.Errorf("%s: stored %+v", want, after)
		}
		if _, err := j.PublishChange(t.Context(), change(), mark); err != nil {
			t.Errorf("%s: the change without fault: %v", want, err)
		}
	}
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
)

// refuse makes a table refuse requests with one of the bad rows: by name, or as a whole.
func refuse(bad map[string]bool, byName bool) func(call) outcome {
	return func(c call) outcome {
		err := &replicate.Error{Class: replicate.ClassRows, Err: errors.New("INVALID_ARGUMENT")}
		found := false
		for i, id := range c.ids {
			if !bad[id] {
				continue
			}
			found = true
			if byName {
				err.Rows = append(err.Rows, replicate.RowError{Index: i, Code: "FIELDS_ERROR", Message: "bad JSON in " + id})
			}
		}
		if found {
			return outcome{delay: time.Millisecond, err: err}
		}
		return taken(time.Millisecond)
	}
}

// span returns the event ids of rows from to to of session a.
func span(from, to int) map[string]bool {
	ids := make(map[string]bool)
	for n := from; n <= to; n++ {
		ids[fmt.Sprintf("a-%06d", n)] = true
	}
	return ids
}

func TestBadRows(t *testing.T) {
	many := span(100, 103)
	maps.Copy(many, span(350, 350))
	maps.Copy(many, span(998, 999))
	for name, c := range map[string]struct {
		bad      map[string]bool
		n        int // rows in all; at least one more than the bad ones
		requests int // at most
	}{
		"one":           {span(500, 500), 1000, 280},
		"the first":     {span(1, 1), 1000, 280},
		"the last":      {span(1000, 1000), 1000, 280},
		"some":          {many, 1000, 800},
		"one of two":    {span(2, 2), 2, 5},
		"all but first": {span(2, 9), 9, 30},
	} {
		for _, byName := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/named=%v", name, byName), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					table := newTable(t)
					table.respond = refuse(c.bad, byName)
					m := newMemory(t, table)
					m.add(rows(c.n, 100)...)
					r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 40_000 })
					flush(t, r)
					wantRows(t, table, c.n-len(c.bad), c.n-len(c.bad))
					var dead []string
					for _, seq := range slices.Sorted(maps.Keys(m.dead)) {
						dead = append(dead, m.rows[seq-1].EventID)
						l := m.dead[seq]
						if byName && (l.Code != "FIELDS_ERROR" || !strings.Contains(l.Reason, "bad JSON in "+m.rows[seq-1].EventID)) {
							t.Errorf("dead letter %+v lacks the words of the server", l)
						}
						if !byName && (l.Code != "rows" || !strings.Contains(l.Reason, "INVALID_ARGUMENT")) {
							t.Errorf("dead letter %+v lacks the words of the server", l)
						}
					}
					if d := cmp.Diff(slices.Sorted(maps.Keys(c.bad)), dead); d != "" {
						t.Errorf("dead letters differ (-want +got):\n%s", d)
					}
					if table.sent() > c.requests {
						t.Errorf("%d requests, want at most %d", table.sent(), c.requests)
					}
					if table.opens != 1 {
						t.Errorf("%d streams for rows that are bad", table.opens)
					}
					if s := r.Status(); s.DeadLetters != int64(len(c.bad)) || s.Stopped || s.LastError != nil || s.HeldBytes != 0 {
						t.Errorf("Status() = %+v", s)
					}
					finish(t, r)
				})
			})
		}
	}
}

// A table that refuses every row is no reason to bury them: streaming stops, and goes on when the table is repaired.
func TestTableThatRefusesEverything(t *testing.T) {
	for _, byName := range []bool{true, false} {
		t.Run(fmt.Sprintf("named=%v", byName), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 2000
				bad := span(1, n)
				table := newTable(t)
				table.respond = refuse(bad, byName)
				m := newMemory(t, table)
				m.add(rows(n, 100)...)
				r := start(t, m, table, func(c *replicate.Config) { c.BatchBytes = 40_000 })
				if err := r.Flush(t.Context()); !errors.Is(err, replicate.ErrStopped) || !strings.Contains(err.Error(), "INVALID_ARGUMENT") {
					t.Errorf("Flush() = %v, want ErrStopped and the words of the server", err)
				}
				if table.sent() > 70 {
					t.Errorf("%d requests until it stopped", table.sent())
				}
				time.Sleep(20 * time.Minute)
				buried := len(m.letters())
				if s := r.Status(); !s.Stopped || s.LagRows != int64(n-buried) || s.HeldBytes != 0 {
					t.Errorf("Status() = %+v", s)
				}
				if byName && buried > 0 || buried > 128 {
					t.Errorf("%d rows were buried", buried)
				}
				table.change(func() { clear(bad) })
				time.Sleep(2 * time.Minute)
				wantRows(t, table, n-buried, n-buried)
				finish(t, r)
			})
		})
	}
}

// What is kept of the words of a server is a text, wherever it is cut.
func TestLongReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			if len(c.ids) > 1 {
				return outcome{err: &replicate.Error{Class: replicate.ClassRows, Rows: []replicate.RowError{{Message: "x" + strings.Repeat("ä", 10_000)}}}}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(2, 10)...)
		r := start(t, m, table, nil)
		flush(t, r)
		if l := m.letters()[1]; !utf8.ValidString(l.Reason) || len(l.Reason) > 1<<10 || !strings.HasSuffix(l.Reason, "ä…") {
			t.Errorf("the reason has %d bytes: %q", len(l.Reason), l.Reason)
		}
		finish(t, r)
	})
}

// Places of rows that were not in the request are no reason to fail.
func TestNamesOfNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			if len(c.ids) > 3 {
				return outcome{err: &replicate.Error{Class: replicate.ClassRows, Rows: []replicate.RowError{{Index: -1}, {Index: len(c.ids)}}}}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(10, 10)...)
		r := start(t, m, table, nil)
		flush(t, r)
		wantRows(t, table, 10, 10)
		finish(t, r)
	})
}

// A request that is too large is split, also twice, and one row that is gets buried.
func TestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t)
		table.respond = func(c call) outcome {
			if c.bytes > 3000 {
				return outcome{err: failure(replicate.ClassTooLarge, "AppendRows request too large"), broken: true}
			}
			return taken(0)
		}
		m := newMemory(t, table)
		m.add(rows(10, 1000)...)
		m.add(row("a", 11, 4000), row("a", 12, 10))
		r := start(t, m, table, nil)
		began := time.Now()
		flush(t, r)
		if d := time.Since(began); d > time.Second {
			t.Errorf("it took %v: there is nothing to wait for", d)
		}
		wantRows(t, table, 11, 11)
		if l := m.dead[11]; len(m.letters()) != 1 || l.Code != "too large" || !strings.Contains(l.Reason, "request too large") {
			t.Errorf("dead letters: %+v", m.dead)
		}
		finish(t, r)
	})
}

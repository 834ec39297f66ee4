// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// growing has the rows of sessions that go on, as a journal has them.
type growing struct {
	// chunk is how many rows it gives at once; 0 gives all that it has.
	chunk int
	// blind says that it cannot tell which rows wait.
	blind bool
	// broken is what fails: rows (after the first of a session), row, stored or flush.
	broken string
	// reading, if any, is called before rows are read.
	reading func()

	mu      sync.Mutex
	of      map[record.Session][]record.Event
	at      map[string]record.Event
	waiting []record.Event
	nested  map[record.Session][]record.Child
	// asked has the number after which each call of RowsAfter gave rows, flushed counts those of Flush.
	asked   []int64
	flushed int
}

// add stores rows, which come in order.
func (g *growing) add(rows ...record.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.store(rows)
}

func (g *growing) store(rows []record.Event) {
	if g.of == nil {
		g.of, g.at = make(map[record.Session][]record.Event), make(map[string]record.Event)
	}
	for _, e := range rows {
		g.of[e.Session()] = append(g.of[e.Session()], e)
		g.at[e.EventID] = e
		if parent, child, is := schema.Nested(&e); is && !slices.Contains(g.nested[parent], child) {
			if g.nested == nil {
				g.nested = make(map[record.Session][]record.Child)
			}
			g.nested[parent] = append(g.nested[parent], child)
		}
	}
}

// wait lets rows wait until the next Flush.
func (g *growing) wait(rows ...record.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, rows...)
}

// remove removes rows by their event ids.
func (g *growing) remove(ids ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s, rows := range g.of {
		g.of[s] = slices.DeleteFunc(slices.Clone(rows), func(e record.Event) bool { return slices.Contains(ids, e.EventID) })
	}
	for _, id := range ids {
		delete(g.at, id)
	}
}

func (g *growing) fails(what string) error {
	if g.broken == what {
		return errors.New("disk on fire")
	}
	return nil
}

func (g *growing) RowsAfter(_ context.Context, s record.Session, seq int64) ([]record.Event, error) {
	if g.reading != nil {
		g.reading()
	}
	if err := g.fails("rows"); err != nil && seq > 0 {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	rows := g.of[s]
	i, _ := slices.BinarySearchFunc(rows, seq+1, func(e record.Event, seq int64) int { return int(e.Seq - seq) })
	rows = rows[i:]
	if len(rows) > 0 {
		g.asked = append(g.asked, seq)
	}
	if g.chunk > 0 {
		rows = rows[:min(g.chunk, len(rows))]
	}
	return slices.Clone(rows), nil
}

func (g *growing) Children(_ context.Context, s record.Session) ([]record.Child, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.nested[s]), g.fails("children")
}

func (g *growing) Row(_ context.Context, eventID string) (record.Event, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.at[eventID]
	return e, ok, g.fails("row")
}

func (g *growing) Stored(_ context.Context, eventIDs ...string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range eventIDs {
		if _, ok := g.at[id]; !ok {
			return false, g.fails("stored")
		}
	}
	return true, g.fails("stored")
}

func (g *growing) Waiting(s record.Session) (rows []record.Event, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blind {
		return nil, false
	}
	for _, e := range g.waiting {
		if e.Session() == s {
			e.Seq = 0 // it gets a number when it is stored
			rows = append(rows, e)
		}
	}
	return rows, true
}

func (g *growing) Flush(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.fails("flush"); err != nil {
		return err
	}
	g.flushed++
	g.store(g.waiting)
	g.waiting = nil
	return nil
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// maxRemembered bounds what a Syncer remembers, in rows and entities of all sessions
// together: some 65 MB. A session that has more is read as a whole each time.
const maxRemembered = 50_000

// memory holds what is known of the sessions that were brought up to date last.
type memory struct {
	mu     sync.Mutex
	list   *simplelru.LRU[schema.Session, *followed]
	weight int
	limit  int
}

func newMemory() memory {
	// Bounded by weight, not by number. Only a size that is not positive is an error.
	list, _ := simplelru.NewLRU[schema.Session, *followed](math.MaxInt, nil)
	return memory{list: list, limit: maxRemembered}
}

// weight of an entity counts as one, and that of a row.
func (f *followed) weight() int { return 1 + len(f.graph.rows) + len(f.graph.entities) }

// take returns what is known of a session, or nil, and forgets it: whoever fails to bring
// it up to date leaves nothing behind.
func (m *memory) take(s schema.Session) *followed {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.list.Peek(s)
	if !ok {
		return nil
	}
	m.list.Remove(s)
	m.weight -= f.weight()
	return f
}

// put remembers a session, and forgets others that were not brought up to date for longer.
// Nothing is known of the session before.
func (m *memory) put(s schema.Session, f *followed) {
	if f == nil || f.weight() > m.limit {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list.Add(s, f)
	m.weight += f.weight()
	for m.weight > m.limit {
		_, oldest, _ := m.list.RemoveOldest()
		m.weight -= oldest.weight()
	}
}

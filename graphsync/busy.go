// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"sync"

	"github.com/adk-contextgraph/contextgraph/record"
)

// busy holds the sessions that a call works on. The zero value holds none.
type busy struct {
	mu       sync.Mutex
	sessions map[record.Session]chan struct{}
}

// acquire waits until no other call works on the session, or until ctx is done.
func (b *busy) acquire(ctx context.Context, s record.Session) (release func(), err error) {
	for {
		b.mu.Lock()
		other, taken := b.sessions[s]
		if !taken {
			mine := make(chan struct{})
			if b.sessions == nil {
				b.sessions = make(map[record.Session]chan struct{})
			}
			b.sessions[s] = mine
			b.mu.Unlock()
			return func() {
				b.mu.Lock()
				delete(b.sessions, s)
				b.mu.Unlock()
				close(mine)
			}, nil
		}
		b.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

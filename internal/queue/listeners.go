// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"sync"
)

// Listeners are the channels that hear of new rows. The zero value has none.
type Listeners struct {
	mu   sync.Mutex
	list []*listener
}

type listener struct{ ch chan<- struct{} }

// Add returns a function that removes ch again; calls after the first do nothing.
func (l *Listeners) Add(ch chan<- struct{}) (remove func()) {
	added := &listener{ch}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, added)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = slices.DeleteFunc(l.list, func(o *listener) bool { return o == added })
	}
}

// Tell sends to every channel that has room.
func (l *Listeners) Tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.list {
		select {
		case o.ch <- struct{}{}:
		default:
		}
	}
}

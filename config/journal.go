// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "time"

// Journal says where and how often events are written to disk, what a crash
// may take, and how long they are kept.
type Journal struct {
	// Path is the file of the journal; it is created when missing. A relative
	// path, also one in a file, is relative to the working directory of the
	// process, not to the configuration file. Defaults to "contextgraph.db".
	Path string `yaml:"path"`
	// Durability says what survives. [DurabilityMemory] commits rarely: a
	// process that is killed loses what waits. [DurabilityJournal] commits at
	// short intervals: committed events survive the death of the process, perhaps
	// not a power loss. With [DurabilitySync] they survive that too. The
	// steps of an approval always do, and what was committed before them.
	// Defaults to [DurabilityJournal].
	Durability Durability `yaml:"durability"`
	// CommitInterval is how long an event may wait for others to be committed
	// with it: at most 1s, or 10s with [DurabilityMemory]. Defaults to 20ms,
	// or to 1s with [DurabilityMemory].
	CommitInterval time.Duration `yaml:"commit_interval"`
	// QueueBytes bounds the events that wait to be committed, in bytes: at least
	// 1MiB and four rows of [Record.MaxRow]. Defaults to 64MiB.
	QueueBytes Size `yaml:"queue_bytes"`
	// OnFull says what a full queue does. [DropOldest] drops the oldest events that wait.
	// [Block] makes the agent wait for up to 100ms, and then drops the new event. Neither
	// drops an event of an approval for another. Defaults to [DropOldest].
	OnFull OnFull `yaml:"on_full"`
	// Retention removes what is old. Defaults to keeping everything.
	Retention Retention `yaml:"retention"`
}

// Retention says how much of the past a journal keeps. Sessions are removed
// whole, those idle for longest first, never one with an approval that is still
// open; approvals stay. When both limits are set, both hold.
type Retention struct {
	// MaxAge is how old the last event of a session may become: at least 1h.
	// Defaults to any age.
	MaxAge time.Duration `yaml:"max_age"`
	// MaxSize is how much of the journal may be in use, in bytes: at least 10MiB.
	// What may not be removed counts too. Defaults to any size.
	MaxSize Size `yaml:"max_size"`
}

// Durability says which events survive what.
type Durability string

// The levels of durability.
const (
	DurabilityMemory  Durability = "memory"
	DurabilityJournal Durability = "journal"
	DurabilitySync    Durability = "sync"
)

// OnFull says what becomes of an event for which the queue has no room.
type OnFull string

// What a full queue does.
const (
	DropOldest OnFull = "drop_oldest"
	Block      OnFull = "block"
)

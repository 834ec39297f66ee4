// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import "time"

// Journal says where and how often events are written to disk, which of them a crash may take, and
// how long they are kept.
type Journal struct {
	// Path is the file of the journal; it is created when missing. A relative
	// path, also one in a file, is relative to the working directory of the
	// process, not to the configuration file. Beside it stands the log of SQLite.
	// Defaults to "contextgraph.db".
	Path string `yaml:"path"`
	// Durability says which events survive. [DurabilityMemory] commits rarely: a killed process
	// loses the events that wait. [DurabilityJournal] commits at short intervals: committed events
	// survive the death of the process, and perhaps a power loss. With [DurabilitySync] they
	// survive a power loss too. The steps of an approval, and all events committed before them,
	// survive it at every level. Defaults to [DurabilityJournal].
	Durability Durability `yaml:"durability"`
	// CommitInterval is how long an event may wait for others to be committed
	// with it: at most 1s, or 10s with [DurabilityMemory]. Defaults to 20ms,
	// or to 1s with [DurabilityMemory].
	CommitInterval time.Duration `yaml:"commit_interval"`
	// QueueBytes bounds the memory of the events that wait to be committed: at least 1MiB and four
	// rows of [Record.MaxRow]. It holds a burst, and the events of an outage. Above 64MiB, at most a
	// quarter of the memory that the process may use is taken: by GOMEMLIMIT, or the limit of its
	// container. Defaults to 384MiB.
	QueueBytes Size `yaml:"queue_bytes"`
	// OnFull is the reaction of a full queue. [DropOldest] drops the oldest events that wait.
	// [Block] makes the agent wait for up to 100ms, and then drops the new event. Neither drops an
	// event of an approval for another. Defaults to [DropOldest].
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
	// MaxSize is how much of the journal may be in use, in bytes: at least 10MiB. Sessions that may
	// not be removed count too. Defaults to any size.
	MaxSize Size `yaml:"max_size"`
}

// Durability says which events survive which fault. At every level a committed event survives a
// fault of the process, and the steps of an approval survive a power loss together with all events
// committed before them.
type Durability string

const (
	// DurabilityMemory commits rarely: events wait in memory for up to CommitInterval, and a
	// process that is killed loses what waits. Committed events survive as with
	// DurabilityJournal.
	DurabilityMemory Durability = "memory"
	// DurabilityJournal, the default, commits in groups every CommitInterval. Committed events
	// survive the death of the process, kill -9 included. A power loss or a crash of the
	// kernel may take those that were committed since the last step of an approval or
	// checkpoint: the newest ones, without a hole, and never the file.
	DurabilityJournal Durability = "journal"
	// DurabilitySync commits as DurabilityJournal does, and a group counts as committed only
	// when the disk has confirmed it: committed events survive a power loss.
	DurabilitySync Durability = "sync"
)

// OnFull decides about an event without room in the queue. An event that belongs to the record of
// an approval is never dropped for another: such events may fill up to twice the queue, and only
// then are refused.
type OnFull string

const (
	// DropOldest, the default, drops the oldest events that wait. If that would not make room for
	// an event, the event itself is dropped.
	DropOldest OnFull = "drop_oldest"
	// Block makes the agent wait for room, for up to 100ms. Then the new event is dropped. An
	// event of an approval does not wait.
	Block OnFull = "block"
)

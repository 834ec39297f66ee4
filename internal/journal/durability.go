// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"time"
)

// Durability says which rows survive what. At every level [Journal.Flush] returns
// nil only when the rows are committed, a row is lost to no fault of the process
// alone once it is committed, and everything that is done through [Journal.Ledger]
// and [Journal.Publish] survives a power loss together with all rows committed
// before it.
type Durability string

const (
	// DurabilityMemory commits rarely: rows wait in memory for up to
	// CommitInterval, by default DefaultMemoryInterval, and a process that is
	// killed loses what waits. Committed rows survive as with DurabilityJournal.
	DurabilityMemory Durability = "memory"
	// DurabilityJournal, the default, commits in groups every CommitInterval, by
	// default DefaultCommitInterval. Committed rows survive the death of the
	// process, kill -9 included. A power loss or a crash of the kernel may take
	// those that were committed since the last ledger write or checkpoint: the
	// newest ones, without a hole, and never the file.
	DurabilityJournal Durability = "journal"
	// DurabilitySync is as DurabilityJournal, and the disk has confirmed each group
	// when it is committed: committed rows survive a power loss.
	DurabilitySync Durability = "sync"
)

// OnFull says what becomes of a row for which the queue has no room. A row that
// belongs to the record of an approval (schema.IsApproval) is never dropped for
// another: such rows may fill up to twice the bounds of the queue, and only then
// are refused, as [LostApprovalsFull].
type OnFull string

const (
	// DropOldest, the default, drops the oldest rows that wait, which are counted
	// as [LostDroppedOldest]. A row for which that would not make room is itself
	// dropped, as [LostQueueFull]: one that is larger than the queue, or when
	// approval rows and those being written fill it.
	DropOldest OnFull = "drop_oldest"
	// Block makes Append wait for room for up to BlockTimeout. Then the new row is
	// dropped and counted as [LostQueueFull]. An approval row does not wait.
	Block OnFull = "block"
)

// Defaults that depend on Durability and OnFull.
const (
	DefaultMemoryInterval = time.Second
	DefaultBlockTimeout   = 100 * time.Millisecond
)

// setDelivery sets the defaults of the fields that say how rows get to the disk.
func (c *Config) setDelivery() error {
	switch c.Durability {
	case "":
		c.Durability = DurabilityJournal
	case DurabilityMemory, DurabilityJournal, DurabilitySync:
	default:
		return fmt.Errorf("durability %q is not known: use %q, %q or %q", c.Durability, DurabilityMemory, DurabilityJournal, DurabilitySync)
	}
	switch c.OnFull {
	case "":
		c.OnFull = DropOldest
	case DropOldest, Block:
	default:
		return fmt.Errorf("what to do when the queue is full, %q, is not known: use %q or %q", c.OnFull, DropOldest, Block)
	}
	if c.CommitInterval == 0 {
		c.CommitInterval = DefaultCommitInterval
		if c.Durability == DurabilityMemory {
			c.CommitInterval = DefaultMemoryInterval
		}
	}
	if c.BlockTimeout == 0 {
		c.BlockTimeout = DefaultBlockTimeout
	}
	switch {
	case c.CommitInterval < 0:
		return fmt.Errorf("commit interval %v is negative: leave it out for %v", c.CommitInterval, DefaultCommitInterval)
	case c.BlockTimeout < 0:
		return fmt.Errorf("block timeout %v is negative: leave it out for %v", c.BlockTimeout, DefaultBlockTimeout)
	}
	return nil
}

// synchronous is a value of the pragma of that name. OFF is not among them: a
// checkpoint would move rows from the log to the file without waiting for the disk,
// and no later write of the log could make up for that.
type synchronous string

const (
	syncNormal synchronous = "NORMAL" // the disk is waited for when the log is copied to the file
	syncFull   synchronous = "FULL"   // and at every commit
)

// synchronous returns the value for commits of rows.
func (d Durability) synchronous() synchronous {
	if d == DurabilitySync {
		return syncFull
	}
	return syncNormal
}

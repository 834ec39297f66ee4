// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
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
		c.Durability = config.DurabilityJournal
	case config.DurabilityMemory, config.DurabilityJournal, config.DurabilitySync:
	default:
		return fmt.Errorf("durability %q is not known: use %q, %q or %q", c.Durability, config.DurabilityMemory, config.DurabilityJournal, config.DurabilitySync)
	}
	switch c.OnFull {
	case "":
		c.OnFull = config.DropOldest
	case config.DropOldest, config.Block:
	default:
		return fmt.Errorf("what to do when the queue is full, %q, is not known: use %q or %q", c.OnFull, config.DropOldest, config.Block)
	}
	if c.CommitInterval == 0 {
		c.CommitInterval = DefaultCommitInterval
		if c.Durability == config.DurabilityMemory {
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
func synchronousOf(d config.Durability) synchronous {
	if d == config.DurabilitySync {
		return syncFull
	}
	return syncNormal
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"github.com/adk-contextgraph/contextgraph/config"
)

// checkDelivery refuses a c with its defaults that does not say how rows get to the disk.
func (c *Config) checkDelivery() error {
	switch c.Durability {
	case config.DurabilityMemory, config.DurabilityJournal, config.DurabilitySync:
	default:
		return fmt.Errorf("durability %q is not known: use %q, %q or %q", c.Durability, config.DurabilityMemory, config.DurabilityJournal, config.DurabilitySync)
	}
	switch c.OnFull {
	case config.DropOldest, config.Block:
	default:
		return fmt.Errorf("journal.on_full is %q, which is unknown: use %q or %q", c.OnFull, config.DropOldest, config.Block)
	}
	switch {
	case c.CommitInterval < 0:
		return fmt.Errorf("commit interval %v is negative: leave it out for the default", c.CommitInterval)
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// JournalConfig says where and how often events are written to disk, what a crash
// may take, and how long they are kept.
type JournalConfig struct {
	// Path is the file of the journal; it is created when missing. A relative
	// path, also one in a file, is relative to the working directory of the
	// process, not to the configuration file. Defaults to "contextgraph.db".
	Path string
	// Durability says what survives. [journal.DurabilityMemory] commits rarely: a
	// process that is killed loses what waits. [journal.DurabilityJournal] commits at
	// short intervals: committed events survive the death of the process, perhaps
	// not a power loss. With [journal.DurabilitySync] they survive that too. The
	// steps of an approval always do, and what was committed before them.
	// Defaults to [journal.DurabilityJournal].
	Durability journal.Durability
	// CommitInterval is how long an event may wait for others to be committed
	// with it: at most 1s, or 10s with [journal.DurabilityMemory]. Defaults to 20ms,
	// or to 1s with [journal.DurabilityMemory].
	CommitInterval time.Duration
	// QueueBytes bounds the events that wait to be committed, in bytes: at least
	// 1 MiB and four rows of RecordConfig.MaxRow. Defaults to 64 MiB.
	QueueBytes int64
	// QueueRows bounds their number: at least 1,000. Defaults to 100,000.
	QueueRows int
	// OnFull says what a full queue does: [journal.DropOldest] drops the oldest
	// events that wait, [journal.Block] makes the agent wait. Neither drops an event
	// of an approval for another. Defaults to [journal.DropOldest].
	OnFull journal.OnFull
	// BlockTimeout is how long the agent waits at most for room before the new
	// event is dropped: at most 10s, and only with [journal.Block]. Defaults to 100ms.
	BlockTimeout time.Duration
	// Retention removes what is old. Defaults to keeping everything.
	Retention RetentionConfig
}

// RetentionConfig says how much of the past a journal keeps. Sessions are removed
// whole, those idle for longest first, never one with an approval that is still
// open; approvals stay. When both limits are set, both hold.
type RetentionConfig struct {
	// MaxAge is how old the last event of a session may become: at least 1h.
	// Defaults to 0: any age.
	MaxAge time.Duration
	// MaxSize is how much of the journal may be in use, in bytes: at least 10 MiB.
	// What may not be removed counts too. Defaults to 0: any size.
	MaxSize int64
}

// The bounds of a JournalConfig.
const (
	maxCommitInterval = time.Second
	maxMemoryInterval = 10 * time.Second
	minQueueBytes     = 1 << 20
	minQueueRows      = 1000
	// rowsInQueue is how many of the largest rows a queue has room for.
	rowsInQueue      = 4
	maxBlockTimeout  = 10 * time.Second
	minRetentionAge  = time.Hour
	maxRetentionAge  = 100 * 365 * 24 * time.Hour
	minRetentionSize = 10 << 20
)

// check reports what is wrong with c. The largest row is maxRow bytes.
func (c *JournalConfig) check(p *problems, k keyPath, maxRow int64) {
	switch path := k.field("path"); {
	case strings.ContainsFunc(c.Path, unicode.IsControl):
		p.add(path, quote(c.Path)+" holds a control character", "write the path of a file")
	case c.Path == ":memory:" || strings.HasPrefix(c.Path, "file:"):
		p.add(path, quote(c.Path)+" is not a file that outlives the process", "write the path of a file, for example "+journal.DefaultPath)
	}

	switch c.Durability {
	case "", journal.DurabilityMemory, journal.DurabilityJournal, journal.DurabilitySync:
	default:
		p.add(k.field("durability"), quote(string(c.Durability))+" is not a level of durability",
			choose(c.Durability, journal.DurabilityMemory, journal.DurabilityJournal, journal.DurabilitySync))
	}
	interval := maxCommitInterval
	if c.Durability == journal.DurabilityMemory || p.failed(k.field("durability")) {
		interval = maxMemoryInterval
	}
	checkDuration(p, k.field("commit_interval"), c.CommitInterval, interval)

	c.checkQueue(p, k, maxRow)

	retention := k.field("retention")
	age := retention.field("max_age")
	checkDuration(p, age, c.Retention.MaxAge, maxRetentionAge)
	if v := c.Retention.MaxAge; v != 0 && v < minRetentionAge {
		p.add(age, v.String()+" is too short", "write at least "+minRetentionAge.String()+", or leave it out to keep everything")
	}
	checkSize(p, retention.field("max_size"), c.Retention.MaxSize, minRetentionSize, 0)
}

func (c *JournalConfig) checkQueue(p *problems, k keyPath, maxRow int64) {
	size := k.field("queue_bytes")
	checkSize(p, size, c.QueueBytes, minQueueBytes, 0)
	if c.QueueBytes != 0 && c.QueueBytes < rowsInQueue*maxRow {
		p.add(size, sizeText(c.QueueBytes)+" is less than four rows of record.max_row ("+sizeText(maxRow)+")",
			"write at least "+sizeText(rowsInQueue*maxRow)+", or lower record.max_row")
	}
	switch rows := k.field("queue_rows"); {
	case c.QueueRows < 0:
		p.add(rows, strconv.Itoa(c.QueueRows)+" is negative", "write at least "+strconv.Itoa(minQueueRows)+", or leave it out for the default")
	case c.QueueRows != 0 && c.QueueRows < minQueueRows:
		p.add(rows, strconv.Itoa(c.QueueRows)+" is too small", "write at least "+strconv.Itoa(minQueueRows))
	}

	full, timeout := k.field("on_full"), k.field("block_timeout")
	switch c.OnFull {
	case "", journal.DropOldest, journal.Block:
	default:
		p.add(full, quote(string(c.OnFull))+" does not say what a full queue does", choose(c.OnFull, journal.DropOldest, journal.Block))
	}
	checkDuration(p, timeout, c.BlockTimeout, maxBlockTimeout)
	if c.BlockTimeout != 0 && c.OnFull != journal.Block && !p.failed(full) {
		p.add(timeout, "given without on_full: block", "write on_full: block, or leave it out: nothing waits otherwise")
	}
}

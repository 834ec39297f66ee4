// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// Defaults of Config.
const (
	DefaultBatchBytes = 1 << 20
	DefaultBatchAge   = time.Second
	DefaultInFlight   = 4
	DefaultAckTimeout = 30 * time.Second
	DefaultPoll       = time.Second
	DefaultLeaseTTL   = 15 * time.Second
	DefaultRecheck    = time.Minute
)

// MaxRequestBytes is how many bytes of rows one request holds at most. Of two documented bounds of
// a request the lesser one is 10 MB, and the service names 10,485,760 bytes when it refuses one; how
// much it adds to the rows is not documented.
const MaxRequestBytes = 9 << 20

// MaxRowBytes is the size of the largest row that is sent.
const MaxRowBytes = MaxRequestBytes - rowOverhead

// rowOverhead is what a request has for each row beside its bytes: a tag and a length.
const rowOverhead = 6

// Config says what a [Replicator] sends, where and how. Source and Target are required; zero values
// of the others mean the defaults.
type Config struct {
	// Source has the rows, and knows how far they were sent.
	Source store.Outbox
	// Target gets them.
	Target Target
	// BatchBytes is how large a request grows before it is sent, in encoded bytes.
	// Defaults to DefaultBatchBytes; at most MaxRequestBytes.
	BatchBytes int
	// BatchAge is how long the first row of a request waits for others. Defaults to
	// DefaultBatchAge.
	BatchAge time.Duration
	// InFlight is how many requests wait for their answers at a time. Defaults to
	// DefaultInFlight.
	InFlight int
	// AckTimeout is how long a stream may answer nothing before it is dropped. Defaults
	// to DefaultAckTimeout.
	AckTimeout time.Duration
	// Poll is how often the source is looked at without a notice of new rows, for those
	// of other processes. Defaults to DefaultPoll.
	Poll time.Duration
	// LeaseTTL is how long a lease holds that is not renewed, and so how long after a
	// crash another process begins to send. Defaults to DefaultLeaseTTL.
	LeaseTTL time.Duration
	// Recheck is how long a Replicator that has stopped waits before it looks whether
	// somebody did what Status says. Defaults to DefaultRecheck.
	Recheck time.Duration
	// TooLarge says in the dead letter of a row that is larger than MaxRowBytes what would have
	// helped. May be empty.
	TooLarge string
	// Logger hears of failures, of each kind at most once a minute. Defaults to
	// slog.Default().
	Logger *slog.Logger
}

func (c *Config) setDefaults() {
	c.BatchBytes = cmp.Or(c.BatchBytes, DefaultBatchBytes)
	c.BatchAge = cmp.Or(c.BatchAge, DefaultBatchAge)
	c.InFlight = cmp.Or(c.InFlight, DefaultInFlight)
	c.AckTimeout = cmp.Or(c.AckTimeout, DefaultAckTimeout)
	c.Poll = cmp.Or(c.Poll, DefaultPoll)
	c.LeaseTTL = cmp.Or(c.LeaseTTL, DefaultLeaseTTL)
	c.Recheck = cmp.Or(c.Recheck, DefaultRecheck)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

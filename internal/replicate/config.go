// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Source is where rows come from and where it stands how far they were sent: a [journal.Outbox].
type Source interface {
	// Acquire leases the source to owner for ttl, or prolongs the lease, and returns the
	// position. It returns a [journal.ErrLeased] while another owner has it.
	Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error)
	// Release ends the lease of owner.
	Release(ctx context.Context, owner string) error
	// Rows returns the rows after a position, in ascending order of Seq: at least one
	// when there is one, at most maxRows, and no more than hold maxBytes of payload. The
	// slice, with all that its events hold, is the caller's from then on.
	Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error)
	// Advance stores the position and the dead letters before it in one transaction. It
	// returns a [journal.ErrLeaseLost] when owner has no lease.
	Advance(ctx context.Context, owner string, to int64, dead []journal.DeadLetter) error
	// Backlog says what is not acknowledged, whoever moved the position. It needs no
	// lease.
	Backlog(ctx context.Context) (journal.Backlog, error)
	// LastSeq returns the greatest number of a committed row, 0 when there is none.
	LastSeq(ctx context.Context) (int64, error)
	// Changed makes the source send to ch after each commit until stop is called.
	Changed(ch chan<- struct{}) (stop func())
}

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
	// Source has the rows.
	Source Source
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"math/rand/v2"
	"time"
)

// LongestPause bounds the wait after so many failures of a class in succession: it doubles with each.
func LongestPause(c Class, failures int) time.Duration {
	first, most := 100*time.Millisecond, 30*time.Second
	switch c {
	case ClassExhausted:
		first, most = 2*time.Second, 2*time.Minute
	case ClassNotFound, ClassSchema:
		first = time.Second
	}
	// The shift cannot overflow: the greatest bound is reached long before.
	return min(first<<min(failures-1, 20), most)
}

// patience is how long a table that is not found, or that lacks a column after an
// upgrade, may be one that was changed a moment ago.
const patience = 5 * time.Minute

// backoff says how long to wait before the next attempt. The zero value has seen no
// failure.
type backoff struct {
	failures int
	// until is when patience ends; zero unless it is needed.
	until time.Time
}

// failed notes an error of class c and returns how long to wait, with full jitter.
func (b *backoff) failed(c Class) time.Duration {
	b.failures++
	return rand.N(LongestPause(c, b.failures))
}

// impatient reports whether a failure at the time now comes after the end of patience,
// which the first one begins.
func (b *backoff) impatient(now time.Time) bool {
	if b.until.IsZero() {
		b.until = now.Add(patience)
	}
	return now.After(b.until)
}

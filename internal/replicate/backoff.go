// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"math/rand/v2"
	"time"
)

// pause is the bound of the waits between attempts: it doubles from first to most.
type pause struct{ first, most time.Duration }

// pauses says how long to wait after errors of a class. Classes that are not in it have
// that of ClassTransient.
func pauses(c Class) pause {
	switch c {
	case ClassExhausted:
		return pause{2 * time.Second, 2 * time.Minute}
	case ClassNotFound, ClassSchema:
		return pause{time.Second, 30 * time.Second}
	}
	return pause{100 * time.Millisecond, 30 * time.Second}
}

// patience is how long a table that is not found, or that lacks a column after an
// upgrade, may be one that was changed a moment ago.
const patience = 5 * time.Minute

// backoff says how long to wait before the next attempt. The zero value has seen no
// failure.
type backoff struct {
	attempts int
	// until is when patience ends; zero unless it is needed.
	until time.Time
}

// failed notes an error of class c and returns how long to wait, with full jitter.
func (b *backoff) failed(c Class) time.Duration {
	p := pauses(c)
	bound := p.most
	// The shift cannot overflow: the greatest bound is reached long before.
	if b.attempts < 20 {
		bound = min(p.first<<b.attempts, p.most)
	}
	b.attempts++
	return rand.N(bound)
}

// impatient reports whether a failure at the time now comes after the end of patience,
// which the first one begins.
func (b *backoff) impatient(now time.Time) bool {
	if b.until.IsZero() {
		b.until = now.Add(patience)
	}
	return now.After(b.until)
}

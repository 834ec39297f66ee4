// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Secret is a text that formats and encodes as "[redacted]", so that a Config
// can be logged. Convert it to a string to get the text.
type Secret string

// String returns "[redacted]", or "" for an empty Secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString returns what String returns, in quotes.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText returns what String returns.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Size is a number of bytes. A file may write it with a unit: 64MiB.
type Size int64

// sizeUnits are the units of a Size. String takes the first one that fits.
var sizeUnits = [...]struct {
	name  string
	bytes int64
}{
	{"GB", 1e9}, {"GiB", 1 << 30},
	{"MB", 1e6}, {"MiB", 1 << 20},
	{"KB", 1e3}, {"KiB", 1 << 10},
}

// String returns the size in the first unit that makes it a whole number: 64MiB, 100 bytes.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	if s == 1 || s == -1 {
		return strconv.FormatInt(int64(s), 10) + " byte"
	}
	return strconv.FormatInt(int64(s), 10) + " bytes"
}

// ParseDuration reads a duration as [time.ParseDuration] does, and with the unit d for a
// day of 24 hours: 7d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	invalid := fmt.Errorf("invalid duration %s", strconv.Quote(s))
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || strings.Trim(days, "+-.0123456789") != "" || !(math.Abs(n)*24 < math.MaxInt64/float64(time.Hour)) {
		return 0, invalid
	}
	d := time.Duration(n * float64(24*time.Hour))
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest[:1], "+-") {
		return 0, errors.Join(invalid, err)
	}
	if n < 0 || strings.HasPrefix(days, "-") {
		more = -more
	}
	if sum := d + more; (sum < d) == (more < 0) {
		return sum, nil
	}
	return 0, invalid
}

// FormatDuration returns d as ParseDuration reads it, in days where these are whole and
// without units that are zero: 7d, 1h30m, 20ms.
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

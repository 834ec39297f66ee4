// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"regexp"
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

const (
	sizeUnitList = "KB, MB, GB, KiB, MiB, GiB; bytes without one"
	sizeRemedy   = "write for example 64MiB (units: " + sizeUnitList + ")"
)

var sizeForm = regexp.MustCompile(`^([0-9]+)(.*)$`)

// parseSize reads a number of bytes with or without a unit. Zero would mean the default in a Config,
// which nobody who writes 0 expects. problem says what is wrong; empty if nothing is.
func parseSize(s string) (size Size, problem, remedy string) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, Quote(s) + " is not a size", sizeRemedy
	}
	bytes, known := int64(1), m[2] == ""
	for _, u := range sizeUnits {
		trimmed := strings.TrimSpace(m[2])
		switch {
		case m[2] == u.name:
			bytes, known = u.bytes, true
		case strings.EqualFold(trimmed, u.name) || strings.EqualFold(trimmed+"B", u.name):
			return 0, Quote(s) + " is not a size", "did you mean " + Quote(m[1]+u.name) + "? Units: " + sizeUnitList
		}
	}
	v, err := strconv.ParseInt(m[1], 10, 64)
	switch {
	case !known:
		return 0, Quote(s) + " is not a size", sizeRemedy
	case err != nil || v > math.MaxInt64/bytes:
		return 0, Quote(s) + " is too large", sizeRemedy
	case v == 0:
		return 0, Quote(s) + " is not a positive size", sizeRemedy + orDefault
	}
	return Size(v * bytes), "", ""
}

var days = regexp.MustCompile(`^([+-]?)([0-9.]+)d`)

// ParseDuration reads a duration as [time.ParseDuration] does, and with the unit d for a
// day of 24 hours: 7d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	if m := days.FindStringSubmatch(s); m != nil {
		if n, err := strconv.ParseFloat(m[2], 64); err == nil {
			s = m[1] + strconv.FormatFloat(n*24, 'f', -1, 64) + "h" + s[len(m[0]):]
		}
	}
	return time.ParseDuration(s)
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

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sizeUnits are the units of a number of bytes, in the order in which one is chosen
// to show it.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"GB", 1e9}, {"GiB", 1 << 30},
	{"MB", 1e6}, {"MiB", 1 << 20},
	{"KB", 1e3}, {"KiB", 1 << 10},
}

func sizeRemedy(example string) string {
	return "write for example " + example + " (units: KB, MB, GB, KiB, MiB, GiB; bytes without one)"
}

// size reads a number of bytes. Zero would mean the default in a Config.
func size[T int | int64](d *decoder, dst *T, example string) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		s, ok := d.scalar(k, n, sizeRemedy(example), "!!str", "!!int")
		if !ok {
			return
		}
		v, problem, remedy := parseSize(s, example)
		if problem == "" && int64(T(v)) != v {
			problem, remedy = quote(s)+" is too large", sizeRemedy(example)
		}
		if problem != "" {
			d.addAt(place(n), k, problem, remedy)
			return
		}
		*dst = T(v)
	}
}

// parseSize returns s as a positive number of bytes, or what is wrong with it.
func parseSize(s, example string) (v int64, problem, remedy string) {
	digits := s
	if i := strings.IndexFunc(s, func(c rune) bool { return !isDigit(c) }); i >= 0 {
		digits = s[:i]
	}
	scale, known, meant := unitOf(strings.TrimPrefix(s, digits))
	if digits == "" || !known {
		if digits != "" && meant != "" {
			return 0, quote(s) + " is not a size", "did you mean " + quote(digits+meant) + "? Units: KB, MB, GB, KiB, MiB, GiB; bytes without one"
		}
		return 0, quote(s) + " is not a size", sizeRemedy(example)
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || v > math.MaxInt64/scale:
		return 0, quote(s) + " is too large", sizeRemedy(example)
	case v == 0:
		return 0, quote(s) + " is not a positive size", sizeRemedy(example) + ", or leave it out for the default"
	default:
		return v * scale, "", ""
	}
}

// unitOf returns the number of bytes of a unit. Where the unit is not known, it
// returns the one that was probably meant, or "".
func unitOf(s string) (scale int64, known bool, meant string) {
	if s == "" {
		return 1, true, ""
	}
	trimmed := strings.TrimSpace(s)
	for _, u := range sizeUnits {
		if s == u.name {
			return u.bytes, true, ""
		}
		if strings.EqualFold(trimmed, u.name) || strings.EqualFold(trimmed+"B", u.name) {
			meant = u.name
		}
	}
	return 0, false, meant
}

// sizeText returns a number of bytes in the first unit in which it is whole.
func sizeText(v int64) string {
	for _, u := range sizeUnits {
		if v != 0 && v%u.bytes == 0 {
			return strconv.FormatInt(v/u.bytes, 10) + u.name
		}
	}
	if v == 1 || v == -1 {
		return strconv.FormatInt(v, 10) + " byte"
	}
	return strconv.FormatInt(v, 10) + " bytes"
}

// checkSize reports a number of bytes that is set and below least or, unless most
// is 0, above most.
func checkSize(p *problems, k keyPath, v, least, most int64) {
	switch {
	case v < 0:
		p.add(k, sizeText(v)+" is negative", "write at least "+sizeText(least)+", or leave it out for the default")
	case v != 0 && v < least:
		p.add(k, sizeText(v)+" is too small", "write at least "+sizeText(least))
	case most != 0 && v > most:
		p.add(k, sizeText(v)+" is too large", "write at most "+sizeText(most))
	}
}

// count reads a positive whole number.
func (d *decoder) count(dst *int, example string) decodeFunc {
	return func(k keyPath, n *yaml.Node) {
		remedy := "write a whole number, without quotes or a unit, for example " + example
		s, ok := d.scalar(k, n, remedy, "!!int")
		if !ok {
			return
		}
		v, err := strconv.Atoi(s)
		switch {
		case err != nil:
			d.wrongType(k, n, remedy)
		case v <= 0:
			d.addAt(place(n), k, quote(s)+" is not a positive number", remedy+", or leave it out for the default")
		default:
			*dst = v
		}
	}
}

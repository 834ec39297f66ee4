// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of a decimal. They keep exact arithmetic cheap for any input.
const (
	maxDigits      = 64
	maxExponent    = 64
	maxDecimalText = 256
)

// ParseNumber parses a decimal number: an optional sign, digits with an optional
// point, and an optional exponent ("-0.5", "1e3"). Commas may group the digits
// before the point in threes ("1,234.5"). The number is exact. More than 64
// significant digits, or a magnitude beyond 1e64 or below 1e-64, is an error.
func ParseNumber(s string) (Value, error) {
	dec, err := parseDecimal(strings.TrimSpace(s), true)
	if err != nil {
		return Value{}, err
	}
	return Value{kind: KindNumber, text: dec}, nil
}

// Number returns x as a number. A float64 stands for the shortest decimal that reads back as x.
// NaN, infinities and values that [ParseNumber] refuses are errors.
func Number[T int | int64 | float64](x T) (Value, error) {
	dec, err := decimalOf(x)
	if err != nil {
		return Value{}, err
	}
	return ParseNumber(dec)
}

func decimalOf[T int | int64 | float64](x T) (string, error) {
	switch x := any(x).(type) {
	case float64:
		return decimalOfFloat(x)
	case int:
		return strconv.Itoa(x), nil
	default:
		return strconv.FormatInt(x.(int64), 10), nil
	}
}

func decimalOfFloat(x float64) (string, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", fmt.Errorf("%v is not a number with a value: use a finite number", x)
	}
	return strconv.FormatFloat(x, 'e', -1, 64), nil
}

// parseDecimal returns the normal form of a decimal: no exponent, no leading or
// trailing zeros that say nothing, no "-0". Equal numbers have one normal form.
func parseDecimal(s string, grouping bool) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%q is not a decimal number: %s", clip(s), why)
	}
	if len(s) > maxDecimalText {
		return bad("it is too long")
	}
	rest, negative := strings.CutPrefix(s, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	exp := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		var err error
		if exp, err = strconv.Atoi(rest[i+1:]); err != nil {
			return bad("its exponent is not a whole number")
		}
		if exp > maxExponent || exp < -maxExponent {
			return bad(fmt.Sprintf("its exponent is beyond %d", maxExponent))
		}
		rest = rest[:i]
	}
	whole, frac, point := strings.Cut(rest, ".")
	if grouping && strings.Contains(whole, ",") {
		groups := strings.Split(whole, ",")
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) {
				return bad("commas must group the digits in threes, and the decimal separator is a point")
			}
		}
		whole = strings.Join(groups, "")
	}
	if point && frac == "" || whole == "" && frac == "" {
		return bad("digits are missing")
	}
	digits := whole + frac
	if strings.Trim(digits, "0123456789") != "" {
		return bad("it may hold digits, one sign, one point and an exponent only")
	}
	exp -= len(frac)

	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0", nil
	}
	if len(trimmed) > maxDigits {
		return bad(fmt.Sprintf("it has more than %d significant digits", maxDigits))
	}
	if e := exp + len(trimmed) - 1; e > maxExponent || e < -maxExponent {
		return bad(fmt.Sprintf("its magnitude is beyond 1e%d or below 1e-%d", maxExponent, maxExponent))
	}
	out := plain(trimmed, exp)
	if negative {
		out = "-" + out
	}
	return out, nil
}

// plain writes digits * 10^exp without an exponent.
func plain(digits string, exp int) string {
	switch point := len(digits) + exp; {
	case exp >= 0:
		return digits + strings.Repeat("0", exp)
	case point > 0:
		return digits[:point] + "." + digits[point:]
	default:
		return "0." + strings.Repeat("0", -point) + digits
	}
}

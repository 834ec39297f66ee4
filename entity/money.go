// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"fmt"
	"slices"
	"strings"
)

// symbol is a currency sign. Several currencies share one: the sign means the
// default currency when that is among them, else the first.
type symbol struct {
	sign       string
	currencies []string
}

// symbols returns the signs read and shown. It is a function and not a variable
// so that nothing can change it.
func symbols() []symbol {
	return []symbol{
		{"$", []string{
			"USD", "AUD", "BBD", "BMD", "BND", "BSD", "BZD", "CAD", "FJD", "GYD", "HKD", "JMD", "KYD",
			"LRD", "NAD", "NZD", "SBD", "SGD", "SRD", "TTD", "TWD", "XCD",
		}},
		{"€", []string{"EUR"}},
		{"£", []string{"GBP", "EGP", "FKP", "GIP", "LBP", "SDG", "SHP", "SSP", "SYP"}},
		{"¥", []string{"JPY", "CNY"}},
	}
}

// dollars returns the signs of one dollar alone. They are read, and not shown.
func dollars() []symbol {
	return []symbol{
		{"US$", []string{"USD"}}, {"CA$", []string{"CAD"}}, {"AU$", []string{"AUD"}}, {"NZ$", []string{"NZD"}}, {"HK$", []string{"HKD"}},
		{"NT$", []string{"TWD"}}, {"A$", []string{"AUD"}}, {"S$", []string{"SGD"}},
	}
}

// Money returns an amount of money. The amount is a decimal as [ParseNumber]
// reads it; currency is an ISO 4217 code or empty when it is not known.
func Money(amount, currency string) (Value, error) {
	if currency != "" && !isCurrency(currency) {
		return Value{}, currencyError(currency)
	}
	dec, err := parseDecimal(strings.TrimSpace(amount), true)
	if err != nil {
		return Value{}, err
	}
	return Value{kind: KindMoney, text: dec, currency: currency}, nil
}

// ParseMoney parses an amount of money as people write it: "$50,000",
// "50,000.00 USD", "USD 50000", "€40", "-$5", or a number alone.
//
// A currency in the text wins over defaultCurrency (an ISO 4217 code, or empty).
// The sign "$" means defaultCurrency when that is a dollar, else USD, and "A$" one dollar alone; likewise
// "£" and "¥". With no currency at all the amount has none and equals no amount
// that has one. A currency code must be three capital letters; a sign and a code
// that contradict each other are an error, and so is a suffix such as "50K".
func ParseMoney(s, defaultCurrency string) (Value, error) {
	if defaultCurrency != "" && !isCurrency(defaultCurrency) {
		return Value{}, fmt.Errorf("default currency: %w", currencyError(defaultCurrency))
	}
	rest := strings.TrimSpace(s)
	rest, code := cutCode(rest)
	rest, sign := cutSign(rest)

	var negative bool
	if sign == "-" {
		negative = true
		rest, sign = cutSign(rest)
	}
	currency := defaultCurrency
	switch {
	case sign == "":
		if code != "" {
			currency = code
		}
	case code != "":
		if !slices.Contains(currenciesOf(sign), code) {
			return Value{}, fmt.Errorf("amount %q: the sign %s does not mean %s", clip(s), sign, code)
		}
		currency = code
	default:
		if all := currenciesOf(sign); !slices.Contains(all, defaultCurrency) {
			currency = all[0]
		}
	}
	if negative {
		if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return Value{}, fmt.Errorf("amount %q has two signs", clip(s))
		}
		rest = "-" + rest
	}
	dec, err := parseDecimal(rest, true)
	if err != nil {
		return Value{}, fmt.Errorf("amount %q: %w; write it like \"$50,000\" or \"50000 USD\"", clip(s), err)
	}
	return Value{kind: KindMoney, text: dec, currency: currency}, nil
}

// cutCode cuts a currency code with its space from either end of s.
func cutCode(s string) (rest, code string) {
	if len(s) > 3 && isCurrency(s[:3]) {
		return strings.TrimSpace(s[3:]), s[:3]
	}
	if n := len(s) - 3; n > 0 && isCurrency(s[n:]) {
		return strings.TrimSpace(s[:n]), s[n:]
	}
	return s, ""
}

// cutSign cuts a currency sign from either end of s, or a minus that stands
// before a currency sign.
func cutSign(s string) (rest, sign string) {
	for _, sym := range append(dollars(), symbols()...) {
		if r, ok := strings.CutPrefix(s, sym.sign); ok {
			return strings.TrimSpace(r), sym.sign
		}
		if r, ok := strings.CutSuffix(s, sym.sign); ok {
			return strings.TrimSpace(r), sym.sign
		}
		if strings.HasPrefix(s, "-"+sym.sign) {
			return s[1:], "-"
		}
	}
	return s, ""
}

func currenciesOf(sign string) []string {
	for _, sym := range append(dollars(), symbols()...) {
		if sym.sign == sign {
			return sym.currencies
		}
	}
	return nil
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func currencyError(s string) error {
	return fmt.Errorf("%q is not a currency: use a code of three capital letters such as USD", clip(s))
}

// formatMoney shows a decimal in its normal form as an amount: grouped in threes,
// with two places when it is not whole.
func formatMoney(dec, currency string) string {
	dec, negative := strings.CutPrefix(dec, "-")
	whole, frac, _ := strings.Cut(dec, ".")
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	sign := signOf(currency)
	b.WriteString(sign)
	for i, d := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(d)
	}
	if frac != "" {
		b.WriteByte('.')
		b.WriteString(frac)
		if len(frac) == 1 {
			b.WriteByte('0')
		}
	}
	if sign == "" && currency != "" {
		b.WriteByte(' ')
		b.WriteString(currency)
	}
	return b.String()
}

// signOf returns the sign that means currency without a default, or nothing.
func signOf(currency string) string {
	for _, sym := range symbols() {
		if sym.currencies[0] == currency {
			return sym.sign
		}
	}
	return ""
}

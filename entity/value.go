// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Kind is the type of a [Value].
type Kind uint8

// The kinds of values. KindNone is the zero value and means that there is no value.
const (
	KindNone Kind = iota
	KindText
	KindNumber
	KindMoney
	KindBool
	KindTime
	KindSet
	// KindUnreadable is the kind of a value that a source has in a form that cannot be read.
	KindUnreadable
)

var kindNames = [...]string{
	KindNone:   "none",
	KindText:   "text",
	KindNumber: "number",
	KindMoney:  "money",
	KindBool:   "boolean",
	KindTime:   "time",
	KindSet:    "set",

	KindUnreadable: "unreadable",
}

// String returns the name of k as [ParseKind] reads it, or "none" for KindNone.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseKind returns the kind named s: text, number, money, boolean, time or set.
func ParseKind(s string) (Kind, error) {
	for k := KindText; k <= KindSet; k++ {
		if s == kindNames[k] {
			return k, nil
		}
	}
	return KindNone, fmt.Errorf("unknown value type %q: use text, number, money, boolean, time or set", clip(s))
}

// timeLayout shows a time to the microsecond without trailing zeros.
const timeLayout = "2006-01-02T15:04:05.999999Z07:00"

// Value is an immutable typed value. The zero Value is none: there is no value.
//
// Numbers and amounts of money are exact decimals. Two Values that are equal in
// the sense of [Value.Equal] are also equal with ==, so a Value can be a map key.
type Value struct {
	kind Kind
	// text is the text itself, the normal form of a decimal, or the JSON of a set.
	text     string
	currency string
	flag     bool
	micros   int64
}

// Text returns s as a text. Bytes that are not UTF-8 become U+FFFD, so that the
// value survives JSON and SQL unchanged.
func Text(s string) Value {
	return Value{kind: KindText, text: strings.ToValidUTF8(s, "\uFFFD")}
}

// Bool returns b as a boolean.
func Bool(b bool) Value { return Value{kind: KindBool, flag: b} }

// Time returns t in UTC, cut to whole microseconds. A year that RFC 3339 cannot
// write (before 0 or after 9999) gives the zero Value.
func Time(t time.Time) Value {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return Value{}
	}
	return Value{kind: KindTime, micros: t.UnixMicro()}
}

// Unreadable returns a value that is there and cannot be read. It compares with nothing. why says why, for people.
func Unreadable(why string) Value {
	return Value{kind: KindUnreadable, text: strings.ToValidUTF8(why, "\uFFFD")}
}

// Unreadable returns why v cannot be read; false if it can.
func (v Value) Unreadable() (why string, is bool) {
	if v.kind != KindUnreadable {
		return "", false
	}
	return v.text, true
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether v is none. [encoding/json] uses it for omitzero.
func (v Value) IsZero() bool { return v.kind == KindNone }

// Equal reports whether v and w have the same kind and the same value. Amounts of
// money are equal only in the same currency; texts are compared byte by byte.
func (v Value) Equal(w Value) bool { return v == w }

// AsText returns the text of v; false when v is not a text.
func (v Value) AsText() (string, bool) {
	if v.kind != KindText {
		return "", false
	}
	return v.text, true
}

// AsBool returns the boolean of v; its second result is false when v is not a boolean.
func (v Value) AsBool() (value, ok bool) {
	return v.flag, v.kind == KindBool
}

// AsTime returns the time of v in UTC; false when v is not a time.
func (v Value) AsTime() (time.Time, bool) {
	if v.kind != KindTime {
		return time.Time{}, false
	}
	return time.UnixMicro(v.micros).UTC(), true
}

// Rat returns a copy of the exact number or amount of v; false for other kinds.
func (v Value) Rat() (*big.Rat, bool) {
	if v.kind != KindNumber && v.kind != KindMoney {
		return nil, false
	}
	return new(big.Rat).SetString(v.text)
}

// Currency returns the ISO 4217 code of an amount of money. It is empty for an
// amount without a known currency and for other kinds.
func (v Value) Currency() string { return v.currency }

// String returns v as shown to people: "$40,000", "40,000 SEK", "0.94", "true",
// "[Chair, Desk]". None is the empty string. Parts of a currency unit are shown only when there are any.
func (v Value) String() string {
	switch v.kind {
	case KindText, KindNumber:
		return v.text
	case KindMoney:
		return formatMoney(v.text, v.currency)
	case KindBool:
		return boolName(v.flag)
	case KindTime:
		return time.UnixMicro(v.micros).UTC().Format(timeLayout)
	case KindUnreadable:
		return KindUnreadable.String()
	case KindSet:
		return "[" + strings.Join(v.Elements(), ", ") + "]"
	default:
		return ""
	}
}

// Canonical returns the normal form of v for keys and digests: the name of the
// kind, a colon and the value, for example "money:50000:USD". Values that are not
// equal have different normal forms. None is the empty string.
func (v Value) Canonical() string {
	switch v.kind {
	case KindNone:
		return ""
	case KindMoney:
		return "money:" + v.text + ":" + v.currency
	case KindUnreadable:
		return v.kind.String() + ":" + v.text
	default:
		return v.kind.String() + ":" + v.String()
	}
}

func boolName(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// valueJSON is the wire form of a Value.
type valueJSON struct {
	Kind     string  `json:"kind"`
	Value    *string `json:"value"`
	Currency string  `json:"currency,omitempty"`
}

// MarshalJSON writes {"kind":"money","value":"50000","currency":"USD"}. The value
// is a string for every kind, so that no reader rounds it. None is null.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind == KindNone {
		return []byte("null"), nil
	}
	s := v.text
	if v.kind == KindBool || v.kind == KindTime {
		s = v.String()
	}
	return json.Marshal(valueJSON{Kind: v.kind.String(), Value: &s, Currency: v.currency})
}

// UnmarshalJSON reads what MarshalJSON writes. An unknown kind or field, a missing
// value, and a value that is not of its kind are errors; v is then unchanged.
func (v *Value) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*v = Value{}
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var w valueJSON
	if err := dec.Decode(&w); err != nil {
		return fmt.Errorf("value %s: %w", clip(string(data)), err)
	}
	x, err := w.value()
	if err != nil {
		return fmt.Errorf("value %s: %w", clip(string(data)), err)
	}
	*v = x
	return nil
}

func (w valueJSON) value() (Value, error) {
	k, err := ParseKind(w.Kind)
	if w.Kind == KindUnreadable.String() {
		k, err = KindUnreadable, nil
	}
	if err != nil {
		return Value{}, err
	}
	if w.Value == nil {
		return Value{}, fmt.Errorf("no \"value\": give it as a string")
	}
	if w.Currency != "" && k != KindMoney {
		return Value{}, fmt.Errorf("a %s has no currency", k)
	}
	switch k {
	case KindText:
		return Text(*w.Value), nil
	case KindUnreadable:
		return Unreadable(*w.Value), nil
	case KindBool:
		if *w.Value != "true" && *w.Value != "false" {
			return Value{}, fmt.Errorf("%q is not a boolean: use \"true\" or \"false\"", clip(*w.Value))
		}
		return Bool(*w.Value == "true"), nil
	case KindTime:
		return parseTime(*w.Value)
	case KindSet:
		return parseSet(*w.Value)
	default:
		dec, err := parseDecimal(*w.Value, false)
		if err != nil {
			return Value{}, err
		}
		if k == KindMoney && w.Currency != "" && !isCurrency(w.Currency) {
			return Value{}, currencyError(w.Currency)
		}
		return Value{kind: k, text: dec, currency: w.Currency}, nil
	}
}

func parseTime(s string) (Value, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return Value{}, fmt.Errorf("%q is not a time: use RFC 3339 with a zone, for example 2026-03-05T14:00:00Z", clip(s))
	}
	v := Time(t)
	if v.IsZero() {
		return Value{}, fmt.Errorf("%q is outside the years 0 to 9999 in UTC", clip(s))
	}
	return v, nil
}

// clip bounds what an error message repeats of an input.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}

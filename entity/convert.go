// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// FromAny converts a decoded JSON value to kind k. It accepts string, bool,
// float64, [json.Number], the integer types, and lists and objects of these. It is strict:
//
//   - text: a string, or a number in its shortest decimal form; never a boolean
//   - number: a number, or a string that [ParseNumber] reads
//   - money: a number, or a string that [ParseMoney] reads, with defaultCurrency
//   - boolean: a boolean; never the string "true" or the number 1
//   - time: a string in RFC 3339 with a zone
//   - set: a list. Its elements are counted: a number as its text, an object with all that it holds; null
//     is no element
//
// Anything else is an error, and so are nil and KindNone.
func FromAny(v any, k Kind, defaultCurrency string) (Value, error) {
	if v == nil {
		return Value{}, fmt.Errorf("no value where a %s is expected", k)
	}
	s, isText := v.(string)
	switch k {
	case KindText:
		if isText {
			return Text(s), nil
		}
	case KindBool:
		if b, ok := v.(bool); ok {
			return Bool(b), nil
		}
		return Value{}, mismatch(v, k)
	case KindTime:
		if isText {
			return parseTime(s)
		}
		return Value{}, mismatch(v, k)
	case KindSet:
		if list, ok := v.([]any); ok {
			return setOf(list)
		}
		return Value{}, mismatch(v, k)
	case KindNumber, KindMoney:
	default:
		return Value{}, errors.New("no value type: use text, number, money, boolean, time or set")
	}

	if !isText {
		num, ok, err := decimalOfAny(v)
		if err != nil {
			return Value{}, err
		}
		if !ok {
			return Value{}, mismatch(v, k)
		}
		s = num
	}
	switch k {
	case KindMoney:
		return ParseMoney(s, defaultCurrency)
	case KindText:
		n, err := ParseNumber(s)
		if err != nil {
			return Value{}, err
		}
		return Text(n.text), nil
	default:
		return ParseNumber(s)
	}
}

// decimalOfAny returns the decimal text of a Go number; false for other types.
func decimalOfAny(v any) (string, bool, error) {
	switch x := v.(type) {
	case json.Number:
		return x.String(), true, nil
	case float64:
		s, err := decimalOfFloat(x)
		return s, true, err
	case int:
		return strconv.Itoa(x), true, nil
	case int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(x), true, nil
	default:
		return "", false, nil
	}
}

func mismatch(v any, k Kind) error {
	switch x := v.(type) {
	case string:
		return fmt.Errorf("%q is a text, not a %s", clip(x), k)
	case bool:
		return fmt.Errorf("%t is a boolean, not a %s", x, k)
	case map[string]any:
		return fmt.Errorf("an object is not a %s", k)
	case []any:
		return fmt.Errorf("a list is not a %s", k)
	default:
		return fmt.Errorf("%v is not a %s", v, k)
	}
}

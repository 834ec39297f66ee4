// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Limits of what can be approved. They also end a structure that contains itself.
const (
	maxArgsDepth = 100
	maxArgsBytes = 4 << 20
	maxExactInt  = 1<<53 - 1
)

// ErrArgs is wrapped by every error about arguments that have no digest.
var ErrArgs = errors.New("arguments have no exact JSON form")

// ArgsDigest returns the canonical JSON of a call's arguments (RFC 8785) and its
// SHA-256 in hexadecimal. Equal digests mean equal JSON: the order of keys and the
// Go type of a number (5, 5.0) do not matter. Nil arguments are {}.
//
// Arguments must be what a JSON decoder gives (nil, bool, string, float64,
// [json.Number], []any, map[string]any) or a Go integer, []string or
// []map[string]any. Anything two readers could understand differently is refused:
// NaN and infinities, integers of 2^53 and more, decimals a float64 does not give back,
// invalid UTF-8, other types, more than 100 levels or 4 MiB. Every error wraps
// [ErrArgs] and names the place.
func ArgsDigest(args map[string]any) (digest string, canonical []byte, err error) {
	if args == nil {
		args = map[string]any{}
	}
	canonical, err = appendCanonical(nil, args, &place{}, 0)
	if err != nil {
		return "", nil, err
	}
	if len(canonical) > maxArgsBytes {
		return "", nil, argsError(&place{}, "longer than %d bytes", maxArgsBytes)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), canonical, nil
}

// FreezeArgs returns a deep copy of args that shares nothing with it, so that
// nobody who kept a reference can change what was approved. Numbers keep their Go
// type. Nil gives an empty map. It refuses what [ArgsDigest] refuses.
func FreezeArgs(args map[string]any) (map[string]any, error) {
	if _, _, err := ArgsDigest(args); err != nil {
		return nil, err
	}
	if args == nil {
		return map[string]any{}, nil
	}
	frozen, _ := deepCopy(args).(map[string]any)
	return frozen, nil
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k := range out {
			out[k] = deepCopy(out[k])
		}
		return out
	case []any:
		return copyEach(v)
	case []map[string]any:
		return copyEach(v)
	case []string:
		return slices.Clone(v)
	default:
		return v
	}
}

func copyEach[E any](list []E) []E {
	out := slices.Clone(list)
	for i := range out {
		out[i], _ = deepCopy(out[i]).(E)
	}
	return out
}

// place is where a value stands in the arguments: under a name or an index in another.
// Its text is made for an error alone: made for each value, it would take the square of
// the size of the arguments.
type place struct {
	in    *place // nil for the arguments themselves
	name  string
	index int // of an element; -1 for a name
}

// String returns the place as "$.name[index]".
func (p *place) String() string {
	switch {
	case p.in == nil:
		return "$"
	case p.index < 0:
		return p.in.String() + "." + p.name
	default:
		return p.in.String() + "[" + strconv.Itoa(p.index) + "]"
	}
}

func argsError(at *place, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrArgs, oneLine(at.String()), fmt.Sprintf(format, args...))
}

func appendCanonical(b []byte, v any, at *place, depth int) ([]byte, error) {
	if depth > maxArgsDepth {
		return nil, argsError(&place{}, "nested deeper than %d levels", maxArgsDepth)
	}
	if len(b) > maxArgsBytes {
		return nil, argsError(&place{}, "longer than %d bytes", maxArgsBytes)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v, at)
	case float64:
		return appendFloat(b, v, at)
	case json.Number:
		return appendNumber(b, v, at)
	case int, int8, int16, int32, int64:
		return appendInt(b, reflect.ValueOf(v).Int(), at)
	case uint, uint8, uint16, uint32, uint64:
		return appendInt(b, reflect.ValueOf(v).Uint(), at)
	case map[string]any:
		return appendObject(b, v, at, depth)
	case []any:
		return appendArray(b, v, at, depth)
	case []string:
		return appendArray(b, v, at, depth)
	case []map[string]any:
		return appendArray(b, v, at, depth)
	default:
		return nil, argsError(at, "a %T is not a JSON value; pass maps, slices, strings, numbers and booleans", v)
	}
}

func appendObject(b []byte, m map[string]any, at *place, depth int) ([]byte, error) {
	if m == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '{')
	member := &place{in: at, index: -1}
	for i, k := range slices.SortedFunc(maps.Keys(m), compareUTF16) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendString(b, k, at); err != nil {
			return nil, err
		}
		b = append(b, ':')
		member.name = k
		if b, err = appendCanonical(b, m[k], member, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendArray[E any](b []byte, a []E, at *place, depth int) ([]byte, error) {
	if a == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	element := &place{in: at}
	for i, e := range a {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		element.index = i
		if b, err = appendCanonical(b, e, element, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// compareUTF16 orders keys by UTF-16 code units, as RFC 8785 wants it: a character
// outside the basic plane sorts before U+E000.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func appendString(b []byte, s string, at *place) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, argsError(at, "text is not valid UTF-8")
	}
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			b = append(b, '\\', "btnfr"[strings.IndexByte("\b\t\n\f\r", c)])
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(b, '"'), nil
}

func appendInt[T int64 | uint64](b []byte, n T, at *place) ([]byte, error) {
	if math.Abs(float64(n)) > maxExactInt {
		return nil, argsError(at, "integer %d is too large to be exact in JSON; pass it as text", n)
	}
	return strconv.AppendInt(b, int64(n), 10), nil
}

// appendFloat writes a number as ECMAScript does: the shortest digits that give the
// same float64, with an exponent below 1e-6. From 2^53 on a float64 is an integer that
// may stand for its neighbours: 9007199254740993 arrives as 9007199254740992.
func appendFloat(b []byte, f float64, at *place) ([]byte, error) {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, argsError(at, "%v is not a JSON number", f)
	case abs > maxExactInt:
		return nil, argsError(at, "integer %.0f is too large to be exact in JSON; pass it as text", f)
	case f == 0:
		return append(b, '0'), nil // also for -0
	case abs >= 1e-6:
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go pads the exponent to two digits: 1e-07. ECMAScript does not.
	if n := len(b); b[n-2] == '0' {
		b = append(b[:n-2], b[n-1])
	}
	return b, nil
}

// appendNumber accepts a number in text only if reading it as a float64 loses
// nothing, since one reader will do that and another will not.
func appendNumber(b []byte, n json.Number, at *place) ([]byte, error) {
	text := n.String()
	if !json.Valid([]byte(text)) || strings.Trim(text, "+-.0123456789eE") != "" {
		return nil, argsError(at, "%q is not a JSON number", text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, argsError(at, "number %s is out of range", text)
	}
	out, err := appendFloat(b, f, at)
	if err != nil {
		return nil, err
	}
	was, err := entity.ParseNumber(text)
	is, _ := entity.ParseNumber(string(out[len(b):]))
	if err != nil || was != is {
		return nil, argsError(at, "number %s is not exact in JSON; pass it as text", text)
	}
	return out, nil
}

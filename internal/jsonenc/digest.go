// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strconv"
)

// Digest is the first 64 bits of a SHA-256 of a value and the key of the Writer, as hexadecimal
// digits. It is of the whole value, also where a row holds less: what was cut or redacted counts.
// Numbers count by value: 52000, 52000.0 and 5.2e4 give one digest. So a value has the same digest
// before and after it was stored as JSON, except for numbers that a float64 does not hold.
type Digest [16]byte

// String returns the digits, "" for the zero Digest.
func (s Digest) String() string {
	if s == (Digest{}) {
		return ""
	}
	return string(s[:])
}

// SetKey sets the key of digests. Only who has it can tell which value a digest is of.
func (w *Writer) SetKey(key []byte) { w.key = key }

// Digested writes a key and a value, and returns the digest of the value. It is ok
// unless the value was cut or redacted, or holds a type that encoding/json may write in another
// way: then [Writer.Digest] gives it.
func (d Doc) Digested(k string, v any) (sum Digest, ok bool) {
	d.Key(k)
	w := d.w
	from, cut, odd, redacted := len(w.buf), w.truncated, w.odd, w.secrets.Redacted
	w.truncated, w.odd, w.spelled = false, false, false
	w.value(v)
	if ok = !w.truncated && !w.odd && w.secrets.Redacted == redacted; ok {
		sum = w.sum(w.buf[from:], w.spelled)
	}
	w.truncated, w.odd = cut || w.truncated, odd || w.odd
	return sum, ok
}

// Digest returns the digest of a value, and resets w before. A value of a type of its
// own counts as what encoding/json makes of it.
func (w *Writer) Digest(v any) Digest {
	w.Reset()
	sum, exact := w.digest(v)
	if exact {
		return sum
	}
	tree, err := contain(func() (any, error) { return treeOf(v) })
	if err != nil {
		return sum // as the row has it: JSON cannot hold it
	}
	if w.odd {
		w.Reset()
		if sum, exact = w.digest(tree); exact {
			return sum
		}
	}
	whole, _ := json.Marshal(tree) // with sorted keys
	return w.sum(append(whole, " whole"...), true)
}

// digest writes a value. The digest is that of the whole value if it is exact.
func (w *Writer) digest(v any) (sum Digest, exact bool) {
	d := w.Doc(100)
	d.Value(v)
	from, _ := d.Range()
	return w.sum(w.buf[from:], w.spelled), !w.truncated && !w.odd && w.secrets.Redacted == 0
}

// sum returns the digest of JSON. Its numbers need not be in their normal form if they are spelled.
func (w *Writer) sum(b []byte, spelled bool) (s Digest) {
	if spelled {
		b = w.normalized(b)
	}
	if w.hash == nil {
		w.hash = sha256.New()
	}
	w.hash.Reset()
	w.hash.Write(w.key)
	w.hash.Write(b)
	const digits = "0123456789abcdef"
	for i, c := range w.hash.Sum(w.hashed[:0])[:len(s)/2] {
		s[2*i], s[2*i+1] = digits[c>>4], digits[c&0xf]
	}
	return s
}

// normalized returns JSON with its numbers in their normal form.
func (w *Writer) normalized(b []byte) []byte {
	w.normal = w.normal[:0]
	done := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
		case c == '-' || isDigit(c):
			end, plain := numberEnd(b, i)
			if !plain {
				w.normal = append(w.normal, b[done:i]...)
				w.normal = appendNormal(w.normal, b[i:end])
				done = end
			}
			i = end
		default:
			i++
		}
	}
	w.normal = append(w.normal, b[done:]...)
	return w.normal
}

// stringEnd returns the place behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		escapes := 0
		for escapes < n && b[i+n-1-escapes] == '\\' {
			escapes++
		}
		if i += n; escapes%2 == 0 {
			return i + 1
		}
	}
}

// maxDecimals is how many decimals a number has at most that is not written with an
// exponent in its normal form.
const maxDecimals = 32

// numberEnd returns the place behind the number that begins at i, and whether it is
// written in its normal form.
func numberEnd[T []byte | json.Number](b T, i int) (end int, normal bool) {
	start, point, exponent := i, -1, false
	if b[i] == '-' {
		i++
	}
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case isDigit(c):
		case c == '.':
			point = i
		case c == 'e' || c == 'E':
			exponent = true
			if i+1 < len(b) && (b[i+1] == '+' || b[i+1] == '-') {
				i++
			}
		default:
			return i, isNormal(b[start:i], point-start, exponent)
		}
	}
	return i, isNormal(b[start:i], point-start, exponent)
}

// isNormal reports whether a number is in its normal form. point is where its point
// stands, negative for none.
func isNormal[T []byte | json.Number](n T, point int, exponent bool) bool {
	switch {
	case exponent:
		return false
	case point < 0:
		return len(n) != 2 || n[0] != '-' || n[1] != '0'
	}
	return n[len(n)-1] != '0' && len(n)-1-point <= maxDecimals
}

// appendNormal writes the normal form of a JSON number: all its digits, with a point
// where it needs one; an exponent and the digits as a whole number where it has more than
// maxDecimals.
func appendNormal(dst, n []byte) []byte {
	number := n
	negative := n[0] == '-'
	if negative {
		n = n[1:]
	}
	exponent := 0
	if i := bytes.IndexAny(n, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(string(n[i+1:])); err != nil {
			exponent = 0
			if len(bytes.Trim(n[:i], "0.")) > 0 {
				return append(dst, number...) // beyond all that numbers are for
			}
		}
		n = n[:i]
	}
	var digits []byte
	if i := bytes.IndexByte(n, '.'); i >= 0 {
		exponent -= len(n) - i - 1
		digits = append(append(digits, n[:i]...), n[i+1:]...)
	} else {
		digits = append(digits, n...)
	}
	digits = bytes.TrimLeft(digits, "0")
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		exponent++
	}
	if len(digits) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	whole := len(digits) + exponent // digits before the point
	switch {
	case exponent >= 0 && whole <= maxWhole:
		dst = append(dst, digits...)
		for range exponent {
			dst = append(dst, '0')
		}
		return dst
	case exponent >= 0 || -exponent > maxDecimals:
		dst = append(dst, digits...)
		return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
	case whole > 0:
		dst = append(dst, digits[:whole]...)
		return append(append(dst, '.'), digits[whole:]...)
	}
	dst = append(dst, "0."...)
	for range -whole {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// maxWhole is how many digits a whole number has at most: a float64 has no more.
const maxWhole = 400

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

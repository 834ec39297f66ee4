// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
)

// enclose returns v as the page holds it: JSON with its literals shared, compressed by gzip, in base 64.
// Nothing of it is markup, and the same v gives the same text.
func enclose(v any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // nobody reads the text as HTML, and each escape costs bytes
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	var text strings.Builder
	digits := base64.NewEncoder(base64.StdEncoding, &text)
	zip, err := gzip.NewWriterLevel(digits, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = zip.Write(share(b.Bytes()))
	err = errors.Join(err, zip.Close(), digits.Close())
	return text.String(), err
}

// minShared is the length of the literals that are worth a place of their own.
const minShared = 16

// share returns a line with a list of the texts that come more than once in JSON, and a line with the
// JSON, in which "~n" stands for the one at place n. gzip sees no text again that comes much later, and
// the ids of a session come all over it.
func share(data []byte) []byte {
	counts := make(map[string]int)
	for lit := range literals(data) {
		if len(lit) >= minShared {
			counts[string(lit)]++
		}
	}
	places := make(map[string]int)
	list, out := []byte{'['}, make([]byte, 0, len(data))
	last := 0
	for lit, at := range literals(data) {
		if counts[string(lit)] < 2 && !bytes.HasPrefix(lit, []byte(`"~`)) {
			continue
		}
		n, ok := places[string(lit)]
		if !ok {
			if n = len(places); n > 0 {
				list = append(list, ',')
			}
			places[string(lit)] = n
			list = append(list, lit...)
		}
		out = append(append(out, data[last:at]...), `"~`...)
		out = append(strconv.AppendInt(out, int64(n), 10), '"')
		last = at + len(lit)
	}
	return append(append(append(list, ']', '\n'), out...), data[last:]...)
}

// literals are the texts in JSON as they are written, with their places.
func literals(data []byte) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		for i := 0; i < len(data); i++ {
			if data[i] != '"' {
				continue
			}
			start := i
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if !yield(data[start:i+1], start) {
				return
			}
		}
	}
}

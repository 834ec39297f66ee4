// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// enclose returns v as a file holds it: [shared], compressed by gzip, in base 64. Nothing of it is markup, and the
// same v gives the same text.
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

// minShared is the length of the texts that are worth a place of their own.
const minShared = 16

// share returns a line with a list of the texts that come more than once in JSON, and a line with the
// JSON, in which "~n" stands for the one at place n. gzip sees no text again that comes much later, and
// the ids of a session come all over it.
func share(data []byte) []byte {
	counts, places := make(map[string]int), make(map[string]int)
	for _, lit := range literals(data) {
		if len(lit) >= minShared {
			counts[string(lit)]++
		}
	}
	var list [][]byte
	var rest []byte
	for before, lit := range literals(data) {
		rest = append(rest, before...)
		if counts[string(lit)] < 2 && !bytes.HasPrefix(lit, []byte(`"~`)) {
			rest = append(rest, lit...)
			continue
		}
		n, ok := places[string(lit)]
		if !ok {
			n = len(list)
			places[string(lit)] = n
			list = append(list, lit)
		}
		rest = fmt.Appendf(rest, `"~%d"`, n)
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte("]\n"), rest)
}

// literals yields each text in JSON, as it is written, with what stands before it.
func literals(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(before, lit []byte) bool) {
		data := data
		for len(data) > 0 {
			start := bytes.IndexByte(data, '"')
			if start < 0 {
				yield(data, nil)
				return
			}
			end := start + 1
			for ; data[end] != '"'; end++ {
				if data[end] == '\\' {
					end++
				}
			}
			if !yield(data[:start], data[start:end+1]) {
				return
			}
			data = data[end+1:]
		}
	}
}

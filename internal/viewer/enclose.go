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
	"regexp"
	"slices"
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

// literal is a text in JSON as it is written.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// share returns a line with a list of the texts that come more than once in JSON, and a line with the
// JSON, in which "~n" stands for the one at place n. gzip sees no text again that comes much later, and
// the ids of a session come all over it.
func share(data []byte) []byte {
	counts, places := make(map[string]int), make(map[string]int)
	for _, at := range literal.FindAllIndex(data, -1) {
		if at[1]-at[0] >= minShared {
			counts[string(data[at[0]:at[1]])]++
		}
	}
	var list [][]byte
	rest := literal.ReplaceAllFunc(data, func(lit []byte) []byte {
		if counts[string(lit)] < 2 && !bytes.HasPrefix(lit, []byte(`"~`)) {
			return lit
		}
		n, ok := places[string(lit)]
		if !ok {
			n = len(list)
			places[string(lit)] = n
			list = append(list, lit)
		}
		return fmt.Appendf(nil, `"~%d"`, n)
	})
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte("]\n"), rest)
}

// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"compress/gzip"
	"encoding/ascii85"
	"encoding/json"
	"io"
	"strings"
)

// markup replaces the digits of base 85 that HTML reads as more than themselves, so that nothing in
// a record ends the element. The letters in their places are no digits.
var markup = strings.NewReplacer("<", "v", ">", "w", "&", "x")

// enclose returns v as the page holds it: JSON, compressed by gzip, in base 85 and without markup. Base
// 85 has five characters for four bytes, where base 64 has more than five. The same v gives the same text.
func enclose(v any) (string, error) {
	var text strings.Builder
	digits := ascii85.NewEncoder(&text)
	if err := compress(digits, v); err != nil {
		return "", err
	}
	if err := digits.Close(); err != nil {
		return "", err
	}
	return markup.Replace(text.String()), nil
}

// compress writes v as JSON, compressed by gzip.
func compress(w io.Writer, v any) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(zip)
	encoder.SetEscapeHTML(false) // nobody reads the text as HTML, and each escape costs bytes
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return zip.Close()
}

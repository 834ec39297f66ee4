// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode decodes one value of JSON, with numbers as they are written. It is not ok if data is
// anything else, or has more behind the value.
func Decode(data []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}

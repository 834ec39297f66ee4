// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewertest reads and changes the data that a page holds, for tests.
package viewertest

import (
	"compress/gzip"
	"encoding/ascii85"
	"errors"
	"io"
	"strings"
	"testing"
)

const (
	before = `id="cg-data">`
	behind = `</script>`
)

// Data returns the JSON that a page holds.
func Data(tb testing.TB, page string) []byte {
	tb.Helper()
	_, text, _ := cut(tb, page)
	digits := strings.NewReplacer("v", "<", "w", ">", "x", "&").Replace(text)
	zip, err := gzip.NewReader(ascii85.NewDecoder(strings.NewReader(digits)))
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// WithData returns a page with other data, which is JSON.
func WithData(tb testing.TB, page string, data []byte) string {
	tb.Helper()
	head, _, tail := cut(tb, page)
	var text strings.Builder
	digits := ascii85.NewEncoder(&text)
	zip := gzip.NewWriter(digits)
	_, err := zip.Write(data)
	if err := errors.Join(err, zip.Close(), digits.Close()); err != nil {
		tb.Fatal(err)
	}
	return head + strings.NewReplacer("<", "v", ">", "w", "&", "x").Replace(text.String()) + tail
}

// cut returns the data of a page as it stands there, with the page around it.
func cut(tb testing.TB, page string) (head, data, tail string) {
	tb.Helper()
	head, rest, ok := strings.Cut(page, before)
	data, tail, end := strings.Cut(rest, behind)
	if !ok || !end {
		tb.Fatal("the page has no data")
	}
	return head + before, data, behind + tail
}
